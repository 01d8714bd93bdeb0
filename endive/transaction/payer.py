"""Paying: manifest and metadata I/O as one wait, entries of manifest lists step by step (docs/MODEL.md, sections 3, 12, 14)."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from endive.catalog import CatalogSnapshot, ListAppend
from endive.cost_model import (
    NO_COST,
    ConflictCost,
    payment,
    payment_by_table,
    total_of_uses_ms,
)
from endive.storage import StorageProvider
from endive.transaction.clock import Clock
from endive.transaction.dues import Dues, total_of
from endive.transaction.events import paid
from endive.transaction.retry import CommitOptions

if TYPE_CHECKING:
    from endive.transaction.base import Transaction


class Payer:
    """Pays what a transaction owes: draws the time, waits, then books and counts it."""

    __slots__ = ("_clock", "_list_lengths", "_options", "_storage", "_txn")

    def __init__(
        self, txn: Transaction, storage: StorageProvider, options: CommitOptions, clock: Clock
    ) -> None:
        self._txn = txn
        self._storage = storage
        self._options = options
        self._clock = clock
        self._list_lengths: dict[int, int] = {}

    def learn_lists(self, start: CatalogSnapshot) -> None:
        """Take the lengths of manifest lists from the snapshot that the work begins with."""
        self._list_lengths = dict(enumerate(start.details.list_lengths))

    def pay(
        self,
        dues: Dues,
        at_hand: CatalogSnapshot,
        part: str,
        reason: str,
        width: int | None = None,
    ) -> Generator[float, None, None]:
        """Do everything that is due; the snapshot at hand tells how large things are."""
        appends: dict[int, int] = {}
        if self._options.manifest_lists is not None:
            appends = {table: cost.manifest_list_appends for table, cost in dues.items()}
            dues = {table: cost.without_appends() for table, cost in dues.items()}
        cost = total_of(dues)
        if cost != NO_COST:
            storage, growth = self._storage, self._options.growth
            if growth is None:
                uses = payment(storage, cost, width)
            else:
                sized = [
                    (cost, growth.sizes(storage.sizes, at_hand.tables[table].version))
                    for table, cost in dues.items()
                ]
                uses = payment_by_table(storage, sized, width)
            paid_ms = total_of_uses_ms(uses)
            yield paid_ms
            self._book(part, paid_ms)
            self._txn.count(cost)
            if self._options.emit is not None:
                self._options.emit(paid(self._clock.now, self._txn, reason, paid_ms, cost, uses))
        for table, count in appends.items():
            for _ in range(count):
                yield from self._append(table, part)

    def _append(self, table_id: int, part: str) -> Generator[float, None, None]:
        """Get an entry into a manifest list at an offset, step by step."""
        lists, txn = self._options.manifest_lists, self._txn
        assert lists is not None
        began_ms = self._clock.now

        def count(done: ListAppend) -> None:
            nonlocal began_ms
            spent_ms = self._clock.now - began_ms
            self._book(part, spent_ms)
            began_ms = self._clock.now
            self._list_lengths[table_id] = done.length
            txn.manifest_list_appends += done.appends
            txn.manifest_list_reads += done.list_reads
            txn.manifest_list_writes += done.list_writes
            if self._options.emit is not None:
                cost = ConflictCost(
                    manifest_list_appends=done.appends,
                    manifest_list_reads=done.list_reads,
                    manifest_list_writes=done.list_writes,
                )
                # The lists themselves tell what they used the store for.
                self._options.emit(paid(began_ms, txn, "list", spent_ms, cost, ()))

        yield from lists.append_entry(
            table_id, self._list_lengths[table_id], count, txn_id=txn.txn_id
        )

    def _book(self, part: str, spent_ms: float) -> None:
        owner = self._txn.own_extras() if part == "start_io_ms" else self._txn
        setattr(owner, part, getattr(owner, part) + spent_ms)
