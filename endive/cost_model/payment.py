"""What conflict resolution costs, and how long it takes: I/O counts (§3.1) and the payment of them.

A payment draws all its latencies when it starts, is one wait, and counts when it is over (docs/MODEL.md, section 3).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from endive.sampling import OperationSampler
from endive.storage import ObjectSizes, ProfileStorageProvider, StorageProvider, total_ms
from endive.trace import Use


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


def payment(storage: StorageProvider, cost: ConflictCost, width: int | None = None) -> list[Use]:
    """Draw how long it takes to do all of `cost`: kind after kind, each kind in batches.

    A batch is `width` operations at a time, by default as many as the store's `max_parallel`.
    """
    if width is None:
        width = storage.max_parallel
    sizes = storage.sizes
    if not isinstance(storage, ProfileStorageProvider) or not storage.is_plain:
        return payment_by_table(storage, [(cost, sizes)], width)
    read_list, write_list, read_file, write_file, append_list = storage.manifest_samplers
    uses: list[Use] = []
    if count := cost.metadata_reads:
        took_ms = _metadata(storage, "read").batch_ms(count, width)
        uses.append(
            ("table_metadata", "read", count, sizes.table_metadata, -(-count // width), took_ms)
        )
    if count := cost.manifest_list_reads:
        took_ms = read_list.draw_ms() if count == 1 else read_list.batch_ms(count, width)
        uses.append(
            ("manifest_list", "read", count, sizes.manifest_list, -(-count // width), took_ms)
        )
    if count := cost.historical_ml_reads:
        took_ms = read_list.batch_ms(count, width)
        uses.append(
            ("manifest_list", "read", count, sizes.manifest_list, -(-count // width), took_ms)
        )
    if count := cost.manifest_file_reads:
        took_ms = read_file.batch_ms(count, width)
        uses.append(
            ("manifest_file", "read", count, sizes.manifest_file, -(-count // width), took_ms)
        )
    if count := cost.manifest_file_writes:
        took_ms = write_file.draw_ms() if count == 1 else write_file.batch_ms(count, width)
        uses.append(
            ("manifest_file", "write", count, sizes.manifest_file, -(-count // width), took_ms)
        )
    if count := cost.manifest_list_appends:
        if append_list is None:
            # Let the store say that it cannot.
            storage.tail_append("manifest_list", 0)
        assert append_list is not None
        took_ms = append_list.draw_ms() if count == 1 else append_list.batch_ms(count, width)
        uses.append(
            ("manifest_list", "append", count, sizes.manifest_list, -(-count // width), took_ms)
        )
    if count := cost.manifest_list_writes:
        took_ms = write_list.draw_ms() if count == 1 else write_list.batch_ms(count, width)
        uses.append(
            ("manifest_list", "write", count, sizes.manifest_list, -(-count // width), took_ms)
        )
    if count := cost.metadata_writes:
        took_ms = _metadata(storage, "write").batch_ms(count, width)
        uses.append(
            ("table_metadata", "write", count, sizes.table_metadata, -(-count // width), took_ms)
        )
    return uses


def payment_ms(storage: StorageProvider, cost: ConflictCost, width: int | None = None) -> float:
    """Draw how long it takes in all to do all of `cost`."""
    return total_of_uses_ms(payment(storage, cost, width))


def total_of_uses_ms(uses: Sequence[Use]) -> float:
    """How long it takes to do one after the other."""
    total_ms = 0.0
    for use in uses:
        total_ms += use[-1]
    return total_ms


def _metadata(storage: ProfileStorageProvider, operation: str) -> OperationSampler:
    return storage.sampler(f"table_metadata.{operation}", storage.sizes.table_metadata)


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


def payment_by_table(
    storage: StorageProvider,
    costs: Sequence[tuple[ConflictCost, ObjectSizes]],
    width: int | None = None,
) -> list[Use]:
    """The same for tables whose objects differ in size: kind after kind, and within each kind table after table."""
    if width is None:
        width = storage.max_parallel
    uses: list[Use] = []
    for kind in _KINDS:
        name, artifact, action = kind
        for cost, sizes in costs:
            if count := getattr(cost, name):
                size_bytes: int = getattr(sizes, artifact)
                took_ms = _kind_ms(storage, artifact, action, count, size_bytes, width)
                uses.append((artifact, action, count, size_bytes, -(-count // width), took_ms))
    return uses


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
    artifact: str,
    operation: str,
    count: int,
    size_bytes: int,
    width: int,
) -> float:
    """Draw how long all operations of one kind take, batch after batch."""
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
