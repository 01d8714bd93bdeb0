"""Keeping a trace while a run goes on: compact records, which become events or columns when somebody asks for them.

A run has no time to make events. What it tells is either kept as it is, event or record (a tuple of a shape and its fields), or, where
a kind of record is as frequent as in the express lane, packed into a few bytes. Nothing of that needs to be looked at by the garbage
collector, and what can be worked out from the fields is worked out later: event by event, or for many records at once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from endive.trace.collector import collector_paused
from endive.trace.columns import Block
from endive.trace.events import CatalogRead, Event, IoPaid, StorageUsed, Use

_KEPT = 0
_MOST_SHAPES = 255
_NUMPY_TYPES = {"d": "<f8", "q": "<i8"}


class Shape:
    """One kind of record: how many fields it has, and which events they stand for."""

    __slots__ = ("tell", "width")

    def __init__(self, width: int, tell: Callable[..., None]) -> None:
        """`tell` is given the list of events so far and the fields, and adds the events of this record."""
        self.width = width
        self.tell = tell


class PackedShape:
    """One kind of record of numbers only, told in two ways that are held against each other by tests."""

    __slots__ = ("events", "layout", "spread", "tell", "type")

    def __init__(
        self,
        fields: str,
        *,
        events: int,
        tell: Callable[..., None],
        spread: Callable[[NDArray[Any], Iterator[Any], NDArray[np.int64]], list[Block]],
    ) -> None:
        """`fields` are names with their types, `now_ms:d txn_id:q`: doubles and whole numbers.

        `tell` is given the list of events so far, what was laid beside the records and the fields, and adds so many `events`.
        `spread` does the same for many records: it is given them, what was laid beside them, and the rows of their first events.
        """
        named = [field.split(":") for field in fields.split()]
        self.layout = struct.Struct("<" + "".join(kind for _, kind in named))
        self.type = np.dtype([(name, _NUMPY_TYPES[kind]) for name, kind in named])
        self.events = events
        self.tell, self.spread = tell, spread


class Pen(NamedTuple):
    """What it takes to write a packed record: `mark(code)`, then `put(pack(…))`."""

    code: int
    put: Callable[[bytes], None]
    pack: Callable[..., bytes]
    lay_beside: Callable[[Any], None]
    """Takes what is no number, where a record has such a thing."""


class Piece(NamedTuple):
    """A part of a trace: so many rows, some of them events, some of them columns."""

    total: int
    events: list[Event]
    rows: NDArray[np.int64]
    """Where each of these events stands."""
    blocks: list[Block]


class _Book(NamedTuple):
    """All records of one packed shape."""

    shape: PackedShape
    records: bytearray
    beside: list[Any]


def _pen(number: int, book: _Book) -> Pen:
    return Pen(number, book.records.extend, book.shape.layout.pack, book.beside.append)


class Recorder:
    """Takes what happens in a run."""

    __slots__ = ("_books", "_kept", "_order", "emit", "mark", "packs", "record")

    def __init__(self, *, packs: bool = False) -> None:
        """Only one that `packs` takes packed records; the others need not count what they keep."""
        self.packs = packs
        self._kept: list[Any] = []
        # What was told after what: the number of a packed shape, or `_KEPT`.
        self._order = bytearray()
        self._books: list[_Book] = []
        self.mark: Callable[[int], None] = self._order.append
        """Takes the number of the shape of which a packed record follows."""
        self.emit: Callable[[Any], None] = self._emitter() if packs else self._kept.append
        """Takes an event, or a record: a tuple of a shape and its fields."""
        self.record: Callable[[tuple[Any, ...]], None] = self.emit
        """Takes a record."""

    def _emitter(self) -> Callable[[Any], None]:
        mark, keep = self._order.append, self._kept.append

        def emit(item: Any) -> None:
            mark(_KEPT)
            keep(item)

        return emit

    def pen(self, shape: PackedShape) -> Pen:
        """What writes records of a shape."""
        assert self.packs
        assert len(self._books) < _MOST_SHAPES
        book = _Book(shape, bytearray(), [])
        self._books.append(book)
        return _pen(len(self._books), book)

    def pens(self) -> list[tuple[PackedShape, Pen]]:
        """All shapes of packed records, each with what writes them."""
        return [(book.shape, _pen(number, book)) for number, book in enumerate(self._books, 1)]

    def events(self) -> list[Event]:
        """All events, in the order in which they were told."""
        events: list[Any] = []
        kept = iter(self._kept)
        readers = [
            (book.shape.tell, iter(book.beside), book.shape.layout.iter_unpack(book.records))
            for book in self._books
        ]
        with collector_paused():
            for code in self._order if self.packs else bytes(len(self._kept)):
                if code == _KEPT:
                    _tell(events, next(kept))
                else:
                    tell, beside, records = readers[code - 1]
                    tell(events, beside, *next(records))
            return [event for event in events if type(event) is not _Unclaimed]

    def pieces(self, records: int) -> Iterator[Piece]:
        """The same, in pieces of about so many records each."""
        order = np.frombuffer(self._order, np.uint8)
        if not self.packs:
            order = np.zeros(len(self._kept), np.uint8)
        kept = iter(self._kept)
        besides = [iter(book.beside) for book in self._books]
        taken = [0] * len(self._books)
        told = np.array([0, *[book.shape.events for book in self._books]])
        begin = kept_before = 0
        while begin < len(order):
            end = min(begin + records, len(order))
            # Whoever reads a catalog says so right after: both belong into one piece.
            kept_now = kept_before + int((order[begin:end] == _KEPT).sum())
            while end < len(order) and order[end - 1] == _KEPT == order[end]:
                if not _leaves_unclaimed(self._kept[kept_now - 1]):
                    break
                end, kept_now = end + 1, kept_now + 1
            here = order[begin:end]
            counts = told[here]
            events: list[Any] = []
            places = []
            for first, after in _stretches(np.flatnonzero(here == _KEPT)):
                before = len(events)
                for item in islice(kept, after - first):
                    _tell(events, item)
                # A read by somebody who is no transaction is nobody's.
                events[before:] = [e for e in events[before:] if type(e) is not _Unclaimed]
                counts[first] = len(events) - before
                places.append(first)
            firsts = np.cumsum(counts) - counts
            own = counts[places]
            rows = np.repeat(firsts[places] - (np.cumsum(own) - own), own) + np.arange(len(events))
            blocks = []
            for number, (shape, packed, _) in enumerate(self._books):
                where = firsts[here == number + 1]
                if len(where):
                    at = taken[number] * shape.layout.size
                    found = np.frombuffer(packed, shape.type, len(where), at)
                    blocks += shape.spread(found, besides[number], where)
                    taken[number] += len(where)
            yield Piece(int(counts.sum()), events, rows, blocks)
            begin, kept_before = end, kept_now


def _stretches(places: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Where whole numbers, in ascending order, follow one another: the first of each stretch, and what comes after its last."""
    if not len(places):
        return
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    for stretch in np.split(places, breaks):
        yield int(stretch[0]), int(stretch[-1]) + 1


