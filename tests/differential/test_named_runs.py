"""A few runs chosen by hand, each with what it must show, so that agreement is not agreement on nothing."""

from __future__ import annotations

import tomllib

import pytest

from differential.compare import assert_engines_agree
from differential.strategies import Config, fixed, nested

# The example of the specification (7.2), shortened to a minute, with runtimes that end within it.
SPECIFICATION_EXAMPLE = """
[simulation]
duration_ms = 60000
[storage]
provider = "s3x"
[catalog]
num_tables = 1
[catalog.partitions]
num_partitions = 100
[transaction]
retry = 10
runtime.mean = 18000
runtime.sigma = 1.5
inter_arrival.distribution = "exponential"
inter_arrival.scale = 100.0
real_conflict_probability = 0.0
manifest_list_mode = "rewrite"
[transaction.operation_types]
fast_append = 0.7
merge_append = 0.2
validated_overwrite = 0.1
[transaction.retry_backoff]
enabled = true
base_ms = 10.0
multiplier = 2.0
max_ms = 5000.0
jitter = 0.1
"""

ONE_MS_EACH = nested(
    {
        name: fixed(1)
        for name in (
            "catalog.read",
            "catalog.cas",
            "manifest_list.read",
            "manifest_list.write",
            "manifest_file.read",
            "manifest_file.write",
        )
    }
)


def _ties(effect_point: float) -> Config:
    """Arrivals every millisecond, every operation a millisecond, no work: all happens on the beat."""
    return {
        "simulation": {"duration_ms": 100},
        "storage": {"provider": "s3x", "effect_point": effect_point, "latency": ONE_MS_EACH}
        | {"min_latency_ms": 0.5},
        "transaction": {"inter_arrival": fixed(1), "runtime": fixed(0), "retry": 4},
    }


def test_engines_agree_on_the_example_of_the_specification() -> None:
    pair = assert_engines_agree(tomllib.loads(SPECIFICATION_EXAMPLE), 42)
    assert pair.shipped.committed > 200
    assert pair.shipped.total_retries > 100


def test_engines_agree_on_a_convoy_of_validated_overwrites() -> None:
    # Long work behind a busy table: whoever comes back has many manifest lists to read.
    config: Config = {
        "simulation": {"duration_ms": 20_000},
        "storage": {"provider": "s3", "max_parallel": 3},
        "transaction": {
            "inter_arrival": {"distribution": "exponential", "scale": 100},
            "runtime": {"distribution": "lognormal", "median": 3_000, "sigma": 1.0},
            "operation_types": {"fast_append": 1, "validated_overwrite": 1},
        },
    }
    pair = assert_engines_agree(config, 7)
    assert max(row["historical_ml_reads"] for row in pair.rows) > 24


@pytest.mark.parametrize("effect_point", [0, 0.25, 0.5, 1])
def test_engines_agree_when_everything_happens_on_the_beat(effect_point: float) -> None:
    pair = assert_engines_agree(_ties(effect_point), 3)
    ends = [row["t_commit"] for row in pair.rows if row["status"] == "committed"]
    assert {row["t_submit"] for row in pair.rows} & set(ends)
    assert pair.shipped.total_retries > 50


def test_engines_agree_on_appends_that_chase_the_end_of_the_log() -> None:
    config: Config = {
        "simulation": {"duration_ms": 4_000},
        "storage": {"provider": "azure"},
        "catalog": {"type": "append", "num_tables": 3, "append_max_physical_retries": 2},
        "transaction": {
            "inter_arrival": fixed(40),
            "runtime": fixed(0),
            "manifest_list_mode": "append",
        },
    }
    pair = assert_engines_agree(config, 5)
    # A failed append at Azure takes about two seconds, a clean commit a fifth of one.
    assert max(row["catalog_commit_ms"] for row in pair.rows) > 1_000
    assert pair.shipped.manifest_list_appends > 0 == pair.shipped.manifest_list_writes


@pytest.mark.parametrize("end_ms", [1, 1.5, 2, 5, 5.5, 6])
def test_engines_agree_on_a_run_that_ends_on_an_event(end_ms: float) -> None:
    # Submitted at 1, read by 2, manifests by 5, swapped at 5.5, answered at 6.
    config = _ties(0.5) | {"simulation": {"duration_ms": end_ms}}
    config["transaction"]["inter_arrival"] = fixed(1)
    pair = assert_engines_agree(config, 0)
    assert pair.shipped.committed == 0
    assert pair.shipped.seq == (1 if end_ms > 5.5 else 0)
