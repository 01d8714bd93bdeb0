"""Conflict detectors (§4): is a conflict real, or only a race on the same table?"""

from __future__ import annotations

import numpy as np

from endive.catalog import CatalogSnapshot
from endive.transaction import ConflictDetector, Transaction

__all__ = [
    "ConflictDetector",
    "PartitionOverlapConflictDetector",
    "ProbabilisticConflictDetector",
]


class ProbabilisticConflictDetector(ConflictDetector):
    """A conflict is real with a fixed probability, for operations whose data can conflict at all."""

    def __init__(
        self,
        real_conflict_probability: float,
        rng: np.random.RandomState | None = None,
        *,
        per_commit: bool = False,
    ) -> None:
        if not 0.0 <= real_conflict_probability <= 1.0:
            raise ValueError(
                f"real_conflict_probability must be between 0 and 1, not {real_conflict_probability}"
            )
        if rng is None and 0.0 < real_conflict_probability < 1.0:
            # An unseeded fallback would make runs differ without a word (§8.5).
            raise ValueError("a probability between 0 and 1 needs a seeded rng")
        self._probability = real_conflict_probability
        self._rng = rng
        self._per_commit = per_commit

    def is_real_conflict(
        self,
        txn: Transaction,
        current_snapshot: CatalogSnapshot,
        start_snapshot: CatalogSnapshot,
    ) -> bool:
        """One draw per question."""
        if not txn.can_have_real_conflict():
            return False
        if self._rng is None:
            return self._probability == 1.0
        probability = self._probability
        if self._per_commit:
            # Each commit the transaction is behind has its own chance of touching the same data.
            probability = 1.0 - (1.0 - probability) ** txn.snapshots_behind
        return bool(self._rng.random_sample() < probability)


class PartitionOverlapConflictDetector(ConflictDetector):
    """A conflict is real iff a written partition changed since the transaction first read the catalog."""

    def is_real_conflict(
        self,
        txn: Transaction,
        current_snapshot: CatalogSnapshot,
        start_snapshot: CatalogSnapshot,
    ) -> bool:
        """Compare the version vectors of the first and the current snapshot."""
        return txn.can_have_real_conflict() and Transaction.has_write_overlap(
            txn, start_snapshot, current_snapshot
        )
