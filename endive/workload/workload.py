"""A workload (§5): one class of transactions, drawn from its own random streams."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from endive.latency import LatencyDistribution, NormalDriven
from endive.sampling import block_sampler
from endive.transaction import OPERATION_CLASSES, Transaction
from endive.utils import NormalStream, Purpose, UniformStream, draw_seed, random_stream
from endive.workload.selectors import (
    PartitionSelector,
    TableSelector,
    UniformPartitionSelector,
    UniformTableSelector,
    uniforms_for,
    within_groups,
)

if TYPE_CHECKING:
    from endive.cost_model import CostTable

Touched = tuple[frozenset[int], frozenset[int], dict[int, frozenset[int]] | None]
"""Tables read, tables written, and the partitions written of each; None where partitions are not tracked."""

_DEFAULT_CLASS = "default"
_DEFAULT_MANIFESTS = 1.5
_NO_PARTITIONS: frozenset[int] = frozenset()


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

    manifests_per_concurrent_commit: float = _DEFAULT_MANIFESTS

    _: KW_ONLY
    num_groups: int = 1
    group_of: tuple[int, ...] = ()
    """The group of each table; empty: as the seed assigns them."""
    class_name: str = _DEFAULT_CLASS
    class_index: int = 0
    """The number of the class, which fixes its random streams."""
    overlap_probability: float | None = None
    """How often written partitions are such as others write, too; None: always."""
    operation_weights: Mapping[str, float] | None = None
    """Weights by operation, in place of the three above."""
    cost_table: CostTable | None = None


def assign_groups(num_tables: int, num_groups: int, seed: int) -> tuple[int, ...]:
    """The group of each table (docs/MODEL.md, section 10); no groups at all if there is one only."""
    if not 1 <= num_groups <= num_tables:
        raise ValueError(f"cannot divide {num_tables} tables into {num_groups} groups")
    if num_groups == 1:
        return ()
    rng = random_stream(seed, Purpose.TABLE)
    tables = list(range(num_tables))
    for i, u in enumerate(rng.random_sample(num_tables - 1).tolist()):
        j = i + int(u * (num_tables - i))
        tables[i], tables[j] = tables[j], tables[i]
    group_of = [0] * num_tables
    for place, table_id in enumerate(tables):
        group_of[table_id] = place % num_groups
    return tuple(group_of)


class Workload:
    """An endless stream of transactions; the same seed gives the same stream, every time it is started."""

    def __init__(self, config: WorkloadConfig, seed: int | None = None) -> None:
        _check(config)
        self.config = config
        self.seed = draw_seed() if seed is None else seed
        self.group_of = config.group_of or assign_groups(
            config.num_tables, config.num_groups, self.seed
        )
        smallest = min(Counter(self.group_of).values(), default=config.num_tables)
        if config.tables_per_txn > smallest:
            raise ValueError(
                f"tables_per_txn is {config.tables_per_txn}, and the smallest group has {smallest} tables"
            )
        self._next_touched: Callable[[], Touched] | None = None
        self._next_transaction: Callable[[int, float], Transaction] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy starts its streams anew: what has been drawn from them stays with the original.
        return {**vars(self), "_next_touched": None, "_next_transaction": None}

    def generate(self) -> Generator[tuple[float, Transaction], None, None]:
        """Yield (inter_arrival_delay_ms, Transaction) pairs indefinitely."""
        next_delay_ms = self.waits(self.config.inter_arrival)
        next_transaction = self._transactions(self._touches())
        submit_time_ms = 0.0
        txn_id = 0
        while True:
            delay_ms = next_delay_ms()
            submit_time_ms += delay_ms
            yield delay_ms, next_transaction(txn_id, submit_time_ms)
            txn_id += 1

    def next_transaction(self, txn_id: int, submit_time_ms: float) -> Transaction:
        """Draw the next transaction, for whoever decides when it is submitted."""
        if self._next_transaction is None:
            self._next_transaction = self._transactions(self._started())
        return self._next_transaction(txn_id, submit_time_ms)

    def next_touched(self) -> Touched:
        """Draw what the next commit touches, and nothing else about it."""
        return self._started()()

    def waits(self, distribution: LatencyDistribution) -> Callable[[], float]:
        """What draws waits with this distribution from the start of the arrival stream."""
        return _sampler(distribution, self._stream(Purpose.ARRIVAL))

    def _started(self) -> Callable[[], Touched]:
        if self._next_touched is None:
            self._next_touched = self._touches()
        return self._next_touched

    def _stream(self, purpose: Purpose) -> np.random.RandomState:
        """The stream of one purpose; each class has its own, and class 0 that of a run without classes."""
        if self.config.class_index == 0:
            return random_stream(self.seed, purpose)
        key = (int(purpose), self.config.class_index)
        return np.random.RandomState(
            np.random.MT19937(np.random.SeedSequence(self.seed, spawn_key=key))
        )

    def _touches(self) -> Callable[[], Touched]:
        """What draws tables and partitions, from the start of their streams."""
        config = self.config
        tables_per_txn, num_tables = config.tables_per_txn, config.num_tables
        table_selector = config.table_selector or UniformTableSelector()
        table_rng = uniforms_for(config.table_selector, self._stream(Purpose.TABLE))
        select_tables: Callable[[int, int, Any], tuple[frozenset[int], frozenset[int]]]
        select_tables = table_selector.select
        if self.group_of:
            select_tables = within_groups(table_selector, self.group_of)
            if config.class_index == 0:
                # The head of this stream has assigned the groups.
                for _ in range(num_tables - 1):
                    table_rng.random_sample()
        partitions_per_txn = config.partitions_per_txn
        if partitions_per_txn is None:

            def touch_tables() -> Touched:
                return (*select_tables(tables_per_txn, num_tables, table_rng), None)

            return touch_tables

        partition_rng = uniforms_for(config.partition_selector, self._stream(Purpose.PARTITION))
        select_partitions = (config.partition_selector or UniformPartitionSelector()).select
        partitions_per_table = config.partitions_per_table
        overlap_probability = config.overlap_probability

        def touch() -> Touched:
            read, written = select_tables(tables_per_txn, num_tables, table_rng)
            # Partitions of its own are such as nobody else has, so none need be named.
            if (
                overlap_probability is not None
                and partition_rng.random_sample() >= overlap_probability
            ):
                return read, written, dict.fromkeys(written, _NO_PARTITIONS)
            partitions = {}
            for table_id in written if len(written) == 1 else sorted(written):
                _, partitions[table_id] = select_partitions(
                    partitions_per_txn, partitions_per_table[table_id], partition_rng
                )
            return read, written, partitions

        return touch

    def _transactions(
        self, next_touched: Callable[[], Touched]
    ) -> Callable[[int, float], Transaction]:
        """What draws whole transactions, from the start of the streams."""
        below, creators = self._operations()
        next_uniform = UniformStream(self._stream(Purpose.OPERATION)).random_sample
        next_runtime_ms = _sampler(self.config.runtime, self._stream(Purpose.RUNTIME))

        def draw(txn_id: int, submit_time_ms: float) -> Transaction:
            read, written, partitions = next_touched()
            create = creators[bisect_right(below, next_uniform())]
            runtime_ms = next_runtime_ms()
            if read is written:
                return create(txn_id, submit_time_ms, runtime_ms, written, partitions)
            return create(txn_id, submit_time_ms, runtime_ms, written, partitions, tables_read=read)

        return draw

    def _operations(self) -> tuple[list[float], list[Callable[..., Transaction]]]:
        """What makes transactions of each operation, and the draws below which it is that operation's turn."""
        config = self.config
        weights = _weights(config)
        sums = list(accumulate(weights.values()))
        # What every transaction has anyway is not passed, for speed.
        settings: dict[str, Any] = {}
        if config.class_name != _DEFAULT_CLASS:
            settings["class_name"] = config.class_name
        if config.cost_table is not None:
            settings["cost_table"] = config.cost_table
        if config.manifests_per_concurrent_commit != _DEFAULT_MANIFESTS:
            settings["manifests_per_concurrent_commit"] = config.manifests_per_concurrent_commit
        kinds = [OPERATION_CLASSES[name] for name in weights]
        creators: list[Callable[..., Transaction]] = [
            partial(kind, **settings) if settings else kind for kind in kinds
        ]
        return [partial_sum / sums[-1] for partial_sum in sums], creators


