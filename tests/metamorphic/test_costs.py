"""What happens when something becomes more expensive, or there is more of something.

What is claimed, and no more:

- A lone transaction takes longer by exactly what its operations cost more, operation by operation.
- One transaction after another, whatever the latencies: none takes less, because the draws stay the same (common random numbers).
- Many at once that try once, with fixed latencies: none takes less.
- With retries nothing of the kind holds for single transactions: who comes later may meet a rival less. And with random latencies many at
  once share one stream of draws, so a delay gives another transaction the draw.
- More parallelism never slows a lone transaction if latencies are fixed, or if the width is multiplied; else it may (shown below).
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metamorphic.worlds import ARTIFACTS, World, assert_same, distributions, fixed, run, worlds

seeds = st.integers(0, 2**32 - 1)
operations = st.sampled_from(
    [(artifact, name) for artifact, names in ARTIFACTS.items() for name in names]
)
# How often a lone fast append on one table does what.
COUNTS = {
    ("catalog", "read"): 1,
    ("catalog", "cas"): 1,
    ("manifest_list", "read"): 1,
    ("manifest_list", "write"): 1,
    ("manifest_file", "read"): 0,
    ("manifest_file", "write"): 1,
}


def dearer(world: World, operation: tuple[str, str], table: dict[str, Any]) -> World:
    """The world with another latency of one operation."""
    changed = copy.deepcopy(world)
    artifact, name = operation
    changed["storage"]["latency"][artifact][name] = table
    return changed


def raised(table: dict[str, Any], by: float) -> dict[str, Any]:
    """The distribution with larger values at every quantile."""
    grown = {"value", "scale", "low", "high", "mean"}
    return {key: value + by if key in grown else value for key, value in table.items()}


def lone(world: World) -> World:
    """One client, one transaction after the other."""
    changed = copy.deepcopy(world)
    changed["transaction"].pop("inter_arrival")
    changed["workload"] = {
        "class": [{"name": "lone", "kind": "closed", "clients": 1, "think_time": fixed(1.0)}]
    }
    return changed


@settings(max_examples=15)
@given(
    world=worlds(latency=st.integers(4, 400).map(lambda n: fixed(n / 8.0))),
    operation=operations,
    by=st.integers(1, 80).map(lambda n: n / 8.0),
    tables=st.integers(1, 3),
)
def test_lone_transaction_takes_longer_by_exactly_what_its_operations_cost_more(
    world: World, operation: tuple[str, str], by: float, tables: int
) -> None:
    world = lone(world)
    world["catalog"]["num_tables"] = 3
    # One at a time, so that operations of several tables add up.
    world["storage"]["max_parallel"] = 1
    world["transaction"].update(
        operation_types={"fast_append": 1.0}, tables_per_txn=tables, runtime=fixed(64.0)
    )
    artifact, name = operation
    before = world["storage"]["latency"][artifact][name]
    cheap = run(world, 1).iloc[0]
    dear = run(dearer(world, operation, raised(before, by)), 1).iloc[0]
    times = COUNTS[operation] * (1 if artifact == "catalog" else tables)
    assert dear["total_latency"] - cheap["total_latency"] == by * times


@settings(max_examples=15)
@given(world=worlds(), operation=operations, by=st.integers(1, 40).map(float), seed=seeds)
def test_one_after_the_other_nobody_takes_less(
    world: World, operation: tuple[str, str], by: float, seed: int
) -> None:
    world = lone(world)
    artifact, name = operation
    before = world["storage"]["latency"][artifact][name]
    cheap = run(world, seed)
    dear = run(dearer(world, operation, raised(before, by)), seed)
    finished = min((frame["status"] != "in_flight").sum() for frame in (cheap, dear))
    assume(finished > 0)
    longer = dear["total_latency"][:finished] - cheap["total_latency"][:finished]
    # Durations are differences of instants, which round.
    assert longer.min() >= -1e-9
    assert list(dear["n_retries"][:finished]) == [0] * finished


@settings(max_examples=15)
@given(
    world=worlds(latency=st.integers(4, 400).map(lambda n: fixed(n / 8.0))),
    operation=operations,
    by=st.integers(1, 40).map(float),
    seed=seeds,
)
def test_among_many_that_try_once_nobody_takes_less(
    world: World, operation: tuple[str, str], by: float, seed: int
) -> None:
    world["transaction"]["retry"] = 0
    artifact, name = operation
    before = world["storage"]["latency"][artifact][name]
    cheap = run(world, seed)
    dear = run(dearer(world, operation, raised(before, by)), seed)
    # The same transactions arrive: arrivals have a stream of their own.
    assert list(cheap["t_submit"]) == list(dear["t_submit"])
    both = (cheap["status"] != "in_flight") & (dear["status"] != "in_flight")
    longer = dear["total_latency"][both] - cheap["total_latency"][both]
    assert (longer >= -1e-9).all()


def overwrite_behind(width: int, latency: dict[str, Any], landed: int) -> World:
    """A lone overwrite that finds `landed` rivals' snapshots at its first retry, and none after."""
    return {
        "simulation": {"duration_ms": 1e6},
        "storage": {
            "provider": "instant",
            "min_latency_ms": 0.001,
            "max_parallel": width,
            "latency": {"manifest_list": {"read": latency}},
        },
        "workload": {
            "class": [
                {
                    "name": "overwrite",
                    "kind": "periodic",
                    "interval_ms": 1e7,
                    "offset_ms": 0.0,
                    "runtime": fixed(10_000.0),
                    "operation_types": {"validated_overwrite": 1.0},
                },
                {
                    "name": "rivals",
                    "kind": "background",
                    "inter_arrival": fixed(10.0),
                    "end_ms": 10.0 * landed + 15.0,
                },
            ]
        },
    }


