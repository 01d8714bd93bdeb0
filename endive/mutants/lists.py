"""Faults of manifest lists that are appended to (ML+)."""

from __future__ import annotations

from endive.catalog import ManifestLists
from endive.cost_model import ConflictCost
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant
from endive.mutants.patch import edited
from endive.transaction.operations import PricedTransaction

_REBUILD = "return self._with_merging(price, at.manifests)"

MUTANTS = (
    Mutant(
        "ml-plus-counted-as-write",
        "an entry in ML+ is paid and counted as a list write",
        "Specification §3.5: the append replaces the rewrite",
        ("entry-valid-iff-committed",),
        on.ML_PLUS,
        edited(ConflictCost.appending, ("if not self.manifest_list_writes:", "if True:")),
    ),
    Mutant(
        "ml-plus-no-new-entry-after-overlap",
        "after overlap the old entry counts as valid and none is appended",
        "Append Simulation Design: the original entry is invalid",
        ("entry-valid-iff-committed",),
        on.ML_PLUS,
        edited(
            PricedTransaction.rebuild_cost,
            (_REBUILD, "return self._with_merging(price.without_appends(), at.manifests)"),
        ),
    ),
    Mutant(
        "ml-plus-offset-no-new-entry-after-overlap",
        "the same where entries are appended at offsets",
        "Append Simulation Design: the original entry is invalid",
        ("entry-valid-iff-committed",),
        on.ML_PLUS_OFFSET,
        edited(
            PricedTransaction.rebuild_cost,
            (_REBUILD, "return self._with_merging(price.without_appends(), at.manifests)"),
        ),
    ),
    Mutant(
        "ml-plus-entry-after-any-loss",
        "an entry that is still valid is appended again",
        "Append Simulation Design: no ML update needed",
        ("cross-table-retry-free",),
        on.ML_PLUS,
        edited(
            PricedTransaction.rebuild_cost,
            ("self.prices.rebuild.get(at.conflict_class)", 'self.prices.rebuild.get("overlap")'),
        ),
    ),
    Mutant(
        "list-append-anywhere",
        "an entry lands wherever the list ends, whatever offset its writer gave",
        "Append Simulation Design: physical append at expected offset",
        ("lists-grow-by-entries",),
        on.ML_PLUS_OFFSET,
        edited(
            ManifestLists._append,
            (
                "storage.extend(_key(table_id), offset, size_bytes)",
                "storage.extend(_key(table_id), None, size_bytes)",
            ),
        ),
    ),
    Mutant(
        "list-grows-twice",
        "an entry takes twice its size",
        "Append Simulation Design: manifest_list_entry_size",
        ("lists-grow-by-entries",),
        on.ML_PLUS_OFFSET,
        edited(
            ManifestLists._effect,
            (
                "self._lengths[table_id] + self._entry_size_bytes)",
                "self._lengths[table_id] + 2 * self._entry_size_bytes); self._storage.extend(_key(table_id), None, self._entry_size_bytes)",
            ),
        ),
    ),
    Mutant(
        "list-rewritten-twice",
        "everybody who hit a sealed list puts a new one in its place",
        "Append Simulation Design: sealed list rewritten once",
        ("lists-grow-by-entries",),
        on.ML_PLUS_OFFSET,
        edited(ManifestLists.append_entry, ("answer.rewrites == self._rewrites[table_id]", "True")),
    ),
    Mutant(
        "sealed-list-takes-entries",
        "a sealed list takes entries",
        "Append Simulation Design: sealed and must be rewritten",
        ("lists-grow-by-entries",),
        on.ML_PLUS_OFFSET,
        edited(ManifestLists._effect, ("self._extend_object(table_id, SEAL_BYTES)", "pass")),
    ),
)
