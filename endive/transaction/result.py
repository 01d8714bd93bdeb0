"""How a transaction ends: its status and its row (§3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from endive.utils import maker

if TYPE_CHECKING:
    from endive.transaction.attempts import AttemptMeter
    from endive.transaction.base import Transaction

MAX_RETRIES_REASON = "max_retries"
VALIDATION_REASON = "validation_exception"
TIMEOUT_REASON = "retry_timeout"


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

    start_io_ms: float = 0.0
    rework_ms: float = 0.0
    metadata_reads: int = 0
    metadata_writes: int = 0
    restarts: int = 0
    false_conflicts: int = 0
    real_conflicts: int = 0
    class_name: str = "default"


make_result = maker(TransactionResult)


@dataclass(slots=True)
class Extras:
    """What most transactions never have: metadata of their own to read, work to repeat."""

    start_io_ms: float = 0.0
    rework_ms: float = 0.0
    metadata_reads: int = 0
    metadata_writes: int = 0
    restarts: int = 0
    meter: AttemptMeter | None = None
    """Reads off what each attempt paid, where attempts are recorded."""


NO_EXTRAS = Extras()
"""Shared by all that have none; never written to."""


def result_of(txn: Transaction, now_ms: float, abort_reason: str | None) -> TransactionResult:
    """What has become of a transaction by `now_ms`, finished or not."""
    committed = txn.status is TransactionStatus.COMMITTED
    aborted = txn.status is TransactionStatus.ABORTED
    extras = txn.extras
    total_ms = now_ms - txn.submit_time_ms
    worked = txn.work_done_ms >= 0.0
    unfinished_ms = 0.0
    if not (committed or aborted):
        explained_ms = (
            txn.catalog_read_ms
            + extras.start_io_ms
            + txn.per_attempt_io_ms
            + txn.conflict_io_ms
            + txn.catalog_commit_ms
            + txn.backoff_ms
            + extras.rework_ms
            + (txn.runtime_ms if worked else 0.0)
        )
        unfinished_ms = max(0.0, total_ms - explained_ms)
    return make_result(
        txn.status,
        txn.txn_id,
        now_ms if committed else -1.0,
        now_ms if aborted else -1.0,
        abort_reason,
        max(0, txn.commit_calls - 1),
        now_ms - txn.work_done_ms if worked else 0.0,
        total_ms,
        txn.operation_type,
        txn.runtime_ms,
        txn.manifest_list_reads,
        txn.manifest_list_writes,
        txn.manifest_file_reads,
        txn.manifest_file_writes,
        txn.catalog_read_ms,
        txn.per_attempt_io_ms,
        txn.conflict_io_ms,
        txn.catalog_commit_ms,
        txn.submit_time_ms,
        txn.historical_ml_reads,
        txn.manifest_list_appends,
        txn.backoff_ms,
        unfinished_ms,
        extras.start_io_ms,
        extras.rework_ms,
        extras.metadata_reads,
        extras.metadata_writes,
        extras.restarts,
        txn.false_conflicts,
        txn.real_conflicts,
        txn.class_name,
    )
