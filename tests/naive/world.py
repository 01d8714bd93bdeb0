"""The catalogs with a pointer, for which transactions race (MODEL.md 4 and 10).

Whatever takes time is a generator of waits in milliseconds; whoever drives it lets the time pass.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from .config import CatalogSettings
from .lists import ManifestLists
from .store import Store


@dataclass
class Snapshot:
    """A deep copy of the catalog's state at one instant; nobody else holds its lists."""

    seq: int
    timestamp_ms: float
    table_versions: list[int]
    partition_versions: list[list[int]]
    manifest_counts: list[int]
    list_lengths_bytes: list[int]


@dataclass
class Intention:
    """What a commit wants: `writes` gives each written table the version seen plus 1.

    `guarded_reads` are the versions seen of tables only read, where the isolation guards them;
    `merged_tables` those whose manifests this attempt merged into one.
    """

    txn_id: int | None
    expected_seq: int
    writes: dict[int, int]
    partitions_written: dict[int, list[int]] | None
    replaces_data: bool = False
    guarded_reads: dict[int, int] = field(default_factory=dict)
    merged_tables: set[int] = field(default_factory=set)


class CasCatalog:
    """A single pointer, swapped by compare-and-swap; also the state the other catalogs build on."""

    def __init__(
        self,
        settings: CatalogSettings,
        store: Store,
        lists: ManifestLists,
        group_of_table: list[int],
        counters: dict[str, int],
        now_ms: Callable[[], float],
    ) -> None:
        self.settings = settings
        self.store = store
        self.lists = lists
        self.group_of_table = group_of_table
        self.counters = counters
        self.now_ms = now_ms
        self.effect_point = store.settings.effect_point
        self.seq = 0
        self.table_versions = [0 for _ in settings.partitions_per_table]
        self.partition_versions = [[0] * count for count in settings.partitions_per_table]
        self.manifest_counts = [settings.manifests_per_table for _ in self.table_versions]
        # Every commit that was applied, in order: the one at position i made seq i + 1.
        self.history: list[Intention] = []

    def read(self) -> Generator[float, None, Snapshot]:
        """One catalog read; the snapshot is of the effect point, not of the answer."""
        latency_ms = self.latency_ms("read")
        to_effect_ms = self.effect_point * latency_ms
        yield to_effect_ms
        snapshot = Snapshot(
            seq=self.seq,
            timestamp_ms=self.now_ms(),
            table_versions=list(self.table_versions),
            partition_versions=[list(versions) for versions in self.partition_versions],
            manifest_counts=list(self.manifest_counts),
            list_lengths_bytes=self.lists.lengths_bytes(),
        )
        yield latency_ms - to_effect_ms
        return snapshot

    def commit(self, intention: Intention) -> Generator[float, None, bool]:
        """One compare-and-swap; True iff nothing in its scope was changed before its effect."""
        size_bytes = self.object_size_bytes()
        latency_ms = self.latency_ms("cas")
        to_effect_ms = self.effect_point * latency_ms
        yield to_effect_ms
        if not any(self.is_in_scope(c, intention) for c in self.history[intention.expected_seq :]):
            self.apply(intention)
            yield latency_ms - to_effect_ms
            return True
        yield self.rest_of_failure_ms("cas_failure", latency_ms, to_effect_ms, size_bytes)
        return False

    def is_in_scope(self, rival: Intention, mine: Intention) -> bool:
        """Whether a rival's commit since then makes mine fail."""
        if any(table_id in rival.writes for table_id in mine.guarded_reads):
            return True
        if self.settings.conflict_granularity == "catalog":
            return True
        if self.settings.conflict_granularity == "group":
            my_groups = {self.group_of_table[table_id] for table_id in mine.writes}
            return any(self.group_of_table[table_id] in my_groups for table_id in rival.writes)
        common_tables = [table_id for table_id in mine.writes if table_id in rival.writes]
        if self.settings.conflict_granularity == "table":
            return bool(common_tables)
        if mine.partitions_written is None or rival.partitions_written is None:
            return bool(common_tables)
        return any(
            partition_id in rival.partitions_written[table_id]
            for table_id in common_tables
            for partition_id in mine.partitions_written[table_id]
        )

    def object_size_bytes(self) -> int:
        """The size of the catalog object at this moment."""
        size_bytes = self.store.settings.size_bytes["catalog"]
        if self.store.settings.growth_bytes is not None:
            per_table = self.store.settings.growth_bytes["catalog_per_table"]
            size_bytes += len(self.table_versions) * per_table
        return size_bytes

    def latency_ms(self, operation: str) -> float:
        """Draw the latency of one catalog operation that starts now."""
        size_bytes = self.object_size_bytes()
        # The floor is a matter of the draw alone, so the transfer comes on top of it.
        latency_ms = self.store.latency_ms("catalog", operation, size_bytes)
        return latency_ms + self.store.transfer_ms("catalog", operation, size_bytes)

    def rest_of_failure_ms(
        self, failure: str, latency_ms: float, to_effect_ms: float, size_bytes: int
    ) -> float:
        """What remains of a failed operation after its effect point."""
        return self.store.rest_of_failure_ms(
            "catalog", failure, latency_ms, to_effect_ms, size_bytes
        )

    def apply(self, intention: Intention) -> None:
        """Install a commit: the only place where the state of the catalog changes."""
        self.seq += 1
        self.history.append(intention)
        for table_id in intention.writes:
            self.table_versions[table_id] += 1
            if table_id in intention.merged_tables:
                self.manifest_counts[table_id] = 1
            else:
                self.manifest_counts[table_id] += 1
            versions = self.partition_versions[table_id]
            if intention.partitions_written is None:
                partitions = list(range(len(versions)))
            else:
                partitions = intention.partitions_written[table_id]
            for partition_id in partitions:
                versions[partition_id] += 1

    def apply_background(
        self,
        tables_written: tuple[int, ...],
        partitions_written: dict[int, list[int]] | None,
        replaces_data: bool,
    ) -> None:
        """A commit that lands at once, on top of whatever is there (MODEL.md 13)."""
        writes = {table_id: self.table_versions[table_id] + 1 for table_id in tables_written}
        self.apply(Intention(None, self.seq, writes, partitions_written, replaces_data))


class InstantCatalog(CasCatalog):
    """Compare-and-swap in exactly 1 ms: the store's distributions and floor play no part."""

    def latency_ms(self, operation: str) -> float:
        """Every operation takes 1 ms and draws nothing."""
        return 1.0

    def rest_of_failure_ms(
        self, failure: str, latency_ms: float, to_effect_ms: float, size_bytes: int
    ) -> float:
        """A failure takes the same 1 ms."""
        return latency_ms - to_effect_ms
