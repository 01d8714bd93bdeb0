"""Faults of the protocol: what a transaction reads, waits for, decides and tells (`Transaction.execute`)."""

from __future__ import annotations

from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited, setting
from endive.transaction import Backoff, Transaction
from endive.transaction.operations import PricedTransaction
from endive.transaction.pricing import classify, may_be_real
from endive.transaction.result import result_of

_RUNTIME_FIRST = (
    (
        "start = seen = yield from self._read(catalog, clock, emit)",
        "yield self.runtime_ms; start = seen = yield from self._read(catalog, clock, emit)",
    ),
    ("yield self.runtime_ms\n", "pass\n"),
)
_ABORT = "if is_real and self.should_abort_on_real_conflict():\n                    break"
_PAY_VALIDATION = 'yield from payer.pay(dues, current, "conflict_io_ms", "validate", width)'
_GIVE_UP = "return self.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, now_ms)"
_BACK_OFF = "if backoff is not None:\n"
_LATE = "return self.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, clock.now)"

_SNAPSHOTS = (
    Mutant(
        "snapshot-after-runtime",
        "the snapshot is taken when the work is done",
        "Simulator Internals, Critical Invariants 1",
        ("snapshot-before-runtime",),
        on.CROWD,
        edited(Transaction.execute, *_RUNTIME_FIRST),
    ),
    Mutant(
        "retry-without-read",
        "a lost commit is tried again without a look at the catalog",
        "Specification §8.8: must call catalog.read()",
        ("failure-then-read",),
        on.CROWD,
        edited(
            Transaction.execute,
            ("current = yield from self._read(catalog, clock, emit)", "current = seen"),
        ),
    ),
    Mutant(
        "expects-the-live-seq",
        "a commit expects the catalog's seq of this instant, not the one seen",
        "Specification §8.2, §8.7: only read() and commit()",
        ("cas-expectation",),
        on.CROWD,
        edited(Transaction.execute, ("catalog.commit(seen.seq,", "catalog.commit(catalog.seq,")),
    ),
    Mutant(
        "restart-keeps-old-start",
        "after a restart history counts from the first start of all",
        "Fidelity Report §4.3: a completely new operation",
        ("n-matches-history",),
        on.RESTART,
        edited(
            Transaction.execute,
            (
                "start = seen = yield from self._read(catalog, clock, emit)",
                "seen = yield from self._read(catalog, clock, emit); start = seen if self.work_done_ms < 0.0 else start",
            ),
        ),
    ),
    Mutant(
        "restart-without-work",
        "a restart books the runtime again and does not take it",
        "Fidelity Report §4.3: the full transaction runtime again",
        ("time-conserved",),
        on.RESTART,
        edited(
            Transaction.execute,
            (
                "yield self.runtime_ms\n",
                "yield self.runtime_ms if self.work_done_ms < 0.0 else 0.0\n",
            ),
        ),
    ),
)

_CONFLICTS = (
    Mutant(
        "overlap-never",
        "a change of the same partition is taken for a disjoint one",
        "Specification §3.3",
        ("class-matches-history",),
        on.CROWD,
        edited(Transaction.overlaps_table, ("return any(", "return False and any(")),
    ),
    Mutant(
        "overlap-always",
        "disjoint partitions are taken for overlap",
        "Specification §3.3",
        ("class-matches-history",),
        on.CROWD,
        edited(Transaction.overlaps_table, ("return any(", "return True or any(")),
    ),
    Mutant(
        "no-partitions-no-overlap",
        "without partition tracking nothing overlaps",
        "Specification §3.3: assume overlap",
        ("class-matches-history",),
        on.NO_PARTITIONS,
        edited(Transaction.overlaps_table, ("return True\n", "return False\n")),
    ),
    Mutant(
        "cross-table-as-disjoint",
        "a commit to another table is taken for one to the same",
        "Specification §8.4",
        ("class-matches-history",),
        on.CROWD,
        edited(
            classify,
            ("if seen.tables[table_id].version == current.tables[table_id].version:", "if False:"),
        ),
    ),
    Mutant(
        "read-set-class-ignored",
        "a change of a table that was only read is not found",
        "Append Simulation Design: read-set for serializable isolation",
        ("class-matches-history",),
        on.SERIALIZABLE,
        edited(classify, ("if serializable:", "if False:")),
    ),
    Mutant(
        "real-conflict-ignored",
        "a real conflict does not end the transaction",
        "Specification §3.4: aborts with validation_exception",
        ("real-conflict-ends-or-merges",),
        on.CROWD,
        edited(Transaction.execute, (_ABORT, "if False:\n                    break")),
    ),
    Mutant(
        "real-conflict-for-appends",
        "appends ask the detector, too, and abort",
        "Specification §3.4: no real conflicts possible",
        ("real-conflict-ends-or-merges",),
        on.CROWD,
        setting(PricedTransaction, "can_have_real_conflict", lambda self: True),
    ),
    Mutant(
        "detector-not-asked",
        "an overlapping overwrite does not ask whether the conflict is real",
        "Specification §3.4: full validation",
        ("real-conflict-ends-or-merges",),
        on.CROWD,
        edited(may_be_real, ("if not finding.overlaps:", "if True:")),
    ),
    Mutant(
        "detector-asked-when-disjoint",
        "the detector is asked where nothing overlaps",
        "Specification §8.4: no overlap is no conflict",
        ("real-conflict-ends-or-merges",),
        on.CROWD,
        edited(may_be_real, ("if not finding.overlaps:", "if False:")),
    ),
    Mutant(
        "one-restart-too-many",
        "the application starts again more often than allowed",
        "Fidelity Report §4.3; max_restarts",
        ("real-conflict-ends-or-merges",),
        on.RESTART,
        edited(
            Transaction.execute,
            (
                "self.extras.restarts == options.max_restarts",
                "self.extras.restarts == options.max_restarts + 1",
            ),
        ),
    ),
)

