"""What a run produced (§6.2): counters, a row for every transaction, and its trace where one was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from endive import results
from endive.attempts import AttemptLog
from endive.results import RowLog, TransactionLog
from endive.trace import Event, Recorder
from endive.transaction import VALIDATION_REASON, TransactionResult, TransactionStatus

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Statistics:
    """What a run produced. Counters cover all launched transactions, in-flight ones included."""

    transactions: Sequence[TransactionResult] = field(init=False)

    committed: int = 0
    aborted: int = 0
    total_retries: int = 0
    validation_exceptions: int = 0
    manifest_list_reads: int = 0
    manifest_list_writes: int = 0
    manifest_file_reads: int = 0
    manifest_file_writes: int = 0

    in_flight: int = 0
    historical_ml_reads: int = 0
    manifest_list_appends: int = 0
    metadata_reads: int = 0
    metadata_writes: int = 0
    restarts: int = 0
    false_conflicts: int = 0
    real_conflicts: int = 0
    background_commits: int = 0

    append_physical_success: int = 0
    append_logical_success: int = 0
    append_logical_conflict: int = 0
    append_physical_failure: int = 0
    append_compactions_triggered: int = 0
    append_compactions_completed: int = 0
    manifest_append_physical_success: int = 0
    manifest_append_physical_failure: int = 0
    manifest_append_sealed_rewrite: int = 0

    seq: int = 0
    seed: int | None = None
    duration_ms: float = 0.0

    def __post_init__(self) -> None:
        self.attempts: AttemptLog | None = None
        self._recorder: Recorder | None = None
        self._events: list[Event] | None = None
        self._log = RowLog()
        self.transactions = self._finished = TransactionLog(self._log)

    @property
    def launched(self) -> int:
        """How many transactions were submitted."""
        return self.committed + self.aborted + self.in_flight

    def record_transaction(self, result: TransactionResult) -> None:
        """Record a finished transaction."""
        if self.in_flight:
            raise ValueError("transactions in flight are recorded last, when a run is over")
        if result.status is TransactionStatus.COMMITTED:
            self.committed += 1
        elif result.status is TransactionStatus.ABORTED:
            self.aborted += 1
            self.validation_exceptions += result.abort_reason == VALIDATION_REASON
        else:
            raise ValueError(f"transaction {result.txn_id} has not finished: {result.status.name}")
        self._finished.finished += 1
        self._record(result)

    def record_in_flight(self, result: TransactionResult) -> None:
        """Record a transaction that the end of the run cut off."""
        self.in_flight += 1
        self._record(result)

    def _record(self, result: TransactionResult) -> None:
        self.total_retries += result.total_retries
        self.manifest_list_reads += result.manifest_list_reads
        self.manifest_list_writes += result.manifest_list_writes
        self.manifest_file_reads += result.manifest_file_reads
        self.manifest_file_writes += result.manifest_file_writes
        self.historical_ml_reads += result.historical_ml_reads
        self.manifest_list_appends += result.manifest_list_appends
        self.metadata_reads += result.metadata_reads
        self.metadata_writes += result.metadata_writes
        self.restarts += result.restarts
        self.false_conflicts += result.false_conflicts
        self.real_conflicts += result.real_conflicts
        self._log.append(result)

    def keep_trace(self, recorder: Recorder | None) -> None:
        """Keep what was recorded; it becomes events when somebody asks for them."""
        self._recorder = recorder

    @property
    def events(self) -> list[Event] | None:
        """What happened, event by event, where the run was traced."""
        if self._events is None and self._recorder is not None:
            self._events, self._recorder = self._recorder.events(), None
        return self._events

    @property
    def recorded(self) -> Recorder | None:
        """What happened as it was recorded, where the run was traced and nobody has asked for events yet."""
        return self._recorder

    @property
    def log(self) -> RowLog:
        """All rows, packed, in the order in which they were recorded."""
        return self._log

    def digest(self) -> str:
        """A fingerprint of all rows: equal runs have equal digests."""
        return results.digest(self._log)

    def to_dataframe(self) -> pd.DataFrame:
        """All rows in order of transaction id, in-flight ones included."""
        import pyarrow as pa

        table = pa.Table.from_batches(results.arrow_batches(self._log))
        frame: pd.DataFrame = table.cast(results.arrow_schema(plain_words=True)).to_pandas()
        return frame

    def export_parquet(self, path: str, *, metadata: Mapping[str, str] | None = None) -> None:
        """Write all rows; the file appears whole or not at all."""
        results.write_parquet(self._log, path, metadata)
