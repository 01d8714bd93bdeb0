"""Whoever stands beside the state of a catalog and tells what happens to it, at the instant it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from endive.trace.events import (
    CommitApplied,
    CommitRefused,
    Emit,
    ListAppended,
    ListRewritten,
    LogAppended,
    LogCompacted,
)


class Witness:
    """Emits what catalogs, logs and lists do; it knows the time, which they do not."""

    __slots__ = ("_emit", "_now")

    def __init__(self, emit: Emit, now_ms: Callable[[], float]) -> None:
        self._emit = emit
        self._now = now_ms

    def applied(
        self,
        txn_id: int,
        seq: int,
        versions: Mapping[int, int],
        partitions: Mapping[int, tuple[int, ...]] | None,
        replaces_data: bool,
        manifests: tuple[int, ...],
    ) -> None:
        """A commit has just been installed as `seq`."""
        tables = tuple(versions)
        self._emit(
            CommitApplied(
                self._now(),
                txn_id,
                seq - 1,
                seq,
                tables,
                tuple(versions.values()),
                None if partitions is None else tuple(partitions.get(t, ()) for t in tables),
                replaces_data,
                manifests,
            )
        )

    def refused(self, txn_id: int, expected_seq: int, seq: int) -> None:
        """A commit has just been turned away."""
        self._emit(CommitRefused(self._now(), txn_id, expected_seq, seq))

    def met_log(
        self, txn_id: int, offset: int, length: int, landed: bool, applied: bool, sealed: bool
    ) -> None:
        """A record has just met the log."""
        self._emit(LogAppended(self._now(), txn_id, offset, length, landed, applied, sealed))

    def compacted(self, txn_id: int, compactions: int, won: bool) -> None:
        """A compaction has just been won or lost."""
        self._emit(LogCompacted(self._now(), txn_id, compactions, won))

    def met_list(
        self, txn_id: int, table: int, offset: int, length: int, landed: bool, sealed: bool
    ) -> None:
        """An entry has just met a manifest list."""
        self._emit(ListAppended(self._now(), txn_id, table, offset, length, landed, sealed))

    def rewrote_list(self, txn_id: int, table: int, length: int, won: bool) -> None:
        """A new manifest list is in place, this writer's or somebody else's."""
        self._emit(ListRewritten(self._now(), txn_id, table, length, won))
