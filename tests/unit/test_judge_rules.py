"""Every rule that must always hold passes on a real trace and fails on the same trace with one event spoiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from unit.judge_traces import CONFIGS, spoiled, trace_of

from endive.judge.engine import judge
from endive.judge.model import Kind, Outcome, Scope, Verdict
from endive.judge.registry import INVARIANTS, by_id
from endive.trace import (
    BackedOff,
    CatalogRead,
    Classified,
    CommitApplied,
    CommitCalled,
    CommitRefused,
    CommitReturned,
    Finished,
    IoPaid,
    Judged,
    ListAppended,
    LogAppended,
    LogCompacted,
    StorageUsed,
    Submitted,
    Trace,
    Worked,
)


class Case(NamedTuple):
    """One event of a real trace, spoiled, and the invariant that must notice."""

    id: str
    trace: str
    kind: type[Any]
    spoil: Callable[[Any], Any]
    where: Callable[[Any], bool] = lambda _: True


def _counted(place: int, by: int = 1) -> Callable[[Any], Any]:
    """One count of a payment or a row, off by one."""

    def spoil(event: Any) -> Any:
        counts = list(event.counts)
        counts[place] += by
        return event._replace(counts=tuple(counts))

    return spoil


def is_answered(event: Any) -> bool:
    """Whether it happened so early that the end of the run did not cut off what follows from it."""
    return bool(event.t_ms < 3_000)


def _leave_out(_event: Any) -> None:
    return None


def _pays(place: int, reason: str) -> Callable[[Any], bool]:
    return lambda paid: bool(paid.counts[place]) and paid.reason == reason


LISTS, HISTORICAL, FILES_WRITTEN, APPENDS, LISTS_WRITTEN = 1, 2, 4, 5, 6

CASES = (
    Case("seq-adds-one", "swap", CommitApplied, lambda e: e._replace(seq_after=e.seq_after + 1)),
    Case("seq-starts-at-zero", "swap", CatalogRead, lambda e: e._replace(seq=1, t_ms=0.0)),
    Case("snapshot-is-a-past-state", "swap", CatalogRead, lambda e: e._replace(seq=e.seq + 1)),
    Case(
        "snapshot-is-a-past-state",
        "swap",
        CatalogRead,
        lambda e: e._replace(partition_versions=((e.partition_versions[0][0] + 1,),)),
    ),
    Case("snapshot-is-a-past-state", "swap", CatalogRead, lambda e: e._replace(t_ms=e.t_ms + 1e4)),
    Case("snapshot-before-runtime", "swap", Worked, lambda e: e._replace(runtime_ms=1e6)),
    Case("lists-exact", "swap", IoPaid, _counted(HISTORICAL), _pays(HISTORICAL, "validate")),
    Case("lists-exact", "swap", IoPaid, _counted(HISTORICAL, -1), _pays(HISTORICAL, "validate")),
    Case("lists-exact", "swap", IoPaid, _counted(HISTORICAL), lambda e: e.reason == "attempt"),
    Case(
        "class-matches-history",
        "swap",
        Classified,
        lambda e: e._replace(classes=("cross_table",)),
        lambda e: e.classes == ("overlap",),
    ),
    Case(
        "n-matches-history",
        "swap",
        Classified,
        lambda e: e._replace(snapshots_behind=e.snapshots_behind + 1),
    ),
    Case("n-matches-history", "swap", Classified, lambda e: e._replace(replaced=e.replaced + 1)),
    Case(
        "real-conflict-ends-or-merges",
        "swap",
        Judged,
        lambda e: e._replace(is_real=False),
        lambda e: e.is_real,
    ),
    Case("real-conflict-ends-or-merges", "swap", Judged, _leave_out, lambda e: not e.is_real),
    Case("latency-floor", "swap", CatalogRead, lambda e: e._replace(read_ms=0.5)),
    Case("latency-floor", "log", CommitReturned, lambda e: e._replace(commit_ms=1.0)),
    Case("latency-floor", "swap", StorageUsed, lambda e: e._replace(took_ms=0.5)),
    Case("latency-floor", "swap", StorageUsed, lambda e: e._replace(batches=1000)),
    Case("storage-explains-payments", "swap", StorageUsed, _leave_out),
    Case("storage-explains-payments", "swap", StorageUsed, lambda e: e._replace(t_ms=e.t_ms + 1)),
    Case(
        "storage-explains-payments",
        "swap",
        StorageUsed,
        lambda e: e._replace(operations=e.operations + 1, batches=e.batches + 1),
        lambda e: e.action == "cas",
    ),
    Case(
        "storage-explains-payments",
        "swap",
        StorageUsed,
        lambda e: e._replace(batches=e.operations),
        lambda e: e.operations > e.batches,
    ),
    Case(
        "storage-explains-payments",
        "swap",
        StorageUsed,
        lambda e: e._replace(artifact="manifest_file"),
        lambda e: e.artifact == "manifest_list",
    ),
    Case(
        "storage-explains-payments",
        "log",
        StorageUsed,
        _leave_out,
        lambda e: e.artifact == "log" and is_answered(e),
    ),
    Case(
        "storage-explains-payments",
        "lists",
        StorageUsed,
        lambda e: e._replace(action="write"),
        lambda e: e.action == "append",
    ),
    Case(
        "storage-explains-payments",
        "lists",
        IoPaid,
        lambda e: e._replace(paid_ms=e.paid_ms + 1),
        lambda e: e.reason == "list",
    ),
    Case(
        "failure-then-read",
        "swap",
        CommitCalled,
        lambda e: e._replace(expected_seq=e.expected_seq + 1),
    ),
    Case(
        "append-outcome-by-own-record",
        "log",
        CommitReturned,
        lambda e: e._replace(success=not e.success),
    ),
    Case(
        "append-outcome-by-own-record",
        "log",
        LogAppended,
        lambda e: e._replace(applied=True),
        lambda e: e.landed and not e.applied,
    ),
    Case(
        "append-needs-discovery",
        "log",
        LogAppended,
        lambda e: e._replace(t_ms=e.t_ms + 1e5),
        lambda e: e.landed and is_answered(e),
    ),
    Case(
        "entry-valid-iff-committed", "entries", IoPaid, _counted(APPENDS), _pays(APPENDS, "attempt")
    ),
    Case(
        "entry-valid-iff-committed",
        "lists",
        ListAppended,
        lambda e: e._replace(landed=False),
        lambda e: e.landed and is_answered(e),
    ),
    Case("topology-fixed", "swap", Submitted, lambda e: e._replace(partitions=((7,),))),
    Case("topology-fixed", "groups", CommitApplied, lambda e: e._replace(tables=(0, 9))),
    Case("flow-balance", "swap", Finished, _leave_out),
    Case("flow-balance", "swap", Submitted, lambda e: e._replace(t_ms=4_000.0)),
    Case("time-conserved", "swap", IoPaid, _leave_out),
    Case("time-conserved", "swap", Finished, lambda e: e._replace(total_ms=e.total_ms + 1)),
    Case(
        "time-conserved",
        "swap",
        Finished,
        lambda e: e._replace(parts_ms=(e.parts_ms[0] + 1, *e.parts_ms[1:])),
    ),
    Case("counts-conserved", "swap", Finished, _counted(LISTS)),
    Case("counts-conserved", "swap", Finished, lambda e: e._replace(retries=e.retries + 1)),
    Case("events-in-order", "swap", Worked, lambda e: e._replace(t_ms=0.0)),
    Case(
        "no-phantom-commit",
        "swap",
        Finished,
        lambda e: e._replace(status="aborted", abort_reason="max_retries"),
        lambda e: e.status == "committed",
    ),
    Case(
        "no-phantom-commit",
        "swap",
        CommitReturned,
        lambda e: e._replace(success=True),
        lambda e: not e.success,
    ),
    Case("versions-never-decrease", "swap", CommitApplied, lambda e: e._replace(versions=(0,))),
    Case("versions-never-decrease", "swap", CommitCalled, lambda e: e._replace(versions=(0,))),
    Case("cas-expectation", "swap", CommitRefused, lambda e: e._replace(seq=e.expected_seq)),
    Case("cas-expectation", "groups", CommitRefused, _leave_out, is_answered),
    Case("groups-never-spanned", "groups", Submitted, lambda e: e._replace(tables_read=(0, 1, 2))),
    Case(
        "retry-limit",
        "swap",
        Finished,
        lambda e: e._replace(abort_reason="validation_exception"),
        lambda e: e.abort_reason == "max_retries",
    ),
    Case("retry-limit", "swap", CommitCalled, lambda e: e._replace(attempt=e.attempt + 1)),
    Case(
        "retry-budget",
        "budget",
        Finished,
        lambda e: e._replace(abort_reason="max_retries"),
        lambda e: e.abort_reason == "retry_timeout",
    ),
    Case(
        "nothing-after-last-attempt",
        "swap",
        CommitReturned,
        _leave_out,
        lambda e: e.success,
    ),
    Case("backoff-shape", "swap", BackedOff, lambda e: e._replace(backoff_ms=e.backoff_ms * 2)),
    Case("backoff-shape", "swap", BackedOff, _leave_out, is_answered),
    Case("costs-as-priced", "swap", IoPaid, _counted(LISTS_WRITTEN), _pays(LISTS, "rebuild")),
    Case("costs-as-priced", "swap", IoPaid, lambda e: e._replace(reason="install")),
    Case("costs-as-priced", "swap", CommitApplied, lambda e: e._replace(manifests=(1,))),
    Case("per-attempt-first", "swap", IoPaid, _counted(FILES_WRITTEN, -1), _pays(4, "attempt")),
    Case("log-grows-by-records", "log", LogAppended, lambda e: e._replace(length=e.length + 1)),
    Case("log-grows-by-records", "log", LogCompacted, lambda e: e._replace(won=not e.won)),
    Case(
        "lists-grow-by-entries",
        "lists",
        ListAppended,
        lambda e: e._replace(offset=1),
        lambda e: e.landed,
    ),
)


def verdict_on(trace: Trace, id: str) -> Verdict:
    """What one invariant says about a trace."""
    return next(verdict for verdict in judge(trace) if verdict.invariant.id == id)


@pytest.mark.parametrize("name", CONFIGS)
def test_real_trace_violates_nothing(name: str) -> None:
    bad = [v for v in judge(trace_of(name)) if v.outcome in (Outcome.FAIL, Outcome.ERROR)]

    assert [(v.invariant.id, v.detail, v.violations[:1]) for v in bad] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}-{case.kind.__name__}")
def test_one_spoiled_event_is_noticed_and_told_as_a_story(case: Case) -> None:
    trace = trace_of(case.trace)
    assert verdict_on(trace, case.id).outcome is Outcome.PASS

    verdict = verdict_on(spoiled(trace, case.kind, case.spoil, case.where), case.id)

    assert verdict.outcome is Outcome.FAIL, verdict.detail
    story = verdict.violations[0].story
    clause = by_id(case.id).clause
    assert "T" in story
    assert (f"§{clause}" if clause[0].isdigit() else "§") in story
    assert "--seed 1 --trace" in story


def test_commit_applied_twice_is_noticed() -> None:
    trace = trace_of("swap")
    commit = next(e for e in trace.events if isinstance(e, CommitApplied))
    twice = trace._replace(events=(*trace.events, commit))

    verdict = verdict_on(twice, "commits-at-most-once")

    assert verdict.outcome is Outcome.FAIL
    assert f"T{commit.txn_id} was applied 2 times" in verdict.violations[0].story


def test_retry_that_lost_to_another_table_and_pays_all_the_same_is_noticed() -> None:
    trace = trace_of("swap")
    free = next(e for e in trace.events if isinstance(e, Classified) and "overlap" not in e.classes)
    place = trace.events.index(free)
    paid = IoPaid(free.t_ms, free.txn_id, free.attempt, "rebuild", 0.0, (0, 1, 0, 0, 0, 0, 0, 0))
    events = (*trace.events[: place + 1], paid, *trace.events[place + 1 :])

    verdict = verdict_on(trace._replace(events=events), "cross-table-retry-free")

    assert verdict.outcome is Outcome.FAIL
    assert f"T{free.txn_id}" in verdict.violations[0].story
    assert "§8.12" in verdict.violations[0].story


def test_real_conflict_without_its_validation_is_noticed() -> None:
    trace = trace_of("swap")
    asked = next(e for e in trace.events if isinstance(e, Judged) and e.is_real)
    unpaid = tuple(
        event
        for event in trace.events
        if not (
            isinstance(event, IoPaid)
            and (event.txn_id, event.attempt, event.reason)
            == (asked.txn_id, asked.attempt, "validate")
        )
    )

    verdict = verdict_on(trace._replace(events=unpaid), "validation-paid-before-abort")

    assert verdict.outcome is Outcome.FAIL
    assert f"T{asked.txn_id}" in verdict.violations[0].story


def test_every_rule_that_always_holds_in_a_trace_has_been_seen_to_fail() -> None:
    tried = {case.id for case in CASES} | {
        "commits-at-most-once",
        "cross-table-retry-free",
        "validation-paid-before-abort",
    }

    always = {i.id for i in INVARIANTS if i.kind is Kind.ALWAYS and i.scope is Scope.TRACE}
    assert always == tried
