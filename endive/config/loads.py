"""From settings to workloads and loads (docs/MODEL.md, section 13): who submits what, each class from its own streams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from endive.config.distributions import build_distribution, build_runtime
from endive.cost_model import CostTable
from endive.latency import FixedLatency, LatencyDistribution
from endive.workload import (
    BackgroundLoad,
    ClosedLoad,
    Load,
    OpenLoad,
    PeriodicLoad,
    ScriptedLoad,
    ScriptedWorkload,
    ScriptLine,
    UniformPartitionSelector,
    UniformTableSelector,
    Workload,
    WorkloadConfig,
    ZipfPartitionSelector,
    ZipfTableSelector,
)

Table = Mapping[str, Any]


def build_loads(
    values: Table, partitions_per_table: tuple[int, ...], seed: int, cost_table: CostTable | None
) -> tuple[Load, ...]:
    """The loads of `[[workload.class]]`, in the order of the file, and the script after them; none where there is neither."""
    classes = tuple(
        _load(
            settings,
            _workload(
                settings, values, partitions_per_table, seed, cost_table, settings["name"], index
            ),
        )
        for index, settings in enumerate(values.get("workload", {}).get("class", ()))
    )
    lines = values.get("workload", {}).get("script", ())
    if not lines:
        return classes
    catalog, transaction = values["catalog"], values["transaction"]
    config = WorkloadConfig(
        inter_arrival=FixedLatency(0.0),
        runtime=FixedLatency(0.0),
        num_tables=catalog["num_tables"],
        partitions_per_table=partitions_per_table,
        cost_table=cost_table,
        num_groups=catalog["num_groups"],
        manifests_per_concurrent_commit=transaction["manifests_per_concurrent_commit"],
    )
    script = ScriptedWorkload(config, seed, [_script_line(line) for line in lines])
    return (*classes, ScriptedLoad(script))


def _script_line(line: Table) -> ScriptLine:
    partitions = line.get("partitions")
    return ScriptLine(
        at_ms=line["at_ms"],
        operation=line["operation"],
        tables_written=tuple(line["tables"]),
        name=line["name"],
        tables_read=tuple(line["tables_read"]),
        partitions=None if partitions is None else tuple(map(tuple, partitions)),
        runtime_ms=line.get("runtime_ms", 0.0),
        replaces_data=line.get("replaces_data", False),
        times=line["times"],
        every_ms=line.get("every_ms", 0.0),
    )


def build_workload(
    values: Table, partitions_per_table: tuple[int, ...], seed: int, cost_table: CostTable | None
) -> Workload:
    """The one workload that `[transaction]` is where there are no classes."""
    settings = values["transaction"]
    return _workload(settings, values, partitions_per_table, seed, cost_table, "default", 0)


def _load(settings: Table, workload: Workload) -> Load:
    kind, end_ms = settings["kind"], settings.get("end_ms", math.inf)
    if kind == "closed":
        think_time = build_distribution(settings["think_time"])
        return ClosedLoad(workload, settings["clients"], think_time, end_ms)
    if kind == "periodic":
        return PeriodicLoad(workload, settings["interval_ms"], settings["offset_ms"], end_ms)
    if kind == "background":
        inter_arrival = workload.config.inter_arrival
        return BackgroundLoad(workload, inter_arrival, settings["replaces_data"], end_ms)
    return OpenLoad(workload, end_ms)


def _workload(
    settings: Table,
    values: Table,
    partitions_per_table: tuple[int, ...],
    seed: int,
    cost_table: CostTable | None,
    class_name: str,
    class_index: int,
) -> Workload:
    catalog, transaction = values["catalog"], values["transaction"]
    # Background commits have neither operation nor runtime.
    weights = settings.get("operation_types")
    three = ("fast_append", "merge_append", "validated_overwrite")
    tables = settings["table_selector"]
    # Without [catalog.partitions] there is no such table, and partitions are not tracked.
    partitions = settings.get("partition_selector")
    config = WorkloadConfig(
        inter_arrival=_gaps(settings),
        runtime=build_runtime(settings["runtime"]) if "runtime" in settings else FixedLatency(0.0),
        num_tables=catalog["num_tables"],
        partitions_per_table=partitions_per_table,
        operation_weights=weights,
        # The specification's own names for three of these; whoever looks finds the same there.
        **{f"{name}_weight": weights[name] for name in three if weights is not None},
        cost_table=cost_table,
        num_groups=catalog["num_groups"],
        tables_per_txn=settings["tables_per_txn"],
        table_selector=(
            ZipfTableSelector(tables["alpha"], tables["write_fraction"])
            if tables["type"] == "zipf"
            else UniformTableSelector(tables["write_fraction"])
        ),
        partitions_per_txn=settings.get("partitions_per_txn"),
        partition_selector=(
            None
            if partitions is None
            else ZipfPartitionSelector(partitions["alpha"], partitions["write_fraction"])
            if partitions["type"] == "zipf"
            else UniformPartitionSelector(partitions["write_fraction"])
        ),
        manifests_per_concurrent_commit=transaction["manifests_per_concurrent_commit"],
        class_name=class_name,
        class_index=class_index,
        overlap_probability=settings.get("overlap_probability"),
    )
    return Workload(config, seed)


def _gaps(settings: Table) -> LatencyDistribution:
    """The gaps between arrivals; of loads that have none, what comes closest, which nobody draws from."""
    if "inter_arrival" in settings:
        return build_distribution(settings["inter_arrival"])
    if "think_time" in settings:
        return build_distribution(settings["think_time"])
    return FixedLatency(settings["interval_ms"])
