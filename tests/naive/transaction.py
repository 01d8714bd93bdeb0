"""One transaction of a naive run: its life, what is recorded of it, and its row (MODEL.md 5).

`execute` is the list of steps there; everything below it computes what the steps need.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .config import Settings
from .draws import Streams, TransactionPlan
from .world import CasCatalog, Intention, Snapshot, Store

T = TypeVar("T")

COUNTS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
)
TIME_PARTS = (
    "catalog_read_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
)


@dataclass
class Transaction:
    """One transaction and all that is recorded of it while it lives."""

    txn_id: int
    plan: TransactionPlan
    submit_ms: float
    settings: Settings
    streams: Streams
    store: Store
    catalog: CasCatalog
    now_ms: Callable[[], float]
    status: str = "in_flight"
    abort_reason: str | None = None
    end_ms: float = -1.0
    runtime_end_ms: float | None = None
    commit_calls: int = 0
    step_start_ms: float = 0.0
    parts_ms: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TIME_PARTS, 0.0))
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def execute(self) -> Generator[float, None, None]:
        """The life of a transaction, step by step as MODEL.md 5 lists it."""
        start = last_seen = yield from self.timed("catalog_read_ms", self.catalog.read())
        yield from self.run()
        yield from self.pay("per_attempt_io_ms", self.per_attempt_cost(len(self.written)))
        while True:
            self.commit_calls += 1
            commit = self.catalog.commit(self.intention(last_seen))
            if (yield from self.timed("catalog_commit_ms", commit)):
                self.end("committed")
                return
            if self.commit_calls == self.settings.transaction.max_retries + 1:
                self.end("aborted", "max_retries")
                return
            if self.settings.transaction.backoff.enabled:
                yield from self.timed("backoff_ms", self.back_off())
            current = yield from self.timed("catalog_read_ms", self.catalog.read())
            overlapping = self.overlapping_tables(last_seen, current)
            snapshots_behind = current.seq - last_seen.seq
            last_seen = current
            if not overlapping:
                # Nobody touched what we write: our manifests still stand, so nothing is paid.
                continue
            yield from self.pay("conflict_io_ms", self.conflict_cost(snapshots_behind))
            # Validation has been paid for by the time it finds a real conflict.
            if self.validates and self.is_real_conflict(start, current):
                self.end("aborted", "validation_exception")
                return
            yield from self.pay("per_attempt_io_ms", self.per_attempt_cost(len(overlapping)))

    @property
    def written(self) -> tuple[int, ...]:
        """The tables written, in ascending order."""
        return self.plan.tables_written

    @property
    def validates(self) -> bool:
        """Only a validated overwrite can meet a real conflict."""
        return self.plan.operation_type == "validated_overwrite"

    def timed(self, part: str, steps: Generator[float, None, T]) -> Generator[float, None, T]:
        """Drive one operation and, once it is complete, book its time."""
        self.step_start_ms = self.now_ms()
        outcome = yield from steps
        self.parts_ms[part] += self.now_ms() - self.step_start_ms
        return outcome

    def run(self) -> Generator[float, None, None]:
        """The transaction's own work."""
        self.step_start_ms = self.now_ms()
        yield self.plan.runtime_ms
        self.runtime_end_ms = self.now_ms()

    def pay(self, part: str, cost: dict[str, int]) -> Generator[float, None, None]:
        """Pay a cost, then count its operations."""
        yield from self.timed(part, self.store.pay(cost))
        for name, count in cost.items():
            self.counts[name] += count
        # Historical manifest lists are manifest lists too.
        self.counts["manifest_list_reads"] += cost.get("historical_ml_reads", 0)

    def per_attempt_cost(self, table_count: int) -> dict[str, int]:
        """One manifest-list read, manifest-file write and manifest-list write (or append) each."""
        appends = self.settings.transaction.ml_append_mode
        return {
            "manifest_list_reads": table_count,
            "manifest_file_writes": table_count,
            "manifest_list_appends" if appends else "manifest_list_writes": table_count,
        }

    def conflict_cost(self, snapshots_behind: int) -> dict[str, int]:
        """What overlap costs this operation type, however many tables overlap."""
        if self.plan.operation_type == "merge_append":
            per_commit = self.settings.transaction.manifests_per_concurrent_commit
            manifests = math.floor(snapshots_behind * per_commit)
            return {"manifest_file_reads": manifests, "manifest_file_writes": manifests}
        if self.plan.operation_type == "validated_overwrite":
            return {"historical_ml_reads": snapshots_behind}
        return {}

    def intention(self, seen: Snapshot) -> Intention:
        """The commit of this transaction on top of what it saw."""
        writes = {table_id: seen.table_versions[table_id] + 1 for table_id in self.written}
        return Intention(self.txn_id, seen.seq, writes, self.plan.partitions_written)

    def overlapping_tables(self, old: Snapshot, new: Snapshot) -> list[int]:
        """The written tables in which something this transaction writes has changed."""
        overlapping = []
        for table_id in self.written:
            if old.table_versions[table_id] == new.table_versions[table_id]:
                continue
            if self.plan.partitions_written is None:
                overlapping.append(table_id)
                continue
            old_versions = old.partition_versions[table_id]
            new_versions = new.partition_versions[table_id]
            partitions = self.plan.partitions_written[table_id]
            if any(old_versions[pid] != new_versions[pid] for pid in partitions):
                overlapping.append(table_id)
        return overlapping

    def is_real_conflict(self, start: Snapshot, current: Snapshot) -> bool:
        """Ask the configured detector."""
        if self.settings.transaction.conflict_detector == "partition_overlap":
            # The same comparison as for overlap, but against what was seen at the very start.
            return bool(self.overlapping_tables(start, current))
        u = float(self.streams.conflict.random_sample())
        return u < self.settings.transaction.real_conflict_probability

    def back_off(self) -> Generator[float, None, None]:
        """Wait before the retry that is about to begin."""
        backoff = self.settings.transaction.backoff
        # As many commit calls have failed as the coming retry counts: retry 1 follows call 1.
        retry = self.commit_calls
        try:
            grown_ms = backoff.base_ms * backoff.multiplier ** (retry - 1)
        except OverflowError:
            grown_ms = math.inf
        u = float(self.streams.backoff.random_sample())
        yield min(backoff.max_ms, grown_ms) * (1.0 + backoff.jitter * (2.0 * u - 1.0))

    def end(self, status: str, abort_reason: str | None = None) -> None:
        """Close the record."""
        self.status = status
        self.abort_reason = abort_reason
        self.end_ms = self.now_ms()

    def row(self, duration_ms: float) -> dict[str, Any]:
        """The row of the results; a transaction still in flight is cut off at the end."""
        in_flight = self.status == "in_flight"
        end_ms = duration_ms if in_flight else self.end_ms
        return {
            "txn_id": self.txn_id,
            "t_submit": self.submit_ms,
            "t_runtime": self.plan.runtime_ms,
            "t_commit": end_ms if self.status == "committed" else -1.0,
            "t_abort": end_ms if self.status == "aborted" else -1.0,
            "commit_latency": 0.0 if self.runtime_end_ms is None else end_ms - self.runtime_end_ms,
            "total_latency": end_ms - self.submit_ms,
            "n_retries": max(0, self.commit_calls - 1),
            "status": self.status,
            "operation_type": self.plan.operation_type,
            "abort_reason": self.abort_reason,
            **self.counts,
            **self.parts_ms,
            "unfinished_ms": end_ms - self.step_start_ms if in_flight else 0.0,
        }
