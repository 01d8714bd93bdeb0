"""What conflict resolution costs, and how long it takes: I/O counts (§3.1) and the payment of them.

A payment draws all its latencies when it starts, is one wait, and counts when it is over (docs/MODEL.md, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from endive.storage import StorageProvider, total_ms


@dataclass(frozen=True, slots=True)
class ConflictCost:
    """I/O operations required to resolve a conflict, or to make an attempt."""

    metadata_reads: int = 0
    manifest_list_reads: int = 0
    manifest_list_writes: int = 0
    historical_ml_reads: int = 0
    manifest_file_reads: int = 0
    manifest_file_writes: int = 0
    manifest_list_appends: int = 0

    def times(self, factor: int) -> ConflictCost:
        """The cost of doing this `factor` times, once for each table."""
        if factor == 1:
            return self
        return ConflictCost(
            self.metadata_reads * factor,
            self.manifest_list_reads * factor,
            self.manifest_list_writes * factor,
            self.historical_ml_reads * factor,
            self.manifest_file_reads * factor,
            self.manifest_file_writes * factor,
            self.manifest_list_appends * factor,
        )


NO_COST = ConflictCost()


def payment_ms(storage: StorageProvider, cost: ConflictCost) -> float:
    """Draw how long it takes to do all of `cost`: kind after kind, each kind in parallel batches."""
    if not storage.is_plain:
        return _payment_through(storage, cost)
    width = storage.max_parallel
    read_list, write_list, read_file, write_file, append_list = storage.manifest_samplers  # type: ignore[attr-defined]
    paid_ms = 0.0
    if count := cost.metadata_reads:
        paid_ms += storage.batch_ms("table_metadata.read", storage.sizes.catalog, count)  # type: ignore[attr-defined]
    if count := cost.manifest_list_reads:
        paid_ms += read_list.draw_ms() if count == 1 else read_list.batch_ms(count, width)
    if count := cost.historical_ml_reads:
        paid_ms += read_list.batch_ms(count, width)
    if count := cost.manifest_file_reads:
        paid_ms += read_file.batch_ms(count, width)
    if count := cost.manifest_file_writes:
        paid_ms += write_file.draw_ms() if count == 1 else write_file.batch_ms(count, width)
    if count := cost.manifest_list_appends:
        if append_list is None:
            # Let the store say that it cannot.
            storage.tail_append("manifest_list", 0)
        paid_ms += append_list.draw_ms() if count == 1 else append_list.batch_ms(count, width)
    if count := cost.manifest_list_writes:
        paid_ms += write_list.draw_ms() if count == 1 else write_list.batch_ms(count, width)
    return paid_ms


def _payment_through(storage: StorageProvider, cost: ConflictCost) -> float:
    """The same payment through the store's own generators, for stores that are not the built-in one."""
    list_bytes, file_bytes = storage.sizes.manifest_list, storage.sizes.manifest_file

    def append() -> Generator[float, None, Any]:
        if storage.supports_tail_append:
            return storage.tail_append("manifest_list", list_bytes)
        return storage.append("manifest_list", storage.length("manifest_list"), list_bytes)

    operations: tuple[tuple[int, Callable[[], Generator[float, None, Any]]], ...] = (
        (cost.metadata_reads, lambda: storage.read("table_metadata", storage.sizes.catalog)),
        (cost.manifest_list_reads, lambda: storage.read("manifest_list", list_bytes)),
        (cost.historical_ml_reads, lambda: storage.read("manifest_list", list_bytes)),
        (cost.manifest_file_reads, lambda: storage.read("manifest_file", file_bytes)),
        (cost.manifest_file_writes, lambda: storage.write("manifest_file", file_bytes)),
        (cost.manifest_list_appends, append),
        (cost.manifest_list_writes, lambda: storage.write("manifest_list", list_bytes)),
    )
    paid_ms = 0.0
    for count, operation in operations:
        for start in range(0, count, storage.max_parallel):
            batch = range(min(storage.max_parallel, count - start))
            paid_ms += max(total_ms(operation()) for _ in batch)
    return paid_ms
