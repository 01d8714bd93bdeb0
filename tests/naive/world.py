"""What transactions share in a naive run: the store they pay and the catalog they race for.

Storage is MODEL.md 3, the catalogs MODEL.md 4. Whatever takes time is a generator of waits in
milliseconds; whoever drives it lets the time pass.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from .config import CatalogSettings, StoreSettings
from .draws import sample_ms

# The fields of a payment in the order they are done, with the operation each one repeats.
PAYMENT_ORDER = (
    ("manifest_list_reads", "manifest_list", "read"),
    ("historical_ml_reads", "manifest_list", "read"),
    ("manifest_file_reads", "manifest_file", "read"),
    ("manifest_file_writes", "manifest_file", "write"),
    ("manifest_list_appends", "manifest_list", "append"),
    ("manifest_list_writes", "manifest_list", "write"),
)


class Store:
    """The object store: it draws the latency of each operation and takes payments."""

    def __init__(self, settings: StoreSettings, normals: np.random.RandomState) -> None:
        self.settings = settings
        self.normals = normals

    def has(self, artifact: str, operation: str) -> bool:
        """Whether a distribution exists for the operation."""
        return (artifact, operation) in self.settings.latencies

    def latency_ms(self, artifact: str, operation: str) -> float:
        """Draw the latency of one operation."""
        size_bytes = self.settings.size_bytes[artifact]
        if artifact == "catalog" and operation in ("append", "append_failure"):
            # An append sends one record, not the catalog.
            size_bytes = self.settings.log_entry_size_bytes
        return sample_ms(
            self.settings.latencies[artifact, operation],
            self.normals,
            self.settings.min_latency_ms,
            size_bytes,
        )

    def pay(self, cost: dict[str, int]) -> Generator[float, None, None]:
        """Do all operations of a cost: every latency is drawn now, then it is one wait."""
        total_ms = 0.0
        for field, artifact, operation in PAYMENT_ORDER:
            latencies_ms = [self.latency_ms(artifact, operation) for _ in range(cost.get(field, 0))]
            while latencies_ms:
                batch_ms = latencies_ms[: self.settings.max_parallel]
                latencies_ms = latencies_ms[self.settings.max_parallel :]
                total_ms += max(batch_ms)
        yield total_ms


@dataclass
class Snapshot:
    """A deep copy of the catalog's state at one instant; nobody else holds its lists."""

    seq: int
    timestamp_ms: float
    table_versions: list[int]
    partition_versions: list[list[int]]


@dataclass
class Intention:
    """What a commit wants: `writes` gives each written table the version seen plus 1."""

    txn_id: int
    expected_seq: int
    writes: dict[int, int]
    partitions_written: dict[int, list[int]] | None


class CasCatalog:
    """A single pointer, swapped by compare-and-swap; also the state the other catalogs build on."""

    def __init__(
        self, settings: CatalogSettings, store: Store, now_ms: Callable[[], float]
    ) -> None:
        self.settings = settings
        self.store = store
        self.now_ms = now_ms
        self.effect_point = store.settings.effect_point
        self.seq = 0
        self.table_versions = [0 for _ in settings.partitions_per_table]
        self.partition_versions = [[0] * count for count in settings.partitions_per_table]

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
        )
        yield latency_ms - to_effect_ms
        return snapshot

    def commit(self, intention: Intention) -> Generator[float, None, bool]:
        """One compare-and-swap; True iff nobody moved the pointer before its effect."""
        latency_ms = self.latency_ms("cas")
        to_effect_ms = self.effect_point * latency_ms
        yield to_effect_ms
        if self.seq == intention.expected_seq:
            self.apply(intention)
            yield latency_ms - to_effect_ms
            return True
        yield self.rest_of_failure_ms("cas_failure", latency_ms, to_effect_ms)
        return False

    def latency_ms(self, operation: str) -> float:
        """Draw the latency of one catalog operation."""
        return self.store.latency_ms("catalog", operation)

    def has_failure_latency(self, operation: str) -> bool:
        """Whether a failed operation has a latency of its own."""
        return self.store.has("catalog", operation)

    def rest_of_failure_ms(self, operation: str, latency_ms: float, to_effect_ms: float) -> float:
        """What remains of a failed operation after its effect point."""
        if self.has_failure_latency(operation):
            return max(0.0, self.latency_ms(operation) - to_effect_ms)
        return latency_ms - to_effect_ms

    def apply(self, intention: Intention) -> None:
        """Install a commit: the only place where the state of the catalog changes."""
        self.seq += 1
        for table_id, new_version in intention.writes.items():
            self.table_versions[table_id] = new_version
            versions = self.partition_versions[table_id]
            if intention.partitions_written is None:
                partitions = list(range(len(versions)))
            else:
                partitions = intention.partitions_written[table_id]
            for partition_id in partitions:
                versions[partition_id] += 1


class InstantCatalog(CasCatalog):
    """Compare-and-swap in exactly 1 ms: the store's distributions and floor play no part."""

    def latency_ms(self, operation: str) -> float:
        """Every operation takes 1 ms and draws nothing."""
        return 1.0

    def has_failure_latency(self, operation: str) -> bool:
        """A failure takes the same 1 ms."""
        return False


@dataclass
class LogRecord:
    """A record in the log and how it was judged when it got there."""

    txn_id: int
    applied: bool


class AppendCatalog(CasCatalog):
    """A log of intentions: each is judged by the versions of its own tables as it is appended."""

    def __init__(
        self, settings: CatalogSettings, store: Store, now_ms: Callable[[], float]
    ) -> None:
        super().__init__(settings, store, now_ms)
        self.log: list[LogRecord] = []
        self.log_length_bytes = 0
        # A reader who saw seq s appends where the log ended when s came about.
        self.length_bytes_at_seq = [0]

    def commit(self, intention: Intention) -> Generator[float, None, bool]:
        """Append at the expected offset, chasing the end of the log, then read the outcome."""
        offset_bytes = self.length_bytes_at_seq[intention.expected_seq]
        physical_retries = 0
        while True:
            latency_ms = self.latency_ms("append")
            to_effect_ms = self.effect_point * latency_ms
            yield to_effect_ms
            if offset_bytes == self.log_length_bytes:
                break
            # The failure tells the length of this moment; by the next append it may be stale.
            offset_bytes = self.log_length_bytes
            yield self.rest_of_failure_ms("append_failure", latency_ms, to_effect_ms)
            if physical_retries == self.settings.append_max_physical_retries:
                return False
            physical_retries += 1
        self.extend_log(intention)
        yield latency_ms - to_effect_ms
        # The append says only that the record is in the log; its fate takes a discovery read (8.9).
        yield self.latency_ms("read")
        return any(record.applied for record in self.log if record.txn_id == intention.txn_id)

    def extend_log(self, intention: Intention) -> None:
        """Add the record and judge it: it applies iff its tables are as its writer saw them."""
        self.log_length_bytes += self.store.settings.log_entry_size_bytes
        is_current = all(
            self.table_versions[table_id] == new_version - 1
            for table_id, new_version in intention.writes.items()
        )
        self.log.append(LogRecord(intention.txn_id, applied=is_current))
        if is_current:
            self.apply(intention)
            self.length_bytes_at_seq.append(self.log_length_bytes)


def create_catalog(
    settings: CatalogSettings, store: Store, now_ms: Callable[[], float]
) -> CasCatalog:
    """The catalog a configuration asks for."""
    kinds = {"cas": CasCatalog, "instant": InstantCatalog, "append": AppendCatalog}
    return kinds[settings.kind](settings, store, now_ms)
