"""What a schema cannot say: settings that contradict each other, and keys that nothing would read.

Every check looks only at values against which nothing is known yet, so that one mistake is told
once. `given` is what the file says; `config` has the defaults filled in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endive.config.findings import Findings, dotted
from endive.config.load_checks import check_loads
from endive.config.profiles import PROVIDER_PROFILES
from endive.config.schema import condition_of, node_at, nodes_for, value_at
from endive.config.script_checks import check_script
from endive.config.toml_lines import KeyPath
from endive.cost_model import CostTable, cost_table_names, load_cost_table
from endive.schema_words import shown

# Below this probability, waiting for an item to be drawn is waiting for ever.
_RAREST_DRAW = 1e-6
# File systems allow 255 bytes; the hash and a temporary suffix need some of them.
_LABEL_BYTES = 200
# The two ways to place a lognormal; it takes exactly one.
_CENTRES = ("mean", "median")


@dataclass(frozen=True, slots=True)
class _Judged:
    """A configuration under judgement."""

    given: Mapping[str, Any]
    config: Mapping[str, Any]
    findings: Findings

    def sound(self, *keys: str) -> bool:
        return self.findings.is_sound(*(_path(key) for key in keys))

    def value(self, key: str) -> Any:
        return value_at(self.config, _path(key))

    def is_given(self, key: str) -> bool:
        return value_at(self.given, _path(key)) is not None

    def add(self, key: str, message: str) -> None:
        self.findings.add(_path(key), message)


def check_meaning(
    given: Mapping[str, Any],
    config: Mapping[str, Any],
    findings: Findings,
    cost_table: CostTable | None,
) -> None:
    """Record every contradiction; without a cost table nothing is known about prices."""
    judged = _Judged(given, config, findings)
    check_loads(given, config, findings, cost_table)
    check_script(given, config, findings, cost_table)
    _check_unread(judged)
    for path, node in nodes_for(given):
        if "distribution" in node.get("properties", {}) and value_at(config, path) is not None:
            _check_distribution(judged, path)
    _check_label(judged)
    _check_append_support(judged)
    _check_topology(judged)
    _check_selectors(judged)
    _check_weights(judged)
    _check_backoff(judged)
    _check_prices(judged, cost_table)
    _check_groups(judged)
    _check_list_writes(judged)


def _check_unread(judged: _Judged) -> None:
    """A key that nothing reads is a mistake, not a decoration."""
    for path, _node in nodes_for(judged.given):
        condition = condition_of(path)
        if condition is None or value_at(judged.given, path) is None:
            continue
        if condition.is_met(judged.config) or not judged.findings.is_sound(condition.key, path):
            continue
        key = dotted(condition.key)
        if condition.values:
            wanted = " or ".join(repr(value) for value in condition.values)
            actual = shown(value_at(judged.config, condition.key))
            reason = f"nothing reads it while {key} is {actual}; remove it or set {key} to {wanted}"
        else:
            reason = f"nothing reads it without [{key}]; remove it or add that table"
        judged.findings.add(path, reason)


def _check_distribution(judged: _Judged, path: KeyPath) -> None:
    table = value_at(judged.config, path)
    family_path = (*path, "distribution")
    family = table.get("distribution")
    if not judged.findings.is_sound(family_path) or family is None:
        return
    missing = [
        name
        for name in node_at(path)["properties"]
        if name not in table and _belongs(path, name, family)
    ]
    if family == "lognormal":
        _check_centre(judged, path, table)
        missing = [name for name in missing if name not in _CENTRES]
    # What is in doubt was given, only wrongly.
    missing = [name for name in missing if judged.findings.is_sound((*path, name))]
    for name in missing:
        judged.findings.add((*path, name), f"missing; {family!r} needs it")
    low, high = table.get("low"), table.get("high")
    if family == "uniform" and low is not None and high is not None and low > high:
        judged.findings.add(
            (*path, "low"), f"must be at most high, which is {shown(high)}, not {shown(low)}"
        )
    if path[-1] == "inter_arrival" and not missing:
        _check_time_passes(judged, path, family, table)


def _belongs(path: KeyPath, name: str, family: str) -> bool:
    condition = condition_of((*path, name))
    return condition is not None and family in condition.values


def _check_centre(judged: _Judged, path: KeyPath, table: Mapping[str, Any]) -> None:
    if not judged.findings.is_sound(*((*path, name) for name in _CENTRES)):
        return
    centres = [name for name in _CENTRES if name in table]
    if len(centres) == 2:
        judged.findings.add((*path, "median"), "mean and median are both given; remove one of them")
    elif not centres:
        judged.findings.add(path, "'lognormal' needs mean or median; add one of them")
    elif table.get("mean") == 0.0:
        judged.findings.add((*path, "mean"), "must be above 0 for 'lognormal', not 0")


def _check_time_passes(
    judged: _Judged, path: KeyPath, family: str, table: Mapping[str, Any]
) -> None:
    # With gaps that are always 0 the first instant of a run would never end.
    spread = {"fixed": ("value",), "normal": ("mean", "std_dev"), "uniform": ("high",)}
    names = spread.get(family, ())
    if names and judged.findings.is_sound(path) and not any(table[name] for name in names):
        judged.findings.add(
            (*path, names[0]),
            "the mean gap between arrivals must be above 0: time would stand still",
        )


def _check_label(judged: _Judged) -> None:
    label = judged.value("experiment.label")
    if isinstance(label, str) and len(label.encode("utf-8", "replace")) > _LABEL_BYTES:
        judged.add(
            "experiment.label", f"must have at most {_LABEL_BYTES} bytes in UTF-8; shorten it"
        )


def _check_append_support(judged: _Judged) -> None:
    name = judged.value("storage.provider")
    if name is None or PROVIDER_PROFILES[name].supports_append:
        return
    able = ", ".join(key for key, profile in PROVIDER_PROFILES.items() if profile.supports_append)
    reason = (
        f"'append' needs a provider that supports it, and {name!r} does not; choose one of {able}"
    )
    if judged.sound("catalog.type") and judged.value("catalog.type") == "append":
        judged.add("catalog.type" if judged.is_given("catalog.type") else "catalog.mode", reason)
    if judged.value("transaction.manifest_list_mode") == "append":
        judged.add("transaction.manifest_list_mode", reason)


def _check_topology(judged: _Judged) -> None:
    num_tables = judged.value("catalog.num_tables")
    per_txn = judged.value("transaction.tables_per_txn")
    if judged.sound("catalog.num_tables", "transaction.tables_per_txn") and per_txn > num_tables:
        judged.add(
            "transaction.tables_per_txn",
            f"must be at most catalog.num_tables, which is {num_tables}, not {per_txn}",
        )
    per_table = judged.value("catalog.partitions.per_table")
    is_comparable = judged.sound("catalog.num_tables", "catalog.partitions")
    if is_comparable and per_table is not None and len(per_table) != num_tables:
        judged.add(
            "catalog.partitions.per_table",
            f"has {len(per_table)} entries, and catalog.num_tables is {num_tables}; "
            "give one for each table",
        )
    smallest = _smallest_table(judged)
    if smallest is None or not judged.sound("transaction.partitions_per_txn"):
        return
    partitions = judged.value("transaction.partitions_per_txn")
    if partitions > smallest:
        judged.add(
            "transaction.partitions_per_txn",
            f"must be at most the partitions of the smallest table, which has {smallest}, "
            f"not {partitions}",
        )


def _smallest_table(judged: _Judged) -> int | None:
    if not judged.sound("catalog.partitions") or not judged.value("catalog.partitions"):
        return None
    partitions = judged.value("catalog.partitions")
    return int(min(partitions.get("per_table", [partitions.get("num_partitions")])))


def _check_selectors(judged: _Judged) -> None:
    """A Zipf selector draws until it has enough distinct items: the rarest must come up."""
    tables = judged.value("catalog.num_tables") if judged.sound("catalog.num_tables") else None
    for noun, total in (("table", tables), ("partition", _smallest_table(judged))):
        selector, count_key = f"transaction.{noun}_selector", f"transaction.{noun}s_per_txn"
        if total is None or not judged.sound(selector, count_key):
            continue
        alpha, count = judged.value(f"{selector}.alpha"), judged.value(count_key)
        if alpha is None or count in (None, 1):
            continue
        weights = [float(rank) ** -alpha for rank in range(1, int(total) + 1)]
        if math.fsum(weights[count - 1 :]) < _RAREST_DRAW * math.fsum(weights):
            judged.add(
                f"{selector}.alpha",
                f"with alpha {shown(alpha)} a choice of {count} distinct {noun}s out of "
                f"{int(total)} practically never ends; lower alpha or choose fewer",
            )


def _check_weights(judged: _Judged) -> None:
    if not judged.sound("transaction.operation_types"):
        return
    total = sum(judged.value("transaction.operation_types").values())
    if not total > 0.0:
        judged.add("transaction.operation_types", "the weights add up to 0; give one of them more")
    elif not math.isfinite(total):
        judged.add("transaction.operation_types", "the weights add up to infinity; scale them down")


def _check_prices(judged: _Judged, table: CostTable | None) -> None:
    """An operation that the cost table does not price cannot be simulated."""
    if table is None or not judged.sound("transaction.operation_types"):
        return
    for name, weight in judged.value("transaction.operation_types").items():
        if weight and name not in table.operations:
            able = [
                other for other in cost_table_names() if name in load_cost_table(other).operations
            ]
            judged.add(
                f"transaction.operation_types.{name}",
                f"cost table {table.name!r} has no price for it; "
                f"set transaction.cost_table to {' or '.join(map(repr, able))}",
            )


def _check_groups(judged: _Judged) -> None:
    groups, tables = judged.value("catalog.num_groups"), judged.value("catalog.num_tables")
    if not judged.sound("catalog.num_groups", "catalog.num_tables"):
        return
    if groups > tables:
        judged.add(
            "catalog.num_groups",
            f"must be at most catalog.num_tables, which is {tables}, not {groups}",
        )
        return
    per_txn = judged.value("transaction.tables_per_txn")
    if groups > 1 and judged.sound("transaction.tables_per_txn") and per_txn > tables // groups:
        judged.add(
            "transaction.tables_per_txn",
            f"must be at most {tables // groups}, the tables of the smallest of {groups} groups, "
            f"not {per_txn}: no transaction spans groups",
        )
    for key in ("catalog.conflict_granularity", "catalog.history_scope"):
        if groups == 1 and judged.value(key) == "group" and judged.sound(key):
            judged.add(key, "'group' needs catalog.num_groups above 1")


def _check_list_writes(judged: _Judged) -> None:
    """With ML+ a list is written only when it was sealed."""
    seals = judged.value("transaction.manifest_list_seal_threshold")
    if judged.value("transaction.manifest_list_mode") != "append" or seals:
        return
    for key in ("storage.latency.manifest_list.write", "storage.T_MANIFEST_LIST.write"):
        if judged.is_given(key) and judged.sound(key, "transaction.manifest_list_mode"):
            judged.add(
                key,
                "nothing reads it while transaction.manifest_list_mode is 'append' and no list is "
                "ever sealed; remove it or set transaction.manifest_list_seal_threshold",
            )


def _check_backoff(judged: _Judged) -> None:
    base, longest = "transaction.retry_backoff.base_ms", "transaction.retry_backoff.max_ms"
    if judged.sound(base, longest) and judged.value(longest) < judged.value(base):
        # Blame what the file says, not a default it has never heard of.
        key, words, other = (
            (longest, "at least", base) if judged.is_given(longest) else (base, "at most", longest)
        )
        judged.add(
            key,
            f"must be {words} {other.rpartition('.')[2]}, which is {shown(judged.value(other))}, "
            f"not {shown(judged.value(key))}",
        )


def _path(key: str) -> KeyPath:
    return tuple(key.split("."))
