"""For every key of `[[workload.class]]` two lists of classes that differ in it, and the setting in which that shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from schema_keys.change import FAMILIES, FAMILY_OF, Change

# A crowded second. The classes say everything about submissions themselves, so [transaction] says nothing about them.
LOAD_BASE: Mapping[str, Any] = {
    "simulation.duration_ms": 1000.0,
    "simulation.seed": 7,
    "storage.provider": "s3x",
    "catalog.num_tables": 4,
    "transaction.retry": 4,
}
PARTITIONS: Mapping[str, Any] = {"catalog.partitions.num_partitions": 4}
# It prices every operation there is but the deletion of partitions, and asks what was replaced.
JAVA: Mapping[str, Any] = {"transaction.cost_table": "iceberg-java"}

OPEN: Mapping[str, Any] = {
    "name": "load",
    "kind": "open",
    "inter_arrival": {"distribution": "exponential", "scale": 25.0},
    "runtime": {"distribution": "fixed", "value": 50.0},
    "operation_types": {"fast_append": 1.0, "merge_append": 1.0, "validated_overwrite": 1.0},
}
CLOSED: Mapping[str, Any] = {
    "name": "load",
    "kind": "closed",
    "clients": 3,
    "think_time": {"distribution": "fixed", "value": 20.0},
    "runtime": {"distribution": "fixed", "value": 50.0},
}
PERIODIC: Mapping[str, Any] = {
    "name": "load",
    "kind": "periodic",
    "interval_ms": 60.0,
    "runtime": {"distribution": "fixed", "value": 50.0},
}
RIVALS: Mapping[str, Any] = {
    "name": "rivals",
    "kind": "background",
    "inter_arrival": {"distribution": "fixed", "value": 30.0},
}


def _change(
    load: Mapping[str, Any],
    key: str,
    values: tuple[Any, Any],
    where: Mapping[str, Any] | None = None,
    others: tuple[Mapping[str, Any], ...] = (),
) -> Change:
    lists = []
    for value in values:
        changed: dict[str, Any] = copy.deepcopy(dict(load))
        *tables, last = key.split(".")
        table = changed
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
        lists.append([changed, *(copy.deepcopy(dict(other)) for other in others)])
    return Change(lists[0], lists[1], where or {}, LOAD_BASE)


def _distribution(load: Mapping[str, Any], table: str) -> Iterator[tuple[str, Change]]:
    whole = {
        family: {"distribution": family, **parameters} for family, parameters in FAMILIES.items()
    }
    both = (whole["fixed"], whole["exponential"])
    yield f"{table}.distribution", _change(load, table, both)
    for name, family in FAMILY_OF.items():
        # Only stores know sizes.
        if family == "size_based":
            continue
        more = {**whole[family], name: FAMILIES[family][name] * 1.25}
        yield f"{table}.{name}", _change(load, table, (whole[family], more))


def _cases() -> Iterator[tuple[str, Change]]:
    zipf = {**OPEN, "table_selector": {"type": "zipf"}}
    two = {**OPEN, "tables_per_txn": 2}
    parts = {**OPEN, "partitions_per_txn": 2}
    zipf_parts = {**OPEN, "partition_selector": {"type": "zipf"}}
    rewrites = {**OPEN, "operation_types": {"rewrite_files": 1.0}}
    yield "name", _change(OPEN, "name", ("one", "two"))
    yield (
        "kind",
        Change([dict(OPEN)], [{**RIVALS, "inter_arrival": OPEN["inter_arrival"]}], {}, LOAD_BASE),
    )
    yield "clients", _change(CLOSED, "clients", (3, 4))
    yield "interval_ms", _change(PERIODIC, "interval_ms", (60.0, 70.0))
    yield "offset_ms", _change(PERIODIC, "offset_ms", (60.0, 10.0))
    yield "end_ms", _change(OPEN, "end_ms", (1000.0, 500.0))
    # Only who asks what was replaced can tell, so here somebody else's transactions do.
    yield "replaces_data", _change(RIVALS, "replaces_data", (False, True), JAVA, (rewrites,))
    yield "overlap_probability", _change(OPEN, "overlap_probability", (0.0, 1.0), PARTITIONS)
    yield "tables_per_txn", _change(OPEN, "tables_per_txn", (1, 3))
    yield "table_selector.type", _change(OPEN, "table_selector.type", ("uniform", "zipf"))
    yield "table_selector.alpha", _change(zipf, "table_selector.alpha", (1.5, 0.5))
    yield "table_selector.write_fraction", _change(two, "table_selector.write_fraction", (1.0, 0.5))
    yield "partitions_per_txn", _change(OPEN, "partitions_per_txn", (1, 3), PARTITIONS)
    name = "partition_selector"
    yield f"{name}.type", _change(OPEN, f"{name}.type", ("uniform", "zipf"), PARTITIONS)
    yield f"{name}.alpha", _change(zipf_parts, f"{name}.alpha", (1.5, 0.1), PARTITIONS)
    yield f"{name}.write_fraction", _change(parts, f"{name}.write_fraction", (1.0, 0.5), PARTITIONS)
    for operation in (
        "fast_append",
        "merge_append",
        "validated_overwrite",
        "row_delta",
        "rewrite_files",
        "replace_partitions",
        "replace_partitions_validated",
        "overwrite_unvalidated",
    ):
        key = f"operation_types.{operation}"
        yield key, _change(OPEN, key, (1.0, 3.0), JAVA)
    key = "operation_types.delete_partition"
    yield key, _change(OPEN, key, (1.0, 3.0), {"transaction.cost_table": "pyiceberg"})
    yield from _distribution(OPEN, "inter_arrival")
    yield from _distribution(OPEN, "runtime")
    yield from _distribution(CLOSED, "think_time")
    yield "runtime.min", _change(OPEN, "runtime.min", (0.0, 30.0))


LOAD_CHANGES: Mapping[str, Change] = {f"workload.class.{key}": case for key, case in _cases()}
