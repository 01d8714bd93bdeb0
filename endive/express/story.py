"""How the express lane tells what happens: the least that will do, at the instant it happens (`endive.trace.recorder`).

Each record holds what cannot be worked out later. Two events of one instant, with nobody in between, are one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from endive.catalog import PointerCatalog, TableMetadata
from endive.storage import ProfileStorageProvider
from endive.trace import (
    CatalogRead,
    Classified,
    CommitCalled,
    CommitRefused,
    CommitReturned,
    IoPaid,
    Recorder,
    Shape,
    StorageUsed,
    Worked,
)
from endive.trace.recorder import PAID, add_uses
from endive.transaction import Transaction

Versions = int | tuple[int, ...]
"""Of the written tables; just the number where there is one table."""
Partitions = int | tuple[tuple[int, ...], ...] | None
"""Versions of the written partitions; just the number where there is one partition."""


MANY = -1


def only_of(txn: Transaction) -> tuple[int, int | None]:
    """The one table, and the one partition of it, where the versions of these are all that there is to tell; else `MANY`."""
    partitions = txn.partitions_written
    if len(txn.tables_written) > 1 or txn.tables_read is not txn.tables_written:
        return MANY, None
    (table_id,) = txn.tables_written
    if partitions is None:
        return table_id, None
    places = partitions.get(table_id, ())
    if len(places) != 1:
        return MANY, None
    (partition_id,) = places
    return table_id, partition_id


class View:
    """What any other transaction tells of a snapshot: its own tables."""

    __slots__ = ("_places", "_read_only", "_written")

    def __init__(self, txn: Transaction) -> None:
        partitions = txn.partitions_written
        self._written = sorted(txn.tables_written)
        self._read_only = (
            ()
            if txn.tables_read is txn.tables_written
            else sorted(txn.tables_read - txn.tables_written)
        )
        self._places: list[list[int]] | None = None
        if partitions is not None:
            self._places = [sorted(partitions.get(table_id, ())) for table_id in self._written]

    def of(self, tables: tuple[TableMetadata, ...]) -> tuple[Versions, Partitions, tuple[int, ...]]:
        """The versions of written tables, of written partitions, and of tables that are only read."""
        versions = tuple([tables[table_id].version for table_id in self._written])
        parts: Partitions = None
        if self._places is not None:
            each = []
            for table_id, places in zip(self._written, self._places, strict=True):
                seen = tables[table_id].partition_versions
                each.append(tuple([seen[place] for place in places]))
            parts = tuple(each)
        others = tuple([tables[table_id].version for table_id in self._read_only])
        return versions, parts, others


class Story:
    """The shapes of one run's records: what is the same for all of them stands here, and not in each."""

    def __init__(
        self,
        recorder: Recorder,
        catalog: PointerCatalog,
        storage: ProfileStorageProvider,
        ml_append_mode: bool,
    ) -> None:
        self.emit: Callable[[Any], None] = recorder.emit
        self.record: Callable[[Iterable[Any]], None] = recorder.record
        self._effect_point, self._catalog_bytes = catalog.effect_point, catalog.size_bytes
        sizes = storage.sizes
        self._list_bytes, self._file_bytes = sizes.manifest_list, sizes.manifest_file
        self._put = "append" if ml_append_mode else "write"
        self._attempt_counts = (0, 1, 0, 0, 1, int(ml_append_mode), int(not ml_append_mode), 0)
        self.read = Shape(8, self._tell_read)
        self.retry = Shape(12, self._tell_retry)
        self.worked = Shape(3, _tell_worked)
        self.paid = PAID
        self.prepared = Shape(8, self._tell_prepared)
        self.called = Shape(5, _tell_called)
        self.refused = Shape(4, _tell_refused)
        self.returned = Shape(6, self._tell_returned)

    def _tell_read(
        self,
        events: list[Any],
        txn_id: int,
        called_ms: float,
        now_ms: float,
        drawn_ms: float,
        seq: int,
        versions: Versions,
        partition_versions: Partitions,
        versions_read: tuple[int, ...],
    ) -> None:
        """A catalog read is over."""
        read_ms = now_ms - called_ms
        end_ms, captured_ms = called_ms + read_ms, called_ms + drawn_ms * self._effect_point
        events.append(
            StorageUsed(end_ms, txn_id, "catalog", "read", 1, self._catalog_bytes, 1, drawn_ms)
        )
        seen = (versions,) if isinstance(versions, int) else versions
        parts = (
            ((partition_versions,),) if isinstance(partition_versions, int) else partition_versions
        )
        fields = (captured_ms, txn_id, called_ms, read_ms, seq, seen, parts, versions_read)
        events.append(_made(CatalogRead, fields))

    def _tell_retry(
        self,
        events: list[Any],
        txn_id: int,
        called_ms: float,
        now_ms: float,
        drawn_ms: float,
        seq: int,
        versions: Versions,
        partition_versions: Partitions,
        versions_read: tuple[int, ...],
        attempt: int,
        classes: tuple[str, ...],
        commits: int,
        replaced: int,
    ) -> None:
        """The catalog read of a retry is over, and what it found is compared."""
        seen = (seq, versions, partition_versions, versions_read)
        self._tell_read(events, txn_id, called_ms, now_ms, drawn_ms, *seen)
        events.append(_made(Classified, (now_ms, txn_id, attempt, classes, commits, replaced)))

    def _tell_prepared(
        self,
        events: list[Any],
        now_ms: float,
        txn_id: int,
        attempt: int,
        read_ms: float,
        write_ms: float,
        put_ms: float,
        expected_seq: int,
        versions: Versions,
    ) -> None:
        """The attempt at one table is paid for, and commit is called."""
        paid_ms = read_ms + write_ms + put_ms
        uses = (
            ("manifest_list", "read", 1, self._list_bytes, 1, read_ms),
            ("manifest_file", "write", 1, self._file_bytes, 1, write_ms),
            ("manifest_list", self._put, 1, self._list_bytes, 1, put_ms),
        )
        add_uses(events, now_ms, paid_ms, txn_id, uses)
        reason = "rebuild" if attempt else "attempt"
        counts = self._attempt_counts
        events.append(_made(IoPaid, (now_ms, txn_id, attempt, reason, paid_ms, counts)))
        _tell_called(events, now_ms, txn_id, attempt, expected_seq, versions)

    def _tell_returned(
        self,
        events: list[Any],
        now_ms: float,
        txn_id: int,
        attempt: int,
        success: bool,
        called_ms: float,
        took_ms: float,
    ) -> None:
        """A commit call is over."""
        events.append(
            StorageUsed(now_ms, txn_id, "catalog", "cas", 1, self._catalog_bytes, 1, took_ms)
        )
        commit_ms = now_ms - called_ms
        events.append(_made(CommitReturned, (now_ms, txn_id, attempt, success, commit_ms)))


# A class of named tuples makes one of its own in Python; this makes the same at once.
_made: Any = tuple.__new__


def _tell_worked(events: list[Any], now_ms: float, txn_id: int, runtime_ms: float) -> None:
    events.append(_made(Worked, (now_ms, txn_id, runtime_ms)))


def _tell_called(
    events: list[Any],
    now_ms: float,
    txn_id: int,
    attempt: int,
    expected_seq: int,
    versions: Versions,
) -> None:
    # Each one more than was seen.
    seen = (versions,) if isinstance(versions, int) else versions
    meant = tuple([version + 1 for version in seen])
    events.append(_made(CommitCalled, (now_ms, txn_id, attempt, expected_seq, meant)))


def _tell_refused(
    events: list[Any], now_ms: float, txn_id: int, expected_seq: int, seq: int
) -> None:
    events.append(_made(CommitRefused, (now_ms, txn_id, expected_seq, seq)))
