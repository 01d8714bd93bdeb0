"""Workload (§5): which transaction arrives when, and what it touches. The workload owns the topology (§8.11)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from endive.latency import LatencyDistribution, NormalDriven
from endive.sampling import block_sampler
from endive.transaction import (
    FastAppendTransaction,
    MergeAppendTransaction,
    Transaction,
    ValidatedOverwriteTransaction,
)
from endive.utils import NormalStream, Purpose, UniformStream, draw_seed, random_stream

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
        chosen = self._choose(count, total, rng)
        read = frozenset(chosen)
        if self.write_fraction == 1.0:
            return read, read
        written = max(1, int(count * self.write_fraction + 0.5))
        return read, frozenset(chosen[:written])


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


@dataclass(frozen=True)
class WorkloadConfig:
    """Rates, mix and topology of a workload."""

    inter_arrival: LatencyDistribution
    runtime: LatencyDistribution
    num_tables: int
    partitions_per_table: tuple[int, ...]

    fast_append_weight: float = 0.7
    merge_append_weight: float = 0.2
    validated_overwrite_weight: float = 0.1

    tables_per_txn: int = 1
    table_selector: TableSelector | None = None
    partitions_per_txn: int | None = None
    partition_selector: PartitionSelector | None = None

    manifests_per_concurrent_commit: float = 1.5


class Workload:
    """An endless stream of transactions; the same seed gives the same stream, every time it is started."""

    def __init__(self, config: WorkloadConfig, seed: int | None = None) -> None:
        weights = (
            config.fast_append_weight,
            config.merge_append_weight,
            config.validated_overwrite_weight,
        )
        if min(weights) < 0.0 or not sum(weights) > 0.0:
            raise ValueError(f"operation weights must not be negative or all zero, not {weights}")
        if len(config.partitions_per_table) != config.num_tables:
            raise ValueError(
                f"partitions_per_table has {len(config.partitions_per_table)} entries "
                f"for {config.num_tables} tables"
            )
        self.config = config
        self.seed = draw_seed() if seed is None else seed

    def generate(self) -> Generator[tuple[float, Transaction], None, None]:
        """Yield (inter_arrival_delay_ms, Transaction) pairs indefinitely."""
        config = self.config
        next_delay_ms = _sampler(config.inter_arrival, random_stream(self.seed, Purpose.ARRIVAL))
        next_runtime_ms = _sampler(config.runtime, random_stream(self.seed, Purpose.RUNTIME))
        next_operation = self._operations(
            UniformStream(random_stream(self.seed, Purpose.OPERATION))
        )
        select_tables = (config.table_selector or UniformTableSelector()).select
        select_partitions = (config.partition_selector or UniformPartitionSelector()).select
        table_rng = _uniforms(config.table_selector, random_stream(self.seed, Purpose.TABLE))
        partition_rng = _uniforms(
            config.partition_selector, random_stream(self.seed, Purpose.PARTITION)
        )
        partitions_per_txn = config.partitions_per_txn
        submit_time_ms = 0.0
        txn_id = 0
        while True:
            delay_ms = next_delay_ms()
            submit_time_ms += delay_ms
            _, tables = select_tables(config.tables_per_txn, config.num_tables, table_rng)
            partitions: dict[int, frozenset[int]] | None = None
            if partitions_per_txn is not None:
                partitions = {}
                for table_id in sorted(tables):
                    total = config.partitions_per_table[table_id]
                    _, written = select_partitions(partitions_per_txn, total, partition_rng)
                    partitions[table_id] = written
            create = next_operation()
            runtime_ms = next_runtime_ms()
            yield delay_ms, create(txn_id, submit_time_ms, runtime_ms, tables, partitions)
            txn_id += 1

    def _operations(self, rng: Uniforms) -> Callable[[], Callable[..., Transaction]]:
        """A function that draws an operation type by weight."""
        config = self.config
        fast, merge = config.fast_append_weight, config.merge_append_weight
        total = fast + merge + config.validated_overwrite_weight
        fast_below, merge_below = fast / total, (fast + merge) / total
        merge_append = partial(
            MergeAppendTransaction,
            manifests_per_concurrent_commit=config.manifests_per_concurrent_commit,
        )
        next_uniform = rng.random_sample

        def draw() -> Callable[..., Transaction]:
            u = next_uniform()
            if u < fast_below:
                return FastAppendTransaction
            return merge_append if u < merge_below else ValidatedOverwriteTransaction

        return draw


def _uniforms(selector: object, rng: np.random.RandomState) -> Any:
    """What a selector draws from: blocks for a built-in one, the stream itself for anybody else's."""
    built_in = selector is None or type(selector).__module__ == __name__
    return UniformStream(rng) if built_in else rng


def _sampler(distribution: LatencyDistribution, rng: np.random.RandomState) -> Callable[[], float]:
    """Draws from a distribution, in blocks where it is a map of standard normals."""
    if isinstance(distribution, NormalDriven):
        return block_sampler(distribution, NormalStream(rng))
    return lambda: distribution.sample(rng)
