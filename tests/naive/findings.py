"""What a transaction finds when it reads the catalog again: classes, N and R (MODEL.md 8 and 10)."""

from dataclasses import dataclass

from .draws import TransactionPlan
from .world import CasCatalog, Intention, Snapshot

# From the worst to the most harmless.
CLASSES = ("overlap", "disjoint_partitions", "read_set", "cross_table")


@dataclass
class Behind:
    """How many commits lie between two snapshots, and how many of them replaced data."""

    snapshots: int
    replacing: int


@dataclass
class Finding:
    """What was found: the class of each table concerned, in ascending order, and N and R of each.

    With `is_shared` N and R are those of the whole transaction, and the same for each table.
    """

    current: Snapshot
    classes: dict[int, str]
    behind: dict[int, Behind]
    is_shared: bool

    @property
    def worst(self) -> str:
        """The worst class among all tables."""
        return min(self.classes.values(), key=CLASSES.index)

    @property
    def overlapping(self) -> list[int]:
        """The written tables in which something this transaction writes has changed."""
        return self.tables_of("overlap")

    def tables_of(self, conflict_class: str) -> list[int]:
        """The tables of one class."""
        return [table_id for table_id, found in self.classes.items() if found == conflict_class]

    def replacing_overlap(self) -> bool:
        """Whether a commit that replaced data lies behind the tables that overlap."""
        return self.behind_in(self.overlapping).replacing > 0

    def behind_in(self, table_ids: list[int]) -> Behind:
        """N and R of some tables together."""
        if self.is_shared:
            return self.behind[table_ids[0]]
        return Behind(
            snapshots=sum(self.behind[table_id].snapshots for table_id in table_ids),
            replacing=sum(self.behind[table_id].replacing for table_id in table_ids),
        )


def find(
    plan: TransactionPlan,
    seen: Snapshot,
    validated_from: Snapshot,
    current: Snapshot,
    catalog: CasCatalog,
    serializable: bool,
) -> Finding:
    """Compare what was seen with what is there now."""
    classes = {}
    for table_id in plan.tables_read:
        if table_id in plan.tables_written:
            classes[table_id] = class_of_written(plan, table_id, seen, current)
        elif serializable and seen.table_versions[table_id] != current.table_versions[table_id]:
            classes[table_id] = "read_set"
    commits = catalog.history[validated_from.seq : current.seq]
    replacing = [commit for commit in commits if commit.replaces_data]
    scope = catalog.settings.history_scope
    # Whoever replaced data of the table counts once, however many of my partitions it wrote.
    scope_of_replacing = "table" if scope == "partition" else scope
    groups = catalog.group_of_table
    behind = {}
    for table_id in classes:
        behind[table_id] = Behind(
            snapshots=count_commits(commits, scope, plan, table_id, groups),
            replacing=count_commits(replacing, scope_of_replacing, plan, table_id, groups),
        )
    return Finding(current, classes, behind, is_shared=scope in ("catalog", "group"))


def class_of_written(
    plan: TransactionPlan, table_id: int, seen: Snapshot, current: Snapshot
) -> str:
    """The class of a written table between two snapshots."""
    if seen.table_versions[table_id] == current.table_versions[table_id]:
        return "cross_table"
    return "overlap" if is_written_over(plan, table_id, seen, current) else "disjoint_partitions"


def is_written_over(plan: TransactionPlan, table_id: int, old: Snapshot, new: Snapshot) -> bool:
    """Whether any partition that is written has changed; without partitions, whether the table has."""
    if plan.partitions_written is None:
        return old.table_versions[table_id] != new.table_versions[table_id]
    old_versions, new_versions = old.partition_versions[table_id], new.partition_versions[table_id]
    partitions = plan.partitions_written[table_id]
    return any(old_versions[pid] != new_versions[pid] for pid in partitions)


def count_commits(
    commits: list[Intention],
    scope: str,
    plan: TransactionPlan,
    table_id: int,
    group_of_table: list[int],
) -> int:
    """How many of the commits count for one table of a transaction."""
    if scope == "catalog":
        return len(commits)
    if scope == "group":
        my_group = group_of_table[table_id]
        return sum(
            any(group_of_table[written] == my_group for written in commit.writes)
            for commit in commits
        )
    to_this_table = [commit for commit in commits if table_id in commit.writes]
    is_written = table_id in plan.tables_written
    # Of a table that is only read the transaction has no partitions, so the whole table counts.
    if scope == "table" or plan.partitions_written is None or not is_written:
        return len(to_this_table)
    return sum(
        commit.partitions_written is not None and pid in commit.partitions_written[table_id]
        for pid in plan.partitions_written[table_id]
        for commit in to_this_table
    )
