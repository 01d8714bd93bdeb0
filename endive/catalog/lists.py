"""Manifest lists that are appended to at an offset (ML+; docs/MODEL.md, section 12).

An entry is tentative until its transaction commits, so nothing here is ever rejected: an append finds the end of the list or
it does not. A sealed list takes no entries; whoever hits it rewrites it, with the entry in it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from endive.catalog.append import SEAL_BYTES
from endive.catalog.state import CatalogState, call_with_effect
from endive.storage import ProfileStorageProvider, StorageProvider
from endive.trace import BACKGROUND_ID, Use


@dataclass(frozen=True, slots=True)
class ListAppend:
    """What came of appending an entry, by one operation or in all: the length its writer knows now, and the I/O done."""

    length: int
    appends: int
    """1 if the entry landed by an append, 0 if it did not or is in a rewritten list."""
    list_reads: int
    list_writes: int


class _Answer(NamedTuple):
    """What one append tells its writer about the list as of its effect."""

    landed: bool
    length: int
    sealed: bool
    rewrites: int


@dataclass(slots=True)
class ListCounters:
    """How often what happened to manifest lists, by the names of the Append Simulation Design."""

    manifest_append_physical_success: int = 0
    manifest_append_physical_failure: int = 0
    manifest_append_sealed_rewrite: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counters by name."""
        return asdict(self)


class ManifestLists:
    """The manifest lists of all tables. Snapshots of `state` tell how long they are.

    `rewrite` draws what it takes to read a list and to write it anew. It draws from the store of one run, so a copy of
    this object is of use only if it copies `rewrite` along with the store (`functools.partial` does).
    """

    def __init__(
        self,
        storage: StorageProvider,
        state: CatalogState,
        num_tables: int,
        *,
        rewrite: Callable[[], Sequence[Use]],
        entry_size: int = 50,
        seal_threshold: int = 0,
    ) -> None:
        if not storage.supports_append:
            # Ask the store itself, so that the message is the same wherever append is missing.
            storage.append(_key(0), 0, 0)
        if seal_threshold > 0 and not isinstance(storage, ProfileStorageProvider):
            raise ValueError(
                "manifest lists can be sealed in a built-in store or a subclass of it only: "
                f"{type(storage).__name__} cannot be told to refuse appends"
            )
        self._storage = storage
        self._state = state
        self._draw_rewrite = rewrite
        self._entry_size_bytes = entry_size
        self._seal_threshold_bytes = seal_threshold
        self._lengths = [0] * num_tables
        self._sealed = [False] * num_tables
        self._rewrites = [0] * num_tables
        self._counters = ListCounters()
        state.show_list_lengths(tuple(self._lengths))

    @property
    def counters(self) -> dict[str, int]:
        """How often what happened to the lists so far, by name."""
        return self._counters.as_dict()

    def append_entry(
        self,
        table_id: int,
        expected_length: int,
        on_done: Callable[[ListAppend], None] = lambda _: None,
        *,
        txn_id: int = BACKGROUND_ID,
    ) -> Generator[float, None, ListAppend]:
        """Get one entry into a table's list, however often that takes.

        `on_done` hears of every operation at its end, because I/O counts then and the run may end before the next.
        What is returned is all of them together.
        """
        length, rewrites = expected_length, 0
        while True:
            answer = yield from self._append(table_id, length, txn_id)
            length = answer.length
            on_done(ListAppend(length, int(answer.landed), 0, 0))
            if answer.landed:
                return ListAppend(length, 1, rewrites, rewrites)
            if not answer.sealed:
                continue
            uses = self._draw_rewrite()
            took_ms = 0.0
            for use in uses:
                took_ms += use[-1]
            yield took_ms
            rewrites += 1
            if self._state.witness is not None:
                self._state.witness.used_all(txn_id, uses, took_ms)
            # If somebody else's list is in place by now, ours is for nothing, and the entry is still to be added.
            is_mine = answer.rewrites == self._rewrites[table_id]
            if is_mine:
                self._rewrite(table_id)
            length = self._lengths[table_id]
            if self._state.witness is not None:
                self._state.witness.rewrote_list(txn_id, table_id, length, is_mine)
            on_done(ListAppend(length, 0, 1, 1))
            if is_mine:
                return ListAppend(length, 0, rewrites, rewrites)

    def _append(self, table_id: int, offset: int, txn_id: int) -> Generator[float, None, _Answer]:
        storage, size_bytes = self._storage, self._entry_size_bytes
        if not (isinstance(storage, ProfileStorageProvider) and storage.is_plain):
            return (yield from self._append_through(table_id, offset, txn_id))
        drawn_ms = storage.latency_ms("manifest_list.append", size_bytes)
        to_effect_ms = drawn_ms * storage.effect_point
        yield to_effect_ms
        success = storage.extend(_key(table_id), offset, size_bytes)
        answer = self._effect(table_id, offset, success, txn_id)
        rest_ms = storage.rest_ms("manifest_list.append", size_bytes, drawn_ms, success)
        if rest_ms > 0.0:
            yield rest_ms
        self._tell_use(txn_id, to_effect_ms + rest_ms)
        return answer

    def _append_through(
        self, table_id: int, offset: int, txn_id: int
    ) -> Generator[float, None, _Answer]:
        answers: list[_Answer] = []

        def take_effect(success: bool, _elapsed_ms: float) -> None:
            answers.append(self._effect(table_id, offset, success, txn_id))

        arguments = (_key(table_id), offset, self._entry_size_bytes)
        result = yield from call_with_effect(self._storage.append, arguments, take_effect)
        self._tell_use(txn_id, result.latency_ms)
        return answers[-1]

    def _tell_use(self, txn_id: int, took_ms: float) -> None:
        """Tell the witness, if there is one, that an append to a list is over."""
        if self._state.witness is not None:
            size_bytes = self._entry_size_bytes
            self._state.witness.used(txn_id, "manifest_list", "append", size_bytes, took_ms)

    def _effect(self, table_id: int, offset: int, success: bool, txn_id: int) -> _Answer:
        """The store has extended its object or refused to."""
        if success:
            self._counters.manifest_append_physical_success += 1
            self._set_length(table_id, self._lengths[table_id] + self._entry_size_bytes)
            if 0 < self._seal_threshold_bytes < self._lengths[table_id]:
                self._sealed[table_id] = True
                self._extend_object(table_id, SEAL_BYTES)
        else:
            self._counters.manifest_append_physical_failure += 1
        length, sealed = self._lengths[table_id], self._sealed[table_id]
        if self._state.witness is not None:
            self._state.witness.met_list(txn_id, table_id, offset, length, success, sealed)
        return _Answer(success, length, sealed, self._rewrites[table_id])

    def _rewrite(self, table_id: int) -> None:
        """Put a new list in place of a sealed one; the entry of its writer is in it."""
        self._extend_object(table_id, self._entry_size_bytes - self._lengths[table_id] - SEAL_BYTES)
        self._sealed[table_id] = False
        self._rewrites[table_id] += 1
        self._counters.manifest_append_sealed_rewrite += 1
        self._set_length(table_id, self._entry_size_bytes)

    def _set_length(self, table_id: int, length_bytes: int) -> None:
        self._lengths[table_id] = length_bytes
        self._state.show_list_lengths(tuple(self._lengths))

    def _extend_object(self, table_id: int, size_bytes: int) -> None:
        # Only a sealed list comes here, and the constructor has made sure that such a store can be told.
        assert isinstance(self._storage, ProfileStorageProvider)
        self._storage.extend(_key(table_id), None, size_bytes)


def _key(table_id: int) -> str:
    return f"manifest_list/{table_id}"
