"""Writers of a catalog log, and a store of somebody's own, for tests of the append catalog."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from endive.catalog import AppendCatalog, CatalogSnapshot, CommitResult, IntentionRecord
from endive.storage import ProfileStorageProvider
from endive.test_utils import run

Commit = Generator[float, None, CommitResult]


class PassingThrough(ProfileStorageProvider):
    """Overrides what a catalog uses and changes nothing."""

    def read(self, key: str, expected_size_bytes: int, **more: Any) -> Any:
        return super().read(key, expected_size_bytes, **more)

    def cas(self, key: str, expected_version: int, size_bytes: int, **more: Any) -> Any:
        return super().cas(key, expected_version, size_bytes, **more)

    def append(self, key: str, offset: int, size_bytes: int, **more: Any) -> Any:
        return super().append(key, offset, size_bytes, **more)


def read(catalog: AppendCatalog) -> CatalogSnapshot:
    """The catalog as it is now."""
    return run(catalog.read())[0]


def commit(
    catalog: AppendCatalog,
    seen: CatalogSnapshot,
    table: int,
    tables_read: Mapping[int, int] | None = None,
) -> Commit:
    """A commit to one table under the id of that table."""
    writes = {table: seen.get_table(table).version + 1}
    record = IntentionRecord(table, seen.seq, writes, tables_read=tables_read)
    return catalog.commit(seen.seq, writes, 0.0, record)


def read_and_commit(catalog: AppendCatalog, table: int) -> Commit:
    """A commit against what is there now."""
    seen = yield from catalog.read()
    return (yield from commit(catalog, seen, table))


def land(catalog: AppendCatalog, table: int = 0) -> CommitResult:
    """The same, with nobody else about."""
    return run(read_and_commit(catalog, table))[0]


def log_state(catalog: AppendCatalog) -> tuple[int, int, int, bool, int]:
    """Length, checkpoint, entries since, sealed, compactions."""
    log = catalog.log
    return (
        log.length_bytes,
        log.checkpoint_offset,
        log.entries_since_checkpoint,
        log.sealed,
        log.compactions,
    )


def counts(catalog: AppendCatalog) -> tuple[int, int, int, int, int, int]:
    """Physical successes and failures, logical successes and conflicts, seals, compactions."""
    counters = catalog.counters
    return (
        counters["append_physical_success"],
        counters["append_physical_failure"],
        counters["append_logical_success"],
        counters["append_logical_conflict"],
        counters["append_compactions_triggered"],
        counters["append_compactions_completed"],
    )
