"""The operations of cost tables, as PyIceberg does them.

| cost table | PyIceberg 0.12 |
|---|---|
| `fast_append` | `Table.append`; merging of manifests is off by default |
| `merge_append` | `Table.append` with `commit.manifest-merge.enabled` |
| `validated_overwrite` | `update_snapshot().overwrite()`: OverwriteFiles in one snapshot, serializable |
| `overwrite_unvalidated` | the same with isolation level `snapshot` |
| `row_delta` | `Table.delete` with a predicate that takes part of a file: copy on write, its only way |
| `delete_partition` | `Table.delete` with a predicate that takes whole files |
| `replace_partitions_validated` | `Table.dynamic_partition_overwrite`, serializable |
| `replace_partitions` | the same with isolation level `snapshot` |
| `rewrite_files` | none: it does not compact |

`Table.overwrite` is no row of its own: it deletes and appends in two snapshots of one commit, as `dynamic_partition_overwrite` does. It is
measured beside `validated_overwrite`, with `api: Table.overwrite`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.table import Table

from endive.oracle.measurement import Setting
from endive.oracle.pyiceberg_tables import (
    OWN,
    OWN_IDS,
    ROWS,
    data_file,
    files_matching,
    overwrite,
)

Commit = Callable[[], object]

_WHOLE = f"p == '{OWN}' and id < 100"
_PART = f"p == '{OWN}' and id == {OWN_IDS[0]}"
_SNAPSHOT = {
    "write.delete.isolation-level": "snapshot",
    "write.update.isolation-level": "snapshot",
}


def _rows() -> pa.Table:
    return pa.table({"p": [OWN] * len(OWN_IDS), "id": list(OWN_IDS)}, schema=ROWS)


def _appending(table: Table) -> Commit:
    return lambda: table.append(_rows())


def _overwriting(table: Table) -> Commit:
    # Whoever overwrites files knows them from what was read before; that reading is not part of the commit.
    replaced, added = files_matching(table, _WHOLE), [data_file(OWN, OWN_IDS)]
    return lambda: overwrite(table, _WHOLE, replaced, added)


def _overwriting_in_two_snapshots(table: Table) -> Commit:
    return lambda: table.overwrite(_rows(), _WHOLE)


def _deleting(table: Table) -> Commit:
    return lambda: table.delete(_WHOLE)


def _deleting_rows(table: Table) -> Commit:
    return lambda: table.delete(_PART)


def _replacing_partitions(table: Table) -> Commit:
    return lambda: table.dynamic_partition_overwrite(_rows())


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of cost tables and how PyIceberg does it; `prepare` does what comes before the first attempt."""

    name: str
    prepare: Callable[[Table], Commit]
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    conflicts_with: tuple[str, ...] = ()
    """The rivals in the same partition that a validation of it refuses."""
    tolerates_same: bool = True
    """Whether rivals can append to its partition without being refused."""


def _merging(min_count: int) -> Mapping[str, str]:
    return {
        "commit.manifest-merge.enabled": "true",
        "commit.manifest.min-count-to-merge": str(min_count),
    }


_ALL = ("conflicting_appends", "overwrites")
_REPLACED = ("overwrites",)

OPERATIONS = (
    Operation("fast_append", _appending),
    Operation("merge_append", _appending, _merging(100), {"min_count_to_merge": 100}),
    Operation("validated_overwrite", _overwriting, conflicts_with=_ALL),
    Operation("row_delta", _deleting_rows, conflicts_with=_ALL),
    Operation("replace_partitions", _replacing_partitions, _SNAPSHOT, conflicts_with=_REPLACED),
    Operation(
        "replace_partitions_validated",
        _replacing_partitions,
        # Its predicate is the partition, so whatever is added there is in its way.
        conflicts_with=_ALL,
        tolerates_same=False,
    ),
    Operation("overwrite_unvalidated", _overwriting, _SNAPSHOT, conflicts_with=_REPLACED),
    Operation("delete_partition", _deleting, conflicts_with=_ALL),
)
"""Every operation that PyIceberg has, in the order of cost tables."""

MERGING_EARLY = tuple(
    Operation("merge_append", _appending, _merging(least), {"min_count_to_merge": least})
    for least in (2, 8)
)
TWO_SNAPSHOTS = Operation(
    "validated_overwrite",
    _overwriting_in_two_snapshots,
    settings={"api": "Table.overwrite"},
    conflicts_with=_ALL,
)
ROWS_UNVALIDATED = Operation(
    "row_delta",
    _deleting_rows,
    _SNAPSHOT,
    {"isolation": "snapshot"},
    conflicts_with=_REPLACED,
)
"""Deletes rows under isolation level `snapshot`, for which cost tables have no operation."""
