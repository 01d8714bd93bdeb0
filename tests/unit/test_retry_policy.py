"""When a transaction gives up, waits or starts again (docs/MODEL.md, section 8).

Catalog read 4 ms, swap 10, an attempt 3 + 11 + 7 = 21, a historical manifest list 3; the work takes 100. So the first commit
call begins at 125 and ends at 135, and a retry of an append on the same table takes 4 + 21 + 10 = 35.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from endive.attempts import AttemptLog
from endive.catalog import CASCatalog, IntentionRecord
from endive.config import build_simulation_config, resolve_config
from endive.conflict_detector import (
    ConflictDetector,
    PartitionOverlapConflictDetector,
    ProbabilisticConflictDetector,
)
from endive.simulation import Simulation, SimulationConfig
from endive.storage import ProfileStorageProvider
from endive.transaction import OPERATION_CLASSES, Backoff, CommitOptions, TransactionResult
from endive.utils import Purpose, random_stream

FixedStore = Callable[..., ProfileStorageProvider]
NEVER, ALWAYS = ProbabilisticConflictDetector(0.0), ProbabilisticConflictDetector(1.0)
SEED = 3


def play(
    store: ProfileStorageProvider,
    rivals: Mapping[int, int],
    *,
    operation: str = "fast_append",
    detector: ConflictDetector = NEVER,
    max_retries: int = 10,
    backoff: Backoff | None = None,
    **options: Any,
) -> tuple[TransactionResult, list[dict[str, Any]]]:
    """One transaction; `rivals` says how many others land while its commit call 0, 1, … is under way."""
    catalog = CASCatalog(store, 1, (1,))
    attempts = AttemptLog()
    txn = OPERATION_CLASSES[operation](0, 0.0, 100.0, frozenset({0}))
    steps = txn.execute(
        catalog,
        store,
        detector,
        max_retries,
        backoff=backoff,
        options=CommitOptions(attempts=attempts, **options),
    )
    waiting = dict(rivals)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            rows: list[dict[str, Any]] = attempts.to_arrow().to_pylist()
            return stop.value, rows
        for _ in range(waiting.pop(txn.commit_calls - 1, 0)):
            writes = {0: catalog.state.tables[0].version + 1}
            catalog.land(writes, IntentionRecord(-1, catalog.seq, writes, None, 100))


def one_each(calls: int) -> dict[int, int]:
    return dict.fromkeys(range(calls), 1)


def steady(base_ms: float = 10.0) -> Backoff:
    return Backoff(np.random.RandomState(0), base_ms, jitter=0.0)


# -- the budget ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget_ms", "calls", "abort_ms"),
    [
        # Since the first call began: 10 ms at its end, 45 at the end of the second, 80 of the third.
        (9.0, 1, 135.0),
        (10.0, 1, 135.0),
        (10.5, 2, 170.0),
        (45.0, 2, 170.0),
        (46.0, 3, 205.0),
    ],
)
def test_the_budget_counts_from_the_first_commit_call_and_is_used_up_when_it_is_reached(
    budget_ms: float, calls: int, abort_ms: float, fixed_store: FixedStore
) -> None:
    result, rows = play(fixed_store(), one_each(9), retry_timeout_ms=budget_ms)
    assert (result.abort_reason, result.abort_time_ms) == ("retry_timeout", abort_ms)
    assert [row["outcome"] for row in rows] == ["failed"] * calls


def test_a_commit_that_succeeds_after_the_budget_is_a_commit(fixed_store: FixedStore) -> None:
    # The budget is looked at when a commit has failed, at 10 ms, and not when one has succeeded, at 45.
    result, _ = play(fixed_store(), one_each(1), retry_timeout_ms=11.0)
    assert (result.abort_reason, result.commit_time_ms) == (None, 170.0)


def test_waiting_may_exceed_the_budget_and_is_not_cut_short(fixed_store: FixedStore) -> None:
    backoff = steady(1_000.0)
    result, _ = play(fixed_store(), one_each(1), retry_timeout_ms=11.0, backoff=backoff)
    assert (result.commit_time_ms, result.backoff_ms) == (1_170.0, 1_000.0)


def test_who_is_out_of_time_does_not_wait_any_more(fixed_store: FixedStore) -> None:
    result, _ = play(fixed_store(), one_each(1), retry_timeout_ms=10.0, backoff=steady())
    assert (result.abort_reason, result.backoff_ms) == ("retry_timeout", 0.0)


def test_the_last_permitted_failure_is_too_many_retries_and_not_too_much_time(
    fixed_store: FixedStore,
) -> None:
    result, _ = play(fixed_store(), one_each(9), retry_timeout_ms=1.0, max_retries=0)
    assert result.abort_reason == "max_retries"


# -- starting again ------------------------------------------------------------------------------------------------


def test_a_restart_reads_and_works_again(fixed_store: FixedStore) -> None:
    result, rows = play(
        fixed_store(), one_each(1), operation="validated_overwrite", detector=ALWAYS, max_restarts=3
    )
    # Lost at 135; read 4 and one historical list 3, a real conflict. Read 4, work 100, attempt 21, swap 10.
    assert (result.commit_time_ms, result.restarts) == (135.0 + 7.0 + 4.0 + 100.0 + 21.0 + 10.0, 1)
    assert (result.runtime_ms, result.rework_ms) == (100.0, 100.0)
    # The commit's latency begins with the end of the first work; its second call was a retry.
    assert (result.commit_latency_ms, result.total_retries) == (277.0 - 104.0, 1)
    assert result.catalog_read_ms == 3 * 4.0
    # Attempts and swaps of two runs, and one validation, are all the rest.
    assert (result.per_attempt_io_ms, result.catalog_commit_ms) == (42.0, 20.0)
    assert result.conflict_io_ms == 3.0
    # The validation that found it is a row without a commit call; the next run's row has the rework.
    assert [(row["attempt"], row["restart"], row["outcome"]) for row in rows] == [
        (0, 0, "failed"),
        (1, 0, "aborted"),
        (2, 1, "committed"),
    ]
    assert [row["t_commit_call"] for row in rows] == [125.0, -1.0, 267.0]
    assert [row["rework_ms"] for row in rows] == [0.0, 0.0, 100.0]


@pytest.mark.parametrize("max_restarts", [0, 1, 3])
def test_restarts_are_used_up(max_restarts: int, fixed_store: FixedStore) -> None:
    result, rows = play(
        fixed_store(),
        one_each(9),
        operation="validated_overwrite",
        detector=ALWAYS,
        max_restarts=max_restarts,
    )
    runs = max_restarts + 1
    assert (result.abort_reason, result.restarts) == ("validation_exception", max_restarts)
    # Each run: 4 + 100 + 21 + 10, lost, 4 + 3, a real conflict.
    assert result.abort_time_ms == runs * 142.0
    assert [row["outcome"] for row in rows] == ["failed", "aborted"] * runs
    assert (result.real_conflicts, result.total_retries) == (runs, runs - 1)


def test_a_restart_has_a_new_start_snapshot(fixed_store: FixedStore) -> None:
    # This detector asks what changed since the start; what made the first run fail does not make the second fail.
    result, _ = play(
        fixed_store(),
        one_each(1),
        operation="validated_overwrite",
        detector=PartitionOverlapConflictDetector(),
        max_restarts=1,
    )
    assert (result.abort_reason, result.restarts, result.real_conflicts) == (None, 1, 1)


class SecondTime(ConflictDetector):
    """Every second conflict is real."""

    def __init__(self) -> None:
        self.asked = 0

    def is_real_conflict(self, *_: Any) -> bool:
        self.asked += 1
        return self.asked % 2 == 0


def test_a_restart_has_all_its_retries_its_budget_and_short_waits_again(
    fixed_store: FixedStore,
) -> None:
    # Two failures per run of at most two; the second conflict is real. The waits are 10 and 20 in each run.
    result, rows = play(
        fixed_store(),
        one_each(4),
        operation="validated_overwrite",
        detector=SecondTime(),
        max_retries=2,
        max_restarts=2,
        backoff=steady(),
        # Each run is 10, then 10 + 10 + 4 + 3 + 21 + 10 = 58 ms past its first call when it has failed.
        retry_timeout_ms=59.0,
    )
    assert (result.abort_reason, result.restarts) == (None, 2)
    assert [row["backoff_ms"] for row in rows] == [0.0, 10.0, 20.0, 0.0, 10.0, 20.0, 0.0]
    assert [row["restart"] for row in rows] == [0, 0, 0, 1, 1, 1, 2]
    assert result.total_retries == 4


# -- as configured -------------------------------------------------------------------------------------------------


def always_beaten(*, duration_ms: float = 3_000.0, **transaction: Any) -> SimulationConfig:
    """One transaction, and rivals every 2 ms: an attempt takes at least 4, so none ever wins."""
    fixed = {"distribution": "fixed", "value": 2.0}
    raw = {
        "simulation": {"duration_ms": duration_ms},
        "storage": {"provider": "instant", "effect_point": 1.0},
        "transaction": {"runtime": {**fixed, "value": 100.0}, **transaction},
        "workload": {
            "class": [
                {"name": "one", "kind": "periodic", "interval_ms": 10.0, "end_ms": 15.0},
                {"name": "rivals", "kind": "background", "inter_arrival": fixed},
            ]
        },
    }
    return build_simulation_config(resolve_config(raw), SEED)


@pytest.mark.parametrize(
    ("given", "capped_ms"),
    [
        ({}, [100.0 * 2**k for k in range(4)]),
        # 100 · 2^9 is 51,200; from there on a minute.
        ({"retry": 12}, [100.0 * 2**k for k in range(10)] + [60_000.0] * 2),
    ],
)
def test_the_preset_of_iceberg_waits_as_iceberg_does(
    given: dict[str, Any], capped_ms: list[float]
) -> None:
    config = always_beaten(
        duration_ms=2.0 * sum(capped_ms),
        retry_preset="iceberg",
        operation_types={"fast_append": 1.0},
        **given,
    )
    assert config.options.retry_timeout_ms == 1_800_000.0
    (result,) = Simulation(config).run().transactions
    assert (result.abort_reason, result.total_retries) == ("max_retries", len(capped_ms))
    # The jitter only lengthens, by at most a tenth, and comes after the cap.
    u = random_stream(SEED, Purpose.BACKOFF).random_sample(len(capped_ms))
    assert result.backoff_ms == pytest.approx(float(np.dot(capped_ms, 1.0 + 0.1 * u)), rel=1e-12)
    assert sum(capped_ms) <= result.backoff_ms <= 1.1 * sum(capped_ms)


def test_what_is_given_wins_over_the_preset() -> None:
    config = always_beaten(
        retry_preset="iceberg",
        retry_timeout_ms=250.0,
        retry_backoff={"jitter": 0.0},
        operation_types={"fast_append": 1.0},
    )
    (result,) = Simulation(config).run().transactions
    # After the waits of 100 and 200 more than 250 ms are gone, with 700 still to come.
    assert (result.abort_reason, result.backoff_ms) == ("retry_timeout", 300.0)


def test_a_configuration_restarts_three_times_unless_it_says_otherwise() -> None:
    settings: dict[str, Any] = {
        "real_conflict_probability": 1.0,
        "on_validation_exception": "restart",
        "operation_types": {"validated_overwrite": 1.0},
    }
    (result,) = Simulation(always_beaten(**settings)).run().transactions
    assert (result.restarts, result.rework_ms) == (3, 300.0)
    assert result.abort_reason == "validation_exception"
    (result,) = Simulation(always_beaten(**settings, max_restarts=1)).run().transactions
    assert (result.restarts, result.rework_ms) == (1, 100.0)


@pytest.mark.parametrize("unit", ["attempt", "commit"])
def test_the_chance_of_a_real_conflict_is_per_attempt_or_per_commit_behind(
    unit: str, fixed_store: FixedStore
) -> None:
    settings: dict[str, Any] = {"real_conflict_probability": 0.1, "real_conflict_unit": unit}
    detector = always_beaten(**settings).conflict_detector
    store, uniforms = fixed_store(), random_stream(SEED, Purpose.CONFLICT).random_sample(3_000)
    # Five behind: 1 − 0.9^5 = 0.40951. One uniform decides each, so not a single outcome may differ.
    expected = 0.1 if unit == "attempt" else 0.40951
    aborted = [
        play(store, {0: 5}, operation="validated_overwrite", detector=detector)[0].abort_reason
        is not None
        for _ in uniforms
    ]
    assert aborted == (uniforms < expected).tolist()
    # That this would see a wrong exponent: four behind give 0.3439 and six 0.4686, which is hundreds of outcomes.
    for wrong in (4, 6):
        assert np.sum(np.array(aborted) != (uniforms < 1.0 - 0.9**wrong)) > 100
