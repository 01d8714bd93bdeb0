"""Real traces for tests: any configuration, and a few that between them have every kind of event."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.experiment import trace_header
from endive.simulation import Simulation
from endive.trace import Trace

_BUSY = """
[simulation]
duration_ms = 8000
[storage]
provider = "s3x"
[catalog]
num_tables = 2
[transaction]
retry = 3
runtime = { mean = 300, sigma = 0.5 }
inter_arrival = { scale = 150.0 }
real_conflict_probability = 0.3
on_validation_exception = "restart"
max_restarts = 2
retry_backoff = { enabled = true }
operation_types = { fast_append = 0.5, merge_append = 0.2, validated_overwrite = 0.3 }
"""
_PARTITIONED = _BUSY.replace(
    "num_tables = 2", "num_tables = 4\nnum_groups = 2\npartitions = { num_partitions = 3 }"
)
_LOG = _BUSY.replace(
    "num_tables = 2", 'num_tables = 2\ntype = "append"\ncompaction_max_entries = 5'
).replace(
    "[transaction]",
    '[transaction]\nmanifest_list_mode = "append"\nmanifest_list_append = "offset"\nmanifest_list_seal_threshold = 200',
)
_JAVA = _BUSY.replace("num_tables = 2", "num_tables = 2\ntable_metadata_inlined = false").replace(
    "[transaction]", '[transaction]\ncost_table = "iceberg-java"'
)
_CLASSES = (
    _BUSY.replace("inter_arrival = { scale = 150.0 }\n", "")
    + '[[workload.class]]\nname = "writers"\nkind = "open"\ninter_arrival = { scale = 200.0 }\n'
    + '[[workload.class]]\nname = "elsewhere"\nkind = "background"\ninter_arrival = { scale = 300.0 }\n'
)
NAMED = {
    "plain": _BUSY,
    "partitioned": _PARTITIONED,
    "log": _LOG,
    "java": _JAVA,
    "classes": _CLASSES,
    "nothing": _BUSY.replace("duration_ms = 8000", "duration_ms = 0.001"),
}


def trace_of(config: dict[str, Any], seed: int) -> Trace:
    """The trace of a run of a parsed configuration."""
    resolved = resolve_config(config)
    simulation = replace(build_simulation_config(resolved, seed), records_trace=True)
    events = Simulation(simulation).run().events
    assert events is not None
    return Trace(trace_header(resolved, seed), tuple(events))


@cache
def named_trace(name: str) -> Trace:
    """The trace of one of the named configurations."""
    return trace_of(tomllib.loads(NAMED[name]), 7)
