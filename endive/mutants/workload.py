"""Faults of the workload: what transactions touch, and what they are called."""

from __future__ import annotations

from endive.catalog.state import CatalogState
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant, Shows
from endive.mutants.patch import edited, together
from endive.workload import Workload

MUTANTS = (
    Mutant(
        "group-crossed",
        "transactions choose tables of any group",
        "Critical Context: transactions do not cross groups",
        ("groups-never-spanned",),
        on.GROUPS,
        edited(Workload._touches, ("if self.group_of:", "if False:")),
    ),
    Mutant(
        "topology-grows",
        "there is a partition more than the workload says",
        "Specification §8.11: counts are fixed at the start",
        ("topology-fixed",),
        on.CROWD,
        together(
            edited(
                CatalogState.__init__,
                (
                    "zeros = {",
                    "partitions_per_table = tuple(n + 1 for n in partitions_per_table)\n    zeros = {",
                ),
            ),
            edited(
                Workload._touches,
                (
                    "partitions_per_table[table_id], partition_rng",
                    "partitions_per_table[table_id] + 1, partition_rng",
                ),
            ),
        ),
    ),
    Mutant(
        "ids-skipped",
        "every second id is left out",
        "docs/MODEL.md: ids count up from 0",
        ("flow-balance",),
        on.CROWD,
        edited(Workload.generate, ("txn_id += 1", "txn_id += 2")),
    ),
    Mutant(
        "runtime-by-id",
        "how long a transaction works depends on how many came before it, of whichever class",
        "docs/MODEL.md, section 13: each class has streams of its own",
        ("streams-independent",),
        on.OTHER_CLASS,
        edited(
            Workload._transactions,
            ("runtime_ms = next_runtime_ms()", "runtime_ms = next_runtime_ms() + txn_id % 7"),
        ),
        shows=Shows.PAIR,
    ),
)
