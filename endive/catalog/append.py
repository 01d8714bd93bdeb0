"""The append catalog (§2.3): commits are records in a log, judged in the order in which they land.

An append tells its writer only that the record landed (§8.9). Whether it was *applied* the writer learns from a discovery
read: it has committed iff its own record, by transaction id, was applied — never because a version looks right.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from endive.catalog.state import CatalogState, call_with_effect, read_through
from endive.catalog.types import Catalog, CatalogSnapshot, CommitResult, IntentionRecord
from endive.storage import OnEffect, StorageProvider

LOG_KEY = "catalog/log"


class AppendCatalog(Catalog):
    """A log of intention records: only writers of the same table can reject each other."""

    def __init__(
        self,
        storage: StorageProvider,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        *,
        max_physical_retries: int = 100,
    ) -> None:
        if not storage.supports_append:
            # Ask the store itself, so that the message is the same wherever append is missing.
            storage.append(LOG_KEY, 0, 0)
        self._storage = storage
        self._state = CatalogState(num_tables, tuple(partitions_per_table))
        self._max_physical_retries = max_physical_retries
        self._size_bytes = storage.sizes.catalog
        self._applied_txn_ids: set[int] = set()
        self._anonymous_txn_id = -1
        # How long the log was when each seq came about: where a writer that saw this seq expects its end.
        self._log_end_at_seq = [0]
        self._log_end = 0

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        """Read checkpoint and log; the snapshot is captured at the effect point."""
        return read_through(self._storage, LOG_KEY, self._size_bytes, self._state, timestamp_ms)

    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        """Append the record, then discover whether it was applied: two round trips at least."""
        record = intention or self._anonymous(expected_seq, writes)
        offset = self._log_end_at_seq[expected_seq]
        elapsed_ms = 0.0
        for _ in range(self._max_physical_retries + 1):
            landing = self._landing(record, writes)
            arguments = (LOG_KEY, offset, record.size_bytes)
            appended = yield from call_with_effect(self._storage.append, arguments, landing)
            elapsed_ms += appended.latency_ms
            if appended.success:
                break
            # Physical failure: the log had moved on. It said where it ends, so try there at once.
            offset = appended.data_size_bytes
        else:
            return CommitResult(False, elapsed_ms)
        discovered = yield from self._storage.read(LOG_KEY, self._size_bytes)
        elapsed_ms += discovered.latency_ms
        return CommitResult(record.txn_id in self._applied_txn_ids, elapsed_ms)

    def _landing(self, record: IntentionRecord, writes: Mapping[int, int]) -> OnEffect:
        """What happens when this record's append takes effect."""

        def land(success: bool, _elapsed_ms: float) -> None:
            if not success:
                return
            self._log_end += record.size_bytes
            # A rejected record stays in the log and changes nothing else.
            if all(
                self._state.tables[table_id].version == new_version - 1
                for table_id, new_version in writes.items()
            ):
                self._state.apply(writes, record)
                self._applied_txn_ids.add(record.txn_id)
                self._log_end_at_seq.append(self._log_end)

        return land

    def _anonymous(self, expected_seq: int, writes: Mapping[int, int]) -> IntentionRecord:
        """A record for a caller that gave none, with an id that no transaction has."""
        record = IntentionRecord(self._anonymous_txn_id, expected_seq, writes)
        self._anonymous_txn_id -= 1
        return record

    @property
    def seq(self) -> int:
        """How many records have been applied."""
        return self._state.seq