_RETRIES = (
    Mutant(
        "one-retry-too-many",
        "a transaction has one attempt more than allowed",
        "Specification §3.2: up to max_retries + 1 attempts",
        ("retry-limit",),
        on.CROWD,
        edited(
            Transaction.execute,
            ("range(max_retries + 1)", "range(max_retries + 2)"),
            ("attempt == max_retries:", "attempt == max_retries + 1:"),
        ),
    ),
    Mutant(
        "one-retry-too-few",
        "a transaction has one attempt less than allowed",
        "Specification §3.2: up to max_retries + 1 attempts",
        ("retry-limit",),
        on.CROWD,
        edited(Transaction.execute, ("attempt == max_retries:", "attempt == max_retries - 1:")),
    ),
    Mutant(
        "retries-counted-from-one",
        "the row counts the first commit call as a retry",
        "docs/MODEL.md: commit calls after the first",
        ("counts-conserved",),
        on.CROWD,
        edited(result_of, ("max(0, txn.commit_calls - 1)", "txn.commit_calls")),
    ),
    Mutant(
        "read-after-last-attempt",
        "the catalog is read after the last permitted attempt",
        "trap: the convoy paid after the last permitted attempt",
        ("nothing-after-last-attempt",),
        on.CROWD,
        edited(
            Transaction.execute, (_GIVE_UP, "yield from self._read(catalog, clock, emit); " + _LATE)
        ),
    ),
    Mutant(
        "cost-after-last-attempt",
        "the attempt is paid once more after the last permitted one",
        "trap: the convoy paid after the last permitted attempt",
        ("nothing-after-last-attempt",),
        on.CROWD,
        edited(
            Transaction.execute,
            (_GIVE_UP, 'yield from payer.pay(dues, seen, "conflict_io_ms", "validate"); ' + _LATE),
        ),
    ),
    Mutant(
        "backoff-after-last-attempt",
        "a transaction backs off before it gives up",
        "docs/MODEL.md: no read, no I/O, no backoff",
        ("nothing-after-last-attempt",),
        on.BACKOFF,
        edited(
            Transaction.execute,
            (
                _GIVE_UP,
                "wait_ms = backoff.wait_ms(attempt + 1); yield wait_ms; self.backoff_ms += wait_ms; "
                "emit(BackedOff(clock.now, self.txn_id, attempt + 1, wait_ms)); " + _LATE,
            ),
        ),
    ),
    Mutant(
        "budget-ignored",
        "retries go on when the retry budget is spent",
        "Fidelity Report §3.3: the retry budget",
        ("retry-budget",),
        on.BUDGET,
        edited(Transaction.execute, ("now_ms - first_call_ms >= budget_ms", "False")),
    ),
    Mutant(
        "budget-from-submission",
        "the retry budget runs from submission",
        "docs/MODEL.md: from the first commit call of the run",
        ("retry-budget",),
        on.BUDGET,
        edited(
            Transaction.execute,
            ("now_ms - first_call_ms >= budget_ms", "now_ms - self.submit_time_ms >= budget_ms"),
        ),
    ),
    Mutant(
        "backoff-ignored",
        "a configured backoff does not happen",
        "trap: backoff read from the config by nobody",
        ("backoff-shape",),
        on.BACKOFF,
        edited(Transaction.execute, (_BACK_OFF, "if False:\n")),
    ),
    Mutant(
        "jitter-out-of-bounds",
        "the jitter is three times as wide as configured",
        "Fidelity Report §1.2: with jitter",
        ("backoff-shape",),
        on.BACKOFF,
        edited(Backoff.wait_ms, ("self.jitter * swing", "3.0 * self.jitter * swing")),
    ),
    Mutant(
        "backoff-cap-ignored",
        "the backoff grows beyond its cap",
        "Fidelity Report §1.2: capped at max_ms",
        ("backoff-shape",),
        on.BACKOFF,
        edited(
            Backoff.wait_ms,
            (
                "min(self.max_ms, self.base_ms * self.multiplier**exponent)",
                "self.base_ms * self.multiplier**exponent",
            ),
        ),
    ),
    Mutant(
        "backoff-one-step-ahead",
        "the first wait is already multiplied",
        "Fidelity Report §1.2: multiplier^(retry-1)",
        ("backoff-shape",),
        on.BACKOFF,
        edited(Backoff.wait_ms, ("min(retry - 1, 1000)", "min(retry, 1000)")),
    ),
)

_ORDER = (
    Mutant(
        "validation-skipped-on-abort",
        "a validation that finds a real conflict is not paid",
        "trap: validation cost skipped on the attempt that aborts",
        ("validation-paid-before-abort",),
        on.CROWD,
        edited(
            Transaction.execute,
            (_PAY_VALIDATION, "pass"),
            (_ABORT, f"{_ABORT}\n                {_PAY_VALIDATION}"),
        ),
    ),
)

MUTANTS = (*_SNAPSHOTS, *_CONFLICTS, *_RETRIES, *_ORDER)
