"""The catalog as a log of intentions, with seals and compactions (MODEL.md 4 and 11)."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from .config import CatalogSettings
from .lists import ManifestLists
from .store import Store
from .world import CasCatalog, InstantCatalog, Intention


@dataclass
class LogRecord:
    """A record in the log and how it was judged when it got there."""

    txn_id: int | None
    applied: bool


class AppendCatalog(CasCatalog):
    """A log of intentions: each is judged by the versions of its own tables as it is appended."""

    def __init__(
        self,
        settings: CatalogSettings,
        store: Store,
        lists: ManifestLists,
        group_of_table: list[int],
        counters: dict[str, int],
        now_ms: Callable[[], float],
    ) -> None:
        super().__init__(settings, store, lists, group_of_table, counters, now_ms)
        self.log: list[LogRecord] = []
        self.log_length_bytes = 0
        # A reader who saw seq s appends where the log ended when s came about.
        self.length_bytes_at_seq = [0]
        self.checkpoint_offset_bytes = 0
        self.entries_since_checkpoint = 0
        self.sealed = False
        self.compactions = 0

    def commit(self, intention: Intention) -> Generator[float, None, bool]:
        """Append at the expected offset, chasing the end of the log, then read the outcome."""
        if self.sealed:
            yield from self.compact(self.compactions)
        offset_bytes = self.length_bytes_at_seq[intention.expected_seq]
        if self.settings.append_offset == "latest":
            offset_bytes = yield from self.read_length_bytes()
        record_bytes = self.store.settings.log_entry_size_bytes
        failed_appends = 0
        while True:
            latency_ms = self.store.latency_ms("catalog", "append", record_bytes)
            to_effect_ms = self.effect_point * latency_ms
            yield to_effect_ms
            if offset_bytes == self.log_length_bytes and not self.sealed:
                break
            # The failure tells length and seal of this moment; by the next append they may be stale.
            self.counters["append_physical_failure"] += 1
            offset_bytes = self.log_length_bytes
            was_sealed = self.sealed
            compactions = self.compactions
            yield self.rest_of_failure_ms("append_failure", latency_ms, to_effect_ms, record_bytes)
            failed_appends += 1
            if failed_appends > self.settings.append_max_physical_retries:
                return False
            if was_sealed:
                yield from self.compact(compactions)
        self.counters["append_physical_success"] += 1
        self.extend_log(intention)
        yield latency_ms - to_effect_ms
        # The append says only that the record is in the log; its fate takes a discovery read (8.9).
        yield self.latency_ms("read")
        return any(record.applied for record in self.log if record.txn_id == intention.txn_id)

    def compact(self, compactions_when_found: int) -> Generator[float, None, None]:
        """Fold the log into a checkpoint, unless somebody else was faster."""
        size_bytes = self.object_size_bytes()
        latency_ms = self.latency_ms("compaction")
        to_effect_ms = self.effect_point * latency_ms
        yield to_effect_ms
        if self.compactions == compactions_when_found:
            self.checkpoint_offset_bytes = self.log_length_bytes
            self.entries_since_checkpoint = 0
            self.sealed = False
            self.compactions += 1
            self.counters["append_compactions_completed"] += 1
            yield latency_ms - to_effect_ms
        else:
            yield self.rest_of_failure_ms("cas_failure", latency_ms, to_effect_ms, size_bytes)

    def read_length_bytes(self) -> Generator[float, None, int]:
        """One catalog read for the sake of the length alone."""
        latency_ms = self.latency_ms("read")
        to_effect_ms = self.effect_point * latency_ms
        yield to_effect_ms
        length_bytes = self.log_length_bytes
        yield latency_ms - to_effect_ms
        return length_bytes

    def extend_log(self, intention: Intention) -> None:
        """Add the record and judge it: it applies iff its tables are as its writer saw them."""
        is_current = all(
            self.table_versions[table_id] == new_version - 1
            for table_id, new_version in intention.writes.items()
        ) and all(
            self.table_versions[table_id] == version
            for table_id, version in intention.guarded_reads.items()
        )
        outcome = "append_logical_success" if is_current else "append_logical_conflict"
        self.counters[outcome] += 1
        self.add_record(intention, is_current)

    def add_record(self, intention: Intention, is_applied: bool) -> None:
        """Let the log grow by a record, and seal it when it has grown too long."""
        self.log_length_bytes += self.store.settings.log_entry_size_bytes
        self.entries_since_checkpoint += 1
        self.log.append(LogRecord(intention.txn_id, is_applied))
        if is_applied:
            self.apply(intention)
            self.length_bytes_at_seq.append(self.log_length_bytes)
        grown_bytes = self.log_length_bytes - self.checkpoint_offset_bytes
        max_entries = self.settings.compaction_max_entries
        is_too_long = grown_bytes > self.settings.compaction_threshold_bytes
        has_too_many = max_entries > 0 and self.entries_since_checkpoint >= max_entries
        if (is_too_long or has_too_many) and not self.sealed:
            self.sealed = True
            self.counters["append_compactions_triggered"] += 1

    def apply_background(
        self,
        tables_written: tuple[int, ...],
        partitions_written: dict[int, list[int]] | None,
        replaces_data: bool,
    ) -> None:
        """A background commit is a record like any other, but nobody had to append it."""
        writes = {table_id: self.table_versions[table_id] + 1 for table_id in tables_written}
        self.add_record(
            Intention(None, self.seq, writes, partitions_written, replaces_data), is_applied=True
        )

    def object_size_bytes(self) -> int:
        """A reader of the catalog reads the log since the checkpoint, too."""
        size_bytes = super().object_size_bytes()
        if self.store.settings.growth_bytes is not None:
            size_bytes += self.log_length_bytes - self.checkpoint_offset_bytes
        return size_bytes


def create_catalog(
    settings: CatalogSettings,
    store: Store,
    lists: ManifestLists,
    group_of_table: list[int],
    counters: dict[str, int],
    now_ms: Callable[[], float],
) -> CasCatalog:
    """The catalog a configuration asks for."""
    kinds = {"cas": CasCatalog, "instant": InstantCatalog, "append": AppendCatalog}
    return kinds[settings.kind](settings, store, lists, group_of_table, counters, now_ms)
