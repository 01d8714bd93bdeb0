"""Workload (§5): which transaction arrives when, and what it touches. The workload owns the topology (§8.11)."""

from endive.workload.arrivals import start_loads
from endive.workload.loads import BackgroundLoad, ClosedLoad, Load, OpenLoad, PeriodicLoad
from endive.workload.script import ScriptedLoad, ScriptedWorkload, ScriptLine
from endive.workload.selectors import (
    PartitionSelector,
    TableSelector,
    UniformPartitionSelector,
    UniformTableSelector,
    ZipfPartitionSelector,
    ZipfTableSelector,
)
from endive.workload.workload import Touched, Workload, WorkloadConfig, assign_groups

__all__ = [
    "BackgroundLoad",
    "ClosedLoad",
    "Load",
    "OpenLoad",
    "PartitionSelector",
    "PeriodicLoad",
    "ScriptLine",
    "ScriptedLoad",
    "ScriptedWorkload",
    "TableSelector",
    "Touched",
    "UniformPartitionSelector",
    "UniformTableSelector",
    "Workload",
    "WorkloadConfig",
    "ZipfPartitionSelector",
    "ZipfTableSelector",
    "assign_groups",
    "start_loads",
]
