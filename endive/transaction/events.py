"""The events of a transaction, made from what it knows (docs/TRACE.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from endive.catalog import TableMetadata
from endive.cost_model import ConflictCost
from endive.trace import CatalogRead, Classified, Finished, Shape, Submitted, Use
from endive.trace.recorder import PAID
from endive.transaction.result import TransactionResult, TransactionStatus

if TYPE_CHECKING:
    from endive.transaction.base import Transaction
    from endive.transaction.pricing import Finding

_NONE: tuple[int, ...] = ()
_OUTCOMES = {TransactionStatus.COMMITTED: "committed", TransactionStatus.ABORTED: "aborted"}


def submitted(txn: Transaction) -> tuple[Any, ...]:
    """It begins."""
    return (
        _SUBMITTED,
        txn.submit_time_ms,
        txn.txn_id,
        txn.class_name,
        txn.operation_type,
        txn.tables_read,
        txn.tables_written,
        txn.partitions_written,
        txn.runtime_ms,
    )


def _tell_submitted(
    events: list[Any],
    t_ms: float,
    txn_id: int,
    class_name: str,
    operation: str,
    tables_read: frozenset[int],
    tables_written: frozenset[int],
    partitions: Mapping[int, frozenset[int]] | None,
    runtime_ms: float,
) -> None:
    written, touched = sorted(tables_written), None
    if partitions is not None:
        touched = tuple([tuple(sorted(partitions.get(table_id, ()))) for table_id in written])
    accessed = tuple(sorted(tables_read | tables_written))
    events.append(
        Submitted(
            t_ms, txn_id, class_name, operation, accessed, tuple(written), touched, runtime_ms
        )
    )


_SUBMITTED = Shape(8, _tell_submitted)


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
    now_ms: float,
    txn: Transaction,
    reason: str,
    paid_ms: float,
    cost: ConflictCost,
    uses: Sequence[Use],
) -> tuple[Any, ...]:
    """A payment is over, and the store was used for this."""
    counts = counts_of(cost)
    return (PAID, now_ms, txn.txn_id, txn.commit_calls, reason, paid_ms, counts, uses)


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


def finished(result: TransactionResult, now_ms: float) -> tuple[Any, ...]:
    """It has ended, or the run has ended around it."""
    return _FINISHED, result, now_ms


def _tell_finished(events: list[Any], result: TransactionResult, now_ms: float) -> None:
    events.append(_finished(result, now_ms))


_FINISHED = Shape(2, _tell_finished)


def _finished(result: TransactionResult, now_ms: float) -> Finished:
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
