"""How the express lane tells what happens: the least that will do, at the instant it happens (`endive.trace.recorder`).

Each record holds what cannot be worked out later. Two events of one instant, with nobody in between, are one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    StorageUsed,
    Worked,
)
from endive.trace.columns import (
    Block,
    Coded,
    Column,
    Listed,
    constant,
    lists_of,
    lists_of_lists,
    nothing_each,
    one_each,
    where_given,
)
from endive.trace.recorder import PackedShape, Pen, add_uses
from endive.trace.witness import NO_PARTITIONS
from endive.transaction import Transaction

Records = NDArray[Any]
Rows = NDArray[np.int64]
Seen = tuple[tuple[int, ...], tuple[tuple[int, ...], ...] | None, tuple[int, ...]]
"""The versions of written tables, of written partitions, and of tables that are only read."""

CLASSES = ("overlap", "disjoint_partitions", "cross_table")
OVERLAP, DISJOINT, CROSS_TABLE = range(3)
MANY = -2


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

    def of(self, tables: tuple[TableMetadata, ...]) -> Seen:
        """What it has seen of its tables."""
        versions = tuple([tables[table_id].version for table_id in self._written])
        parts = None
        if self._places is not None:
            each = []
            for table_id, places in zip(self._written, self._places, strict=True):
                seen = tables[table_id].partition_versions
                each.append(tuple([seen[place] for place in places]))
            parts = tuple(each)
        others = tuple([tables[table_id].version for table_id in self._read_only])
        return versions, parts, others


class Pens(NamedTuple):
    """What marks that a record follows, and what writes each kind of them."""

    mark: Callable[[int], None]
    read: Pen
    retry: Pen
    again: Pen
    worked: Pen
    prepared: Pen
    called: Pen
    refused: Pen
    returned: Pen


class Story:
    """The shapes of one run's records: what is the same for all of them stands here, and not in each.

    Versions are packed where there is one of them to tell; else `MANY` stands there, and all of them are laid beside the record.
    """

    def __init__(
        self,
        recorder: Recorder,
        catalog: PointerCatalog,
        storage: ProfileStorageProvider,
        ml_append_mode: bool,
    ) -> None:
        self.emit: Callable[[Any], None] = recorder.emit
        self._effect_point, self._catalog_bytes = catalog.effect_point, catalog.size_bytes
        sizes = storage.sizes
        self._list_bytes, self._file_bytes = sizes.manifest_list, sizes.manifest_file
        self._put = "append" if ml_append_mode else "write"
        self._attempt_counts = (0, 1, 0, 0, 1, int(ml_append_mode), int(not ml_append_mode), 0)
        shapes = (
            PackedShape(_READ, events=2, tell=self._tell_read, spread=self._spread_read),
            PackedShape(
                f"{_READ} attempt:q found:q commits:q replaced:q",
                events=3,
                tell=self._tell_retry,
                spread=self._spread_retry,
            ),
            PackedShape(
                f"{_READ} attempt:q found:q commits:q replaced:q",
                events=4,
                tell=self._tell_again,
                spread=self._spread_again,
            ),
            PackedShape(
                "now_ms:d txn_id:q runtime_ms:d", events=1, tell=_tell_worked, spread=_spread_worked
            ),
            PackedShape(
                "now_ms:d txn_id:q attempt:q read_ms:d write_ms:d put_ms:d seq:q version:q",
                events=5,
                tell=self._tell_prepared,
                spread=self._spread_prepared,
            ),
            PackedShape(
                "now_ms:d txn_id:q attempt:q seq:q version:q",
                events=1,
                tell=_tell_called,
                spread=_spread_called,
            ),
            PackedShape(
                "now_ms:d txn_id:q expected_seq:q seq:q",
                events=1,
                tell=_tell_refused,
                spread=_spread_refused,
            ),
            PackedShape(
                "now_ms:d txn_id:q attempt:q success:q called_ms:d took_ms:d",
                events=2,
                tell=self._tell_returned,
                spread=self._spread_returned,
            ),
        )
        self.pens = Pens(recorder.mark, *map(recorder.pen, shapes))

    # -- a catalog read is over --------------------------------------------------------------------------------------

    def _tell_read(
        self,
        events: list[Any],
        beside: Iterator[Any],
        txn_id: int,
        called_ms: float,
        now_ms: float,
        drawn_ms: float,
        seq: int,
        version: int,
        partition: int,
    ) -> None:
        read_ms = now_ms - called_ms
        end_ms, captured_ms = called_ms + read_ms, called_ms + drawn_ms * self._effect_point
        events.append(
            StorageUsed(end_ms, txn_id, "catalog", "read", 1, self._catalog_bytes, 1, drawn_ms)
        )
        seen: Seen = ((version,), None if partition == NO_PARTITIONS else ((partition,),), ())
        if version == MANY:
            seen = next(beside)
        events.append(_made(CatalogRead, (captured_ms, txn_id, called_ms, read_ms, seq, *seen)))

    def _spread_read(self, records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
        blocks = []
        for these, where, several in _by_count(records, rows, beside):
            txn_id, seq = these["txn_id"], these["seq"]
            called_ms, drawn_ms = these["called_ms"], these["drawn_ms"]
            read_ms = these["now_ms"] - called_ms
            end_ms, captured_ms = called_ms + read_ms, called_ms + drawn_ms * self._effect_point
            used = ("catalog", "read", 1, self._catalog_bytes, 1)
            blocks.append(_used(where, end_ms, txn_id, used, drawn_ms))
            versions: Column = one_each(these["version"])
            parts = where_given(these["partition"], NO_PARTITIONS)
            others = nothing_each(len(these))
            if several:
                versions = lists_of([seen[0] for seen in several])
                parts = lists_of_lists([seen[1] for seen in several])
                others = lists_of([seen[2] for seen in several])
            read = (captured_ms, txn_id, called_ms, read_ms, seq, versions, parts, others)
            blocks.append(Block(CatalogRead, where + 1, read))
        return blocks

    # -- the catalog read of a retry is over, and what it found is compared ------------------------------------------

    def _tell_retry(
        self,
        events: list[Any],
        beside: Iterator[Any],
        txn_id: int,
        called_ms: float,
        now_ms: float,
        drawn_ms: float,
        seq: int,
        version: int,
        partition: int,
        attempt: int,
        found: int,
        commits: int,
        replaced: int,
    ) -> None:
        seen = (seq, version, partition)
        self._tell_read(events, beside, txn_id, called_ms, now_ms, drawn_ms, *seen)
        classes = next(beside) if found == MANY else (CLASSES[found],)
        events.append(_made(Classified, (now_ms, txn_id, attempt, classes, commits, replaced)))

    def _tell_again(
        self,
        events: list[Any],
        beside: Iterator[Any],
        txn_id: int,
        called_ms: float,
        now_ms: float,
        *others: Any,
    ) -> None:
        """And because nothing is owed, commit is called."""
        self._tell_retry(events, beside, txn_id, called_ms, now_ms, *others)
        read, found = events[-2:]
        meant = tuple([version + 1 for version in read.versions])
        events.append(_made(CommitCalled, (now_ms, txn_id, found.attempt, read.seq, meant)))

    def _spread_retry(self, records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
        # What was seen and the classes lie beside the records in turns, but either may be missing.
        has_seen, has_classes = records["version"] == MANY, records["found"] == MANY
        seen, several = [], []
        if has_seen.any() or has_classes.any():
            for is_seen, is_classes in zip(has_seen.tolist(), has_classes.tolist(), strict=True):
                if is_seen:
                    seen.append(next(beside))
                if is_classes:
                    several.append(next(beside))
        blocks = self._spread_read(records, iter(seen), rows)
        for these, where, classes in _split(records, rows, has_classes, iter(several)):
            found: Column = one_each(Coded(these["found"], CLASSES))
            if classes:
                numbers = lists_of([[CLASSES.index(word) for word in each] for each in classes])
                assert isinstance(numbers.elements, np.ndarray)
                found = Listed(numbers.lengths, Coded(numbers.elements, CLASSES))
            counts = these["commits"], these["replaced"]
            columns = (these["now_ms"], these["txn_id"], these["attempt"], found, *counts)
            blocks.append(Block(Classified, where + 2, columns))
        return blocks

    def _spread_again(self, records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
        blocks = self._spread_retry(records, beside, rows)
        for read in [block for block in blocks if block.kind is CatalogRead]:
            # A read is the second event of such a record, the call the fourth.
            these = records[np.searchsorted(rows, read.rows - 1)]
            seen = read.columns[CatalogRead._fields.index("versions")]
            assert isinstance(seen, Listed)
            assert isinstance(seen.elements, np.ndarray)
            meant = Listed(seen.lengths, seen.elements + 1)
            columns = (these["now_ms"], these["txn_id"], these["attempt"], these["seq"], meant)
            blocks.append(Block(CommitCalled, read.rows + 2, columns))
        return blocks

    # -- the attempt at one table is paid for, and commit is called --------------------------------------------------

    def _tell_prepared(
        self,
        events: list[Any],
        beside: Iterator[Any],
        now_ms: float,
        txn_id: int,
        attempt: int,
        read_ms: float,
        write_ms: float,
        put_ms: float,
        expected_seq: int,
        version: int,
    ) -> None:
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
        _tell_called(events, beside, now_ms, txn_id, attempt, expected_seq, version)

    def _spread_prepared(self, records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
        now_ms, txn_id, attempt = records["now_ms"], records["txn_id"], records["attempt"]
        read_ms, write_ms, put_ms = records["read_ms"], records["write_ms"], records["put_ms"]
        paid_ms = read_ms + write_ms + put_ms
        read_end_ms = now_ms - paid_ms + read_ms
        read = ("manifest_list", "read", 1, self._list_bytes, 1)
        write = ("manifest_file", "write", 1, self._file_bytes, 1)
        put = ("manifest_list", self._put, 1, self._list_bytes, 1)
        reason = Coded((attempt != 0).astype(np.uint8), ("attempt", "rebuild"))
        counts = np.array(self._attempt_counts)
        each = np.full(len(records), len(counts), np.int64)
        paid = (reason, paid_ms, Listed(each, np.tile(counts, len(records))))
        return [
            _used(rows, read_end_ms, txn_id, read, read_ms),
            _used(rows + 1, read_end_ms + write_ms, txn_id, write, write_ms),
            _used(rows + 2, now_ms, txn_id, put, put_ms),
            Block(IoPaid, rows + 3, (now_ms, txn_id, attempt, *paid)),
            *_spread_called(records, beside, rows + 4),
        ]

    # -- a commit call is over ---------------------------------------------------------------------------------------

    def _tell_returned(
        self,
        events: list[Any],
        beside: Iterator[Any],
        now_ms: float,
        txn_id: int,
        attempt: int,
        success: int,
        called_ms: float,
        took_ms: float,
    ) -> None:
        events.append(
            StorageUsed(now_ms, txn_id, "catalog", "cas", 1, self._catalog_bytes, 1, took_ms)
        )
        commit_ms = now_ms - called_ms
        events.append(_made(CommitReturned, (now_ms, txn_id, attempt, bool(success), commit_ms)))

    def _spread_returned(self, records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
        now_ms, txn_id = records["now_ms"], records["txn_id"]
        used = ("catalog", "cas", 1, self._catalog_bytes, 1)
        commit_ms, success = now_ms - records["called_ms"], records["success"] != 0
        columns = (now_ms, txn_id, records["attempt"], success, commit_ms)
        return [
            _used(rows, now_ms, txn_id, used, records["took_ms"]),
            Block(CommitReturned, rows + 1, columns),
        ]


_READ = "txn_id:q called_ms:d now_ms:d drawn_ms:d seq:q version:q partition:q"
# A class of named tuples makes one of its own in Python; this makes the same at once.
_made: Any = tuple.__new__


def _by_count(
    records: Records, rows: Rows, beside: Iterator[Any]
) -> Iterator[tuple[Records, Rows, list[Any]]]:
    """The records that tell of one version each, and then those that tell of several, with what lies beside them."""
    return _split(records, rows, records["version"] == MANY, beside)


def _split(
    records: Records, rows: Rows, has_many: NDArray[np.bool_], beside: Iterator[Any]
) -> Iterator[tuple[Records, Rows, list[Any]]]:
    if not has_many.any():
        yield records, rows, []
        return
    if not has_many.all():
        yield records[~has_many], rows[~has_many], []
    yield records[has_many], rows[has_many], list(islice(beside, int(has_many.sum())))


def _used(
    rows: Rows,
    end_ms: NDArray[np.float64],
    txn_id: NDArray[np.int64],
    use: tuple[str, str, int, int, int],
    took_ms: NDArray[np.float64],
) -> Block:
    same = [constant(value, len(rows)) for value in use]
    return Block(StorageUsed, rows, (end_ms, txn_id, *same, took_ms))


def _tell_worked(
    events: list[Any], beside: Iterator[Any], now_ms: float, txn_id: int, runtime_ms: float
) -> None:
    events.append(_made(Worked, (now_ms, txn_id, runtime_ms)))


def _spread_worked(records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
    return [Block(Worked, rows, (records["now_ms"], records["txn_id"], records["runtime_ms"]))]


def _tell_called(
    events: list[Any],
    beside: Iterator[Any],
    now_ms: float,
    txn_id: int,
    attempt: int,
    expected_seq: int,
    version: int,
) -> None:
    # Each one more than was seen.
    seen = next(beside) if version == MANY else (version,)
    meant = tuple([version + 1 for version in seen])
    events.append(_made(CommitCalled, (now_ms, txn_id, attempt, expected_seq, meant)))


def _spread_called(records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
    blocks = []
    for these, where, several in _by_count(records, rows, beside):
        meant: Column = one_each(these["version"] + 1)
        if several:
            meant = lists_of([[version + 1 for version in seen] for seen in several])
        columns = (these["now_ms"], these["txn_id"], these["attempt"], these["seq"], meant)
        blocks.append(Block(CommitCalled, where, columns))
    return blocks


def _tell_refused(
    events: list[Any],
    beside: Iterator[Any],
    now_ms: float,
    txn_id: int,
    expected_seq: int,
    seq: int,
) -> None:
    events.append(_made(CommitRefused, (now_ms, txn_id, expected_seq, seq)))


def _spread_refused(records: Records, beside: Iterator[Any], rows: Rows) -> list[Block]:
    columns = (records["now_ms"], records["txn_id"], records["expected_seq"], records["seq"])
    return [Block(CommitRefused, rows, columns)]
