"""The state behind a catalog, and how a storage operation takes effect on it.

State is copy-on-write: a commit builds new tuples once, and every read until the next commit shares them. Nothing a
transaction holds can change under it (§8.2).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from functools import lru_cache
from typing import Any

from endive.catalog.types import (
    CatalogSnapshot,
    IntentionRecord,
    TableMetadata,
    make_snapshot,
    make_table,
)
from endive.storage import OnEffect, StorageProvider


class CatalogState:
    """The versions of all tables: captured by reads, advanced by exactly one per applied commit (§8.1)."""

    __slots__ = ("seq", "tables")

    def __init__(self, num_tables: int, partitions_per_table: tuple[int, ...]) -> None:
        if len(partitions_per_table) != num_tables:
            raise ValueError(
                f"partitions_per_table has {len(partitions_per_table)} entries for {num_tables} tables"
            )
        zeros = {count: (0,) * count for count in set(partitions_per_table)}
        self.seq = 0
        self.tables = tuple(
            TableMetadata(table_id, 0, count, zeros[count])
            for table_id, count in enumerate(partitions_per_table)
        )

    def capture(self, timestamp_ms: float) -> CatalogSnapshot:
        """The snapshot of this instant."""
        return make_snapshot(self.seq, self.tables, timestamp_ms)

    def apply(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """Install a commit: all of it, at one instant."""
        partitions = None if intention is None else intention.partitions_written
        tables = list(self.tables)
        for table_id, new_version in writes.items():
            old = tables[table_id]
            versions = list(old.partition_versions)
            # Without partition tracking the commit may have touched all of them.
            touched = range(len(versions)) if partitions is None else partitions.get(table_id, ())
            for partition_id in touched:
                versions[partition_id] += 1
            tables[table_id] = make_table(
                table_id, new_version, old.num_partitions, tuple(versions)
            )
        self.tables = tuple(tables)
        self.seq += 1


def read_through(
    storage: StorageProvider, key: str, size_bytes: int, state: CatalogState, timestamp_ms: float
) -> Generator[float, None, CatalogSnapshot]:
    """Read the catalog through the store's own generator."""
    captured: list[CatalogSnapshot] = []

    def capture(_success: bool, elapsed_ms: float) -> None:
        captured.append(state.capture(timestamp_ms + elapsed_ms))

    yield from call_with_effect(storage.read, (key, size_bytes), capture)
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
