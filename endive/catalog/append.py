"""The append catalog (§2.3): commits are records in a log, judged in the order in which they land.

An append tells its writer only that the record landed (§8.9). Whether it was *applied* the writer learns from a discovery
read: it has committed iff its own record was applied — never because a version looks right.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from endive.catalog.log import CatalogLog
from endive.catalog.state import CatalogState, call_with_effect, read_through
from endive.catalog.types import (
    Catalog,
    CatalogSnapshot,
    CommitResult,
    IntentionRecord,
    make_commit_result,
)
from endive.storage import CHECKPOINT_KEY, ProfileStorageProvider, StorageProvider

LOG_KEY = "catalog/log"

# What a store that cannot be sealed is told instead: no log has such an end.
_NO_OFFSET = -1
# Far beyond any length: added to the store's object while the log is sealed, so that every offset is wrong.
SEAL_BYTES = 1 << 60


class AppendCatalog(Catalog):
    """A log of intention records: only writers of the same table can reject each other."""

    draw_read_ms: Callable[[], float]
    effect_point: float
    is_direct = True
    """Whether latencies are drawn by samplers, and not by a store's own generators."""

    def __init__(
        self,
        storage: StorageProvider,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        *,
        max_physical_retries: int = 100,
        append_offset: str = "snapshot",
        compaction_threshold: int = 16_000_000,
        compaction_max_entries: int = 0,
        manifests_per_table: int = 3,
        group_of: tuple[int, ...] = (),
        growth: int | None = None,
    ) -> None:
        """`growth` is how many bytes each table adds to the catalog, which then grows with its log, too.

        None: the catalog has the size `storage.sizes.catalog`, whatever it holds.
        """
        if not storage.supports_append:
            # Ask the store itself, so that the message is the same wherever append is missing.
            storage.append(LOG_KEY, 0, 0)
        if append_offset not in ("snapshot", "latest"):
            raise ValueError(f"append_offset is 'snapshot' or 'latest', not {append_offset!r}")
        self._storage = storage
        self._checkpoint_bytes = storage.sizes.catalog + num_tables * (growth or 0)
        self._grows = growth is not None
        self._max_physical_retries = max_physical_retries
        self._asks_for_end = append_offset == "latest"
        self.log = CatalogLog(compaction_threshold, compaction_max_entries)
        self.state = CatalogState(
            num_tables,
            tuple(partitions_per_table),
            manifests_per_table=manifests_per_table,
            group_of=group_of,
        )
        self._use_storage()

    def _use_storage(self) -> None:
        storage = self._storage
        if isinstance(storage, ProfileStorageProvider) and storage.is_plain:
            # Sampling a built-in store directly saves three layers of generators under the physical retries,
            # which are most of what happens to a log in demand.
            self.draw_read_ms = (
                self._draw_growing_read_ms
                if self._grows
                else storage.sampler("catalog.read", self._checkpoint_bytes).draw_ms
            )
            self.effect_point = storage.effect_point
            self._append_can_fail_apart = storage.has_failure_latency("catalog.append")
        else:
            self.is_direct = False

    def __getstate__(self) -> dict[str, Any]:
        # What is bound to this very store and catalog, a copy binds anew.
        return {name: value for name, value in vars(self).items() if name != "draw_read_ms"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._use_storage()

    @property
    def seq(self) -> int:
        """How many records have been applied."""
        return self.state.seq

    @property
    def size_bytes(self) -> int:
        """What a read or a compaction that starts now moves: the checkpoint and the log since."""
        if not self._grows:
            return self._checkpoint_bytes
        return self._checkpoint_bytes + self.log.length_bytes - self.log.checkpoint_offset

    @property
    def counters(self) -> dict[str, int]:
        """How often what happened to the log so far, by name."""
        return self.log.counters.as_dict()

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        """Read checkpoint and log; the snapshot is captured at the effect point."""
        if self.is_direct:
            return self._read_directly(timestamp_ms)
        return self._read_through(timestamp_ms)

    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        """Append the record, then discover whether it was applied: two round trips at least."""
        record = intention or _anonymous(expected_seq, writes)
        if self.is_direct:
            return self._commit_directly(expected_seq, writes, record)
        return self._commit_through(expected_seq, writes, record)

    # -- records -------------------------------------------------------------------------------------------------

    def land(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """A commit from elsewhere that always lands: its record is in the log and applied at this instant."""
        if not self.is_direct:
            raise ValueError("background commits need a built-in store: another one keeps the log")
        record = intention or _anonymous(self.seq, writes)
        self._extend_object(record.size_bytes)
        self.state.apply(writes, record)
        self.log.extend(record.size_bytes, applied=True)
        self._tell(record, self.log.length_bytes - record.size_bytes, landed=True, applied=True)

    def _tell(
        self, record: IntentionRecord, offset: int, *, landed: bool, applied: bool = False
    ) -> None:
        """Tell the witness, if there is one, how a record met the log."""
        if self.state.witness is not None:
            length, sealed = self.log.length_bytes, self.log.sealed
            self.state.witness.met_log(record.txn_id, offset, length, landed, applied, sealed)

    def _tell_use(
        self, record: IntentionRecord, artifact: str, action: str, size_bytes: int, took_ms: float
    ) -> None:
        """Tell the witness, if there is one, that an operation for a record is over."""
        if self.state.witness is not None:
            self.state.witness.used(record.txn_id, artifact, action, size_bytes, took_ms)

    def _judge(self, record: IntentionRecord, writes: Mapping[int, int], offset: int) -> bool:
        """A record has landed where its writer expected the end: apply it iff all tables are as its writer saw them. Says whether it was applied."""
        log, tables = self.log, self.state.tables
        is_current = all(
            tables[table_id].version == new_version - 1 for table_id, new_version in writes.items()
        ) and all(
            tables[table_id].version == seen_version
            for table_id, seen_version in (record.tables_read or {}).items()
            if table_id not in writes
        )
        log.counters.append_physical_success += 1
        if is_current:
            self.state.apply(writes, record)
            log.counters.append_logical_success += 1
        else:
            # A rejected record stays in the log and changes nothing else.
            log.counters.append_logical_conflict += 1
        log.extend(record.size_bytes, applied=is_current)
        self._tell(record, offset, landed=True, applied=is_current)
        return is_current

    # -- with a built-in store -----------------------------------------------------------------------------------

    def _draw_growing_read_ms(self) -> float:
        assert isinstance(self._storage, ProfileStorageProvider)
        return self._storage.latency_ms("catalog.read", self.size_bytes)

    def _read_directly(self, timestamp_ms: float) -> Generator[float, None, CatalogSnapshot]:
        size_bytes, drawn_ms = self.size_bytes, self.draw_read_ms()
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        snapshot = self.state.capture(timestamp_ms + to_effect_ms)
        if to_effect_ms < drawn_ms:
            yield drawn_ms - to_effect_ms
        if self.state.witness is not None:
            self.state.witness.was_read(size_bytes, drawn_ms)
        return snapshot

    def _commit_directly(
        self, expected_seq: int, writes: Mapping[int, int], record: IntentionRecord
    ) -> Generator[float, None, CommitResult]:
        storage, log, effect_point = self._storage, self.log, self.effect_point
        assert isinstance(storage, ProfileStorageProvider)
        draw_append_ms = storage.sampler("catalog.append", record.size_bytes).draw_ms
        draw_failure_ms = None
        if self._append_can_fail_apart:
            draw_failure_ms = storage.sampler("catalog.append_failure", record.size_bytes).draw_ms
        counters, elapsed_ms = log.counters, 0.0
        offset = log.length_at_seq[expected_seq]

        if log.sealed:
            elapsed_ms += yield from self._compact(log.compactions, record)
        if self._asks_for_end:
            size_bytes, drawn_ms = self.size_bytes, self.draw_read_ms()
            to_effect_ms = drawn_ms * effect_point
            yield to_effect_ms
            offset = log.length_bytes
            if to_effect_ms < drawn_ms:
                yield drawn_ms - to_effect_ms
            elapsed_ms += drawn_ms
            self._tell_use(record, "catalog", "read", size_bytes, drawn_ms)

        failures_left = self._max_physical_retries
        while True:
            drawn_ms = draw_append_ms()
            to_effect_ms = drawn_ms * effect_point
            yield to_effect_ms
            rest_ms = drawn_ms - to_effect_ms
            if offset == log.length_bytes and not log.sealed:
                storage.extend(LOG_KEY, None, record.size_bytes)
                is_applied = self._judge(record, writes, offset)
                break
            # Physical failure: the log had moved on. It said where it ends, so try there at once.
            counters.append_physical_failure += 1
            self._tell(record, offset, landed=False)
            offset, sealed, compactions = log.length_bytes, log.sealed, log.compactions
            if draw_failure_ms is not None:
                rest_ms = max(0.0, draw_failure_ms() - to_effect_ms)
            if rest_ms > 0.0:
                yield rest_ms
                elapsed_ms += rest_ms
            elapsed_ms += to_effect_ms
            self._tell_use(record, "log", "append", record.size_bytes, to_effect_ms + rest_ms)
            if failures_left == 0:
                return make_commit_result(False, elapsed_ms)
            failures_left -= 1
            if sealed:
                elapsed_ms += yield from self._compact(compactions, record)
        if rest_ms > 0.0:
            yield rest_ms
        elapsed_ms += to_effect_ms + rest_ms
        self._tell_use(record, "log", "append", record.size_bytes, to_effect_ms + rest_ms)

        size_bytes, drawn_ms = self.size_bytes, self.draw_read_ms()
        to_effect_ms = drawn_ms * effect_point
        yield to_effect_ms
        if to_effect_ms < drawn_ms:
            yield drawn_ms - to_effect_ms
        self._tell_use(record, "catalog", "read", size_bytes, drawn_ms)
        return make_commit_result(is_applied, elapsed_ms + drawn_ms)

    def _compact(
        self, seen_compactions: int, record: IntentionRecord
    ) -> Generator[float, None, float]:
        """Race for the compaction; returns how long it took, won or lost."""
        storage, size_bytes = self._storage, self.size_bytes
        assert isinstance(storage, ProfileStorageProvider)
        drawn_ms = storage.latency_ms("catalog.compaction", size_bytes)
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        is_mine = self.log.compact(seen_compactions)
        if self.state.witness is not None:
            self.state.witness.compacted(record.txn_id, seen_compactions, is_mine)
        # A compaction is a swap of the checkpoint, so it fails like one.
        rest_ms = storage.rest_ms("catalog.cas", size_bytes, drawn_ms, is_mine)
        if rest_ms > 0.0:
            yield rest_ms
        self._tell_use(record, "checkpoint", "cas", size_bytes, to_effect_ms + rest_ms)
        return to_effect_ms + rest_ms

    # -- with a user's own store ---------------------------------------------------------------------------------

    def _read_through(self, timestamp_ms: float) -> Generator[float, None, CatalogSnapshot]:
        return read_through(self._storage, LOG_KEY, self.size_bytes, self.state, timestamp_ms)

    def _commit_through(
        self, expected_seq: int, writes: Mapping[int, int], record: IntentionRecord
    ) -> Generator[float, None, CommitResult]:
        storage, log = self._storage, self.log
        offset, elapsed_ms = log.length_at_seq[expected_seq], 0.0
        sealed, compactions = log.sealed, log.compactions
        is_applied = False

        def learn_end(_success: bool, _elapsed_ms: float) -> None:
            nonlocal offset
            offset = log.length_bytes

        def take_effect(success: bool, _elapsed_ms: float) -> None:
            nonlocal offset, sealed, compactions, is_applied
            if success:
                is_applied = self._judge(record, writes, offset)
                if log.sealed:
                    self._extend_object(SEAL_BYTES)
            else:
                log.counters.append_physical_failure += 1
                self._tell(record, offset, landed=False)
                offset, sealed, compactions = log.length_bytes, log.sealed, log.compactions

        if sealed:
            elapsed_ms += yield from self._compact_through(compactions, record)
        if self._asks_for_end:
            size_bytes = self.size_bytes
            asked = yield from call_with_effect(storage.read, (LOG_KEY, size_bytes), learn_end)
            elapsed_ms += asked.latency_ms
            self._tell_use(record, "catalog", "read", size_bytes, asked.latency_ms)
        failures_left = self._max_physical_retries
        while True:
            is_refused = log.sealed and not isinstance(storage, ProfileStorageProvider)
            arguments = (LOG_KEY, _NO_OFFSET if is_refused else offset, record.size_bytes)
            appended = yield from call_with_effect(storage.append, arguments, take_effect)
            elapsed_ms += appended.latency_ms
            self._tell_use(record, "log", "append", record.size_bytes, appended.latency_ms)
            if appended.success:
                break
            if failures_left == 0:
                return CommitResult(False, elapsed_ms)
            failures_left -= 1
            if sealed:
                elapsed_ms += yield from self._compact_through(compactions, record)
        size_bytes = self.size_bytes
        discovered = yield from storage.read(LOG_KEY, size_bytes)
        self._tell_use(record, "catalog", "read", size_bytes, discovered.latency_ms)
        return CommitResult(is_applied, elapsed_ms + discovered.latency_ms)

    def _compact_through(
        self, seen_compactions: int, record: IntentionRecord
    ) -> Generator[float, None, float]:
        """The same race as a swap of the checkpoint, whose version counts the compactions."""

        def compact(success: bool, _elapsed_ms: float) -> None:
            if success:
                self.log.compact(seen_compactions)
                self._extend_object(-SEAL_BYTES)
            if self.state.witness is not None:
                self.state.witness.compacted(record.txn_id, seen_compactions, success)

        arguments = (CHECKPOINT_KEY, seen_compactions, self.size_bytes)
        swapped = yield from call_with_effect(self._storage.cas, arguments, compact)
        self._tell_use(record, "checkpoint", "cas", arguments[-1], swapped.latency_ms)
        return float(swapped.latency_ms)

    def _extend_object(self, size_bytes: int) -> None:
        """Put the seal on the store's own object, or take it off, where the store lets itself be told."""
        if isinstance(self._storage, ProfileStorageProvider):
            self._storage.extend(LOG_KEY, None, size_bytes)


def _anonymous(seq: int, writes: Mapping[int, int]) -> IntentionRecord:
    """A record for a caller that gave none, with an id that no transaction has."""
    return IntentionRecord(-1, seq, writes)
