"""How a transaction ends: its status and its row (§3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from endive.utils import maker

if TYPE_CHECKING:
    from endive.transaction.attempts import AttemptMeter

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
