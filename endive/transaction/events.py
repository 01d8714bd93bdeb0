"""The events of a transaction, made from what it knows (docs/TRACE.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from endive.catalog import TableMetadata
from endive.cost_model import ConflictCost
from endive.trace import CatalogRead, Classified, Finished, Recorder, Shape, Submitted, Use
from endive.trace.columns import NO_WORD, Block, Coded, Words, one_each, side_by_side, where_given
from endive.trace.recorder import PAID, PackedShape
from endive.trace.witness import NO_PARTITIONS
from endive.transaction.result import TransactionResult, TransactionStatus

if TYPE_CHECKING:
    from endive.transaction.base import Transaction
    from endive.transaction.pricing import Finding

_NONE: tuple[int, ...] = ()
_COMMITTED, _ABORTED = TransactionStatus.COMMITTED, TransactionStatus.ABORTED
_OUTCOMES = {_COMMITTED: "committed", _ABORTED: "aborted"}
_ENDED = ("committed", "aborted", "in_flight")


class Ends:
    """Tells how transactions begin and end, in few bytes where the recorder takes them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._submitted_pen = self._finished_pen = None
        if recorder.packs:
            # Words get numbers as they come; no reason is none of them.
            self._names, self._reasons = Words(), Words()
            self._submitted_pen = recorder.pen(_submitted_of_one(self._names))
            self._finished_pen = recorder.pen(_finished_packed(self._reasons))

    def submitted(self, txn: Transaction) -> None:
        """It begins."""
        pen, only = self._submitted_pen, None
        if pen is not None:
            only = _only_place(txn)
        if pen is None or only is None:
            self._recorder.emit(_submitted(txn))
            return
        code, put, pack, _ = pen
        number = self._names.number
        names = number(txn.class_name), number(txn.operation_type)
        self._recorder.mark(code)
        put(pack(txn.submit_time_ms, txn.txn_id, *names, *only, txn.runtime_ms))

    def finished(self, result: TransactionResult, now_ms: float) -> None:
        """It has ended, or the run has ended around it."""
        pen, status, reason = self._finished_pen, result.status, result.abort_reason
        if pen is None:
            self._recorder.emit((_FINISHED, result, now_ms))
            return
        code, put, pack, _ = pen
        ended = 0 if status is _COMMITTED else 1 if status is _ABORTED else 2
        why = NO_WORD if reason is None else self._reasons.number(reason)
        self._recorder.mark(code)
        put(pack(now_ms, ended, why, *_numbers_of(result)))


def _only_place(txn: Transaction) -> tuple[int, int] | None:
    """The table and the partition where a transaction does everything, if it is one of each."""
    written, partitions = txn.tables_written, txn.partitions_written
    if len(written) != 1 or (txn.tables_read is not written and not txn.tables_read <= written):
        return None
    (table,) = written
    if partitions is None:
        return table, NO_PARTITIONS
    touched = partitions.get(table, ())
    if len(touched) != 1:
        return None
    (partition,) = touched
    return table, partition


def _submitted(txn: Transaction) -> tuple[Any, ...]:
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


def _tell_finished(events: list[Any], result: TransactionResult, now_ms: float) -> None:
    events.append(_finished(result, now_ms))


_FINISHED = Shape(2, _tell_finished)
_PART_FIELDS = (
    "catalog_read_ms",
    "start_io_ms",
    "runtime_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "rework_ms",
    "unfinished_ms",
)
_COUNT_FIELDS = (
    "metadata_reads",
    "manifest_list_reads",
    "historical_ml_reads",
    "manifest_file_reads",
    "manifest_file_writes",
    "manifest_list_appends",
    "manifest_list_writes",
    "metadata_writes",
)
_parts_of, _counts_of = attrgetter(*_PART_FIELDS), attrgetter(*_COUNT_FIELDS)
_numbers_of = attrgetter(
    "txn_id",
    "total_retries",
    "total_latency_ms",
    "commit_latency_ms",
    *_PART_FIELDS,
    *_COUNT_FIELDS,
)


def _finished(result: TransactionResult, now_ms: float) -> Finished:
    return Finished(
        now_ms,
        result.txn_id,
        _OUTCOMES.get(result.status, "in_flight"),
        result.abort_reason,
        result.total_retries,
        result.total_latency_ms,
        result.commit_latency_ms,
        _parts_of(result),
        _counts_of(result),
    )


# -- the same, packed ------------------------------------------------------------------------------------------------


def _submitted_of_one(names: Words) -> PackedShape:
    """A transaction that touches one table, and of that one partition, or any where partitions are not tracked."""

    def tell(
        events: list[Any],
        beside: Iterator[Any],
        t_ms: float,
        txn_id: int,
        class_code: int,
        operation_code: int,
        table: int,
        partition: int,
        runtime_ms: float,
    ) -> None:
        tables, class_name, operation = (table,), names[class_code], names[operation_code]
        touched = None if partition == NO_PARTITIONS else ((partition,),)
        events.append(
            Submitted(t_ms, txn_id, class_name, operation, tables, tables, touched, runtime_ms)
        )

    def spread(
        records: NDArray[Any], beside: Iterator[Any], rows: NDArray[np.int64]
    ) -> list[Block]:
        tables = one_each(records["table"])
        columns = (
            records["t_ms"],
            records["txn_id"],
            names.column(records["class_code"]),
            names.column(records["operation_code"]),
            tables,
            tables,
            where_given(records["partition"], NO_PARTITIONS),
            records["runtime_ms"],
        )
        return [Block(Submitted, rows, columns)]

    return PackedShape(
        "t_ms:d txn_id:q class_code:q operation_code:q table:q partition:q runtime_ms:d",
        events=1,
        tell=tell,
        spread=spread,
    )


def _finished_packed(reasons: Words) -> PackedShape:
    def tell(
        events: list[Any],
        beside: Iterator[Any],
        t_ms: float,
        status: int,
        reason: int,
        txn_id: int,
        retries: int,
        total_ms: float,
        commit_latency_ms: float,
        *numbers: Any,
    ) -> None:
        parts, counts = numbers[: len(_PART_FIELDS)], numbers[len(_PART_FIELDS) :]
        ended, why = _ENDED[status], None if reason == NO_WORD else reasons[reason]
        times = (total_ms, commit_latency_ms)
        events.append(Finished(t_ms, txn_id, ended, why, retries, *times, parts, counts))

    def spread(
        records: NDArray[Any], beside: Iterator[Any], rows: NDArray[np.int64]
    ) -> list[Block]:
        columns = (
            records["t_ms"],
            records["txn_id"],
            Coded(records["status"], _ENDED),
            reasons.column(records["reason"]),
            records["retries"],
            records["total_ms"],
            records["commit_latency_ms"],
            side_by_side([records[name] for name in _PART_FIELDS]),
            side_by_side([records[name] for name in _COUNT_FIELDS]),
        )
        return [Block(Finished, rows, columns)]

    numbers = "txn_id:q retries:q total_ms:d commit_latency_ms:d"
    parts, counts = (f"{name}:d" for name in _PART_FIELDS), (f"{name}:q" for name in _COUNT_FIELDS)
    return PackedShape(
        " ".join(["t_ms:d status:q reason:q", numbers, *parts, *counts]),
        events=1,
        tell=tell,
        spread=spread,
    )
