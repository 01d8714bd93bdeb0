"""Keeping a trace while a run goes on: compact records, which become events when somebody asks for them.

A run has no time to make events. What it tells is kept in one flat list: either an event as it is, or the shape of a record and
behind it the fields, as they were at hand. Nothing in such a list needs to be looked at by the garbage collector, and what can be
worked out from the fields is worked out later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from endive.trace.collector import collector_paused
from endive.trace.events import CatalogRead, Event, IoPaid, StorageUsed, Use


class Shape:
    """One kind of record: how many fields it has, and which events they stand for."""

    __slots__ = ("tell", "width")

    def __init__(self, width: int, tell: Callable[..., None]) -> None:
        """`tell` is given the list of events so far and the fields, and adds the events of this record."""
        self.width = width
        self.tell = tell


class Recorder:
    """Takes what happens in a run."""

    __slots__ = ("_kept", "emit", "record")

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self.emit: Callable[[Any], None] = self._kept.append
        """Takes an event, or a record: a tuple of a shape and its fields."""
        self.record: Callable[[Iterable[Any]], None] = self._kept.extend
        """Takes a record in the least of time."""

    def events(self) -> list[Event]:
        """All events, in the order in which they were told."""
        events: list[Any] = []
        kept = iter(self._kept)
        with collector_paused():
            for item in kept:
                kind = type(item)
                if kind is Shape:
                    item.tell(events, *islice(kept, item.width))
                elif kind is tuple:
                    item[0].tell(events, *item[1:])
                else:
                    events.append(item)
            # A read by somebody who is no transaction is nobody's.
            return [event for event in events if type(event) is not _Unclaimed]


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
