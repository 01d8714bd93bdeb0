"""What a run says of objectives: nobody is dropped because the end came first, and warm-up is not judged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from endive.simulation import Statistics
from endive.sizing.measuring import Reading, Task, read
from endive.sizing.objectives import parse_objective
from endive.sizing.planning import Plan
from endive.transaction import TransactionResult, TransactionStatus

DURATION_MS = 100_000.0
SETTLE_MS = 10_000.0


def ended(
    txn_id: int,
    comes_ms: float,
    latency_ms: float,
    *,
    reason: str | None = None,
    in_flight: bool = False,
    name: str = "writers",
    operation: str = "fast_append",
    retries: int = 0,
    works_ms: float = 1000.0,
) -> TransactionResult:
    """A transaction that comes to commit at an instant and takes so long over it."""
    end_ms = comes_ms + latency_ms
    if in_flight:
        status = TransactionStatus.COMMITTING
    else:
        status = TransactionStatus.ABORTED if reason else TransactionStatus.COMMITTED
    return TransactionResult(
        status, txn_id,
        -1.0 if reason or in_flight else end_ms,
        end_ms if reason else -1.0,
        reason, retries, latency_ms, works_ms + latency_ms, operation, works_ms,
        0, 0, 0, 0, 0.0, 0.0, 0.0, latency_ms,
        submit_time_ms=comes_ms - works_ms,
        class_name=name,
    )  # fmt: skip


def reading(results: list[TransactionResult], *objectives: str, ramp_ms: float = 0.0) -> Reading:
    statistics = Statistics(seed=1, duration_ms=DURATION_MS)
    for each in results:
        if each.status is not TransactionStatus.COMMITTING:
            statistics.record_transaction(each)
    for each in results:
        if each.status is TransactionStatus.COMMITTING:
            statistics.record_in_flight(each)
    parsed = tuple(parse_objective(each) for each in objectives)
    plan = Plan(DURATION_MS, ramp_ms, SETTLE_MS, (), 0.0)
    return read(statistics, Task({}, "", 1, parsed, frozenset({"writers"}), plan))


def test_who_is_in_flight_past_the_limit_is_a_miss() -> None:
    rows = [ended(1, 1000, 500), ended(2, 2000, 3000), ended(3, 80_000, 20_000, in_flight=True)]
    (tally,) = reading(rows, "p99<2s").tallies
    assert (tally.trials, tally.hits) == (3, 1)
    assert tally.missed.fates == {"late": 1, "in_flight": 1}
    assert tally.slowest_ms.tolist() == [500.0, 3000.0, math.inf]


def test_who_comes_too_late_to_be_seen_to_end_is_not_judged_however_it_ends() -> None:
    rows = [ended(1, 1000, 500), ended(2, 95_000, 100), ended(3, 95_000, 5000, in_flight=True)]
    (latency, success) = reading(rows, "p99<2s", "success>=90%").tallies
    assert (latency.trials, latency.hits) == (1, 1)
    assert (success.trials, success.hits, success.possible_hits) == (1, 1, 1)


def test_who_still_works_has_not_come_to_commit() -> None:
    working = ended(1, DURATION_MS, 0.0, in_flight=True, works_ms=80_000)
    (latency, success, total) = reading(
        [working], "p99<2s", "success>=90%", "total.p99<10s"
    ).tallies
    assert (latency.trials, success.trials) == (0, 0)
    # Submitted 80 s ago, and may take ten in all.
    assert (total.trials, total.hits) == (1, 0)


def test_an_abort_has_no_latency_but_fails() -> None:
    rows = [ended(1, 1000, 500), ended(2, 2000, 700, reason="max_retries", retries=4)]
    (latency, success) = reading(rows, "p99<2s", "success>=90%").tallies
    assert (latency.trials, latency.hits) == (1, 1)
    assert (success.trials, success.hits) == (2, 1)
    assert success.missed.fates == {"max_retries": 1}
    assert success.missed.parts_ms["catalog_commit"] == 700.0
    assert success.missed.retries == 4


def test_who_still_goes_on_may_have_succeeded() -> None:
    rows = [ended(1, 1000, 500), ended(2, 50_000, 50_000, in_flight=True)]
    (success,) = reading(rows, "success>=90%").tallies
    assert (success.trials, success.hits, success.possible_hits) == (2, 1, 2)


def test_the_limit_itself_is_kept_unless_it_must_be_below() -> None:
    rows = [ended(1, 1000, 2000)]
    strict, lenient = reading(rows, "p99<2s", "p99<=2s").tallies
    assert (strict.hits, lenient.hits) == (0, 1)


def test_objectives_are_about_their_subject() -> None:
    rows = [
        ended(1, 1000, 100),
        ended(2, 1000, 200, operation="merge_append"),
        ended(3, 1000, 9000, name="maintenance", operation="rewrite_files"),
    ]
    found = reading(
        rows, "p99<5s", "merge_append.p99<5s", "maintenance.p99<5s", "rewrite_files.success>=1%"
    )
    assert [each.trials for each in found.tallies] == [2, 1, 1, 1]
    assert [each.hits for each in found.tallies] == [2, 1, 0, 1]


def test_throughput_counts_commits_per_second_of_the_window() -> None:
    rows = [ended(place, 1000.0 * place, 500) for place in range(100)]
    (tally,) = reading(rows, "throughput>=1/s", ramp_ms=10_000.0).tallies
    # Commits from 10.5 s to 89.5 s, in 80 s.
    assert tally.rate_per_s == pytest.approx(80 / 80)


def test_a_transient_is_cut_off() -> None:
    rng = np.random.default_rng(5)
    slow = [ended(place, 50.0 * place, 1500.0 - 2.0 * place) for place in range(600)]
    steady = [
        ended(600 + place, 30_000 + 50.0 * place, 300.0 + rng.normal(0, 5)) for place in range(1400)
    ]
    found = reading([*slow, *steady], "p99<400ms")
    assert found.flow.is_steady
    assert 29_000 <= found.flow.warmup_ms < 60_000
    (tally,) = found.tallies
    assert tally.hits == tally.trials > 500


def test_calls_and_losses_are_counted() -> None:
    rows = [
        ended(1, 1000, 100),
        ended(2, 2000, 300, retries=2),
        ended(3, 3000, 900, retries=4, reason="max_retries"),
    ]
    flow = reading(rows, "p99<2s").flow
    assert (flow.arrived, flow.committed, flow.calls, flow.lost) == (3, 2, 9, 7)
    assert (flow.first_tries, flow.first_try_ms) == (1, 100.0)
    assert flow.swapping_ms == 1300.0
