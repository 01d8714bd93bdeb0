"""The express lane: `Transaction.execute` written flat for the case that is simulated most.

Built-in operations on a built-in pointer catalog over a built-in store need no generators within the generator, no snapshot
until somebody asks for one, and no intention until a commit succeeds. Every draw, wait and count is the same, in the same
order and to the last bit; tests run both lanes on generated configurations and compare digests. What the steps mean is said
where they are said first, in `endive.transaction`.
"""

from __future__ import annotations

from collections.abc import Generator

from endive.catalog import (
    CASCatalog,
    Catalog,
    CatalogSnapshot,
    InstantCatalog,
    PointerCatalog,
    TableMetadata,
)
from endive.cost_model import NO_COST, payment_ms
from endive.storage import ProfileStorageProvider, StorageProvider
from endive.trace import (
    BackedOff,
    CatalogRead,
    Classified,
    CommitCalled,
    CommitRefused,
    CommitReturned,
    Emit,
    IoPaid,
    Judged,
    Worked,
)
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
from endive.transaction.events import counts_of, paid, reading

_CROSS_TABLE, _OVERLAP = ("cross_table",), ("overlap",)
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
    emit: Emit | None = None,
) -> Generator[float, None, TransactionResult]:
    """The steps of `Transaction.execute`, numbered as there."""
    draw_read_ms, draw_swap_ms = catalog.draw_read_ms, catalog.draw_swap_ms
    draw_failure_ms, effect_point = catalog.draw_failure_ms, catalog.effect_point
    state = catalog.state
    txn_id = txn.txn_id
    # A traced transaction on one whole table, the most frequent kind in crowded runs, tells its story inline.
    table: int | None = None
    versions: tuple[int, ...]
    whole = txn.partitions_written is None and txn.tables_read is txn.tables_written
    if emit is not None and whole and len(txn.tables_written) == 1:
        (table,) = txn.tables_written

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
    read_ms = clock.now - called_ms
    txn.catalog_read_ms += read_ms
    seen_seq, seen_tables = start_seq, start_tables
    if emit is not None:
        if table is None:
            emit(reading(txn, start_tables, start_seq, start_ms, called_ms, read_ms))
        else:
            versions = (start_tables[table].version,)
            emit((CatalogRead, start_ms, txn_id, called_ms, read_ms, start_seq, versions, None, ()))

    # 2. Do the work.
    yield txn.runtime_ms
    if emit is not None:
        emit(Worked(clock.now, txn.txn_id, txn.runtime_ms))
    txn.status = TransactionStatus.COMMITTING
    txn.work_done_ms = clock.now

    # 3. Commit, as often as allowed.
    tables_written, partitions_written = txn.tables_written, txn.partitions_written
    tables_to_write = len(tables_written)
    is_free: bool | None = None
    read_list, write_list, _, write_file, append_list = storage.manifest_samplers
    put_list = append_list if ml_append_mode else write_list
    assert read_list is not None
    assert write_file is not None
    in_order = sorted(tables_written) if emit else ()
    attempt_counts = counts_of(txn.get_per_attempt_cost(ml_append_mode)) if emit else ()
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
            if emit is not None:
                reason = "rebuild" if attempt else "attempt"
                emit((IoPaid, clock.now, txn_id, attempt, reason, paid_ms, attempt_counts))
        elif tables_to_write:
            cost = txn.get_per_attempt_cost(ml_append_mode).times(tables_to_write)
            paid_ms = payment_ms(storage, cost)
            yield paid_ms
            txn.per_attempt_io_ms += paid_ms
            txn.count(cost)
            if emit is not None:
                emit(paid(clock.now, txn, "rebuild" if attempt else "attempt", paid_ms, cost))

        # b. Try to commit against what was seen.
        called_ms = clock.now
        if emit is not None:
            if table is None:
                versions = tuple([seen_tables[written].version + 1 for written in in_order])
            else:
                versions = (seen_tables[table].version + 1,)
            emit((CommitCalled, called_ms, txn_id, attempt, seen_seq, versions))
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
            if emit is not None:
                emit((CommitRefused, clock.now, txn_id, seen_seq, state.seq))
            if draw_failure_ms is not None:
                rest_ms = max(0.0, draw_failure_ms() - to_effect_ms)
        if rest_ms > 0.0:
            yield rest_ms
        now_ms = clock.now
        commit_ms = now_ms - called_ms
        txn.catalog_commit_ms += commit_ms
        if emit is not None:
            emit((CommitReturned, now_ms, txn_id, attempt, success, commit_ms))

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
            if emit is not None:
                emit(BackedOff(now_ms, txn.txn_id, attempt + 1, wait_ms))
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
        if emit is not None:
            if table is None:
                emit(reading(txn, current_tables, current_seq, current_ms, called_ms, read_ms))
            else:
                versions = (current_tables[table].version,)
                seen_now = (current_seq, versions, None, ())
                emit((CatalogRead, current_ms, txn_id, called_ms, read_ms, *seen_now))

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
        if emit is not None:
            commits, replaced = current_seq - seen_seq, current_replaced - seen_replaced
            if table is None:
                found = _classes(txn, seen_tables, current_tables)
            else:
                found = _OVERLAP if is_same_table else _CROSS_TABLE
            emit((Classified, now_ms, txn_id, attempt + 1, found, commits, replaced))
            seen_replaced = current_replaced
        if tables_to_write:
            # g. With overlap, pay for resolving the conflict; a real one may end it all.
            if is_free is None:
                # What never costs anything need not be priced at every retry.
                is_free = txn.prices.validate["overlap"].is_free  # type: ignore[attr-defined]
            cost = NO_COST
            if not is_free:
                cost = txn.get_conflict_cost(current_seq - seen_seq, ml_append_mode)
            if cost is not NO_COST:
                paid_ms = payment_ms(storage, cost)
                yield paid_ms
                txn.conflict_io_ms += paid_ms
                txn.count(cost)
                if emit is not None:
                    emit(paid(clock.now, txn, "validate", paid_ms, cost))
            if txn.replaces_data:
                txn.snapshots_behind = current_seq - seen_seq
                is_real = conflict_detector.is_real_conflict(
                    txn,
                    CatalogSnapshot(current_seq, current_tables, current_ms),
                    CatalogSnapshot(start_seq, start_tables, start_ms),
                )
                if emit is not None:
                    emit(Judged(clock.now, txn.txn_id, attempt + 1, is_real))
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
