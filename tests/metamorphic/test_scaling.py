"""Time has no unit of its own: twice all times is the same run, twice as slow. And it has no origin."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metamorphic.worlds import INSTANTS, TIMES, World, assert_same, doubled, fixed, run, worlds

_PLAIN = {"distribution", "sigma"}
seeds = st.integers(0, 2**32 - 1)


def twice(table: dict[str, Any]) -> dict[str, Any]:
    """A distribution with all its values doubled."""
    return {key: value if key in _PLAIN else 2.0 * value for key, value in table.items()}


def slower(world: World) -> World:
    """The same world with every time doubled. What is no time (counts, shares, probabilities) stays."""
    changed = copy.deepcopy(world)
    changed["simulation"]["duration_ms"] *= 2.0
    storage, transaction = changed["storage"], changed["transaction"]
    storage["min_latency_ms"] *= 2.0
    storage["latency"] = {
        artifact: {operation: twice(table) for operation, table in operations.items()}
        for artifact, operations in storage["latency"].items()
    }
    for key in ("runtime", "inter_arrival"):
        transaction[key] = twice(transaction[key])
    for key in ("base_ms", "max_ms"):
        transaction["retry_backoff"][key] *= 2.0
    return changed


@settings(max_examples=20)
@given(world=worlds(), seed=seeds)
def test_doubling_all_times_doubles_all_times_and_changes_nothing_else(
    world: World, seed: int
) -> None:
    # Two is a power of two: every product, sum and comparison is the same bit for bit.
    assert_same(run(slower(world), seed), doubled(run(world, seed)))


@settings(max_examples=10)
@given(world=worlds(), seed=seeds, median=st.integers(2, 64), sigma=st.sampled_from([0.2, 1.0]))
def test_doubling_is_exact_up_to_rounding_where_logarithms_are_taken(
    world: World, seed: int, median: int, sigma: float
) -> None:
    world["storage"]["latency"]["catalog"]["cas"] = {
        "distribution": "lognormal",
        "median": float(median),
        "sigma": sigma,
    }
    once, slow = doubled(run(world, seed)), run(slower(world), seed)
    for name in once.columns:
        if name in TIMES:
            np.testing.assert_allclose(slow[name], once[name], rtol=1e-9, atol=1e-6)
        else:
            assert list(slow[name]) == list(once[name])


def test_doubling_only_the_latencies_is_another_run() -> None:
    # The relation is about all times: without this the comparison could be one of nothing.
    world: World = {
        "simulation": {"duration_ms": 4096.0},
        "storage": {
            "provider": "instant",
            "min_latency_ms": 0.5,
            "latency": {"catalog": {"cas": fixed(8.0)}},
        },
        "catalog": {"type": "cas"},
        "transaction": {
            "runtime": fixed(16.0),
            "inter_arrival": {"distribution": "exponential", "scale": 32.0},
            "retry_backoff": {"base_ms": 8.0, "max_ms": 64.0},
        },
    }
    half = copy.deepcopy(world)
    half["storage"]["latency"]["catalog"]["cas"]["value"] *= 2.0
    with pytest.raises(AssertionError):
        assert_same(run(half, 1), doubled(run(world, 1)))


# Eighths, so that sums of them are exact wherever on the clock they are made.
eighths = st.integers(1, 400).map(lambda n: n / 8.0)


@settings(max_examples=15)
@given(
    world=worlds(latency=eighths.map(fixed)),
    runtime=eighths,
    intervals=st.lists(eighths.map(lambda ms: ms + 16.0), min_size=1, max_size=3),
    later=st.sampled_from([64.0, 1024.0, 65_536.0]),
    seed=seeds,
)
def test_beginning_later_shifts_all_instants_and_no_duration(
    world: World, runtime: float, intervals: list[float], later: float, seed: int
) -> None:
    world["transaction"].pop("inter_arrival")
    world["transaction"]["runtime"] = fixed(runtime)
    # The jitter of a backoff is not a whole number of eighths.
    world["transaction"]["retry_backoff"] = {"enabled": False}
    world["simulation"]["duration_ms"] = 2048.0

    def beginning_at(start_ms: float) -> World:
        changed = copy.deepcopy(world)
        changed["simulation"]["duration_ms"] += start_ms
        changed["workload"] = {
            "class": [
                {
                    "name": f"every {place}",
                    "kind": "periodic",
                    "interval_ms": interval,
                    "offset_ms": start_ms + interval,
                }
                for place, interval in enumerate(intervals)
            ]
        }
        return changed

    early, late = run(beginning_at(0.0), seed), run(beginning_at(later), seed)
    for name in INSTANTS:
        early[name] = np.where(early[name] == -1.0, -1.0, early[name] + later)
    assert_same(early, late)
