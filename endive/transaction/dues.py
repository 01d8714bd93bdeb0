"""What is due in one step of a transaction, table by table (docs/MODEL.md, sections 3 and 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from endive.cost_model import NO_COST, ConflictCost

if TYPE_CHECKING:
    from endive.transaction.base import Transaction
    from endive.transaction.retry import CommitOptions

Dues = Mapping[int, ConflictCost]
"""What is to be paid in one step, table by table in ascending order of id."""

NOTHING_DUE: Dues = {}


def total_of(dues: Dues) -> ConflictCost:
    """All of it, whichever table it is for."""
    total = NO_COST
    for cost in dues.values():
        total = total.plus(cost)
    return total


def both(dues: Dues, others: Dues) -> Dues:
    """The dues of two kinds in one step."""
    if not others:
        return dues
    added = dict(dues)
    for table_id, cost in others.items():
        added[table_id] = added.get(table_id, NO_COST).plus(cost)
    return {table_id: added[table_id] for table_id in sorted(added)}


def metadata_reads(txn: Transaction, each: int, options: CommitOptions) -> Dues:
    """Reading the metadata of every table at hand, where it is not inlined in the catalog."""
    if options.metadata_inlined or not each:
        return NOTHING_DUE
    accessed = sorted(txn.tables_read | txn.tables_written)
    return dict.fromkeys(accessed, ConflictCost(metadata_reads=each))


def metadata_writes(txn: Transaction, options: CommitOptions) -> Dues:
    """Writing the metadata of every written table, where it is not inlined in the catalog."""
    if options.metadata_inlined:
        return NOTHING_DUE
    return dict.fromkeys(sorted(txn.tables_written), ConflictCost(metadata_writes=1))
