"""The operations of cost tables, as Iceberg Java does them and engines ask for them.

| cost table | Iceberg Java |
|---|---|
| `fast_append` | `newFastAppend` |
| `merge_append` | `newAppend`, the default of engines |
| `validated_overwrite` | `newOverwrite` of the files that a scan found, copy on write: serializable isolation |
| `overwrite_unvalidated` | the same under snapshot isolation, which looks at deleted data only, not at what others added |
| `row_delta` | `newRowDelta` with position deletes, merge on read, serializable |
| `rewrite_files` | `newRewrite`: compaction |
| `replace_partitions` | `newReplacePartitions`: dynamic overwrite, which validates nothing by default |
| `replace_partitions_validated` | the same, validated against added and deleted data |
| `delete_partition` | `newDelete` by a filter on the partition |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from endive.oracle.java.tables import OWN, OWN_RANGE, Base, Bench
from endive.oracle.measurement import Setting

Update = Any
"""A `SnapshotUpdate` of Iceberg, ready to be committed."""


def _new_file(bench: Bench) -> Any:
    return bench.data_file(OWN, OWN_RANGE)


def _in_own_partition(bench: Bench) -> Any:
    return bench.bridge.iceberg.expressions.Expressions.equal("p", OWN)


def _own_rows(bench: Bench) -> Any:
    """The rows that the operation read: those of its partition from x = 100 on."""
    expressions = bench.bridge.iceberg.expressions.Expressions
    above = expressions.greaterThanOrEqual("x", OWN_RANGE[0])
    # Its name is a word of Python's.
    both: Callable[..., Any] = getattr(expressions, "and")
    return both(_in_own_partition(bench), above)


def _start(table: Any) -> Any:
    return table.currentSnapshot().snapshotId()


def _fast_append(bench: Bench, table: Any, base: Base) -> Update:
    return table.newFastAppend().appendFile(_new_file(bench))


def _merge_append(bench: Bench, table: Any, base: Base) -> Update:
    return table.newAppend().appendFile(_new_file(bench))


def _overwrite(bench: Bench, table: Any, base: Base) -> Update:
    return table.newOverwrite().deleteFile(base.own_file).addFile(_new_file(bench))


def _overwrite_snapshot(bench: Bench, table: Any, base: Base) -> Update:
    update = _overwrite(bench, table, base).validateFromSnapshot(_start(table))
    return update.conflictDetectionFilter(_own_rows(bench)).validateNoConflictingDeletes()


def _overwrite_serializable(bench: Bench, table: Any, base: Base) -> Update:
    return _overwrite_snapshot(bench, table, base).validateNoConflictingData()


def _overwrite_by_path(bench: Bench, table: Any, base: Base) -> Update:
    # The same file, but as who knows it by name only: it does not say in which manifest it is.
    nameless = bench.bridge.iceberg.DataFiles.builder(bench.spec).copy(base.own_file).build()
    update = table.newOverwrite().deleteFile(nameless).addFile(_new_file(bench))
    update = update.validateFromSnapshot(_start(table)).conflictDetectionFilter(_own_rows(bench))
    return update.validateNoConflictingDeletes().validateNoConflictingData()


def _row_delta(bench: Bench, table: Any, base: Base) -> Update:
    update = table.newRowDelta().addDeletes(bench.delete_file(OWN))
    update = update.validateFromSnapshot(_start(table)).conflictDetectionFilter(_own_rows(bench))
    return update.validateNoConflictingDataFiles().validateNoConflictingDeleteFiles()


def _row_delta_with_rows(bench: Bench, table: Any, base: Base) -> Update:
    return _row_delta(bench, table, base).addRows(_new_file(bench))


def _rewrite(bench: Bench, table: Any, base: Base) -> Update:
    update = table.newRewrite().validateFromSnapshot(_start(table))
    return update.deleteFile(base.own_file).addFile(_new_file(bench))


def _replace_partitions(bench: Bench, table: Any, base: Base) -> Update:
    return table.newReplacePartitions().addFile(_new_file(bench))


def _replace_partitions_validated(bench: Bench, table: Any, base: Base) -> Update:
    update = _replace_partitions(bench, table, base).validateFromSnapshot(_start(table))
    return update.validateNoConflictingData().validateNoConflictingDeletes()


def _delete_partition(bench: Bench, table: Any, base: Base) -> Update:
    return table.newDelete().deleteFromRowFilter(_in_own_partition(bench))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of cost tables and how to prepare it on a table that has been loaded."""

    name: str
    prepare: Callable[[Bench, Any, Base], Update]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    conflicts_with: tuple[str, ...] = ()
    """What rivals can do that a validation refuses."""
    names_files: bool = False
    """Whether it knows the rows or files that it replaces, so that rivals can replace others of the same partition."""
    tolerates_same: bool = True
    """Whether others can append to its partition without being refused."""


_APPENDS = "conflicting_appends"
_OVERWRITES = "conflicting_overwrites"

OPERATIONS = (
    Operation("fast_append", _fast_append),
    Operation("merge_append", _merge_append),
    Operation(
        "validated_overwrite",
        _overwrite_serializable,
        conflicts_with=(_APPENDS, _OVERWRITES),
        names_files=True,
    ),
    Operation("row_delta", _row_delta, conflicts_with=(_APPENDS,), names_files=True),
    Operation("rewrite_files", _rewrite, conflicts_with=(_OVERWRITES,), names_files=True),
    Operation("replace_partitions", _replace_partitions),
    Operation(
        "replace_partitions_validated",
        _replace_partitions_validated,
        conflicts_with=(_APPENDS, _OVERWRITES),
        # Whatever is added to its partition is in its way.
        tolerates_same=False,
    ),
    Operation(
        "overwrite_unvalidated",
        _overwrite_snapshot,
        conflicts_with=(_OVERWRITES,),
        names_files=True,
    ),
    Operation("delete_partition", _delete_partition),
)
"""Every operation, in the order of cost tables."""

MERGING_FROM_TWO = Operation("merge_append", _merge_append, {"min_count_to_merge": 2})

VARIANTS = (
    Operation("overwrite_unvalidated", _overwrite, {"isolation": "none"}, names_files=True),
    Operation(
        "validated_overwrite",
        _overwrite_by_path,
        {"api": "files by path"},
        conflicts_with=(_APPENDS, _OVERWRITES),
        names_files=True,
    ),
    Operation(
        "row_delta",
        _row_delta_with_rows,
        {"api": "rows and deletes"},
        conflicts_with=(_APPENDS,),
        names_files=True,
    ),
)
"""Other ways of doing some of them, which cost tables do not price apart."""
