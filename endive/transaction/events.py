"""The events of a transaction, made from what it knows (docs/TRACE.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endive.catalog import TableMetadata
from endive.cost_model import ConflictCost
from endive.trace import CatalogRead, Classified, Finished, IoPaid, Submitted
from endive.transaction.result import TransactionResult, TransactionStatus

if TYPE_CHECKING:
    from endive.transaction.base import Transaction
    from endive.transaction.pricing import Finding

_NONE: tuple[int, ...] = ()
_OUTCOMES = {TransactionStatus.COMMITTED: "committed", TransactionStatus.ABORTED: "aborted"}


def submitted(txn: Transaction) -> Submitted:
    """It begins."""
    written, partitions = sorted(txn.tables_written), txn.partitions_written
    return Submitted(
        txn.submit_time_ms,
        txn.txn_id,
        txn.class_name,
        txn.operation_type,
        tuple(sorted(txn.tables_read | txn.tables_written)),
        tuple(written),
        None
        if partitions is None
        else tuple(tuple(sorted(partitions.get(table_id, ()))) for table_id in written),
        txn.runtime_ms,
    )


def reading(
    txn: Transaction,
    tables: tuple[TableMetadata, ...],
    seq: int,
    captured_ms: float,
    called_ms: float,
    read_ms: float,
) -> CatalogRead:
    """A catalog read is over: what this transaction saw of its own tables."""
    written, partitions, read_only = txn.tables_written, txn.partitions_written, _NONE
    if txn.tables_read is not written:
        read_only = tuple(
            [tables[table_id].version for table_id in sorted(txn.tables_read - written)]
        )
    in_order = written if len(written) == 1 else sorted(written)
    versions = tuple([tables[table_id].version for table_id in in_order])
    seen_partitions = None
    if partitions is not None:
        seen_partitions = tuple(
            [
                tuple(
                    [
                        tables[table_id].partition_versions[partition_id]
                        for partition_id in sorted(partitions.get(table_id, ()))
                    ]
                )
                for table_id in in_order
            ]
        )
    return CatalogRead(
        captured_ms, txn.txn_id, called_ms, read_ms, seq, versions, seen_partitions, read_only
    )


def classified(now_ms: float, txn: Transaction, finding: Finding) -> Classified:
    """It has compared two snapshots."""
    return Classified(
        now_ms,
        txn.txn_id,
        txn.commit_calls,
        tuple(finding.classes.values()),
        finding.validated.commits,
        finding.validated.replaced,
    )


def paid(
    now_ms: float, txn: Transaction, reason: str, paid_ms: float, cost: ConflictCost
) -> IoPaid:
    """A payment is over."""
    return IoPaid(now_ms, txn.txn_id, txn.commit_calls, reason, paid_ms, counts_of(cost))


def counts_of(cost: ConflictCost) -> tuple[int, ...]:
    """As results count them: historical manifest lists are manifest lists, too."""
    return (
        cost.metadata_reads,
        cost.manifest_list_reads + cost.historical_ml_reads,
        cost.historical_ml_reads,
        cost.manifest_file_reads,
        cost.manifest_file_writes,
        cost.manifest_list_appends,
        cost.manifest_list_writes,
        cost.metadata_writes,
    )


def finished(result: TransactionResult, now_ms: float) -> Finished:
    """It has ended, or the run has ended around it."""
    return Finished(
        now_ms,
        result.txn_id,
        _OUTCOMES.get(result.status, "in_flight"),
        result.abort_reason,
        result.total_retries,
        result.total_latency_ms,
        result.commit_latency_ms,
        (
            result.catalog_read_ms,
            result.start_io_ms,
            result.runtime_ms,
            result.per_attempt_io_ms,
            result.conflict_io_ms,
            result.catalog_commit_ms,
            result.backoff_ms,
            result.rework_ms,
            result.unfinished_ms,
        ),
        (
            result.metadata_reads,
            result.manifest_list_reads,
            result.historical_ml_reads,
            result.manifest_file_reads,
            result.manifest_file_writes,
            result.manifest_list_appends,
            result.manifest_list_writes,
            result.metadata_writes,
        ),
    )
