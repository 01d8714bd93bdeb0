"""The state behind a catalog, and how a storage operation takes effect on it.

State is copy-on-write: a commit builds new tuples once, and every read until the next commit shares them. Nothing a
transaction holds can change under it (§8.2).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from endive.catalog.types import (
    CatalogDetails,
    CatalogSnapshot,
    IntentionRecord,
    TableMetadata,
    make_snapshot,
    make_table,
)
from endive.storage import OnEffect, StorageProvider
from endive.trace import BACKGROUND_ID, Witness


class CatalogState:
    """The versions of all tables: captured by reads, advanced by exactly one per applied commit (§8.1)."""

    __slots__ = (
        "_partition_changed_at",
        "_table_changed_at",
        "details",
        "seq",
        "tables",
        "witness",
    )

    def __init__(
        self,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        *,
        manifests_per_table: int = 3,
        group_of: tuple[int, ...] = (),
    ) -> None:
        if len(partitions_per_table) != num_tables:
            raise ValueError(
                f"partitions_per_table has {len(partitions_per_table)} entries for {num_tables} tables"
            )
        zeros = {count: (0,) * count for count in set(partitions_per_table)}
        self.witness: Witness | None = None
        """Told of every commit, where a run is traced."""
        self.seq = 0
        self.tables = tuple(
            TableMetadata(table_id, 0, count, zeros[count], manifests_per_table)
            for table_id, count in enumerate(partitions_per_table)
        )
        none = (0,) * (max(group_of) + 1 if group_of else 0)
        self.details = CatalogDetails(0, group_of, none, none)
        # The seq of the last commit that changed each table and partition.
        self._table_changed_at = [0] * num_tables
        self._partition_changed_at: dict[tuple[int, int], int] = {}

    def capture(self, timestamp_ms: float) -> CatalogSnapshot:
        """The snapshot of this instant."""
        return make_snapshot(self.seq, self.tables, timestamp_ms, self.details)

    def apply(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """Install a commit: all of it, at one instant."""
        partitions, replaces, merged = None, False, frozenset[int]()
        if intention is not None:
            partitions = intention.partitions_written
            replaces, merged = intention.replaces_data, intention.merged
        self.seq += 1
        tables = list(self.tables)
        for table_id in writes:
            old = tables[table_id]
            versions = list(old.partition_versions)
            # Without partition tracking the commit may have touched all of them.
            touched = range(len(versions)) if partitions is None else partitions.get(table_id, ())
            for partition_id in touched:
                versions[partition_id] += 1
            tables[table_id] = make_table(
                table_id,
                # One more than was seen; or than is there, if others have written other partitions since.
                old.version + 1,
                old.num_partitions,
                tuple(versions),
                1 if table_id in merged else old.manifests + 1,
                old.replaced + replaces,
            )
            self._table_changed_at[table_id] = self.seq
        self.tables = tuple(tables)
        if replaces or self.details.group_of:
            self._count(writes, replaces)
        if self.witness is not None:
            txn_id = BACKGROUND_ID if intention is None else intention.txn_id
            now = [
                (table_id, self.tables[table_id].version, self.tables[table_id].manifests)
                for table_id in writes
            ]
            self.witness.applied(txn_id, self.seq, now, partitions, replaces)

    def _count(self, writes: Mapping[int, int], replaces: bool) -> None:
        details = self.details
        commits, replaced = list(details.group_commits), list(details.group_replaced)
        if details.group_of:
            for group in {details.group_of[table_id] for table_id in writes}:
                commits[group] += 1
                replaced[group] += replaces
        self.details = replace(
            details,
            replaced=details.replaced + replaces,
            group_commits=tuple(commits),
            group_replaced=tuple(replaced),
        )

    def show_list_lengths(self, lengths: tuple[int, ...]) -> None:
        """Let snapshots tell how long the manifest lists are by now."""
        self.details = replace(self.details, list_lengths=lengths)

    def is_unchanged_since(
        self,
        seq: int,
        granularity: str,
        writes: Mapping[int, int],
        intention: IntentionRecord | None,
    ) -> bool:
        """Whether nothing in the scope of a commit was changed by a commit above `seq`."""
        if granularity == "catalog":
            return self.seq == seq
        tables: Iterable[int] = writes
        if granularity == "group":
            group_of = self.details.group_of
            mine = {group_of[table_id] for table_id in writes}
            tables = [table_id for table_id, group in enumerate(group_of) if group in mine]
        elif granularity == "partition" and intention and intention.partitions_written is not None:
            tables = ()
            for table_id, partitions in intention.partitions_written.items():
                for partition_id in partitions:
                    if self._partition_changed_at.get((table_id, partition_id), 0) > seq:
                        return False
        read = (intention.tables_read or ()) if intention else ()
        changed_at = self._table_changed_at
        return all(changed_at[table_id] <= seq for table_id in (*tables, *read))

    def note_partitions(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """Remember which partitions the commit just applied has changed."""
        for table_id in writes:
            partitions = None if intention is None else intention.partitions_written
            touched: Iterable[int] = (
                range(self.tables[table_id].num_partitions)
                if partitions is None
                else partitions.get(table_id, ())
            )
            for partition_id in touched:
                self._partition_changed_at[table_id, partition_id] = self.seq


def read_through(
    storage: StorageProvider, key: str, size_bytes: int, state: CatalogState, timestamp_ms: float
) -> Generator[float, None, CatalogSnapshot]:
    """Read the catalog through the store's own generator."""
    captured: list[CatalogSnapshot] = []

    def capture(_success: bool, elapsed_ms: float) -> None:
        captured.append(state.capture(timestamp_ms + elapsed_ms))

    result = yield from call_with_effect(storage.read, (key, size_bytes), capture)
    if state.witness is not None:
        state.witness.was_read(size_bytes, result.latency_ms)
    return captured[-1]


def call_with_effect(
    operation: Callable[..., Generator[float, None, Any]],
    arguments: tuple[Any, ...],
    effect: OnEffect,
) -> Generator[float, None, Any]:
    """Run a storage operation with its effect: at the store's effect point, or at the end if it knows none."""
    if _takes_effect(getattr(operation, "__func__", operation)):
        return (yield from operation(*arguments, on_effect=effect))
    result = yield from operation(*arguments)
    effect(result.success, result.latency_ms)
    return result


@lru_cache(maxsize=64)
def _takes_effect(operation: Callable[..., Any]) -> bool:
    """Whether a store's operation can be told what to do at its effect point."""
    parameters = inspect.signature(operation).parameters
    return "on_effect" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
