"""What conflict resolution costs, and how long it takes: I/O counts (§3.1) and the payment of them.

A payment draws all its latencies when it starts, is one wait, and counts when it is over (docs/MODEL.md, section 3).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from endive.sampling import OperationSampler
from endive.storage import ObjectSizes, ProfileStorageProvider, StorageProvider, total_ms


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
    metadata_writes: int = 0

    def times(self, factor: int) -> ConflictCost:
        """The cost of doing this `factor` times, once for each table."""
        if factor == 1:
            return self
        return ConflictCost(*(getattr(self, name) * factor for name in _FIELDS))

    def plus(self, other: ConflictCost) -> ConflictCost:
        """The cost of doing both."""
        if other is NO_COST:
            return self
        if self is NO_COST:
            return other
        return ConflictCost(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))

    def appending(self) -> ConflictCost:
        """The same with manifest lists appended to instead of written (ML+)."""
        if not self.manifest_list_writes:
            return self
        appends = self.manifest_list_appends + self.manifest_list_writes
        return replace(self, manifest_list_writes=0, manifest_list_appends=appends)

    def without_appends(self) -> ConflictCost:
        """The same without the appends, which are then done one by one."""
        return replace(self, manifest_list_appends=0) if self.manifest_list_appends else self


_FIELDS = tuple(field.name for field in fields(ConflictCost))

NO_COST = ConflictCost()


def payment_ms(storage: StorageProvider, cost: ConflictCost, width: int | None = None) -> float:
    """Draw how long it takes to do all of `cost`: kind after kind, each kind in batches.

    A batch is `width` operations at a time, by default as many as the store's `max_parallel`.
    """
    if width is None:
        width = storage.max_parallel
    if not storage.is_plain:
        return _payment_through(storage, cost, width)
    read_list, write_list, read_file, write_file, append_list = storage.manifest_samplers  # type: ignore[attr-defined]
    paid_ms = 0.0
    if count := cost.metadata_reads:
        paid_ms += _metadata(storage, "read").batch_ms(count, width)
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
    if count := cost.metadata_writes:
        paid_ms += _metadata(storage, "write").batch_ms(count, width)
    return paid_ms


def _metadata(storage: StorageProvider, operation: str) -> OperationSampler:
    size_bytes = storage.sizes.table_metadata
    found: OperationSampler = storage.sampler(f"table_metadata.{operation}", size_bytes)  # type: ignore[attr-defined]
    return found


def _payment_through(storage: StorageProvider, cost: ConflictCost, width: int) -> float:
    """The same payment through the store's own generators, for stores that are not the built-in one."""
    return sum(_kind_ms(storage, kind, cost, storage.sizes, width) for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Growth:
    """By how many bytes objects grow with every version of their table (docs/MODEL.md, section 14)."""

    manifest_list_per_commit: int = 50
    table_metadata_per_snapshot: int = 500

    def sizes(self, at_first: ObjectSizes, version: int) -> ObjectSizes:
        """The sizes of a table's objects at this version."""
        return replace(
            at_first,
            manifest_list=at_first.manifest_list + version * self.manifest_list_per_commit,
            table_metadata=at_first.table_metadata + version * self.table_metadata_per_snapshot,
        )


def payment_by_table_ms(
    storage: StorageProvider,
    costs: Sequence[tuple[ConflictCost, ObjectSizes]],
    width: int | None = None,
) -> float:
    """The same for tables whose objects differ in size: kind after kind, and within each kind table after table."""
    if width is None:
        width = storage.max_parallel
    paid_ms = 0.0
    for kind in _KINDS:
        for cost, sizes in costs:
            paid_ms += _kind_ms(storage, kind, cost, sizes, width)
    return paid_ms


# What a cost counts, in the order in which it is paid, and the operation behind it.
_KINDS = (
    ("metadata_reads", "table_metadata", "read"),
    ("manifest_list_reads", "manifest_list", "read"),
    ("historical_ml_reads", "manifest_list", "read"),
    ("manifest_file_reads", "manifest_file", "read"),
    ("manifest_file_writes", "manifest_file", "write"),
    ("manifest_list_appends", "manifest_list", "append"),
    ("manifest_list_writes", "manifest_list", "write"),
    ("metadata_writes", "table_metadata", "write"),
)


def _kind_ms(
    storage: StorageProvider,
    kind: tuple[str, str, str],
    cost: ConflictCost,
    sizes: ObjectSizes,
    width: int,
) -> float:
    """Draw how long all operations of one kind take, batch after batch."""
    name, artifact, operation = kind
    count: int = getattr(cost, name)
    if not count:
        return 0.0
    size_bytes: int = getattr(sizes, artifact)
    if isinstance(storage, ProfileStorageProvider) and storage.is_plain:
        return storage.sampler(f"{artifact}.{operation}", size_bytes).batch_ms(count, width)

    def start() -> Generator[float, None, Any]:
        if operation == "read":
            return storage.read(artifact, size_bytes)
        if operation == "write":
            return storage.write(artifact, size_bytes)
        if storage.supports_tail_append:
            return storage.tail_append(artifact, size_bytes)
        return storage.append(artifact, storage.length(artifact), size_bytes)

    paid_ms = 0.0
    for first in range(0, count, width):
        paid_ms += max(total_ms(start()) for _ in range(min(width, count - first)))
    return paid_ms