def latency_of(world: World, seed: int) -> float:
    (row,) = run(world, seed).to_dict("records")
    assert (row["status"], row["n_retries"]) == ("committed", 1)
    return float(row["total_latency"])


@settings(max_examples=15)
@given(landed=st.integers(0, 60), width=st.integers(1, 12), wider=st.integers(1, 12), seed=seeds)
def test_more_parallelism_never_slows_a_lone_overwrite_with_fixed_latencies(
    landed: int, width: int, wider: int, seed: int
) -> None:
    table = fixed(7.0)
    narrow = latency_of(overwrite_behind(width, table, landed), seed)
    assert latency_of(overwrite_behind(width + wider, table, landed), seed) <= narrow + 1e-9


@settings(max_examples=15)
@given(
    landed=st.integers(0, 60),
    width=st.integers(1, 6),
    factor=st.integers(2, 4),
    latency=distributions(),
    seed=seeds,
)
def test_a_multiple_of_the_parallelism_never_slows_a_lone_overwrite(
    landed: int, width: int, factor: int, latency: dict[str, Any], seed: int
) -> None:
    # Whole batches are put together, and the slowest of all is at most the sum of the slowest of each.
    narrow = latency_of(overwrite_behind(width, latency, landed), seed)
    wide = latency_of(overwrite_behind(width * factor, latency, landed), seed)
    assert wide <= narrow + 1e-9


def test_a_little_more_parallelism_can_slow_a_lone_overwrite() -> None:
    # Batches of 2 and 3 cut the same draws at other places: two slow ones that were together may be apart.
    latency = {"distribution": "exponential", "scale": 50.0}
    slower = [
        seed
        for seed in range(12)
        if latency_of(overwrite_behind(3, latency, 3), seed)
        > latency_of(overwrite_behind(2, latency, 3), seed) + 1e-9
    ]
    assert slower


@settings(max_examples=15)
@given(landed=st.integers(0, 20), latency=distributions(), retries=st.integers(1, 5), seed=seeds)
def test_more_retries_than_were_needed_change_nothing(
    landed: int, latency: dict[str, Any], retries: int, seed: int
) -> None:
    world = overwrite_behind(4, latency, landed)
    few = run({**world, "transaction": {"retry": retries}}, seed)
    many = run({**world, "transaction": {"retry": retries + 5}}, seed)
    assert_same(few, many)


@pytest.mark.parametrize("seed", range(4))
def test_a_cost_that_nobody_pays_changes_nothing(seed: int) -> None:
    world: World = {
        "simulation": {"duration_ms": 5000.0},
        "storage": {"provider": "s3x", "latency": {"manifest_file": {"read": fixed(20.0)}}},
        "transaction": {
            "operation_types": {"fast_append": 1.0},
            "runtime": fixed(100.0),
            "inter_arrival": {"distribution": "exponential", "scale": 40.0},
        },
    }
    assert_same(
        run(dearer(world, ("manifest_file", "read"), fixed(2000.0)), seed), run(world, seed)
    )
