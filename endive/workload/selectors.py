"""Selectors (§5): which tables and partitions a transaction touches, and which of them it writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from endive.utils import UniformStream

Selection = tuple[frozenset[int], frozenset[int]]
"""What a transaction reads and, among that, what it writes."""


class Uniforms(Protocol):
    """Whatever yields uniforms on [0, 1): a RandomState, or a stream that draws them in blocks."""

    def random_sample(self) -> float:
        """The next one."""


class _Selector(ABC):
    """Chooses distinct items; of those it chooses, the first ones are written."""

    def __init__(self, write_fraction: float = 1.0) -> None:
        if not 0.0 < write_fraction <= 1.0:
            raise ValueError(f"write_fraction must be above 0 and at most 1, not {write_fraction}")
        self.write_fraction = write_fraction

    @abstractmethod
    def _choose(self, count: int, total: int, rng: Uniforms) -> list[int]:
        """`count` distinct items below `total`, in the order chosen."""

    def _select(self, count: int, total: int, rng: Uniforms) -> Selection:
        if not 1 <= count <= total:
            raise ValueError(f"cannot choose {count} of {total}")
        return _read_and_written(self._choose(count, total, rng), self.write_fraction)


def _read_and_written(chosen: list[int], write_fraction: float) -> Selection:
    """All that was chosen is read; the first ones, in the order chosen, are written."""
    read = frozenset(chosen)
    if write_fraction == 1.0:
        return read, read
    return read, frozenset(chosen[: max(1, int(len(chosen) * write_fraction + 0.5))])


@lru_cache(maxsize=4096)
def _only(item: int) -> frozenset[int]:
    return frozenset((item,))


class _Uniform(_Selector):
    def _select(self, count: int, total: int, rng: Uniforms) -> Selection:
        if count == 1 <= total:
            only = _only(int(rng.random_sample() * total))
            return only, only
        return super()._select(count, total, rng)

    def _choose(self, count: int, total: int, rng: Uniforms) -> list[int]:
        # A partial Fisher–Yates shuffle that remembers only the positions it has moved.
        moved: dict[int, int] = {}
        chosen = []
        for i in range(count):
            j = i + int(rng.random_sample() * (total - i))
            chosen.append(moved.get(j, j))
            moved[j] = moved.get(i, i)
        return chosen


class _Zipf(_Selector):
    def __init__(self, alpha: float = 1.5, write_fraction: float = 1.0) -> None:
        super().__init__(write_fraction)
        if not alpha >= 0.0:
            raise ValueError(f"alpha must not be negative, not {alpha}")
        self.alpha = alpha

    def _choose(self, count: int, total: int, rng: Uniforms) -> list[int]:
        cumulative = _zipf_cumulative(self.alpha, total)
        chosen: list[int] = []
        while len(chosen) < count:
            item = bisect_right(cumulative, rng.random_sample())
            if item < total and item not in chosen:
                chosen.append(item)
        return chosen


@lru_cache(maxsize=64)
def _zipf_cumulative(alpha: float, total: int) -> list[float]:
    weights = [float(rank) ** -alpha for rank in range(1, total + 1)]
    running, partial_sums = 0.0, []
    for weight in weights:
        running += weight
        partial_sums.append(running)
    return [partial / running for partial in partial_sums]


class TableSelector(ABC):
    """Chooses the tables of a transaction."""

    @abstractmethod
    def select(
        self, n_tables: int, total_tables: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Returns (tables_read, tables_written) where tables_written ⊆ tables_read."""


class UniformTableSelector(_Uniform, TableSelector):
    """Every table is equally likely."""

    def select(
        self, n_tables: int, total_tables: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Distinct tables, uniformly."""
        return self._select(n_tables, total_tables, rng)


class ZipfTableSelector(_Zipf, TableSelector):
    """Table k is chosen with probability proportional to 1/(k+1)^alpha: table 0 is hot."""

    def __init__(self, alpha: float = 1.5, write_fraction: float = 1.0) -> None:
        super().__init__(alpha, write_fraction)

    def select(
        self, n_tables: int, total_tables: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Distinct tables, by rank."""
        return self._select(n_tables, total_tables, rng)


class PartitionSelector(ABC):
    """Chooses the partitions of a transaction within one table."""

    @abstractmethod
    def select(
        self, n_partitions: int, total_partitions: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Returns (partitions_read, partitions_written), the second within the first."""


class UniformPartitionSelector(_Uniform, PartitionSelector):
    """Every partition is equally likely."""

    def select(
        self, n_partitions: int, total_partitions: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Distinct partitions, uniformly."""
        return self._select(n_partitions, total_partitions, rng)


class ZipfPartitionSelector(_Zipf, PartitionSelector):
    """Partition k is chosen with probability proportional to 1/(k+1)^alpha."""

    def __init__(self, alpha: float = 1.5, write_fraction: float = 1.0) -> None:
        super().__init__(alpha, write_fraction)

    def select(
        self, n_partitions: int, total_partitions: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Distinct partitions, by rank."""
        return self._select(n_partitions, total_partitions, rng)


def within_groups(
    selector: TableSelector, group_of: tuple[int, ...]
) -> Callable[[int, int, Any], Selection]:
    """A way to select tables that stays within the group of the first one (docs/MODEL.md, section 10)."""
    members: dict[int, list[int]] = {}
    for table_id, group in enumerate(group_of):
        members.setdefault(group, []).append(table_id)
    write_fraction = getattr(selector, "write_fraction", 1.0)

    def select(n_tables: int, total_tables: int, rng: Any) -> Selection:
        first, written = selector.select(1, total_tables, rng)
        if n_tables == 1:
            return first, written
        chosen = list(first)
        rest = [table_id for table_id in members[group_of[chosen[0]]] if table_id != chosen[0]]
        while len(chosen) < n_tables:
            # The selector sees the tables that are left as 0, 1, …: its rule for one item does the rest.
            (place,), _ = selector.select(1, len(rest), rng)
            chosen.append(rest.pop(place))
        return _read_and_written(chosen, write_fraction)

    return select


def uniforms_for(selector: object, rng: np.random.RandomState) -> Any:
    """What a selector draws from: blocks for a built-in one, the stream itself for anybody else's."""
    built_in = selector is None or type(selector).__module__ == __name__
    return UniformStream(rng) if built_in else rng
