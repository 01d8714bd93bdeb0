"""The express lane: `Transaction.execute` written flat for the case that is simulated most.

Built-in operations on a built-in pointer catalog over a built-in store need no generators within the generator, no snapshot
until somebody asks for one, and no intention until a commit succeeds. Every draw, wait and count is the same, in the same
order and to the last bit; tests run both lanes on generated configurations and compare digests. What the steps mean is said
where they are said first, in `endive.transaction`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, TypeGuard

from endive.catalog import (
    CASCatalog,
    Catalog,
    CatalogSnapshot,
    InstantCatalog,
    PointerCatalog,
    TableMetadata,
)
from endive.cost_model import NO_COST, payment, total_of_uses_ms
from endive.express.story import CROSS_TABLE, DISJOINT, MANY, OVERLAP, Story, View, only_of
from endive.storage import ProfileStorageProvider, StorageProvider
from endive.trace import BackedOff, Judged
from endive.trace.witness import NO_PARTITIONS
from endive.transaction import (
    MAX_RETRIES_REASON,
    VALIDATION_REASON,
    Backoff,
    Clock,
    CommitOptions,
    ConflictDetector,
    FastAppendTransaction,
    MergeAppendTransaction,
    PricedTransaction,
    Transaction,
    TransactionResult,
    TransactionStatus,
    ValidatedOverwriteTransaction,
)
from endive.transaction.events import paid

_CATALOGS = (CASCatalog, InstantCatalog)
_OPERATIONS = (FastAppendTransaction, MergeAppendTransaction, ValidatedOverwriteTransaction)


class Lane(NamedTuple):
    """The parts that the flat form works on."""

    catalog: PointerCatalog
    storage: ProfileStorageProvider


def lane_of(catalog: Catalog, storage: StorageProvider, options: CommitOptions) -> Lane | None:
    """The lane, if all is built-in and as specified, so that the flat form does what their own methods would do."""
    if (
        isinstance(catalog, PointerCatalog)
        and type(catalog) in _CATALOGS
        and catalog.is_direct
        and catalog.granularity == "catalog"
        and isinstance(storage, ProfileStorageProvider)
        and type(storage) is ProfileStorageProvider
        and options.is_plain
    ):
        return Lane(catalog, storage)
    return None


def takes(txn: Transaction) -> TypeGuard[PricedTransaction]:
    """Whether a transaction may take the express lane; a subclass may have changed anything."""
    return type(txn) in _OPERATIONS and txn.cost_table is None


def execute(
    txn: PricedTransaction,
    lane: Lane,
    conflict_detector: ConflictDetector,
    max_retries: int,
    ml_append_mode: bool,
    backoff: Backoff | None,
    log_entry_size: int,
    clock: Clock,
    story: Story | None = None,
) -> Generator[float, None, TransactionResult]:
    """The steps of `Transaction.execute`, numbered as there."""
    catalog, storage = lane
    draw_read_ms, draw_swap_ms = catalog.draw_read_ms, catalog.draw_swap_ms
    draw_failure_ms, effect_point = catalog.draw_failure_ms, catalog.effect_point
    state = catalog.state
    txn_id = txn.txn_id
    mark: Callable[[int], None] | None = None
    if story is not None:
        (
            mark,
            (READ, put_read, pack_read, beside_read),
            (RETRY, put_retry, pack_retry, beside_retry),
            (AGAIN, put_again, _, beside_again),
            (WORKED, put_worked, pack_worked, _),
            (PREPARED, put_prepared, pack_prepared, beside_prepared),
            (CALLED, put_called, pack_called, beside_called),
            (REFUSED, put_refused, pack_refused, _),
            (RETURNED, put_returned, pack_returned, _),
        ) = story.pens
        only_table, only_partition = only_of(txn)
        version, part, is_call_told = MANY, NO_PARTITIONS, False
        if only_table == MANY:
            view = View(txn)

    # 1. Read the catalog.
    txn.status = TransactionStatus.EXECUTING
    called_ms = clock.now
    drawn_ms = draw_read_ms()
    to_effect_ms = drawn_ms * effect_point
    yield to_effect_ms
    start_seq, start_tables, start_ms = state.seq, state.tables, called_ms + to_effect_ms
    seen_replaced = state.details.replaced
    if to_effect_ms < drawn_ms:
        yield drawn_ms - to_effect_ms
    now_ms = clock.now
    read_ms = now_ms - called_ms
    txn.catalog_read_ms += read_ms
    seen_seq, seen_tables = start_seq, start_tables
    if mark is not None:
        if only_table == MANY:
            seen_by_us = view.of(start_tables)
            beside_read(seen_by_us)
        else:
            metadata = start_tables[only_table]
            version = metadata.version
            if only_partition is not None:
                part = metadata.partition_versions[only_partition]
        mark(READ)
        put_read(pack_read(txn_id, called_ms, now_ms, drawn_ms, start_seq, version, part))

    # 2. Do the work.
    yield txn.runtime_ms
    if mark is not None:
        mark(WORKED)
        put_worked(pack_worked(clock.now, txn_id, txn.runtime_ms))
    txn.status = TransactionStatus.COMMITTING
    txn.work_done_ms = clock.now

    # 3. Commit, as often as allowed.
    tables_written, partitions_written = txn.tables_written, txn.partitions_written
    tables_to_write = len(tables_written)
    is_free: bool | None = None
    read_list, write_list, _, write_file, append_list = storage.manifest_samplers
    put_list = append_list if ml_append_mode else write_list
    for attempt in range(max_retries + 1):
        # a. Pay for the attempt.
        if tables_to_write == 1 and put_list is not None:
            list_ms, file_ms, put_ms = read_list.draw_ms(), write_file.draw_ms(), put_list.draw_ms()
            paid_ms = list_ms + file_ms + put_ms
            yield paid_ms
            txn.per_attempt_io_ms += paid_ms
            txn.manifest_list_reads += 1
            txn.manifest_file_writes += 1
            if ml_append_mode:
                txn.manifest_list_appends += 1
            else:
                txn.manifest_list_writes += 1
            called_ms = clock.now
            if mark is not None:
                if version == MANY:
                    beside_prepared(seen_by_us[0])
                mark(PREPARED)
                times = (list_ms, file_ms, put_ms)
                put_prepared(pack_prepared(called_ms, txn_id, attempt, *times, seen_seq, version))
        else:
            if tables_to_write:
                cost = txn.get_per_attempt_cost(ml_append_mode).times(tables_to_write)
                uses = payment(storage, cost)
                paid_ms = total_of_uses_ms(uses)
                yield paid_ms
                txn.per_attempt_io_ms += paid_ms
                txn.count(cost)
                if story is not None:
                    reason = "rebuild" if attempt else "attempt"
                    story.emit(paid(clock.now, txn, reason, paid_ms, cost, uses))
            called_ms = clock.now
            if mark is not None and not is_call_told:
                if version == MANY:
                    beside_called(seen_by_us[0])
                mark(CALLED)
                put_called(pack_called(called_ms, txn_id, attempt, seen_seq, version))

        # b. Try to commit against what was seen.
        txn.commit_calls += 1
        drawn_ms = draw_swap_ms()
        to_effect_ms = drawn_ms * effect_point
        yield to_effect_ms
        success = state.seq == seen_seq
        rest_ms = drawn_ms - to_effect_ms
        if success:
            writes = {}
            for table_id in tables_written:
                writes[table_id] = seen_tables[table_id].version + 1
            state.apply(writes, txn.intention(seen_seq, writes, log_entry_size))
        else:
            if mark is not None:
                mark(REFUSED)
                put_refused(pack_refused(clock.now, txn_id, seen_seq, state.seq))
            if draw_failure_ms is not None:
                rest_ms = max(0.0, draw_failure_ms() - to_effect_ms)
        if rest_ms > 0.0:
            yield rest_ms
        now_ms = clock.now
        commit_ms = now_ms - called_ms
        txn.catalog_commit_ms += commit_ms
        if mark is not None:
            took_ms = to_effect_ms + rest_ms
            mark(RETURNED)
            put_returned(pack_returned(now_ms, txn_id, attempt, success, called_ms, took_ms))

        # c. On success, done. After the last attempt, done too.
        if success:
            return txn.finish(TransactionStatus.COMMITTED, None, now_ms)
        if attempt == max_retries:
            break

        # d. On failure, wait if asked to, and read the catalog.
        if backoff is not None:
            wait_ms = backoff.wait_ms(attempt + 1)
            yield wait_ms
            txn.backoff_ms += wait_ms
            now_ms = clock.now
            if story is not None:
                story.emit(BackedOff(now_ms, txn_id, attempt + 1, wait_ms))
        called_ms = now_ms
        drawn_ms = draw_read_ms()
        to_effect_ms = drawn_ms * effect_point
        yield to_effect_ms
        current_seq, current_tables = state.seq, state.tables
        current_ms, current_replaced = called_ms + to_effect_ms, state.details.replaced
        if to_effect_ms < drawn_ms:
            yield drawn_ms - to_effect_ms
        now_ms = clock.now
        read_ms = now_ms - called_ms
        txn.catalog_read_ms += read_ms

        # e, f. Without overlap, just try again.
        tables_to_write = 0
        is_real = is_same_table = False
        for table_id in tables_written:
            seen, current = seen_tables[table_id], current_tables[table_id]
            if seen is current:
                continue
            is_same_table = True
            if partitions_written is None:
                tables_to_write += 1
                continue
            seen_versions, current_versions = seen.partition_versions, current.partition_versions
            for partition_id in partitions_written.get(table_id, ()):
                if seen_versions[partition_id] != current_versions[partition_id]:
                    tables_to_write += 1
                    break
        if mark is not None:
            commits, replaced = current_seq - seen_seq, current_replaced - seen_replaced
            # Where nothing is owed, the next call follows at once; it is made with what has just been seen.
            is_call_told = not tables_to_write
            RETRIED, put_retried, lay_beside = (
                (AGAIN, put_again, beside_again)
                if is_call_told
                else (RETRY, put_retry, beside_retry)
            )
            if only_table == MANY:
                seen_by_us = view.of(current_tables)
                lay_beside(seen_by_us)
            else:
                metadata = current_tables[only_table]
                version = metadata.version
                if only_partition is not None:
                    part = metadata.partition_versions[only_partition]
            if len(tables_written) > 1:
                found = MANY
                lay_beside(_classes(txn, seen_tables, current_tables))
            elif tables_to_write:
                found = OVERLAP
            else:
                found = DISJOINT if is_same_table else CROSS_TABLE
            mark(RETRIED)
            # fmt: off
            put_retried(pack_retry(
                txn_id, called_ms, now_ms, drawn_ms, current_seq, version, part,
                attempt + 1, found, commits, replaced,
            ))
            # fmt: on
            seen_replaced = current_replaced
        if tables_to_write:
            # g. With overlap, pay for resolving the conflict; a real one may end it all.
            if is_free is None:
                # What never costs anything need not be priced at every retry.
                is_free = txn.prices.validate["overlap"].is_free
            cost = NO_COST
            if not is_free:
                cost = txn.get_conflict_cost(current_seq - seen_seq, ml_append_mode)
            if cost is not NO_COST:
                uses = payment(storage, cost)
                paid_ms = total_of_uses_ms(uses)
                yield paid_ms
                txn.conflict_io_ms += paid_ms
                txn.count(cost)
                if story is not None:
                    story.emit(paid(clock.now, txn, "validate", paid_ms, cost, uses))
            if txn.replaces_data:
                txn.snapshots_behind = current_seq - seen_seq
                is_real = conflict_detector.is_real_conflict(
                    txn,
                    CatalogSnapshot(current_seq, current_tables, current_ms),
                    CatalogSnapshot(start_seq, start_tables, start_ms),
                )
                if story is not None:
                    story.emit(Judged(clock.now, txn_id, attempt + 1, is_real))
        if is_real:
            txn.real_conflicts += 1
            return txn.finish(TransactionStatus.ABORTED, VALIDATION_REASON, clock.now)
        txn.false_conflicts += is_same_table
        seen_seq, seen_tables = current_seq, current_tables

    return txn.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, now_ms)


def _classes(
    txn: Transaction,
    seen_tables: tuple[TableMetadata, ...],
    current_tables: tuple[TableMetadata, ...],
) -> tuple[str, ...]:
    """The class of each written table; only a traced run asks for it."""
    partitions, classes = txn.partitions_written, []
    for table_id in sorted(txn.tables_written):
        seen, current = seen_tables[table_id], current_tables[table_id]
        if seen is current:
            classes.append("cross_table")
        elif partitions is None or any(
            seen.partition_versions[partition_id] != current.partition_versions[partition_id]
            for partition_id in partitions.get(table_id, ())
        ):
            classes.append("overlap")
        else:
            classes.append("disjoint_partitions")
    return tuple(classes)
