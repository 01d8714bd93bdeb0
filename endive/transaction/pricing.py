"""What a lost commit found, and what it costs (docs/MODEL.md, sections 7 to 10).

Each written table falls into a class; the operation prices the classes; the history scope says how far behind counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from endive.catalog import CatalogSnapshot
from endive.cost_model import NO_COST, ConflictCost
from endive.transaction.dues import Dues

if TYPE_CHECKING:
    from endive.transaction.base import Transaction
    from endive.transaction.retry import CommitOptions

CROSS_TABLE = "cross_table"
READ_SET = "read_set"
DISJOINT_PARTITIONS = "disjoint_partitions"
OVERLAP = "overlap"
_SEVERITY = {CROSS_TABLE: 0, READ_SET: 1, DISJOINT_PARTITIONS: 2, OVERLAP: 3}


class Situation(NamedTuple):
    """What an operation is priced on: how it found one table."""

    conflict_class: str
    """Attempt 0 counts as overlap: all is to be done."""
    commits: int
    """How many commits the table was left behind, as the history scope counts."""
    replaced: int
    """How many of them replaced data."""
    manifests: int
    ml_append_mode: bool


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a table was left behind: all commits, and those among them that replaced data."""

    commits: int = 0
    replaced: int = 0


NOTHING_BEHIND = Behind()


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found between the snapshot last seen and the current one."""

    classes: Mapping[int, str]
    """The class of every written table and, if serializable, of every changed table that was only read."""
    worst: str
    behind: Mapping[int, Behind]
    """For each table, what its prices count."""
    validated: Behind
    """N and R of the validation: those of the one history, or the sum over overlapping tables."""
    validation: Dues
    snapshots_behind: int
    """N of the validation over all tables that matter, as attempts report it."""

    @property
    def overlaps(self) -> bool:
        """Whether a written table overlaps: the only case in which a conflict can be real."""
        return self.worst == OVERLAP


def find(
    txn: Transaction,
    since: CatalogSnapshot,
    seen: CatalogSnapshot,
    current: CatalogSnapshot,
    *,
    history_scope: str,
    serializable: bool,
    ml_append_mode: bool,
) -> Finding:
    """Classify what changed since `seen`, and price validating it against the history since `since`."""
    classes = classify(txn, seen, current, serializable)
    worst = max(classes.values(), key=_SEVERITY.__getitem__)
    if history_scope in ("catalog", "group"):
        # One history for all tables, so it is read once.
        table_id = min(table for table, found in classes.items() if found == worst)
        shared = behind(txn, history_scope, since, current, table_id)
        price = _validation(txn, worst, shared, current, table_id, ml_append_mode)
        return Finding(
            classes,
            worst,
            dict.fromkeys(classes, shared),
            shared,
            {table_id: price},
            shared.commits,
        )
    each = {table: behind(txn, history_scope, since, current, table) for table in classes}
    overlapping = [each[table_id] for table_id, found in classes.items() if found == OVERLAP]
    validated = Behind(
        sum(far.commits for far in overlapping), sum(far.replaced for far in overlapping)
    )
    validation = {
        table_id: _validation(txn, classes[table_id], far, current, table_id, ml_append_mode)
        for table_id, far in sorted(each.items())
    }
    snapshots_behind = sum(far.commits for far in each.values())
    return Finding(classes, worst, each, validated, validation, snapshots_behind)


def classify(
    txn: Transaction, seen: CatalogSnapshot, current: CatalogSnapshot, serializable: bool
) -> dict[int, str]:
    """The class of every table that matters, in ascending order of id."""
    classes = {}
    for table_id in sorted(txn.tables_written):
        if seen.tables[table_id].version == current.tables[table_id].version:
            classes[table_id] = CROSS_TABLE
        elif txn.overlaps_table(table_id, seen, current):
            classes[table_id] = OVERLAP
        else:
            classes[table_id] = DISJOINT_PARTITIONS
    if serializable:
        for table_id in sorted(txn.tables_read - txn.tables_written):
            if seen.tables[table_id].version != current.tables[table_id].version:
                classes[table_id] = READ_SET
    return classes


def behind(
    txn: Transaction, scope: str, old: CatalogSnapshot, new: CatalogSnapshot, table_id: int
) -> Behind:
    """How far a table is behind, as the history scope counts."""
    if scope == "group" and new.details.group_of:
        group = new.details.group_of[table_id]
        return Behind(
            new.details.group_commits[group] - old.details.group_commits[group],
            new.details.group_replaced[group] - old.details.group_replaced[group],
        )
    if scope in ("catalog", "group"):
        return Behind(new.seq - old.seq, new.details.replaced - old.details.replaced)
    old_table, new_table = old.tables[table_id], new.tables[table_id]
    replaced = new_table.replaced - old_table.replaced
    partitions = (txn.partitions_written or {}).get(table_id)
    if scope == "table" or partitions is None:
        return Behind(new_table.version - old_table.version, replaced)
    commits = 0
    for partition_id in partitions:
        commits += (
            new_table.partition_versions[partition_id] - old_table.partition_versions[partition_id]
        )
    return Behind(commits, replaced)


def _validation(
    txn: Transaction,
    conflict_class: str,
    behind: Behind,
    current: CatalogSnapshot,
    table_id: int,
    ml_append_mode: bool,
) -> ConflictCost:
    manifests = current.tables[table_id].manifests
    return txn.validation_cost(
        Situation(conflict_class, behind.commits, behind.replaced, manifests, ml_append_mode)
    )


def may_be_real(txn: Transaction, finding: Finding) -> bool:
    """Whether there is anything to ask the detector."""
    if not finding.overlaps:
        return False
    return finding.validated.replaced > 0 or not txn.only_replaced_data_conflicts()


def merging_dues(
    txn: Transaction,
    finding: Finding,
    current: CatalogSnapshot,
    options: CommitOptions,
    ml_append_mode: bool,
) -> Dues:
    """What merging a real conflict costs; how many manifests conflict is drawn."""
    if options.conflict_rng is None:
        raise ValueError("merging real conflicts draws from options.conflict_rng; give one")
    u = options.conflict_rng.random_sample()
    conflicting = 1 + int(u * txn.table.conflicting_manifests)
    first = min(table_id for table_id, found in finding.classes.items() if found == OVERLAP)
    far, manifests = finding.validated, current.tables[first].manifests
    at = Situation(OVERLAP, far.commits, far.replaced, manifests, ml_append_mode)
    return {first: txn.merging_cost(at, conflicting)}


def versions_read(txn: Transaction, seen: CatalogSnapshot) -> dict[int, int]:
    """What a serializable commit expects of the tables that it only read."""
    read_only = txn.tables_read - txn.tables_written
    return {table_id: seen.tables[table_id].version for table_id in sorted(read_only)}


def preparation(
    txn: Transaction,
    seen: CatalogSnapshot,
    finding: Finding | None,
    is_first: bool,
    ml_append_mode: bool,
) -> tuple[Dues, frozenset[int]]:
    """What must be paid before a commit call, and which tables' manifests it merges.

    On attempt 0 all tables are due, whatever was found; otherwise each by its class.
    """
    dues, merged = {}, []
    tables: Iterable[int] = txn.tables_written
    for table_id in sorted(tables) if len(txn.tables_written) > 1 else tables:
        manifests = seen.tables[table_id].manifests
        far = NOTHING_BEHIND if finding is None else finding.behind[table_id]
        found = OVERLAP if finding is None or is_first else finding.classes[table_id]
        at = Situation(found, far.commits, far.replaced, manifests, ml_append_mode)
        price = txn.attempt_cost(at) if is_first else txn.rebuild_cost(at)
        if price is not NO_COST and txn.merges_at(manifests):
            merged.append(table_id)
        if price is not NO_COST:
            dues[table_id] = price
    return dues, frozenset(merged)
