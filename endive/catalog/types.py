"""What transactions see of a catalog (§2.1, §2.2): immutable values and the interface of two calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from endive.utils import maker


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """One table as a snapshot shows it: its version and its per-partition version vector."""

    table_id: int
    version: int
    num_partitions: int
    partition_versions: tuple[int, ...]

    manifests: int = 0
    """How many manifests its manifest list names (docs/MODEL.md, section 7)."""
    replaced: int = 0
    """How many of its commits replaced data rather than appending."""

    def with_version(self, new_version: int) -> TableMetadata:
        """The same table at another version."""
        return replace(self, version=new_version)

    def with_partition_version(self, partition_id: int, new_version: int) -> TableMetadata:
        """The same table with one partition at another version."""
        versions = list(self.partition_versions)
        versions[partition_id] = new_version
        return replace(self, partition_versions=tuple(versions))

    def __deepcopy__(self, memo: dict[int, Any]) -> TableMetadata:
        return self


@dataclass(frozen=True, slots=True)
class CatalogDetails:
    """What only some settings ask of a snapshot (docs/MODEL.md, sections 10 and 12)."""

    replaced: int = 0
    """How many commits replaced data."""
    group_of: tuple[int, ...] = ()
    """The group of each table; empty if there is one group only."""
    group_commits: tuple[int, ...] = ()
    group_replaced: tuple[int, ...] = ()
    list_lengths: tuple[int, ...] = ()
    """The length of each table's manifest list, where lists are appended to at an offset."""


NO_DETAILS = CatalogDetails()


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """Immutable snapshot: the only way transactions observe catalog state."""

    seq: int
    tables: tuple[TableMetadata, ...]
    timestamp_ms: float
    details: CatalogDetails = NO_DETAILS

    def get_table(self, table_id: int) -> TableMetadata:
        """One table's metadata."""
        return self.tables[table_id]

    def get_partition_version(self, table_id: int, partition_id: int) -> int:
        """One partition's version."""
        return self.tables[table_id].partition_versions[partition_id]


@dataclass(frozen=True, slots=True)
class CommitResult:
    """Uniform result of `Catalog.commit()`: never the state of the catalog (§8.8)."""

    success: bool
    latency_ms: float


@dataclass(frozen=True, slots=True)
class IntentionRecord:
    """What a transaction means to install, and on which precondition."""

    txn_id: int
    expected_seq: int
    tables_written: Mapping[int, int]
    partitions_written: Mapping[int, tuple[int, ...]] | None = None
    size_bytes: int = 100

    replaces_data: bool = False
    merged: frozenset[int] = frozenset()
    """Tables whose manifests this commit merges into one."""
    tables_read: Mapping[int, int] | None = None
    """Versions of tables that were read and not written, if they must not have changed (serializable)."""


make_table = maker(TableMetadata)
make_snapshot = maker(CatalogSnapshot)
make_commit_result = maker(CommitResult)
make_intention = maker(IntentionRecord)


class Catalog(ABC):
    """Optimistic concurrency control over table metadata."""

    @abstractmethod
    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        """Observe the catalog; `timestamp_ms` is the time of the call."""

    @abstractmethod
    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        """Install `writes` (table id → new version) iff the catalog allows it."""

    @property
    @abstractmethod
    def seq(self) -> int:
        """How many commits have been applied."""
