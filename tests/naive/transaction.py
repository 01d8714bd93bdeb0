"""One transaction of a naive run: its life, step by step (MODEL.md 5, 7, 8, 9, 12).

`execute` and `run_once` are the list of steps; everything below them computes what the steps need.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, field

from .config import Settings
from .config_load import APPENDS
from .costs import CostTable
from .draws import Streams, TransactionPlan
from .findings import Finding, find, is_written_over
from .lists import ManifestLists
from .payments import Payments
from .records import Record
from .store import Share, Store
from .world import CasCatalog, Intention, Snapshot


@dataclass
class Surroundings:
    """What all transactions of a run share."""

    settings: Settings
    table: CostTable
    streams: Streams
    store: Store
    lists: ManifestLists
    catalog: CasCatalog
    counters: dict[str, int]


@dataclass
class Transaction:
    """One transaction; `known_bytes` is the length of each manifest list as far as it knows."""

    plan: TransactionPlan
    record: Record
    around: Surroundings
    known_bytes: dict[int, int] = field(default_factory=dict)

    def execute(self) -> Generator[float, None, None]:
        """Run, and run again as often as the application starts over."""
        while (yield from self.run_once()):
            self.record.restarts += 1

    def run_once(self) -> Generator[float, None, bool]:
        """One run from the first catalog read on; True iff the application is to start over."""
        record, catalog, payments = self.record, self.around.catalog, self.payments
        txn, table = self.around.settings.transaction, self.around.table
        record.has_run = False
        start = last_seen = yield from record.timed("catalog_read_ms", catalog.read())
        self.known_bytes = dict(enumerate(start.list_lengths_bytes))
        yield from self.pay("start_io_ms", payments.at_start(start))
        if record.restarts == 0:
            yield from record.run()
        else:
            yield from record.timed("rework_ms", self.rework())
        record.has_run = True
        finding = None
        if table.refreshes_first:
            finding, is_fatal = yield from self.look_again(start, last_seen)
            if is_fatal:
                return self.starts_over()
            last_seen = finding.current
        shares, merged_tables = payments.attempt(last_seen, finding)
        yield from self.pay("per_attempt_io_ms", shares)
        commit_calls = 0
        first_call_ms = record.now_ms()
        while True:
            commit_calls += 1
            record.start_call()
            commit = catalog.commit(self.intention(last_seen, merged_tables))
            if (yield from record.timed("catalog_commit_ms", commit)):
                yield from self.pay("per_attempt_io_ms", payments.after_success(last_seen))
                record.close_call("committed")
                record.end("committed")
                return False
            record.close_call("failed")
            if commit_calls == txn.max_retries + 1:
                record.end("aborted", "max_retries")
                return False
            elapsed_ms = record.now_ms() - first_call_ms
            if txn.retry_timeout_ms is not None and elapsed_ms >= txn.retry_timeout_ms:
                record.end("aborted", "retry_timeout")
                return False
            if txn.backoff.enabled:
                yield from record.timed("backoff_ms", self.back_off(retry=commit_calls))
            finding, is_fatal = yield from self.look_again(start, last_seen)
            if is_fatal:
                return self.starts_over()
            last_seen = finding.current
            shares, merged_tables = payments.rebuild(finding)
            yield from self.pay("per_attempt_io_ms", shares)

    @property
    def payments(self) -> Payments:
        """What this transaction owes."""
        return Payments(self.around.settings, self.around.table, self.plan)

    def rework(self) -> Generator[float, None, None]:
        """The same work again."""
        yield self.plan.runtime_ms

    def look_again(
        self, start: Snapshot, last_seen: Snapshot
    ) -> Generator[float, None, tuple[Finding, bool]]:
        """Read the catalog, validate what is found and judge it; True iff it ends this run."""
        around, table = self.around, self.around.table
        current = yield from self.record.timed("catalog_read_ms", around.catalog.read())
        validated_from = start if table.validates_from_start else last_seen
        serializable = around.settings.transaction.serializable
        finding = find(self.plan, last_seen, validated_from, current, around.catalog, serializable)
        self.record.finding = finding
        yield from self.pay(
            "conflict_io_ms", self.payments.validate(finding), table.validates_one_at_a_time
        )
        # Validation has been paid for by the time it finds a real conflict.
        is_real = self.is_real_conflict(start, finding)
        if is_real:
            around.counters["real_conflicts"] += 1
            self.record.real_conflicts += 1
        elif finding.worst != "cross_table":
            around.counters["false_conflicts"] += 1
            self.record.false_conflicts += 1
        if is_real and table.merges_real_conflicts:
            u = float(around.streams.conflict.random_sample())
            conflicting = 1 + math.floor(u * table.conflicting_manifests)
            shares = self.payments.merge_on_real_conflict(finding, conflicting)
            yield from self.pay("conflict_io_ms", shares)
            is_real = False
        return finding, is_real

    def is_real_conflict(self, start: Snapshot, finding: Finding) -> bool:
        """Ask the configured detector, if there is anything to ask."""
        txn = self.around.settings.transaction
        if not finding.overlapping:
            return False
        if self.plan.operation_type not in self.around.table.real_conflicts:
            return False
        only_replaced = self.around.table.real_against_replaced_only
        if self.plan.operation_type in only_replaced and not finding.replacing_overlap():
            # Appends by others never fail such an operation.
            return False
        if txn.conflict_detector == "partition_overlap":
            # The same comparison as for overlap, but against what was seen at the very start.
            return any(
                is_written_over(self.plan, table_id, start, finding.current)
                for table_id in self.plan.tables_written
            )
        probability = txn.real_conflict_probability
        if txn.real_conflict_unit == "commit":
            snapshots = finding.behind_in(finding.overlapping).snapshots
            probability = 1.0 - (1.0 - probability) ** snapshots
        return float(self.around.streams.conflict.random_sample()) < probability

    def starts_over(self) -> bool:
        """Whether a real conflict makes the application start again; otherwise it is the end."""
        self.record.give_up_attempt()
        txn = self.around.settings.transaction
        if txn.restarts_on_validation_exception and self.record.restarts < txn.max_restarts:
            self.record.finding = None
            return True
        self.record.end("aborted", "validation_exception")
        return False

    def intention(self, seen: Snapshot, merged_tables: set[int]) -> Intention:
        """The commit of this transaction on top of what it saw."""
        guarded_reads = {}
        if self.around.settings.transaction.serializable:
            for table_id in self.plan.tables_read:
                if table_id not in self.plan.tables_written:
                    guarded_reads[table_id] = seen.table_versions[table_id]
        return Intention(
            txn_id=self.record.txn_id,
            expected_seq=seen.seq,
            writes={
                table_id: seen.table_versions[table_id] + 1 for table_id in self.plan.tables_written
            },
            partitions_written=self.plan.partitions_written,
            replaces_data=self.plan.operation_type not in APPENDS,
            guarded_reads=guarded_reads,
            merged_tables=merged_tables,
        )

    def back_off(self, retry: int) -> Generator[float, None, None]:
        """Wait before the retry that is about to begin."""
        backoff = self.around.settings.transaction.backoff
        try:
            grown_ms = backoff.base_ms * backoff.multiplier ** (retry - 1)
        except OverflowError:
            grown_ms = math.inf
        u = float(self.around.streams.backoff.random_sample())
        spread = u if backoff.jitter_mode == "up" else 2.0 * u - 1.0
        yield min(backoff.max_ms, grown_ms) * (1.0 + backoff.jitter * spread)

    def pay(
        self, part: str, shares: list[Share], one_at_a_time: bool = False
    ) -> Generator[float, None, None]:
        """Pay, then count; appends at an offset are no part of the payment and come after it."""
        entries: list[int] = []
        if self.around.settings.transaction.ml_append_at_offset:
            for share in shares:
                entries += [share.table_id] * share.counts.pop("manifest_list_appends", 0)
        payment = self.around.store.pay(shares, one_at_a_time)
        yield from self.record.timed(part, payment)
        self.record.count(shares)
        for table_id in sorted(entries):
            yield from self.add_to_list(table_id)

    def add_to_list(self, table_id: int) -> Generator[float, None, None]:
        """Get one entry into a manifest list, by an append or by rewriting a sealed list."""
        lists, record = self.around.lists, self.record
        while True:
            append = lists.append(table_id, self.known_bytes[table_id])
            answer = yield from record.timed("per_attempt_io_ms", append)
            self.known_bytes[table_id] = answer.length_bytes
            if answer.landed:
                record.count([Share(table_id, 0, {"manifest_list_appends": 1})])
                return
            if not answer.sealed:
                continue
            # The list that a rewrite deals with has the constant size, that of version 0 (MODEL.md 14).
            shares = [Share(table_id, 0, {"manifest_list_reads": 1, "manifest_list_writes": 1})]
            yield from record.timed("per_attempt_io_ms", self.around.store.pay(shares))
            record.count(shares)
            is_mine = lists.finish_rewrite(table_id, answer.rewrites)
            self.known_bytes[table_id] = lists.lengths_bytes()[table_id]
            if is_mine:
                return
