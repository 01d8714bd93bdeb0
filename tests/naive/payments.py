"""What a transaction owes at each of its steps, as shares of a payment (MODEL.md 7, 8, 9)."""

import math

from .config import Settings
from .costs import CostTable, Price, counts_of
from .draws import TransactionPlan
from .findings import Behind, Finding
from .store import Share
from .world import Snapshot

NOTHING_BEHIND = Behind(snapshots=0, replacing=0)


class Payments:
    """The payments of one transaction."""

    def __init__(self, settings: Settings, table: CostTable, plan: TransactionPlan) -> None:
        self.settings = settings.transaction
        self.inlined = settings.catalog.table_metadata_inlined
        self.table = table
        self.plan = plan

    def at_start(self, start: Snapshot) -> list[Share]:
        """Metadata of every table accessed."""
        return self.metadata(self.plan.tables_read, start, "metadata_reads", 1)

    def validate(self, finding: Finding) -> list[Share]:
        """What is paid before it is known whether a conflict is real."""
        shares = self.metadata(
            self.plan.tables_read,
            finding.current,
            "metadata_reads",
            self.table.metadata_reads_per_retry,
        )
        if finding.is_shared:
            table_ids = [finding.tables_of(finding.worst)[0]]
        else:
            table_ids = list(finding.classes)
        for table_id in table_ids:
            price = self.table.validate(self.plan.operation_type, finding.classes[table_id])
            if price is not None:
                shares.append(
                    self.share(price, table_id, finding.current, finding.behind[table_id])
                )
        return shares

    def merge_on_real_conflict(self, finding: Finding, conflicting: int) -> list[Share]:
        """What merging with a real conflict costs, once for all tables."""
        price = self.table.merge_on_real_conflict(self.plan.operation_type)
        behind = finding.behind_in(finding.overlapping)
        return [self.share(price, finding.overlapping[0], finding.current, behind, conflicting)]

    def attempt(self, at_hand: Snapshot, finding: Finding | None) -> tuple[list[Share], set[int]]:
        """What comes before the first commit call, and the tables whose manifests it merges."""
        price = self.table.attempt(self.plan.operation_type)
        prices = [(table_id, price) for table_id in self.plan.tables_written]
        return self.build(prices, at_hand, finding)

    def rebuild(self, finding: Finding) -> tuple[list[Share], set[int]]:
        """What comes before another commit call, and the tables whose manifests it merges."""
        prices = []
        for table_id in self.plan.tables_written:
            price = self.table.rebuild(self.plan.operation_type, finding.classes[table_id])
            if price is not None:
                prices.append((table_id, price))
        return self.build(prices, finding.current, finding)

    def build(
        self, prices: list[tuple[int, Price]], at_hand: Snapshot, finding: Finding | None
    ) -> tuple[list[Share], set[int]]:
        """The prices of some tables, with merging by threshold and with metadata writes."""
        shares = []
        merged_tables = set()
        for table_id, price in prices:
            behind = NOTHING_BEHIND if finding is None else finding.behind[table_id]
            share = self.share(price, table_id, at_hand, behind)
            shares.append(share)
            if not any(share.counts.values()):
                # Nothing is paid where the price is nothing, so nothing is merged either.
                continue
            manifests = at_hand.manifest_counts[table_id]
            if self.table.merges_by_threshold(self.plan.operation_type, manifests):
                merged_tables.add(table_id)
                extra = {"manifest_file_reads": manifests + 1, "manifest_file_writes": 1}
                shares.append(Share(table_id, at_hand.table_versions[table_id], extra))
        if self.table.metadata_writes == "every_attempt":
            shares += self.metadata(self.plan.tables_written, at_hand, "metadata_writes", 1)
        return shares, merged_tables

    def after_success(self, last_seen: Snapshot) -> list[Share]:
        """Metadata of the tables written, where only a successful attempt writes it."""
        if self.table.metadata_writes != "successful_attempt":
            return []
        return self.metadata(self.plan.tables_written, last_seen, "metadata_writes", 1)

    def metadata(
        self, table_ids: tuple[int, ...], at_hand: Snapshot, kind: str, count: int
    ) -> list[Share]:
        """Reads or writes of table metadata, where it is not in the catalog."""
        if self.inlined:
            return []
        return [
            Share(table_id, at_hand.table_versions[table_id], {kind: count})
            for table_id in table_ids
        ]

    def share(
        self,
        price: Price,
        table_id: int,
        at_hand: Snapshot,
        behind: Behind,
        conflicting: int = 0,
    ) -> Share:
        """One price with its variables filled in."""
        per_commit = self.settings.manifests_per_concurrent_commit
        variables = {
            "N": behind.snapshots,
            "R": behind.replacing,
            "K": math.floor(behind.snapshots * per_commit),
            "T": at_hand.manifest_counts[table_id],
            "C": conflicting,
        }
        counts = counts_of(price, variables, self.settings.ml_append_mode)
        return Share(table_id, at_hand.table_versions[table_id], counts)
