"""One row per commit attempt, so that costs can be audited retry by retry (docs/MODEL.md, section 15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endive.transaction.base import Transaction


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt found, paid and came to; counts and times are since the attempt before."""

    txn_id: int
    attempt: int
    restart: int
    operation_type: str
    class_name: str
    conflict_class: str | None
    snapshots_behind: int
    outcome: str
    t_commit_call: float

    manifest_list_reads: int
    manifest_list_writes: int
    manifest_file_reads: int
    manifest_file_writes: int
    historical_ml_reads: int
    manifest_list_appends: int
    metadata_reads: int
    metadata_writes: int

    catalog_read_ms: float
    start_io_ms: float
    per_attempt_io_ms: float
    conflict_io_ms: float
    catalog_commit_ms: float
    backoff_ms: float
    rework_ms: float


_COUNTED = tuple(name for name in Attempt.__dataclass_fields__)[9:]
_IN_EXTRAS = frozenset({"metadata_reads", "metadata_writes", "start_io_ms", "rework_ms"})


class AttemptMeter:
    """Reads off a transaction what it has paid since the last reading."""

    __slots__ = ("_attempts", "_last", "_txn", "called_ms", "conflict_class", "snapshots_behind")

    def __init__(self, txn: Transaction) -> None:
        self._txn = txn
        self._last: list[float] = [0] * len(_COUNTED)
        self._attempts = 0
        self.forget()

    def forget(self) -> None:
        """Begin an attempt of which nothing is known yet."""
        self.conflict_class: str | None = None
        self.snapshots_behind = 0
        self.called_ms = -1.0

    def read(self, outcome: str) -> Attempt:
        """The row of the attempt that ends now."""
        txn = self._txn
        totals = [getattr(txn.extras if name in _IN_EXTRAS else txn, name) for name in _COUNTED]
        since = [total - last for total, last in zip(totals, self._last, strict=True)]
        row = Attempt(
            txn.txn_id,
            self._attempts,
            txn.extras.restarts,
            txn.operation_type,
            txn.class_name,
            self.conflict_class,
            self.snapshots_behind,
            outcome,
            self.called_ms,
            *since,
        )
        self._last = totals
        self._attempts += 1
        self.forget()
        return row
