"""The configurations that are measured, as parsed TOML: both engines read that."""

from __future__ import annotations

from typing import Any

SEED = 42

_MINUTE_MS = 60_000.0
_HOUR_MS = 60 * _MINUTE_MS

Config = dict[str, Any]


def spec_example(scale: float = 1.0) -> Config:
    """The example of §7.2 for ten minutes: one table of 100 partitions, all three operations."""
    return _config(10 * _MINUTE_MS * scale)


def fast_append_hour(scale: float = 1.0) -> Config:
    """The same with fast appends alone, for an hour: no manifests are re-read, so the loop itself is what costs."""
    return _config(_HOUR_MS * scale, operation_types={"fast_append": 1.0})


def contention(scale: float = 1.0) -> Config:
    """Fifty short appends a second, more than one pointer can take: nearly all work is retries."""
    return _config(
        5 * _MINUTE_MS * scale,
        inter_arrival_ms=20.0,
        runtime={"distribution": "fixed", "value": 1000.0},
        operation_types={"fast_append": 1.0},
    )


def hour_of_tables(num_tables: int, num_partitions: int, scale: float = 1.0) -> Config:
    """The mix of the example for an hour, on a catalog of any extent."""
    return _config(_HOUR_MS * scale, num_tables=num_tables, num_partitions=num_partitions)


TINY_TOML = """\
[simulation]
duration_ms = 10000
seed = 42

[storage]
provider = "s3x"

[transaction]
runtime.mean = 1000
"""


def _config(
    duration_ms: float,
    *,
    num_tables: int = 1,
    num_partitions: int = 100,
    inter_arrival_ms: float = 100.0,
    runtime: dict[str, Any] | None = None,
    operation_types: dict[str, float] | None = None,
) -> Config:
    mix = {"fast_append": 0.7, "merge_append": 0.2, "validated_overwrite": 0.1}
    lognormal = {"distribution": "lognormal", "mean": 180_000.0, "sigma": 1.5}
    return {
        "simulation": {"duration_ms": duration_ms},
        "storage": {"provider": "s3x"},
        "catalog": {
            "num_tables": num_tables,
            "partitions": {"num_partitions": num_partitions},
        },
        "transaction": {
            "retry": 10,
            "runtime": runtime or lognormal,
            "inter_arrival": {"distribution": "exponential", "scale": inter_arrival_ms},
            "operation_types": operation_types or mix,
        },
    }
