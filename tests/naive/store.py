"""The object store of a naive run: latencies, sizes and payments (MODEL.md 3, 7, 14).

Whatever takes time is a generator of waits in milliseconds; whoever drives it lets the time pass.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from .config import StoreSettings
from .draws import sample_ms

# The fields of a payment in the order they are done, with the operation each one repeats.
PAYMENT_ORDER = (
    ("metadata_reads", "table_metadata", "read"),
    ("manifest_list_reads", "manifest_list", "read"),
    ("historical_ml_reads", "manifest_list", "read"),
    ("manifest_file_reads", "manifest_file", "read"),
    ("manifest_file_writes", "manifest_file", "write"),
    ("manifest_list_appends", "manifest_list", "append"),
    ("manifest_list_writes", "manifest_list", "write"),
    ("metadata_writes", "table_metadata", "write"),
)


@dataclass
class Share:
    """What a payment owes for one table, whose version tells the sizes where they grow."""

    table_id: int
    version: int
    counts: dict[str, int]


class Store:
    """The object store: it draws the latency of each operation and takes payments."""

    def __init__(self, settings: StoreSettings, normals: np.random.RandomState) -> None:
        self.settings = settings
        self.normals = normals

    def has(self, artifact: str, operation: str) -> bool:
        """Whether a distribution exists for the operation."""
        return (artifact, operation) in self.settings.latencies

    def latency_ms(self, artifact: str, operation: str, size_bytes: int) -> float:
        """Draw the latency of one operation."""
        return sample_ms(
            self.settings.latencies[artifact, operation],
            self.normals,
            self.settings.min_latency_ms,
            size_bytes,
        )

    def transfer_ms(self, artifact: str, operation: str, size_bytes: int) -> float:
        """What the bytes of a growing catalog take; a configured distribution says it all itself."""
        if self.settings.growth_bytes is None or (artifact, operation) in self.settings.configured:
            return 0.0
        return self.settings.put_ms_per_mib * size_bytes / 2**20

    def rest_of_failure_ms(
        self, artifact: str, failure: str, latency_ms: float, to_effect_ms: float, size_bytes: int
    ) -> float:
        """What remains of a failed operation after its effect point."""
        if self.has(artifact, failure):
            return max(0.0, self.latency_ms(artifact, failure, size_bytes) - to_effect_ms)
        return latency_ms - to_effect_ms

    def pay(self, shares: list[Share], one_at_a_time: bool = False) -> Generator[float, None, None]:
        """Do all operations of a payment: every latency is drawn now, then it is one wait."""
        batch_size = 1 if one_at_a_time else self.settings.max_parallel
        total_ms = 0.0
        for kind, artifact, operation in PAYMENT_ORDER:
            for count, size_bytes in self.convoys(shares, kind, artifact):
                latencies_ms = [
                    self.latency_ms(artifact, operation, size_bytes) for _ in range(count)
                ]
                while latencies_ms:
                    batch_ms = latencies_ms[:batch_size]
                    latencies_ms = latencies_ms[batch_size:]
                    total_ms += max(batch_ms)
        yield total_ms

    def convoys(self, shares: list[Share], kind: str, artifact: str) -> list[tuple[int, int]]:
        """Number and size of the operations of one kind: all together, or table by table."""
        if self.settings.growth_bytes is None:
            count = sum(share.counts.get(kind, 0) for share in shares)
            return [(count, self.settings.size_bytes[artifact])]
        convoys = []
        for table_id in sorted({share.table_id for share in shares}):
            of_table = [share for share in shares if share.table_id == table_id]
            count = sum(share.counts.get(kind, 0) for share in of_table)
            convoys.append((count, self.size_bytes(artifact, of_table[0].version)))
        return convoys

    def size_bytes(self, artifact: str, version: int) -> int:
        """The size of an artifact of a table, as it has become with the table's versions."""
        size_bytes = self.settings.size_bytes[artifact]
        growth_bytes = self.settings.growth_bytes
        if growth_bytes is not None and artifact == "manifest_list":
            size_bytes += version * growth_bytes["manifest_list_per_commit"]
        if growth_bytes is not None and artifact == "table_metadata":
            size_bytes += version * growth_bytes["table_metadata_per_snapshot"]
        return size_bytes
