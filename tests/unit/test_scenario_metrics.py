"""Every metric, measured on a run of four transactions that was written down by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from endive.attempts import AttemptLog
from endive.scenario.metrics import METRICS, Level, Observed, Selection, chosen_ids, observe
from endive.simulation import Statistics
from endive.transaction import TransactionResult, TransactionStatus
from endive.transaction.attempts import Attempt

_COUNTS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
)
_TIMES = (
    "catalog_read_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "start_io_ms",
    "rework_ms",
)
_RUN = {
    name: 100.0 + place
    for place, name in enumerate(
        name for name, metric in METRICS.items() if metric.level is Level.RUN
    )
}


def _result(txn_id: int, status: str, **changes: Any) -> TransactionResult:
    settings: dict[str, Any] = {
        "status": TransactionStatus[status],
        "txn_id": txn_id,
        "commit_time_ms": -1.0,
        "abort_time_ms": -1.0,
        "abort_reason": None,
        "total_retries": 0,
        "commit_latency_ms": 0.0,
        "total_latency_ms": 0.0,
        "operation_type": "fast_append",
        "runtime_ms": 10.0,
        **dict.fromkeys((*_COUNTS, *_TIMES), 0),
        "submit_time_ms": 100.0 * txn_id,
    }
    return TransactionResult(**{**settings, **changes})


def _amounts(base: int) -> dict[str, int]:
    """A different amount of everything: the first count is `base`, the next is one more."""
    return {name: base + place for place, name in enumerate((*_COUNTS, *_TIMES))}


def _attempt(txn_id: int, attempt: int, outcome: str, **changes: Any) -> Attempt:
    settings: dict[str, Any] = {
        "restart": 0,
        "operation_type": "fast_append",
        "class_name": "writer",
        "conflict_class": None,
        "snapshots_behind": 0,
        "t_commit_call": 50.0,
        **dict.fromkeys((*_COUNTS, *_TIMES), 0),
    }
    return Attempt(txn_id, attempt, outcome=outcome, **{**settings, **changes})


@pytest.fixture(scope="module")
def statistics() -> Statistics:
    """Two commits, an abort and one in flight, in two seconds."""
    run = Statistics(duration_ms=2_000.0, **_RUN)  # type: ignore[arg-type]
    committed = {"restarts": 1, "false_conflicts": 2, "real_conflicts": 1, "class_name": "writer"}
    run.record_transaction(
        _result(
            0, "COMMITTED", commit_time_ms=90.0, total_latency_ms=90.0, commit_latency_ms=80.0,
            total_retries=3, **committed, **_amounts(20),
        )
    )  # fmt: skip
    run.record_transaction(
        _result(
            2, "COMMITTED", commit_time_ms=230.0, total_latency_ms=30.0, commit_latency_ms=20.0,
            runtime_ms=40.0, total_retries=1, class_name="writer", **_amounts(40),
        )
    )  # fmt: skip
    run.record_transaction(
        _result(
            1, "ABORTED", abort_time_ms=700.0, total_latency_ms=600.0, commit_latency_ms=590.0,
            total_retries=5, abort_reason="max_retries", operation_type="validated_overwrite",
            class_name="cleaner", **_amounts(60),
        )
    )  # fmt: skip
    run.record_in_flight(
        _result(3, "COMMITTING", unfinished_ms=7.0, total_retries=90, class_name="writer")
    )
    run.attempts = AttemptLog()
    cleaner = {"operation_type": "validated_overwrite", "class_name": "cleaner"}
    for row in (
        _attempt(0, 0, "failed", t_commit_call=60.0, **_amounts(1)),
        _attempt(
            0, 1, "committed", t_commit_call=85.0, conflict_class="overlap", snapshots_behind=4, **_amounts(3)
        ),
        _attempt(1, 0, "failed", conflict_class="cross_table", **cleaner),
        _attempt(1, 1, "failed", conflict_class="cross_table", snapshots_behind=2, **cleaner),
        _attempt(1, 2, "validation_exception", conflict_class="overlap", t_commit_call=-1.0, **cleaner),
        _attempt(2, 0, "committed"),
    ):  # fmt: skip
        run.attempts.add(row)
    return run


def _cases() -> Iterator[tuple[str, dict[str, Any], Observed]]:
    def case(name: str, value: float | None, **selection: Any) -> tuple[str, Any, Observed]:
        return name, selection, Observed(value)

    yield case("count", 4)
    yield case("count", 3, operation="fast_append")
    yield case("count", 1, named="cleaner")
    yield case("count", 1, status="in_flight")
    yield case("count", 1, reason="max_retries")
    yield case("count", 0, reason="retry_timeout")
    yield case("committed", 2)
    yield case("aborted", 1)
    yield case("aborted", 0, operation="fast_append")
    yield case("in_flight", 1)
    yield "success_rate", {}, Observed(2 / 3, 2, 3)
    yield "success_rate", {"named": "cleaner"}, Observed(0.0, 0, 1)
    yield "success_rate", {"named": "nobody"}, Observed(None, 0, 0)
    yield "censored_share", {}, Observed(1 / 4, 1, 4)
    yield case("commits_per_s", 1.0)
    yield case("offered_per_s", 2.0)
    yield case("retries", 3.0)  # what is in flight may go on, so it is left out
    yield case("retries", 5.0, aggregate="max")
    yield case("retries", 1.0, aggregate="min")
    yield case("retries", 9.0, aggregate="sum")
    yield case("retries", 3.0, aggregate="p50")
    yield case("retries", 90.0, status="in_flight")
    yield case("restarts", 1.0, aggregate="sum")
    yield case("false_conflicts", 2.0, aggregate="max")
    yield case("real_conflicts", 1.0, aggregate="max")
    yield case("latency_ms", 60.0)
    yield case("latency_ms", 600.0, status="aborted")
    yield case("latency_ms", None, operation="validated_overwrite")
    yield case("latency_ms", 0.0, operation="validated_overwrite", aggregate="sum")
    yield case("commit_latency_ms", 50.0)
    yield case("commit_time_ms", 230.0, aggregate="max")
    yield case("abort_time_ms", 700.0)
    yield case("submit_time_ms", 150.0)
    yield case("runtime_ms", 20.0)
    yield case("unfinished_ms", 7.0)
    yield case("attempts", 6)
    yield case("attempts", 2, attempt=1)
    yield case("attempts", 2, conflict_class="overlap")
    yield case("attempts", 3, operation="validated_overwrite")
    yield case("snapshots_behind", 3.0, attempt=1)
    yield case("snapshots_behind", 4.0, named="writer", attempt=1)
    yield case("snapshots_behind", None, attempt=9)
    yield "attempt_failure_rate", {}, Observed(3 / 5, 3, 5)
    # Of three retries one found only other tables changed; the first attempt that looked is none.
    yield "cross_table_share", {}, Observed(1 / 3, 1, 3)
    yield case("call_time_ms", 85.0, aggregate="max")
    for place, name in enumerate((*_COUNTS, *_TIMES)):
        yield case(name, (20 + 40 + 60) / 3 + place)
        yield case(name, 30.0 + place, status="committed")
        yield case(f"attempt_{name}", 3.0 + place, attempt=1, named="writer")
        yield case(f"attempt_{name}", 1.0 + 3.0 + 2 * place, aggregate="sum")
    for name, value in _RUN.items():
        yield case(name, value)


CASES = list(_cases())


@pytest.mark.parametrize(
    ("name", "selection", "expected"), CASES, ids=[f"{name} {chosen}" for name, chosen, _ in CASES]
)
def test_value_is_what_one_counts_by_hand(
    statistics: Statistics, name: str, selection: dict[str, Any], expected: Observed
) -> None:
    found = observe(statistics, METRICS[name], Selection(**selection))
    assert found.value == (
        None if expected.value is None else pytest.approx(expected.value, rel=1e-12)
    )
    assert (found.successes, found.trials) == (expected.successes, expected.trials)


def test_no_metric_is_left_out() -> None:
    assert {name for name, _, _ in CASES} == set(METRICS)


def test_quantiles_lie_between_the_rows(statistics: Statistics) -> None:
    # Between 30 and 90: 95 % of the way from the one to the other.
    found = observe(statistics, METRICS["latency_ms"], Selection(aggregate="p95"))
    assert found.value == pytest.approx(87.0)


def test_ids_of_a_selection_are_in_order(statistics: Statistics) -> None:
    count, aborted = METRICS["count"], METRICS["abort_time_ms"]
    assert chosen_ids(statistics, count, Selection(named="writer")) == [0, 2, 3]
    assert chosen_ids(statistics, count, Selection(named="nobody")) == []
    # Whoever was not aborted has no time of it, so the story is not about them.
    measured = chosen_ids(statistics, aborted, Selection())
    assert measured == chosen_ids(statistics, count, Selection(status="aborted"))
    assert chosen_ids(statistics, METRICS["seq"], Selection()) == []


def test_selection_is_told_in_words() -> None:
    everything = Selection(
        operation="fast_append", named="writer", status="aborted", reason="max_retries", attempt=2,
        conflict_class="overlap",
    )  # fmt: skip
    assert (
        everything.words()
        == "aborted fast_append 'writer' aborted with max_retries attempt 2 after overlap"
    )
    assert Selection().words() == ""


def test_run_without_transactions_has_counts_and_nothing_else() -> None:
    empty = Statistics(duration_ms=10.0)
    assert observe(empty, METRICS["count"], Selection()).value == 0.0
    assert observe(empty, METRICS["retries"], Selection()).value is None
    assert observe(empty, METRICS["success_rate"], Selection()).value is None
