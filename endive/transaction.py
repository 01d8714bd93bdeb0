"""Transactions (§3): read a snapshot, work, commit, and on a lost race find out what the retry costs.

`Transaction.execute` is the commit protocol, step by step as §3.2 lists it. The types differ only in what a conflict costs
them and whether it can be real.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import numpy as np

from endive.catalog import Catalog, CatalogSnapshot
from endive.catalog.types import make_intention
from endive.cost_model import NO_COST, ConflictCost, payment_ms
from endive.storage import StorageProvider
from endive.utils import maker

__all__ = [
    "Backoff",
    "Clock",
    "ConflictCost",
    "ConflictDetector",
    "FastAppendTransaction",
    "MergeAppendTransaction",
    "Transaction",
    "TransactionResult",
    "TransactionStatus",
    "ValidatedOverwriteTransaction",
]

MAX_RETRIES_REASON = "max_retries"
VALIDATION_REASON = "validation_exception"


class TransactionStatus(Enum):
    """Where a transaction stands."""

    PENDING = auto()
    EXECUTING = auto()
    COMMITTING = auto()
    COMMITTED = auto()
    ABORTED = auto()


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """How a transaction ended and what it paid."""

    status: TransactionStatus
    txn_id: int
    commit_time_ms: float
    abort_time_ms: float
    abort_reason: str | None
    total_retries: int
    commit_latency_ms: float
    total_latency_ms: float
    operation_type: str
    runtime_ms: float

    # I/O tracking; the historical reads are among the manifest-list reads.
    manifest_list_reads: int
    manifest_list_writes: int
    manifest_file_reads: int
    manifest_file_writes: int

    # Timing decomposition: with the runtime these add up to the total.
    catalog_read_ms: float
    per_attempt_io_ms: float
    conflict_io_ms: float
    catalog_commit_ms: float

    submit_time_ms: float = math.nan
    historical_ml_reads: int = 0
    manifest_list_appends: int = 0
    backoff_ms: float = 0.0
    unfinished_ms: float = 0.0


_make_result = maker(TransactionResult)


class Clock(Protocol):
    """Whoever knows what time it is; a SimPy environment does."""

    @property
    def now(self) -> float:
        """Milliseconds since the start of the run."""


class _ElapsedClock:
    """Tells the time by counting the waits of one transaction, where nobody else tells it."""

    def __init__(self, start_ms: float) -> None:
        self.now = start_ms

    def counting(
        self, steps: Generator[float, None, TransactionResult]
    ) -> Generator[float, None, TransactionResult]:
        """The same steps, with the clock moving on after each wait."""
        try:
            while True:
                wait_ms = next(steps)
                yield wait_ms
                self.now += wait_ms
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with a cap, and jitter both ways after the cap."""

    rng: np.random.RandomState
    base_ms: float = 10.0
    multiplier: float = 2.0
    max_ms: float = 5000.0
    jitter: float = 0.1

    def wait_ms(self, retry: int) -> float:
        """How long to wait before retry 1, 2, …"""
        # Beyond this exponent a float would overflow long after the cap was reached.
        exponent = min(retry - 1, 1000)
        try:
            capped_ms = min(self.max_ms, self.base_ms * self.multiplier**exponent)
        except OverflowError:
            capped_ms = self.max_ms
        return capped_ms * (1.0 + self.jitter * (2.0 * self.rng.random_sample() - 1.0))


class ConflictDetector(ABC):
    """Says whether a conflict is real: the same data, not merely the same table."""

    @abstractmethod
    def is_real_conflict(
        self,
        txn: Transaction,
        current_snapshot: CatalogSnapshot,
        start_snapshot: CatalogSnapshot,
    ) -> bool:
        """Whether what changed since `start_snapshot` conflicts with the transaction's data."""


