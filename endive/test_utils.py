"""For tests of code that uses Endive: a small configuration, and a driver for generators."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from endive.config import build_simulation_config, resolve_config
from endive.simulation import SimulationConfig

_T = TypeVar("_T")


def create_test_config(
    *,
    duration_ms: float = 60_000.0,
    seed: int = 42,
    provider: str = "instant",
    num_tables: int = 1,
    num_partitions: int | None = None,
    inter_arrival_ms: float = 100.0,
    runtime_ms: float = 1000.0,
    operation_types: Mapping[str, float] | None = None,
    retry: int = 10,
    overrides: Mapping[str, Any] | None = None,
) -> SimulationConfig:
    """A configuration with a fixed runtime and exponential arrivals.

    `overrides` are nested TOML keys merged over the rest. A table that names its `distribution`
    replaces the old one whole, because the parameters of another distribution would be refused.
    """
    catalog: dict[str, Any] = {"num_tables": num_tables}
    if num_partitions is not None:
        catalog["partitions"] = {"num_partitions": num_partitions}
    transaction: dict[str, Any] = {
        "retry": retry,
        "runtime": {"distribution": "fixed", "value": runtime_ms},
        "inter_arrival": {"distribution": "exponential", "scale": inter_arrival_ms},
    }
    if operation_types is not None:
        transaction["operation_types"] = dict(operation_types)
    raw = {
        "simulation": {"duration_ms": duration_ms},
        "storage": {"provider": provider},
        "catalog": catalog,
        "transaction": transaction,
    }
    return build_simulation_config(resolve_config(_merged(raw, overrides or {})), seed)


def run(generator: Generator[float, None, _T]) -> tuple[_T, float]:
    """Drive a generator of milliseconds to its end; returns (result, elapsed_ms)."""
    elapsed_ms = 0.0
    while True:
        try:
            elapsed_ms += next(generator)
        except StopIteration as end:
            return end.value, elapsed_ms


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        old = merged.get(name)
        # A distribution is replaced as a whole: half of one and half of another make none.
        is_table = isinstance(value, Mapping) and "distribution" not in value
        if is_table and isinstance(old, Mapping):
            merged[name] = _merged(old, value)
        else:
            merged[name] = value
    return merged
