"""Real traces for the tests of the judge, and a way to spoil one of their events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.experiment import trace_header
from endive.simulation import Simulation
from endive.trace import Event, Trace

Config = dict[str, Any]
Spoil = Callable[[Any], Event | None]


def traced(config: Config, seed: int = 1) -> Trace:
    """The trace of a run."""
    resolved = resolve_config(config)
    simulation = Simulation(replace(build_simulation_config(resolved, seed), records_trace=True))
    return Trace(trace_header(resolved, seed), tuple(simulation.run().events or ()))


def _config(provider: str = "s3x", **sections: Config) -> Config:
    transaction = {
        "runtime": {"distribution": "exponential", "scale": 300},
        "inter_arrival": {"distribution": "exponential", "scale": 50},
        "operation_types": {"validated_overwrite": 1, "fast_append": 1, "merge_append": 1},
        "real_conflict_probability": 0.1,
        **sections.pop("transaction", {}),
    }
    return {
        "simulation": {"duration_ms": 4_000},
        "storage": {"provider": provider, **sections.pop("storage", {})},
        "transaction": transaction,
        **sections,
    }


CONFIGS: dict[str, Config] = {
    "swap": _config(
        catalog={"num_tables": 2, "partitions": {"num_partitions": 3}},
        transaction={"retry_backoff": {"enabled": True}, "retry": 3},
    ),
    "log": _config(
        catalog={"type": "append", "num_tables": 2, "compaction_max_entries": 4},
        transaction={"retry": 3},
    ),
    "lists": _config(
        catalog={"num_tables": 2},
        transaction={
            "manifest_list_mode": "append",
            "manifest_list_append": "offset",
            "manifest_list_seal_threshold": 300,
        },
    ),
    "entries": _config(catalog={"num_tables": 2}, transaction={"manifest_list_mode": "append"}),
    "groups": _config(
        catalog={"num_tables": 4, "num_groups": 2, "conflict_granularity": "group"},
        transaction={"tables_per_txn": 2},
    ),
    "budget": _config(catalog={"num_tables": 1}, transaction={"retry_timeout_ms": 200}),
}


@cache
def trace_of(name: str) -> Trace:
    """The trace of one of the configurations above; traces never change, so one will do."""
    return traced(CONFIGS[name])


def spoiled(
    trace: Trace, kind: type[Any], spoil: Spoil, where: Callable[[Any], bool] = lambda _: True
) -> Trace:
    """The same trace with its last event of this kind changed; `spoil` returns None to leave it out."""
    events = list(trace.events)
    for place in range(len(events) - 1, -1, -1):
        if isinstance(events[place], kind) and where(events[place]):
            changed = spoil(events[place])
            events[place : place + 1] = [] if changed is None else [changed]
            return trace._replace(events=tuple(events))
    raise LookupError(f"the trace has no {kind.__name__} of that kind")
