"""The same faults in the express lane, which has the protocol written out flat (`endive.express`)."""

from __future__ import annotations

from endive import express
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited

MUTANTS = (
    Mutant(
        "express-n-plus-one",
        "the express lane reads one list too many",
        "Specification §8.3: not N+1",
        ("lists-exact", "costs-as-priced"),
        on.EXPRESS,
        edited(
            express.execute,
            (
                "get_conflict_cost(current_seq - seen_seq,",
                "get_conflict_cost(current_seq - seen_seq + 1,",
            ),
        ),
    ),
    Mutant(
        "express-n-from-the-start",
        "the express lane counts from the first snapshot",
        "docs/MODEL.md: behind the snapshot last seen",
        ("lists-exact", "costs-as-priced"),
        on.EXPRESS,
        edited(
            express.execute,
            (
                "get_conflict_cost(current_seq - seen_seq,",
                "get_conflict_cost(current_seq - start_seq,",
            ),
        ),
    ),
    Mutant(
        "express-disjoint-pays",
        "the express lane pays for disjoint partitions",
        "Specification §8.12",
        ("cross-table-retry-free",),
        on.EXPRESS,
        edited(
            express.execute,
            (
                "if partitions_written is None:\n                tables_to_write += 1",
                "if True:\n                tables_to_write += 1",
            ),
        ),
    ),
    Mutant(
        "express-no-partitions-no-overlap",
        "without partition tracking nothing overlaps in the express lane",
        "Specification §3.3: assume overlap",
        ("costs-as-priced",),
        on.EXPRESS_NO_PARTITIONS,
        edited(
            express.execute,
            (
                "if partitions_written is None:\n                tables_to_write += 1",
                "if partitions_written is None:\n                tables_to_write += 0",
            ),
        ),
    ),
    Mutant(
        "express-success-without-swap",
        "the express lane reports a success that it did not apply",
        "Specification §8.8",
        ("no-phantom-commit",),
        on.EXPRESS,
        edited(
            express.execute,
            (
                "state.apply(writes, txn.intention(",
                "txn.txn_id % 7 == 3 or state.apply(writes, txn.intention(",
            ),
        ),
    ),
    Mutant(
        "express-one-retry-too-many",
        "the express lane has one attempt more than allowed",
        "Specification §3.2",
        ("retry-limit",),
        on.EXPRESS,
        edited(
            express.execute,
            ("range(max_retries + 1)", "range(max_retries + 2)"),
            ("attempt == max_retries:", "attempt == max_retries + 1:"),
        ),
    ),
    Mutant(
        "express-read-not-booked",
        "the express lane does not book its later catalog reads",
        "idea: every millisecond is explained",
        ("time-conserved",),
        on.EXPRESS,
        edited(
            express.execute,
            (
                "read_ms = now_ms - called_ms\n        txn.catalog_read_ms += read_ms",
                "read_ms = now_ms - called_ms",
            ),
        ),
    ),
    Mutant(
        "express-real-conflict-ignored",
        "the express lane goes on after a real conflict",
        "Specification §3.4",
        ("real-conflict-ends-or-merges",),
        on.EXPRESS,
        edited(express.execute, ("if is_real:\n", "if False:\n")),
    ),
)
