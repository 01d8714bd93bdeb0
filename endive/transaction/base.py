"""Transactions (§3): read a snapshot, work, commit, and on a lost race find out what the retry costs.

`Transaction.execute` is the commit protocol, step by step as §3.2 lists it. The types differ only in what a conflict costs
them and whether it can be real.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping

from endive.catalog import Catalog, CatalogSnapshot, IntentionRecord
from endive.catalog.types import make_intention
from endive.cost_model import (
    NO_COST,
    ConflictCost,
    CostTable,
    load_cost_table,
)
from endive.storage import StorageProvider
from endive.trace import (
    BackedOff,
    CommitCalled,
    CommitReturned,
    Emit,
    Judged,
    Restarted,
    Worked,
)
from endive.trace.recorder import SEEN
from endive.transaction.attempts import AttemptMeter
from endive.transaction.clock import Clock, ElapsedClock
from endive.transaction.dues import both, metadata_reads, metadata_writes
from endive.transaction.events import classified, reading
from endive.transaction.payer import Payer
from endive.transaction.pricing import (
    CROSS_TABLE,
    OVERLAP,
    Finding,
    Situation,
    find,
    may_be_real,
    merging_dues,
    preparation,
    versions_read,
)
from endive.transaction.result import (
    MAX_RETRIES_REASON,
    NO_EXTRAS,
    TIMEOUT_REASON,
    VALIDATION_REASON,
    Extras,
    TransactionResult,
    TransactionStatus,
    result_of,
)
from endive.transaction.retry import PLAIN, Backoff, CommitOptions


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
    replaces_data: bool = False
    """Whether a commit takes the place of data that was there, rather than adding to it."""

    __slots__ = (
        "backoff_ms",
        "catalog_commit_ms",
        "catalog_read_ms",
        "class_name",
        "commit_calls",
        "conflict_io_ms",
        "cost_table",
        "extras",
        "false_conflicts",
        "historical_ml_reads",
        "manifest_file_reads",
        "manifest_file_writes",
        "manifest_list_appends",
        "manifest_list_reads",
        "manifest_list_writes",
        "manifests_per_concurrent_commit",
        "partitions_written",
        "per_attempt_io_ms",
        "real_conflicts",
        "runtime_ms",
        "snapshots_behind",
        "status",
        "submit_time_ms",
        "tables_read",
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
        *,
        tables_read: frozenset[int] | None = None,
        class_name: str = "default",
        cost_table: CostTable | None = None,
        manifests_per_concurrent_commit: float = 1.5,
    ) -> None:
        self.txn_id = txn_id
        self.submit_time_ms = submit_time_ms
        self.runtime_ms = runtime_ms
        self.tables_written = tables_written
        self.partitions_written = partitions_written
        self.tables_read = tables_written if tables_read is None else tables_read
        self.class_name = class_name
        self.cost_table = cost_table
        self.manifests_per_concurrent_commit = manifests_per_concurrent_commit
        self.status = TransactionStatus.PENDING
        self.work_done_ms = -1.0
        self.commit_calls = self.snapshots_behind = 0
        self.false_conflicts = self.real_conflicts = 0
        self.manifest_list_reads = self.manifest_list_writes = 0
        self.manifest_file_reads = self.manifest_file_writes = 0
        self.historical_ml_reads = self.manifest_list_appends = 0
        self.catalog_read_ms = self.per_attempt_io_ms = self.conflict_io_ms = 0.0
        self.catalog_commit_ms = self.backoff_ms = 0.0
        self.extras = NO_EXTRAS

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

    # What the protocol asks. An operation priced by a cost table answers from it; any other one by the two above.

    def attempt_cost(self, at: Situation) -> ConflictCost:
        """What attempt 0 costs for one table."""
        return self.get_per_attempt_cost(at.ml_append_mode)

    def validation_cost(self, at: Situation) -> ConflictCost:
        """What it costs to find out whether a conflict is real."""
        if at.conflict_class != OVERLAP:
            return NO_COST
        return self.get_conflict_cost(at.commits, at.ml_append_mode)

    def rebuild_cost(self, at: Situation) -> ConflictCost:
        """What a retry costs for one table before its commit call."""
        if at.conflict_class != OVERLAP:
            return NO_COST
        return self.get_per_attempt_cost(at.ml_append_mode)

    def merging_cost(self, at: Situation, conflicting: int) -> ConflictCost:
        """What it costs to merge so many manifests that are in real conflict."""
        return NO_COST

    def only_replaced_data_conflicts(self) -> bool:
        """Whether appends by others can never fail this operation."""
        return False

    def merges_at(self, manifests: int) -> bool:
        """Whether this operation merges the manifests of a table that has so many."""
        return False

    @property
    def table(self) -> CostTable:
        """The cost table whose settings hold for this transaction."""
        return self.cost_table or load_cost_table("spec-2.0")

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
        options: CommitOptions = PLAIN,
    ) -> Generator[float, None, TransactionResult]:
        """Run the whole life of the transaction, yielding every wait in milliseconds."""
        if clock is None:
            own = ElapsedClock(self.submit_time_ms)
            steps = self.execute(
                catalog,
                storage,
                conflict_detector,
                max_retries,
                ml_append_mode,
                backoff=backoff,
                log_entry_size=log_entry_size,
                clock=own,
                options=options,
            )
            return (yield from own.counting(steps))
        table, emit = self.table, options.emit
        payer = Payer(self, storage, options, clock)
        meter: AttemptMeter | None = None
        if options.attempts is not None:
            meter = self.own_extras().meter = AttemptMeter(self)

        while True:
            # 1. Read the catalog. The snapshot is taken before the work, so the work makes it stale (§8.2).
            self.status = TransactionStatus.EXECUTING
            start = seen = yield from self._read(catalog, clock, emit)
            payer.learn_lists(seen)
            yield from payer.pay(metadata_reads(self, 1, options), seen, "start_io_ms", "start")

            # 2. Do the work.
            yield self.runtime_ms
            if emit is not None:
                emit(Worked(clock.now, self.txn_id, self.runtime_ms))
            if self.work_done_ms < 0.0:
                self.work_done_ms = clock.now
            else:
                self.own_extras().rework_ms += self.runtime_ms
            self.status = TransactionStatus.COMMITTING

            # 3. Commit, as often as allowed.
            finding: Finding | None = None
            first_call_ms = -1.0
            for attempt in range(max_retries + 1):
                if attempt > 0 or table.refresh_before_first_attempt:
                    # d. Learn the current state (§8.8). e. Compare it with the one last seen.
                    current = yield from self._read(catalog, clock, emit)
                    finding = find(
                        self,
                        start if table.validate_from == "start" else seen,
                        seen,
                        current,
                        history_scope=options.history_scope,
                        serializable=options.serializable,
                        ml_append_mode=ml_append_mode,
                    )
                    self.snapshots_behind = finding.validated.commits
                    if meter is not None:
                        meter.conflict_class = finding.worst
                        meter.snapshots_behind = finding.snapshots_behind
                    if emit is not None:
                        emit(classified(clock.now, self, finding))
                    # f, g. Pay for resolving the conflict; a real one may end it all.
                    again = metadata_reads(self, table.metadata_reads_per_retry, options)
                    width = 1 if table.sequential_validation else None
                    dues = both(finding.validation, again)
                    yield from payer.pay(dues, current, "conflict_io_ms", "validate", width)
                    is_real = False
                    if may_be_real(self, finding):
                        is_real = conflict_detector.is_real_conflict(self, current, start)
                        if emit is not None and self.can_have_real_conflict():
                            emit(Judged(clock.now, self.txn_id, self.commit_calls, is_real))
                    if is_real:
                        self.real_conflicts += 1
                    elif finding.worst != CROSS_TABLE:
                        self.false_conflicts += 1
                    if is_real and self.should_abort_on_real_conflict():
                        break
                    if is_real and table.merges_real_conflicts:
                        merging = merging_dues(self, finding, current, options, ml_append_mode)
                        yield from payer.pay(merging, current, "conflict_io_ms", "merge")
                    seen = current

                # a. Pay for the attempt; a table without overlap still has its valid manifests (§8.12).
                dues, merged = preparation(self, seen, finding, attempt == 0, ml_append_mode)
                if table.writes_metadata_every_attempt:
                    dues = both(dues, metadata_writes(self, options))
                reason = "rebuild" if attempt else "attempt"
                yield from payer.pay(dues, seen, "per_attempt_io_ms", reason)

                # b. Try to commit against what was seen.
                writes = {}
                for table_id in self.tables_written:
                    writes[table_id] = seen.tables[table_id].version + 1
                intention = self.intention(
                    seen.seq,
                    writes,
                    log_entry_size,
                    merged,
                    versions_read(self, seen) if options.serializable else None,
                )
                called_ms = clock.now
                if emit is not None:
                    versions = tuple(writes[table_id] for table_id in sorted(writes))
                    emit(
                        CommitCalled(called_ms, self.txn_id, self.commit_calls, seen.seq, versions)
                    )
                self.commit_calls += 1
                if attempt == 0:
                    first_call_ms = called_ms
                if meter is not None:
                    meter.called_ms = called_ms
                result = yield from catalog.commit(seen.seq, writes, called_ms, intention)
                commit_ms = clock.now - called_ms
                self.catalog_commit_ms += commit_ms
                if emit is not None:
                    call = self.commit_calls - 1
                    emit(CommitReturned(clock.now, self.txn_id, call, result.success, commit_ms))

                # c. On success, done. After the last attempt, done too: nothing more is read or paid.
                if result.success and not table.writes_metadata_every_attempt:
                    yield from payer.pay(
                        metadata_writes(self, options), seen, "per_attempt_io_ms", "install"
                    )
                if meter is not None:
                    self._note("committed" if result.success else "failed", options)
                now_ms = clock.now
                if result.success:
                    return self.finish(TransactionStatus.COMMITTED, None, now_ms)
                if attempt == max_retries:
                    return self.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, now_ms)
                budget_ms = options.retry_timeout_ms
                if budget_ms is not None and now_ms - first_call_ms >= budget_ms:
                    return self.finish(TransactionStatus.ABORTED, TIMEOUT_REASON, now_ms)
                if backoff is not None:
                    wait_ms = backoff.wait_ms(attempt + 1)
                    yield wait_ms
                    self.backoff_ms += wait_ms
                    if emit is not None:
                        emit(BackedOff(clock.now, self.txn_id, attempt + 1, wait_ms))

            # The conflict was real: Iceberg gives up, and the application may start all over again.
            if meter is not None:
                self._note("aborted", options)
            if self.extras.restarts == options.max_restarts:
                return self.finish(TransactionStatus.ABORTED, VALIDATION_REASON, clock.now)
            self.own_extras().restarts += 1
            if emit is not None:
                emit(Restarted(clock.now, self.txn_id, self.extras.restarts))

    def _read(
        self, catalog: Catalog, clock: Clock, emit: Emit | None
    ) -> Generator[float, None, CatalogSnapshot]:
        called_ms = clock.now
        snapshot = yield from catalog.read(called_ms)
        read_ms = clock.now - called_ms
        self.catalog_read_ms += read_ms
        if emit is not None:
            tables, seq = snapshot.tables, snapshot.seq
            read = reading(self, tables, seq, snapshot.timestamp_ms, called_ms, read_ms)
            emit((SEEN, read))
        return snapshot

    def own_extras(self) -> Extras:
        """What only this transaction has; made when first asked for."""
        if self.extras is NO_EXTRAS:
            self.extras = Extras()
        return self.extras

    def _note(self, outcome: str, options: CommitOptions) -> None:
        """Hand in the row of the attempt that ends now."""
        if options.attempts is not None and self.extras.meter is not None:
            options.attempts.add(self.extras.meter.read(outcome))

    def note_in_flight(self, options: CommitOptions) -> None:
        """Hand in the row of an attempt that the end of the run cuts off."""
        if self.status is TransactionStatus.COMMITTING:
            self._note("in_flight", options)

    def intention(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        size_bytes: int,
        merged: frozenset[int] = frozenset(),
        tables_read: Mapping[int, int] | None = None,
    ) -> IntentionRecord:
        """What a commit of this transaction installs."""
        partitions: dict[int, tuple[int, ...]] | None = None
        if self.partitions_written is not None:
            partitions = {}
            for table_id, parts in self.partitions_written.items():
                partitions[table_id] = tuple(sorted(parts)) if len(parts) > 1 else tuple(parts)
        return make_intention(
            self.txn_id,
            expected_seq,
            writes,
            partitions,
            size_bytes,
            self.replaces_data,
            merged,
            tables_read,
        )

    def has_write_overlap(
        self, old_snapshot: CatalogSnapshot, new_snapshot: CatalogSnapshot
    ) -> bool:
        """Whether an intervening commit touched a table and partition that this transaction writes (§3.3)."""
        return any(
            self.overlaps_table(table_id, old_snapshot, new_snapshot)
            for table_id in self.tables_written
        )

    def overlaps_table(
        self, table_id: int, old_snapshot: CatalogSnapshot, new_snapshot: CatalogSnapshot
    ) -> bool:
        """Whether intervening commits touched what this transaction writes in one table."""
        old_table, new_table = old_snapshot.tables[table_id], new_snapshot.tables[table_id]
        # Snapshots share what no commit has touched.
        if old_table is new_table or old_table.version == new_table.version:
            return False
        if self.partitions_written is None:
            return True
        old_versions, new_versions = old_table.partition_versions, new_table.partition_versions
        return any(
            old_versions[partition_id] != new_versions[partition_id]
            for partition_id in self.partitions_written.get(table_id, ())
        )

    def count(self, cost: ConflictCost) -> None:
        """Count what has been paid."""
        self.manifest_list_reads += cost.manifest_list_reads + cost.historical_ml_reads
        self.manifest_list_writes += cost.manifest_list_writes
        self.manifest_file_reads += cost.manifest_file_reads
        self.manifest_file_writes += cost.manifest_file_writes
        self.historical_ml_reads += cost.historical_ml_reads
        self.manifest_list_appends += cost.manifest_list_appends
        if cost.metadata_reads or cost.metadata_writes:
            extras = self.own_extras()
            extras.metadata_reads += cost.metadata_reads
            extras.metadata_writes += cost.metadata_writes

    def finish(
        self, status: TransactionStatus, abort_reason: str | None, now_ms: float
    ) -> TransactionResult:
        """Close the transaction and say what became of it."""
        self.status = status
        return self.result(now_ms, abort_reason)

    def result(self, now_ms: float, abort_reason: str | None = None) -> TransactionResult:
        """What has become of the transaction by `now_ms`, finished or not."""
        return result_of(self, now_ms, abort_reason)


_ATTEMPT = ConflictCost(manifest_list_reads=1, manifest_file_writes=1, manifest_list_writes=1)
_ATTEMPT_WITH_APPEND = ConflictCost(
    manifest_list_reads=1, manifest_file_writes=1, manifest_list_appends=1
)
