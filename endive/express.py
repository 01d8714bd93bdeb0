"""The express lane: `Transaction.execute` written flat for the case that is simulated most.

Built-in operations on a built-in pointer catalog over a built-in store need no generators within the generator, no snapshot
until somebody asks for one, and no intention until a commit succeeds. Every draw, wait and count is the same, in the same
order and to the last bit; tests run both lanes on generated configurations and compare digests. What the steps mean is said
where they are said first, in `endive.transaction`.
"""

from __future__ import annotations

from collections.abc import Generator

from endive.catalog import CASCatalog, Catalog, CatalogSnapshot, InstantCatalog, PointerCatalog
from endive.cost_model import NO_COST, payment_ms
from endive.storage import ProfileStorageProvider, StorageProvider
from endive.transaction import (
    MAX_RETRIES_REASON,
    VALIDATION_REASON,
    Backoff,
    Clock,
    CommitOptions,
    ConflictDetector,
    FastAppendTransaction,
    MergeAppendTransaction,
    Transaction,
    TransactionResult,
    TransactionStatus,
    ValidatedOverwriteTransaction,
)

_CATALOGS = (CASCatalog, InstantCatalog)
_OPERATIONS = (FastAppendTransaction, MergeAppendTransaction, ValidatedOverwriteTransaction)


def is_open(catalog: Catalog, storage: StorageProvider, options: CommitOptions) -> bool:
    """Whether all is built-in and as specified, so that the flat form does what their own methods would do."""
    return (
        isinstance(catalog, PointerCatalog)
        and type(catalog) in _CATALOGS
        and catalog.is_direct
        and catalog.granularity == "catalog"
        and type(storage) is ProfileStorageProvider
        and options.is_plain
    )


def takes(txn: Transaction) -> bool:
    """Whether a transaction may take the express lane; a subclass may have changed anything."""
    return type(txn) in _OPERATIONS and txn.cost_table is None


def execute(
    txn: Transaction,
    catalog: PointerCatalog,
    storage: ProfileStorageProvider,
    conflict_detector: ConflictDetector,
    max_retries: int,
    ml_append_mode: bool,
    backoff: Backoff | None,
    log_entry_size: int,
    clock: Clock,
) -> Generator[float, None, TransactionResult]:
    """The steps of `Transaction.execute`, numbered as there."""
    draw_read_ms, draw_swap_ms = catalog.draw_read_ms, catalog.draw_swap_ms
    draw_failure_ms, effect_point = catalog.draw_failure_ms, catalog.effect_point
    state = catalog.state

    # 1. Read the catalog.
    txn.status = TransactionStatus.EXECUTING
    called_ms = clock.now
    drawn_ms = draw_read_ms()
    to_effect_ms = drawn_ms * effect_point
    yield to_effect_ms
    start_seq, start_tables, start_ms = state.seq, state.tables, called_ms + to_effect_ms
    if to_effect_ms < drawn_ms:
        yield drawn_ms - to_effect_ms
    txn.catalog_read_ms += clock.now - called_ms
    seen_seq, seen_tables = start_seq, start_tables

    # 2. Do the work.
    yield txn.runtime_ms
    txn.status = TransactionStatus.COMMITTING
    txn.work_done_ms = clock.now

    # 3. Commit, as often as allowed.
    tables_written, partitions_written = txn.tables_written, txn.partitions_written
    tables_to_write = len(tables_written)
    read_list, write_list, _, write_file, append_list = storage.manifest_samplers
    put_list = append_list if ml_append_mode else write_list
    assert read_list is not None
    assert write_file is not None
    for attempt in range(max_retries + 1):
        # a. Pay for the attempt.
        if tables_to_write == 1 and put_list is not None:
            paid_ms = read_list.draw_ms() + write_file.draw_ms() + put_list.draw_ms()
            yield paid_ms
            txn.per_attempt_io_ms += paid_ms
            txn.manifest_list_reads += 1
            txn.manifest_file_writes += 1
            if ml_append_mode:
                txn.manifest_list_appends += 1
            else:
                txn.manifest_list_writes += 1
        elif tables_to_write:
            cost = txn.get_per_attempt_cost(ml_append_mode).times(tables_to_write)
            paid_ms = payment_ms(storage, cost)
            yield paid_ms
            txn.per_attempt_io_ms += paid_ms
            txn.count(cost)

        # b. Try to commit against what was seen.
        txn.commit_calls += 1
        called_ms = clock.now
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
        elif draw_failure_ms is not None:
            rest_ms = max(0.0, draw_failure_ms() - to_effect_ms)
        if rest_ms > 0.0:
            yield rest_ms
        now_ms = clock.now
        txn.catalog_commit_ms += now_ms - called_ms

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
        called_ms = now_ms
        drawn_ms = draw_read_ms()
        to_effect_ms = drawn_ms * effect_point
        yield to_effect_ms
        current_seq, current_tables = state.seq, state.tables
        current_ms = called_ms + to_effect_ms
        if to_effect_ms < drawn_ms:
            yield drawn_ms - to_effect_ms
        now_ms = clock.now
        txn.catalog_read_ms += now_ms - called_ms

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
        if tables_to_write:
            # g. With overlap, pay for resolving the conflict; a real one may end it all.
            cost = txn.get_conflict_cost(current_seq - seen_seq, ml_append_mode)
            if cost is not NO_COST:
                paid_ms = payment_ms(storage, cost)
                yield paid_ms
                txn.conflict_io_ms += paid_ms
                txn.count(cost)
            if txn.replaces_data:
                txn.snapshots_behind = current_seq - seen_seq
                is_real = conflict_detector.is_real_conflict(
                    txn,
                    CatalogSnapshot(current_seq, current_tables, current_ms),
                    CatalogSnapshot(start_seq, start_tables, start_ms),
                )
        if is_real:
            txn.real_conflicts += 1
            return txn.finish(TransactionStatus.ABORTED, VALIDATION_REASON, clock.now)
        txn.false_conflicts += is_same_table
        seen_seq, seen_tables = current_seq, current_tables

    return txn.finish(TransactionStatus.ABORTED, MAX_RETRIES_REASON, now_ms)
