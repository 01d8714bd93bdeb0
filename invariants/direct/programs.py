"""What the transactions of an enumeration write: every choice, but for the names of transactions, tables and partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations, product

PARTITIONS = 2
"""How many partitions each table of an enumeration has."""


@dataclass(frozen=True, order=True)
class Program:
    """What one transaction writes, again at every attempt."""

    tables: tuple[int, ...]
    partitions: tuple[tuple[int, ...], ...] = ()
    """For each of the tables, in the same order; empty: they are not tracked."""

    def partitions_written(self) -> dict[int, tuple[int, ...]] | None:
        """By table, as a commit wants it."""
        return dict(zip(self.tables, self.partitions, strict=True)) if self.partitions else None

    def renamed(self, tables: tuple[int, ...], partitions: tuple[tuple[int, ...], ...]) -> Program:
        """The same with other names: `tables[t]` for table t, and in it `partitions[t][p]` for partition p."""
        if not self.partitions:
            return Program(tuple(sorted(tables[table] for table in self.tables)))
        written = sorted(
            (tables[table], tuple(sorted(partitions[table][each] for each in among)))
            for table, among in zip(self.tables, self.partitions, strict=True)
        )
        return Program(tuple(t for t, _ in written), tuple(among for _, among in written))


Programs = tuple[Program, ...]


def programs_of(
    transactions: int, tables: int, tables_per_commit: int | None, by_partition: bool
) -> Iterator[Programs]:
    """Every choice of programs for so many transactions."""
    choices = _choices(tables, tables_per_commit or tables, by_partition)
    names = list(_renamings(tables, by_partition))
    for programs in combinations_with_replacement(choices, transactions):
        # With other names it would be the same again: the least of all that are the same stands for them.
        mine = tuple(sorted(programs))
        if all(mine <= tuple(sorted(each.renamed(*other) for each in programs)) for other in names):
            yield mine


def _choices(tables: int, tables_per_commit: int, by_partition: bool) -> list[Program]:
    sets = [(t,) for t in range(tables)] + ([(0, 1)] if tables == 2 else [])
    allowed = [each for each in sets if len(each) <= tables_per_commit]
    if not by_partition:
        return [Program(each) for each in allowed]
    # One partition or all of them, of each table written.
    parts = [*((p,) for p in range(PARTITIONS)), tuple(range(PARTITIONS))]
    return [Program(each, chosen) for each in allowed for chosen in product(parts, repeat=len(each))]  # fmt: skip


def _renamings(
    tables: int, by_partition: bool
) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    same = tuple(range(PARTITIONS))
    for of_tables in permutations(range(tables)):
        if by_partition:
            for of_partitions in product(permutations(same), repeat=tables):
                yield of_tables, of_partitions
        else:
            yield of_tables, (same,) * tables