def _tell(events: list[Any], item: Any) -> None:
    if type(item) is tuple:
        item[0].tell(events, *item[1:])
    else:
        events.append(item)


def _leaves_unclaimed(item: Any) -> bool:
    return type(item) is tuple and item[0] is CATALOG_USED


class _Unclaimed:
    """A catalog was read: by whom, it does not know."""

    __slots__ = ("use",)

    def __init__(self, use: Use) -> None:
        self.use = use


def add_uses(
    events: list[Any], end_ms: float, total_ms: float, txn_id: int, uses: Sequence[Use]
) -> None:
    """What a store was used for, one kind after the other, until `end_ms`."""
    now_ms = end_ms - total_ms
    for use in uses[:-1]:
        now_ms += use[-1]
        events.append(StorageUsed(now_ms, txn_id, *use))
    for use in uses[-1:]:
        events.append(StorageUsed(end_ms, txn_id, *use))


def _tell_paid(
    events: list[Any],
    t_ms: float,
    txn_id: int,
    attempt: int,
    reason: str,
    paid_ms: float,
    counts: tuple[int, ...],
    uses: Sequence[Use],
) -> None:
    add_uses(events, t_ms, paid_ms, txn_id, uses)
    events.append(IoPaid(t_ms, txn_id, attempt, reason, paid_ms, counts))


def _tell_used(
    events: list[Any], end_ms: float, total_ms: float, txn_id: int, uses: Sequence[Use]
) -> None:
    add_uses(events, end_ms, total_ms, txn_id, uses)


def _tell_catalog_used(events: list[Any], use: Use) -> None:
    events.append(_Unclaimed(use))


def _tell_seen(events: list[Any], read: CatalogRead) -> None:
    unclaimed = []
    while events and type(events[-1]) is _Unclaimed:
        unclaimed.append(events.pop().use)
    if unclaimed:
        add_uses(
            events, read.t_called_ms + read.read_ms, read.read_ms, read.txn_id, unclaimed[::-1]
        )
    events.append(read)


PAID = Shape(7, _tell_paid)
"""The fields of `IoPaid`, and what the store was used for."""
USED = Shape(4, _tell_used)
"""When it was over, how long it took in all, for whom, and what the store was used for."""
CATALOG_USED = Shape(1, _tell_catalog_used)
"""A catalog was read; whoever read it says so next."""
SEEN = Shape(1, _tell_seen)
"""What a transaction saw in a read that is just over."""
