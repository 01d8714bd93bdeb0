"""Faults of what is paid: the convoy's length, the price of each class, and the books."""

from __future__ import annotations

from typing import Any

from endive.cost_model import ConflictCost
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited, setting
from endive.transaction import FastAppendTransaction, Transaction
from endive.transaction.dues import metadata_writes
from endive.transaction.operations import PricedTransaction
from endive.transaction.payer import Payer
from endive.transaction.pricing import Situation, behind, find, preparation

_validation = PricedTransaction._validation
_COMMITS = "return self._price(validate, at)"


def _with_convoy(self: Any, at: Situation) -> ConflictCost:
    return _validation(self, at).plus(ConflictCost(historical_ml_reads=at.commits))


def _behind(commits: str) -> tuple[str, str]:
    """The convoy is as long as this says."""
    return _COMMITS, f"return self._price(validate, at._replace(commits={commits}))"


_CONVOY = (
    Mutant(
        "n-minus-one",
        "one snapshot behind too few is counted",
        "Specification §8.3: not N-1",
        ("lists-exact", "n-matches-history"),
        on.CROWD,
        edited(behind, ("Behind(new.seq - old.seq,", "Behind(max(0, new.seq - old.seq - 1),")),
    ),
    Mutant(
        "n-plus-one",
        "one snapshot behind too many is counted",
        "Specification §8.3: not N+1",
        ("lists-exact", "n-matches-history"),
        on.CROWD,
        edited(behind, ("Behind(new.seq - old.seq,", "Behind(new.seq - old.seq + 1,")),
    ),
    Mutant(
        "convoy-one-short",
        "N is right, and one list less is read",
        "Specification §8.3: not N-1",
        ("lists-exact", "costs-as-priced"),
        on.CROWD,
        edited(PricedTransaction._validation, _behind("max(0, at.commits - 1)")),
    ),
    Mutant(
        "convoy-one-long",
        "N is right, and one list more is read",
        "Specification §8.3: not N+1",
        ("lists-exact", "costs-as-priced"),
        on.CROWD,
        edited(PricedTransaction._validation, _behind("at.commits + 1")),
    ),
    Mutant(
        "n-from-the-start",
        "N counts from the first snapshot, not from the one last seen",
        "docs/MODEL.md: behind the snapshot last seen",
        ("n-matches-history",),
        on.CROWD,
        edited(Transaction.execute, ('start if table.validate_from == "start" else seen', "start")),
    ),
    Mutant(
        "n-from-the-last-seen",
        "N counts from the snapshot last seen where Iceberg counts from the first",
        "Iceberg Java: 3, 6, 9 list reads",
        ("n-matches-history",),
        on.JAVA,
        edited(Transaction.execute, ('start if table.validate_from == "start" else seen', "seen")),
    ),
    Mutant(
        "n-of-the-catalog",
        "N counts the commits of all tables where it should be the table's own",
        "Fidelity Report §2.5; history_scope",
        ("n-matches-history",),
        on.TABLE_SCOPE,
        edited(
            find,
            ('if history_scope in ("catalog", "group"):', "if True:"),
            (
                "behind(txn, history_scope, since, current, table_id)",
                'behind(txn, "catalog", since, current, table_id)',
            ),
        ),
    ),
    Mutant(
        "convoy-for-appends",
        "fast appends read N historical lists, too",
        "Fidelity Report §3.1: pure appends have no convoy",
        ("lists-exact",),
        on.CROWD,
        setting(FastAppendTransaction, "_validation", _with_convoy),
    ),
    Mutant(
        "convoy-when-disjoint",
        "the convoy is paid whatever the class",
        "Specification §8.3: skipped entirely without overlap",
        ("lists-exact", "cross-table-retry-free"),
        on.CROWD,
        edited(
            PricedTransaction._validation,
            ("self.prices.validate.get(at.conflict_class)", 'self.prices.validate.get("overlap")'),
        ),
    ),
)

