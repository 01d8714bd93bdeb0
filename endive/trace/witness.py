"""Whoever stands beside the state of a catalog and tells what happens to it, at the instant it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endive.trace.columns import Block, one_each, where_given
from endive.trace.events import (
    CommitApplied,
    CommitRefused,
    ListAppended,
    ListRewritten,
    LogAppended,
    LogCompacted,
    Use,
)
from endive.trace.recorder import CATALOG_USED, USED, PackedShape, Recorder, Shape


class Witness:
    """Emits what catalogs, logs and lists do; it knows the time, which they do not."""

    __slots__ = ("_emit", "_now", "_pen", "_recorder")

    def __init__(self, recorder: Recorder, now_ms: Callable[[], float]) -> None:
        self._emit, self._recorder = recorder.emit, recorder
        self._pen = recorder.pen(_APPLIED_TO_ONE) if recorder.packs else None
        self._now = now_ms

    def applied(
        self,
        txn_id: int,
        seq: int,
        written: list[tuple[int, int, int]],
        partitions: Mapping[int, tuple[int, ...]] | None,
        replaces_data: bool,
    ) -> None:
        """A commit has just been installed as `seq`; each written table has this id, version and count of manifests."""
        now_ms = self._now()
        if self._pen is not None and len(written) == 1:
            ((table, version, manifests),) = written
            only = NO_PARTITIONS
            if partitions is not None:
                touched = partitions.get(table, ())
                only = touched[0] if len(touched) == 1 else _MANY
            if only != _MANY:
                code, put, pack, _ = self._pen
                self._recorder.mark(code)
                put(pack(now_ms, txn_id, seq, table, version, manifests, only, replaces_data))
                return
        self._emit((_APPLIED, now_ms, txn_id, seq, written, partitions, replaces_data))

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

    def was_read(self, size_bytes: int, took_ms: float) -> None:
        """A read of the catalog is over; who it was for, the reader says next."""
        self._emit((CATALOG_USED, ("catalog", "read", 1, size_bytes, 1, took_ms)))

    def used(
        self, txn_id: int, artifact: str, action: str, size_bytes: int, took_ms: float
    ) -> None:
        """An operation of a store is over."""
        self.used_all(txn_id, [(artifact, action, 1, size_bytes, 1, took_ms)], took_ms)

    def used_all(self, txn_id: int, uses: Sequence[Use], took_ms: float) -> None:
        """Operations of a store, one kind after the other, are over."""
        self._emit((USED, self._now(), took_ms, txn_id, uses))


def _tell_applied(
    events: list[Any],
    t_ms: float,
    txn_id: int,
    seq: int,
    written: list[tuple[int, int, int]],
    partitions: Mapping[int, tuple[int, ...]] | None,
    replaces_data: bool,
) -> None:
    written = sorted(written)
    tables = tuple([table_id for table_id, _, _ in written])
    versions = tuple([version for _, version, _ in written])
    manifests = tuple([count for _, _, count in written])
    touched = None if partitions is None else tuple([partitions.get(t, ()) for t in tables])
    events.append(
        CommitApplied(
            t_ms, txn_id, seq - 1, seq, tables, versions, touched, replaces_data, manifests
        )
    )


def _tell_applied_to_one(
    events: list[Any],
    beside: Iterator[Any],
    t_ms: float,
    txn_id: int,
    seq: int,
    table: int,
    version: int,
    manifests: int,
    partition: int,
    replaces_data: int,
) -> None:
    touched = None if partition == NO_PARTITIONS else ((partition,),)
    tables, versions, counts = (table,), (version,), (manifests,)
    events.append(
        CommitApplied(
            t_ms, txn_id, seq - 1, seq, tables, versions, touched, bool(replaces_data), counts
        )
    )


def _spread_applied_to_one(
    records: NDArray[Any], beside: Iterator[Any], rows: NDArray[np.int64]
) -> list[Block]:
    seq = records["seq"]
    columns = (
        records["t_ms"],
        records["txn_id"],
        seq - 1,
        seq,
        one_each(records["table"]),
        one_each(records["version"]),
        where_given(records["partition"], NO_PARTITIONS),
        records["replaces_data"] != 0,
        one_each(records["manifests"]),
    )
    return [Block(CommitApplied, rows, columns)]


NO_PARTITIONS = -1
"""Stands for the one partition where partitions are not tracked."""
_MANY = -2
_APPLIED = Shape(6, _tell_applied)
_APPLIED_TO_ONE = PackedShape(
    "t_ms:d txn_id:q seq:q table:q version:q manifests:q partition:q replaces_data:q",
    events=1,
    tell=_tell_applied_to_one,
    spread=_spread_applied_to_one,
)