class Transaction(ABC):
    """One optimistic transaction, from snapshot to commit or abort."""

    operation_type: str = ""

    __slots__ = (
        "backoff_ms",
        "catalog_commit_ms",
        "catalog_read_ms",
        "commit_calls",
        "conflict_io_ms",
        "historical_ml_reads",
        "manifest_file_reads",
        "manifest_file_writes",
        "manifest_list_appends",
        "manifest_list_reads",
        "manifest_list_writes",
        "partitions_written",
        "per_attempt_io_ms",
        "runtime_ms",
        "status",
        "submit_time_ms",
        "tables_written",
        "txn_id",
        "work_done_ms",
    )

    def __init__(
        self,
        txn_id: int,
        submit_time_ms: float,
        runtime_ms: float,
        tables_written: frozenset[int],
        partitions_written: Mapping[int, frozenset[int]] | None = None,
    ) -> None:
        self.txn_id = txn_id
        self.submit_time_ms = submit_time_ms
        self.runtime_ms = runtime_ms
        self.tables_written = tables_written
        self.partitions_written = partitions_written
        self.status = TransactionStatus.PENDING
        self.work_done_ms = -1.0
        self.commit_calls = 0
        self.manifest_list_reads = self.manifest_list_writes = 0
        self.manifest_file_reads = self.manifest_file_writes = 0
        self.historical_ml_reads = self.manifest_list_appends = 0
        self.catalog_read_ms = self.per_attempt_io_ms = self.conflict_io_ms = 0.0
        self.catalog_commit_ms = self.backoff_ms = 0.0

    # -- what the types decide -----------------------------------------------------------------------------------

    @abstractmethod
    def can_have_real_conflict(self) -> bool:
        """Whether the data of this operation can conflict at all."""

    @abstractmethod
    def should_abort_on_real_conflict(self) -> bool:
        """Whether a real conflict ends this operation."""

    @abstractmethod
    def get_conflict_cost(self, n_snapshots_behind: int, ml_append_mode: bool) -> ConflictCost:
        """Additional retry-specific I/O cost. Only paid when write overlap exists."""

    def get_per_attempt_cost(self, ml_append_mode: bool) -> ConflictCost:
        """I/O cost of one table, paid on the first attempt and on retries that overlap it."""
        return _ATTEMPT_WITH_APPEND if ml_append_mode else _ATTEMPT

    # -- the protocol (§3.2) -------------------------------------------------------------------------------------

    def execute(
        self,
        catalog: Catalog,
        storage: StorageProvider,
        conflict_detector: ConflictDetector,
        max_retries: int = 10,
        ml_append_mode: bool = False,
        *,
        backoff: Backoff | None = None,
        log_entry_size: int = 100,
        clock: Clock | None = None,
    ) -> Generator[float, None, TransactionResult]:
        """Run the whole life of the transaction, yielding every wait in milliseconds."""
        if clock is None:
            own = _ElapsedClock(self.submit_time_ms)
            steps = self.execute(
                catalog,
                storage,
                conflict_detector,
                max_retries,
                ml_append_mode,
                backoff=backoff,
                log_entry_size=log_entry_size,
                clock=own,
            )
            return (yield from own.counting(steps))

        # 1. Read the catalog. The snapshot is taken before the work, so the work makes it stale (§8.2).
        self.status = TransactionStatus.EXECUTING
        called_ms = clock.now
        start = seen = yield from catalog.read(called_ms)
        now_ms = clock.now
        self.catalog_read_ms += now_ms - called_ms

        # 2. Do the work.
        yield self.runtime_ms
        self.status = TransactionStatus.COMMITTING
        self.work_done_ms = clock.now

        # 3. Commit, as often as allowed. Manifests must be written for these many tables:
        tables_to_write = len(self.tables_written)
        cost_per_table = self.get_per_attempt_cost(ml_append_mode)
        partitions = self.intended_partitions()
        for attempt in range(max_retries + 1):
            # a. Pay for the attempt; a table without overlap still has its valid manifests (§8.12).
            if tables_to_write:
                cost = cost_per_table
                if tables_to_write > 1:
                    cost = cost.times(tables_to_write)
                paid_ms = payment_ms(storage, cost)
                yield paid_ms
                self.per_attempt_io_ms += paid_ms
                self.count(cost)

            # b. Try to commit against what was seen.
            writes = {}
            for table_id in self.tables_written:
                writes[table_id] = seen.tables[table_id].version + 1
            intention = make_intention(self.txn_id, seen.seq, writes, partitions, log_entry_size)
            self.commit_calls += 1
            called_ms = clock.now
            result = yield from catalog.commit(seen.seq, writes, called_ms, intention)
            now_ms = clock.now
            self.catalog_commit_ms += now_ms - called_ms

            # c. On success, done. After the last attempt, done too: nothing more is read or paid.
            if result.success:
                return self.finish(TransactionStatus.COMMITTED, None, now_ms)
            if attempt == max_retries:
                break

            # d. On failure, wait if asked to, and read the catalog to learn the current state (§8.8).
            if backoff is not None:
                wait_ms = backoff.wait_ms(attempt + 1)
                yield wait_ms
                self.backoff_ms += wait_ms
                now_ms = clock.now
            called_ms = now_ms
            current = yield from catalog.read(called_ms)
            now_ms = clock.now
            self.catalog_read_ms += now_ms - called_ms

            # e, f. Without overlap all manifests are still valid: just try again.
            tables_to_write = self.overlapping_tables(seen, current)
            if tables_to_write:
                # g. With overlap, pay for resolving the conflict; a real one may end it all.
                cost = self.get_conflict_cost(current.seq - seen.seq, ml_append_mode)
                if cost is not NO_COST:
                    paid_ms = payment_ms(storage, cost)
                    yield paid_ms
                    self.conflict_io_ms += paid_ms
                    self.count(cost)
                if (
                    conflict_detector.is_real_conflict(self, current, start)
                    and self.should_abort_on_real_conflict()
                ):
                    return self.finish(TransactionStatus.ABORTED, VALIDATION_REASON, clock.now)
            seen = current

        return self.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, now_ms)

    def intended_partitions(self) -> dict[int, tuple[int, ...]] | None:
        """The written partitions as an intention states them."""
        if self.partitions_written is None:
            return None
        intended = {}
        for table_id, parts in self.partitions_written.items():
            intended[table_id] = tuple(sorted(parts)) if len(parts) > 1 else tuple(parts)
        return intended

    def has_write_overlap(
        self, old_snapshot: CatalogSnapshot, new_snapshot: CatalogSnapshot
    ) -> bool:
        """Whether an intervening commit touched a table and partition that this transaction writes (§3.3)."""
        return self.overlapping_tables(old_snapshot, new_snapshot) > 0

    def overlapping_tables(
        self, old_snapshot: CatalogSnapshot, new_snapshot: CatalogSnapshot
    ) -> int:
        """How many written tables intervening commits overlap."""
        count = 0
        old_tables, new_tables = old_snapshot.tables, new_snapshot.tables
        partitions_written = self.partitions_written
        for table_id in self.tables_written:
            old_table, new_table = old_tables[table_id], new_tables[table_id]
            # Snapshots share what no commit has touched.
            if old_table is new_table or old_table.version == new_table.version:
                continue
            if partitions_written is None:
                count += 1
                continue
            old_versions, new_versions = old_table.partition_versions, new_table.partition_versions
            for partition_id in partitions_written.get(table_id, ()):
                if old_versions[partition_id] != new_versions[partition_id]:
                    count += 1
                    break
        return count

    def count(self, cost: ConflictCost) -> None:
        """Count what has been paid."""
        self.manifest_list_reads += cost.manifest_list_reads
        self.manifest_list_writes += cost.manifest_list_writes
        self.manifest_file_writes += cost.manifest_file_writes
        if cost.historical_ml_reads or cost.manifest_file_reads or cost.manifest_list_appends:
            self.manifest_list_reads += cost.historical_ml_reads
            self.historical_ml_reads += cost.historical_ml_reads
            self.manifest_file_reads += cost.manifest_file_reads
            self.manifest_list_appends += cost.manifest_list_appends

    def finish(
        self, status: TransactionStatus, abort_reason: str | None, now_ms: float
    ) -> TransactionResult:
        """Close the transaction and say what became of it."""
        self.status = status
        return self.result(now_ms, abort_reason)

    def result(self, now_ms: float, abort_reason: str | None = None) -> TransactionResult:
        """What has become of the transaction by `now_ms`, finished or not."""
        committed = self.status is TransactionStatus.COMMITTED
        aborted = self.status is TransactionStatus.ABORTED
        total_ms = now_ms - self.submit_time_ms
        worked = self.work_done_ms >= 0.0
        unfinished_ms = 0.0
        if not (committed or aborted):
            explained_ms = (
                self.catalog_read_ms
                + self.per_attempt_io_ms
                + self.conflict_io_ms
                + self.catalog_commit_ms
                + self.backoff_ms
                + (self.runtime_ms if worked else 0.0)
            )
            unfinished_ms = max(0.0, total_ms - explained_ms)
        return _make_result(
            self.status,
            self.txn_id,
            now_ms if committed else -1.0,
            now_ms if aborted else -1.0,
            abort_reason,
            max(0, self.commit_calls - 1),
            now_ms - self.work_done_ms if worked else 0.0,
            total_ms,
            self.operation_type,
            self.runtime_ms,
            self.manifest_list_reads,
            self.manifest_list_writes,
            self.manifest_file_reads,
            self.manifest_file_writes,
            self.catalog_read_ms,
            self.per_attempt_io_ms,
            self.conflict_io_ms,
            self.catalog_commit_ms,
            self.submit_time_ms,
            self.historical_ml_reads,
            self.manifest_list_appends,
            self.backoff_ms,
            unfinished_ms,
        )


