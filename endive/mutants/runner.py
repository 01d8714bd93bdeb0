"""Faults of the runner: who is launched, driven and recorded."""

from __future__ import annotations

from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited
from endive.simulation.environment import Environment
from endive.simulation.runner import Run
from endive.transaction.result import result_of

MUTANTS = (
    Mutant(
        "in-flight-lost",
        "transactions in flight at the end have no row",
        "trap: transactions in flight lost at the end",
        ("flow-balance",),
        on.CROWD,
        edited(Run.until_end, ("in self._in_flight.values():", "in ():")),
    ),
    Mutant(
        "slow-ones-lost",
        "a transaction that retried often is not recorded when it ends",
        "trap: the slow ones vanish from the percentiles",
        ("flow-balance",),
        on.CROWD,
        edited(
            Run._finish,
            (
                "self._statistics.record_transaction(result)",
                "if result.total_retries > 2: return\n    self._statistics.record_transaction(result)",
            ),
        ),
    ),
    Mutant(
        "one-of-a-load-lost",
        "some submissions of a closed load are never recorded",
        "trap: transactions lost",
        ("flow-balance",),
        on.CLOSED,
        edited(
            Run.submit,
            (
                "self._finish(result)",
                "if result.txn_id % 6: self._finish(result)\n        else: self._in_flight.pop(result.txn_id)",
            ),
        ),
    ),
    Mutant(
        "unfinished-time-lost",
        "the time that the end cut off is not told",
        "docs/MODEL.md: unfinished_ms",
        ("time-conserved",),
        on.CROWD,
        edited(
            result_of,
            ("unfinished_ms = max(0.0, total_ms - explained_ms)", "unfinished_ms = 0.0"),
        ),
    ),
    Mutant(
        "end-too-late",
        "the run goes on after its end",
        "docs/MODEL.md: what is due at duration_ms does not happen",
        ("events-in-order",),
        on.CROWD,
        edited(
            Run.until_end,
            ("self._env.run_until(duration_ms)", "self._env.run_until(duration_ms * 1.02)"),
        ),
    ),
    Mutant(
        "waits-cut-short",
        "long waits are over early",
        "Specification §6: one clock",
        ("time-conserved",),
        on.CROWD,
        edited(
            Environment.run_until,
            ("due_ms = now_ms + wait_ms", "due_ms = now_ms + min(wait_ms, 150.0)"),
        ),
    ),
)