_PRICES = (
    Mutant(
        "manifest-io-on-cross-table-retry",
        "a retry pays the attempt anew whatever was lost",
        "Specification §8.12: no manifest I/O",
        ("cross-table-retry-free",),
        on.CROWD,
        edited(
            PricedTransaction.rebuild_cost,
            ("self.prices.rebuild.get(at.conflict_class)", 'self.prices.rebuild.get("overlap")'),
        ),
    ),
    Mutant(
        "overlap-retry-free",
        "a retry after overlap does not make its attempt anew",
        "Specification §3.3: must redo its manifest work",
        ("costs-as-priced",),
        on.CROWD,
        edited(PricedTransaction.rebuild_cost, ("if rebuild is None:", "if True:")),
    ),
    Mutant(
        "first-attempt-free",
        "attempt 0 pays nothing",
        "Specification §3.2, step 3a",
        ("per-attempt-first", "costs-as-priced"),
        on.CROWD,
        edited(
            preparation,
            ("price = txn.attempt_cost(at)", "price = NO_COST"),
        ),
    ),
    Mutant(
        "attempt-paid-per-transaction",
        "the attempt is paid once per transaction, not for each table",
        "docs/MODEL.md, section 5: for each written table",
        ("costs-as-priced",),
        on.TWO_TABLES,
        edited(
            preparation,
            (
                "if price is not NO_COST:\n            dues",
                "if price is not NO_COST and not dues:\n            dues",
            ),
        ),
    ),
    Mutant(
        "k-rounded-up",
        "K is rounded up",
        "docs/MODEL.md: the floor of N times m",
        ("costs-as-priced",),
        on.CROWD,
        edited(PricedTransaction._price, ("math.floor(", "math.ceil(")),
    ),
    Mutant(
        "k-without-n",
        "K does not grow with N",
        "Specification §3.4, MergeAppendTransaction",
        ("costs-as-priced",),
        on.CROWD,
        edited(
            PricedTransaction._price,
            ("math.floor(at.commits * ", "math.floor(min(1, at.commits) * "),
        ),
    ),
    Mutant(
        "merging-threshold-late",
        "manifests are merged one manifest too late",
        "Iceberg Java: min-count 100, base 95",
        ("costs-as-priced",),
        on.MERGING,
        edited(PricedTransaction.merges_at, ("manifests + 1 >= minimum", "manifests >= minimum")),
    ),
    Mutant(
        "merge-of-real-conflict-free",
        "under the legacy table a real conflict is merged for nothing",
        "Simulator Internals, Real Conflict Resolution",
        ("costs-as-priced",),
        on.LEGACY,
        edited(PricedTransaction.merging_cost, ("if price is None:", "if True:")),
    ),
    Mutant(
        "metadata-not-read-again",
        "a retry does not read the table's metadata again",
        "Fidelity Report §2.1: refresh metadata, 1 read",
        ("costs-as-priced",),
        on.METADATA,
        edited(
            Transaction.execute,
            (
                "metadata_reads(self, table.metadata_reads_per_retry, options)",
                "metadata_reads(self, 0, options)",
            ),
        ),
    ),
    Mutant(
        "metadata-not-written",
        "attempts do not write the table's metadata",
        "Append Simulation Design, Table Metadata Inlining",
        ("costs-as-priced",),
        on.METADATA,
        edited(metadata_writes, ("if options.metadata_inlined:", "if True:")),
    ),
)

_BOOKS = (
    Mutant(
        "payment-not-booked",
        "a payment takes its time and is in no part of the latency",
        "idea: every millisecond is explained",
        ("time-conserved",),
        on.CROWD,
        edited(Payer._book, ("+ spent_ms", "+ 0.0 * spent_ms")),
    ),
    Mutant(
        "payment-without-wait",
        "a payment is booked and takes no time",
        "idea: a simulator that forgets an event cannot look cheaper",
        ("time-conserved",),
        on.CROWD,
        edited(Payer.pay, ("yield paid_ms\n", "yield 0.0\n")),
    ),
    Mutant(
        "payment-not-counted",
        "the operations of a payment are not counted",
        "docs/MODEL.md: counts on completion",
        ("counts-conserved",),
        on.CROWD,
        edited(Payer.pay, ("self._txn.count(cost)", "pass")),
    ),
    Mutant(
        "history-not-counted-as-lists",
        "historical lists are left out of the manifest-list reads",
        "docs/MODEL.md: manifest_list_reads includes historical ones",
        ("counts-conserved",),
        on.CROWD,
        edited(
            Transaction.count,
            ("cost.manifest_list_reads + cost.historical_ml_reads", "cost.manifest_list_reads"),
        ),
    ),
    Mutant(
        "commit-time-not-booked",
        "the time of lost commit calls is in no part of the latency",
        "idea: every millisecond is explained",
        ("time-conserved",),
        on.CROWD,
        edited(
            Transaction.execute,
            (
                "self.catalog_commit_ms += commit_ms",
                "self.catalog_commit_ms += commit_ms if result.success else 0.0",
            ),
        ),
    ),
    Mutant(
        "backoff-not-booked",
        "the time of a backoff is in no part of the latency",
        "idea: every millisecond is explained",
        ("time-conserved",),
        on.BACKOFF,
        edited(Transaction.execute, ("self.backoff_ms += wait_ms", "self.backoff_ms += 0.0")),
    ),
)

MUTANTS = (*_CONVOY, *_PRICES, *_BOOKS)
