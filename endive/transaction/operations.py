"""The operations (§3.4 and docs/MODEL.md, section 7): what each costs is in the cost table, what it is stands here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from endive.cost_model import NO_COST, ConflictCost, OperationPrices, Price
from endive.transaction.base import Transaction
from endive.transaction.pricing import OVERLAP, Situation


class PricedTransaction(Transaction):
    """An operation whose costs are data: its cost table says what it pays and whether a conflict can be real."""

    __slots__ = ()

    @property
    def prices(self) -> OperationPrices:
        """What this operation costs."""
        return self.table.operations[self.operation_type]

    def can_have_real_conflict(self) -> bool:
        """Whether the cost table lets the data of this operation conflict."""
        return self.operation_type in self.table.real_conflicts

    def only_replaced_data_conflicts(self) -> bool:
        """Whether appends by others can never fail this operation."""
        return self.operation_type in self.table.real_against_replaced_only

    def should_abort_on_real_conflict(self) -> bool:
        """Validation fails for good, unless the cost table has the conflict merged."""
        return self.can_have_real_conflict() and not self.table.merges_real_conflicts

    def get_conflict_cost(self, n_snapshots_behind: int, ml_append_mode: bool) -> ConflictCost:
        """What validating an overlap costs."""
        return self._validation(Situation(OVERLAP, n_snapshots_behind, 0, 0, ml_append_mode))

    def get_per_attempt_cost(self, ml_append_mode: bool) -> ConflictCost:
        """What attempt 0 costs for one table."""
        return self._price(self.prices.attempt, Situation(OVERLAP, 0, 0, 0, ml_append_mode))

    def attempt_cost(self, at: Situation) -> ConflictCost:
        """What attempt 0 costs for one table."""
        if type(self).get_per_attempt_cost is not PricedTransaction.get_per_attempt_cost:
            return super().attempt_cost(at)
        return self._with_merging(self._price(self.prices.attempt, at), at.manifests)

    def validation_cost(self, at: Situation) -> ConflictCost:
        """What it costs to find out whether a conflict is real."""
        if type(self).get_conflict_cost is not PricedTransaction.get_conflict_cost:
            return super().validation_cost(at)
        return self._validation(at)

    def rebuild_cost(self, at: Situation) -> ConflictCost:
        """What a retry costs for one table before its commit call."""
        if type(self).get_per_attempt_cost is not PricedTransaction.get_per_attempt_cost:
            return super().rebuild_cost(at)
        rebuild = self.prices.rebuild.get(at.conflict_class)
        if rebuild is None:
            return NO_COST
        price = self._price(rebuild, at)
        return self._with_merging(price, at.manifests)

    def merging_cost(self, at: Situation, conflicting: int) -> ConflictCost:
        """What it costs to merge so many manifests that are in real conflict."""
        price = self.prices.merge_on_real_conflict
        if price is None:
            return NO_COST
        return self._price(price, at, conflicting)

    def merges_at(self, manifests: int) -> bool:
        """Whether the manifests of a table that has so many are due to be merged."""
        minimum = self.prices.min_count_to_merge
        return minimum is not None and manifests + 1 >= minimum

    def _validation(self, at: Situation) -> ConflictCost:
        validate = self.prices.validate.get(at.conflict_class)
        if validate is None:
            return NO_COST
        return self._price(validate, at)

    def _price(self, price: Price, at: Situation, conflicting: int = 0) -> ConflictCost:
        if price.is_free:
            return NO_COST
        merged = math.floor(at.commits * self.manifests_per_concurrent_commit)
        cost = price.cost(at.commits, at.replaced, merged, at.manifests, conflicting)
        return cost.appending() if at.ml_append_mode else cost

    def _with_merging(self, cost: ConflictCost, manifests: int) -> ConflictCost:
        if cost is NO_COST or not self.merges_at(manifests):
            return cost
        # The merge reads every manifest, the new one included, and leaves one.
        return cost.plus(ConflictCost(manifest_file_reads=manifests + 1, manifest_file_writes=1))


class FastAppendTransaction(PricedTransaction):
    """Append-only: new files beside the old ones, in a manifest of their own."""

    operation_type = "fast_append"
    __slots__ = ()


class MergeAppendTransaction(PricedTransaction):
    """Append that merges manifests: intervening commits leave it some to read and write again."""

    operation_type = "merge_append"
    __slots__ = ()

    def __init__(
        self, *args: Any, manifests_per_concurrent_commit: float = 1.5, **kwargs: Any
    ) -> None:
        super().__init__(
            *args, manifests_per_concurrent_commit=manifests_per_concurrent_commit, **kwargs
        )


class ValidatedOverwriteTransaction(PricedTransaction):
    """Overwrite that validates against every intervening commit: the I/O convoy, and real conflicts."""

    operation_type = "validated_overwrite"
    replaces_data = True
    __slots__ = ()


class RowDeltaTransaction(PricedTransaction):
    """Row-level deletes and updates (MERGE), validated."""

    operation_type = "row_delta"
    replaces_data = True
    __slots__ = ()


class RewriteFilesTransaction(PricedTransaction):
    """Compaction: the same rows in other files."""

    operation_type = "rewrite_files"
    replaces_data = True
    __slots__ = ()


class ReplacePartitionsTransaction(PricedTransaction):
    """Whole partitions replaced, whatever others did: Iceberg's default."""

    operation_type = "replace_partitions"
    replaces_data = True
    __slots__ = ()


class ReplacePartitionsValidatedTransaction(PricedTransaction):
    """Whole partitions replaced, if nobody else touched them."""

    operation_type = "replace_partitions_validated"
    replaces_data = True
    __slots__ = ()


class OverwriteUnvalidatedTransaction(PricedTransaction):
    """Overwrite without looking at what others added (snapshot isolation)."""

    operation_type = "overwrite_unvalidated"
    replaces_data = True
    __slots__ = ()


class DeletePartitionTransaction(PricedTransaction):
    """A partition deleted by its predicate."""

    operation_type = "delete_partition"
    replaces_data = True
    __slots__ = ()


OPERATION_CLASSES: Mapping[str, type[PricedTransaction]] = {
    kind.operation_type: kind
    for kind in (
        FastAppendTransaction,
        MergeAppendTransaction,
        ValidatedOverwriteTransaction,
        RowDeltaTransaction,
        RewriteFilesTransaction,
        ReplacePartitionsTransaction,
        ReplacePartitionsValidatedTransaction,
        OverwriteUnvalidatedTransaction,
        DeletePartitionTransaction,
    )
}
"""In the order in which weights are compared with the operation draw."""
