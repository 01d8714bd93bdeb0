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
    sizes = storage.sizes
    list_bytes, file_bytes = sizes.manifest_list, sizes.manifest_file
    run = storage.batch_ms if storage.is_plain else _batch_through(storage)  # type: ignore[attr-defined]
    total = 0.0
    if cost.metadata_reads:
        total += run("table_metadata.read", sizes.catalog, cost.metadata_reads)
    if cost.manifest_list_reads:
        total += run("manifest_list.read", list_bytes, cost.manifest_list_reads)
    if cost.historical_ml_reads:
        total += run("manifest_list.read", list_bytes, cost.historical_ml_reads)
    if cost.manifest_file_reads:
        total += run("manifest_file.read", file_bytes, cost.manifest_file_reads)
    if cost.manifest_file_writes:
        total += run("manifest_file.write", file_bytes, cost.manifest_file_writes)
    if cost.manifest_list_appends:
        total += run("manifest_list.append", list_bytes, cost.manifest_list_appends)
    if cost.manifest_list_writes:
        total += run("manifest_list.write", list_bytes, cost.manifest_list_writes)
    return total


def _batch_through(storage: StorageProvider) -> Callable[[str, int, int], float]:
    """The same batches through the store's own generators, for stores that are not the built-in one."""

    def operation_of(name: str, size_bytes: int) -> Generator[float, None, Any]:
        artifact, _, operation = name.partition(".")
        if operation == "read":
            return storage.read(artifact, size_bytes)
        if operation == "write":
            return storage.write(artifact, size_bytes)
        if storage.supports_tail_append:
            return storage.tail_append(artifact, size_bytes)
        return storage.append(artifact, storage.length(artifact), size_bytes)

    def run(name: str, size_bytes: int, count: int) -> float:
        total = 0.0
        for start in range(0, count, storage.max_parallel):
            slowest = 0.0
            for _ in range(min(storage.max_parallel, count - start)):
                slowest = max(slowest, total_ms(operation_of(name, size_bytes)))
            total += slowest
        return total

    return run