_ATTEMPT = ConflictCost(manifest_list_reads=1, manifest_file_writes=1, manifest_list_writes=1)
_ATTEMPT_WITH_APPEND = ConflictCost(
    manifest_list_reads=1, manifest_file_writes=1, manifest_list_appends=1
)


class FastAppendTransaction(Transaction):
    """Append-only: no validation, no real conflicts, nothing to pay beyond the attempt itself."""

    operation_type = "fast_append"
    __slots__ = ()

    def can_have_real_conflict(self) -> bool:
        """Never: new files stand beside the old ones."""
        return False

    def should_abort_on_real_conflict(self) -> bool:
        """Never."""
        return False

    def get_conflict_cost(self, n_snapshots_behind: int, ml_append_mode: bool) -> ConflictCost:
        """No additional retry cost."""
        return NO_COST


class MergeAppendTransaction(Transaction):
    """Append that re-merges manifests: every intervening commit left some to read and write again."""

    operation_type = "merge_append"
    __slots__ = ("manifests_per_concurrent_commit",)

    def __init__(
        self, *args: Any, manifests_per_concurrent_commit: float = 1.5, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.manifests_per_concurrent_commit = manifests_per_concurrent_commit

    def can_have_real_conflict(self) -> bool:
        """Never: new files stand beside the old ones."""
        return False

    def should_abort_on_real_conflict(self) -> bool:
        """Never."""
        return False

    def get_conflict_cost(self, n_snapshots_behind: int, ml_append_mode: bool) -> ConflictCost:
        """The manifests of the intervening commits, read and written again; whole ones only."""
        manifests = math.floor(n_snapshots_behind * self.manifests_per_concurrent_commit)
        return ConflictCost(manifest_file_reads=manifests, manifest_file_writes=manifests)


class ValidatedOverwriteTransaction(Transaction):
    """Overwrite that validates against every intervening commit: the I/O convoy, and real conflicts."""

    operation_type = "validated_overwrite"
    __slots__ = ()

    def can_have_real_conflict(self) -> bool:
        """It replaces data that others may have changed."""
        return True

    def should_abort_on_real_conflict(self) -> bool:
        """Validation fails for good; Iceberg does not retry it."""
        return True

    def get_conflict_cost(self, n_snapshots_behind: int, ml_append_mode: bool) -> ConflictCost:
        """Exactly one historical manifest list per snapshot behind (§8.3)."""
        return ConflictCost(historical_ml_reads=n_snapshots_behind)
