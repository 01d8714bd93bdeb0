"""The catalog's history, replayed from nothing but the commits that were applied.

Commits are numbered here, in the order in which they took effect; what the events claim about numbers and versions is held
against that and never used. State *at* a number is found by bisection, so that asking is cheap however long the history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from endive.trace import CommitApplied, Header


class Behind(NamedTuple):
    """How far behind: all commits, and those among them that replaced data."""

    commits: int = 0
    replaced: int = 0

    def plus(self, other: Behind) -> Behind:
        """Both together."""
        return Behind(self.commits + other.commits, self.replaced + other.replaced)


class History:
    """All applied commits, and the versions they left behind."""

    __slots__ = (
        "_group_commits",
        "_group_of",
        "_group_replaced",
        "_manifests",
        "_manifests_at_first",
        "_partition_commits",
        "_replaced",
        "_table_commits",
        "_table_replaced",
        "_times",
        "commits",
    )

    def __init__(
        self, header: Header, commits: Sequence[CommitApplied], manifests_at_first: int
    ) -> None:
        self.commits = commits
        self._group_of = header.group_of
        self._manifests_at_first = manifests_at_first
        # For each table, partition and group the numbers of the commits that wrote it, in ascending order.
        self._table_commits: dict[int, list[int]] = defaultdict(list)
        self._partition_commits: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._group_commits: dict[int, list[int]] = defaultdict(list)
        self._replaced: list[int] = []
        self._table_replaced: dict[int, list[int]] = defaultdict(list)
        self._group_replaced: dict[int, list[int]] = defaultdict(list)
        self._manifests: dict[int, list[int]] = defaultdict(list)
        self._times = [commit.t_ms for commit in commits]
        for number, commit in enumerate(commits, start=1):
            self._add(number, commit, header.partitions_per_table)

    def _add(self, number: int, commit: CommitApplied, partitions_per_table: Sequence[int]) -> None:
        if commit.replaces_data:
            self._replaced.append(number)
        for place, table in enumerate(commit.tables):
            self._table_commits[table].append(number)
            self._manifests[table].append(commit.manifests[place])
            if commit.replaces_data:
                self._table_replaced[table].append(number)
            touched: Sequence[int]
            if commit.partitions is not None:
                touched = commit.partitions[place]
            else:
                # Without tracking a commit may have touched all of them.
                known = table < len(partitions_per_table)
                touched = range(partitions_per_table[table] if known else 1)
            for partition in touched:
                self._partition_commits[table, partition].append(number)
        if self._group_of:
            grouped = range(len(self._group_of))
            for group in {self._group_of[table] for table in commit.tables if table in grouped}:
                self._group_commits[group].append(number)
                if commit.replaces_data:
                    self._group_replaced[group].append(number)

    # -- state at a number -------------------------------------------------------------------------------------------

    def version(self, table: int, seq: int) -> int:
        """The version of a table once `seq` commits were applied."""
        return bisect_right(self._table_commits.get(table, ()), seq)

    def partition_version(self, table: int, partition: int, seq: int) -> int:
        """The version of a partition once `seq` commits were applied."""
        return bisect_right(self._partition_commits.get((table, partition), ()), seq)

    def manifests(self, table: int, seq: int) -> int:
        """How many manifests a table had once `seq` commits were applied."""
        version = self.version(table, seq)
        return self._manifests[table][version - 1] if version else self._manifests_at_first

    def last_change(self, table: int, seq: int) -> int:
        """The number of the last commit to a table up to `seq`; 0 if there is none."""
        version = self.version(table, seq)
        return self._table_commits[table][version - 1] if version else 0

    # -- between two numbers -----------------------------------------------------------------------------------------

    def behind(self, old: int, new: int) -> Behind:
        """All commits in between."""
        return Behind(new - old, _between(self._replaced, old, new))

    def group_behind(self, table: int, old: int, new: int) -> Behind:
        """The commits in between that wrote the group of this table."""
        if not self._group_of:
            return self.behind(old, new)
        group = self._group_of[table]
        return Behind(
            _between(self._group_commits.get(group, ()), old, new),
            _between(self._group_replaced.get(group, ()), old, new),
        )

    def table_behind(self, table: int, old: int, new: int) -> Behind:
        """The commits in between that wrote this table."""
        return Behind(
            _between(self._table_commits.get(table, ()), old, new),
            _between(self._table_replaced.get(table, ()), old, new),
        )

    def partitions_behind(
        self, table: int, partitions: Sequence[int], old: int, new: int
    ) -> Behind:
        """For each of these partitions the commits in between that wrote it, added up."""
        commits = sum(
            _between(self._partition_commits.get((table, partition), ()), old, new)
            for partition in partitions
        )
        return Behind(commits, _between(self._table_replaced.get(table, ()), old, new))

    # -- time --------------------------------------------------------------------------------------------------------

    def applied_before(self, t_ms: float) -> int:
        """How many commits took effect before this instant."""
        return bisect_left(self._times, t_ms)

    def applied_by(self, t_ms: float) -> int:
        """How many commits took effect by this instant, at it included."""
        return bisect_right(self._times, t_ms)

    def writers(self, table: int, old: int, new: int) -> list[int]:
        """The numbers of the commits in between that wrote this table."""
        numbers = self._table_commits.get(table, [])
        return numbers[bisect_right(numbers, old) : bisect_right(numbers, new)]


def _between(numbers: Sequence[int], old: int, new: int) -> int:
    return bisect_right(numbers, new) - bisect_right(numbers, old)