def _weights(config: WorkloadConfig) -> dict[str, float]:
    """The weights that count, in the order in which they are compared with a draw."""
    given = config.operation_weights
    if given is None:
        given = {
            "fast_append": config.fast_append_weight,
            "merge_append": config.merge_append_weight,
            "validated_overwrite": config.validated_overwrite_weight,
        }
    unknown = [name for name in given if name not in OPERATION_CLASSES]
    if unknown:
        raise ValueError(
            f"unknown operation {unknown[0]!r}; there are {', '.join(OPERATION_CLASSES)}"
        )
    if not given or min(given.values()) < 0.0 or not sum(given.values()) > 0.0:
        raise ValueError(
            f"operation weights must not be negative or all zero, not {tuple(given.values())}"
        )
    return {name: given[name] for name in OPERATION_CLASSES if given.get(name, 0.0) > 0.0}


def _check(config: WorkloadConfig) -> None:
    """Refuse what no workload can be."""
    _weights(config)
    if len(config.partitions_per_table) != config.num_tables:
        raise ValueError(
            f"partitions_per_table has {len(config.partitions_per_table)} entries "
            f"for {config.num_tables} tables"
        )
    if config.group_of and len(config.group_of) != config.num_tables:
        raise ValueError(
            f"group_of has {len(config.group_of)} entries for {config.num_tables} tables"
        )
    probability = config.overlap_probability
    if probability is not None and not 0.0 <= probability <= 1.0:
        raise ValueError(f"overlap_probability must be between 0 and 1, not {probability}")
    if probability is not None and config.partitions_per_txn is None:
        raise ValueError("overlap_probability needs partitions: set partitions_per_txn")


def _sampler(distribution: LatencyDistribution, rng: np.random.RandomState) -> Callable[[], float]:
    """Draws from a distribution, in blocks where it is a map of standard normals."""
    if isinstance(distribution, NormalDriven):
        return block_sampler(distribution, NormalStream(rng))
    return lambda: distribution.sample(rng)
