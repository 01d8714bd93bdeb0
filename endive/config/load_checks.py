"""Classes of load (docs/MODEL.md, section 13) as a file gives them: what they leave to `[transaction]`, and what
can be wrong with them beyond the schema.

As everywhere, `given` is what the file says, and `config` has the defaults filled in. A value that a class takes from
`[transaction]` is judged there, so that one mistake is told once.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endive.config.findings import Findings, dotted
from endive.config.schema import condition_of, value_at
from endive.config.script_checks import SCRIPT
from endive.config.toml_lines import KeyPath
from endive.cost_model import CostTable, cost_table_names, load_cost_table
from endive.schema_words import shown

_CLASSES: KeyPath = ("workload", "class")
# What a class takes from [transaction] where it does not say otherwise.
_INHERITED = (
    "runtime",
    "operation_types",
    "tables_per_txn",
    "table_selector",
    "partitions_per_txn",
    "partition_selector",
)
# What each kind cannot do without.
_NEEDED = {
    "open": ("inter_arrival",),
    "closed": ("clients", "think_time"),
    "periodic": ("interval_ms",),
    "background": ("inter_arrival",),
}
# Below this probability, waiting for an item to be drawn is waiting for ever.
_RAREST_DRAW = 1e-6


def inherit_from_transaction(config: dict[str, Any]) -> None:
    """Let every class have what it leaves to `[transaction]`, before defaults are filled in."""
    transaction = config.get("transaction", {})
    for index, load in enumerate(_classes(config)):
        for name in _INHERITED:
            if name in transaction and name not in load and _is_read(config, index, name):
                load[name] = copy.deepcopy(transaction[name])


def complete_classes(config: dict[str, Any]) -> None:
    """Make the classes of a valid configuration tell all about themselves, so that nothing is told twice."""
    classes = _classes(config)
    for load in classes:
        if load["kind"] == "periodic":
            load.setdefault("offset_ms", load["interval_ms"])
    is_told_elsewhere = classes or value_at(config, SCRIPT)
    for name in (*_INHERITED, "inter_arrival") if is_told_elsewhere else ():
        config["transaction"].pop(name, None)


def check_loads(
    given: Mapping[str, Any],
    config: Mapping[str, Any],
    findings: Findings,
    cost_table: CostTable | None,
) -> None:
    """Record everything that is wrong with the classes, and with what no class takes from `[transaction]`."""
    loads = [_Load(index, given, config, findings) for index in range(len(_classes(given)))]
    if loads or value_at(given, SCRIPT):
        _check_unused(loads, given, config, findings)
    _check_names(loads)
    for load in loads:
        _check_needed(load)
        _check_weights(load, cost_table)
        _check_tables(load)
        _check_partitions(load)


@dataclass(frozen=True, slots=True)
class _Load:
    """One class under judgement."""

    index: int
    given: Mapping[str, Any]
    config: Mapping[str, Any]
    findings: Findings

    def path(self, *names: str) -> KeyPath:
        return (*_CLASSES, self.index, *names)

    def value(self, *names: str) -> Any:
        return value_at(self.config, self.path(*names))

    def has_own(self, *names: str) -> bool:
        """Whether the file gives the class this key, and it is one that the class reads."""
        is_given = value_at(self.given, self.path(*names)) is not None
        return is_given and _is_read(self.config, self.index, names[0])

    def is_sound(self, *names: str) -> bool:
        return self.findings.is_sound(*(self.path(name) for name in names))

    def knows(self, *keys: str) -> bool:
        """Whether nothing is known against these settings outside the class."""
        return self.findings.is_sound(*(tuple(key.split(".")) for key in keys))

    def add(self, message: str, *names: str) -> None:
        self.findings.add(self.path(*names), message)


def _classes(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    classes: list[dict[str, Any]] = value_at(config, _CLASSES) or []
    return classes


def _is_read(config: Mapping[str, Any], index: int, name: str) -> bool:
    condition = condition_of((*_CLASSES, index, name))
    return condition is None or condition.is_met(config)


def _check_unused(
    loads: list[_Load], given: Mapping[str, Any], config: Mapping[str, Any], findings: Findings
) -> None:
    """What `[transaction]` says about submissions is a mistake if every class goes its own way."""
    transaction = given.get("transaction", {})
    if "inter_arrival" in transaction:
        findings.add(
            ("transaction", "inter_arrival"),
            "nothing reads it beside [[workload.class]]; "
            "remove it, and give inter_arrival to the classes that are open or background"
            if loads
            else "nothing reads it beside [[workload.script]]; remove it",
        )
    for name in _INHERITED:
        path = ("transaction", name)
        condition = condition_of(path)
        if condition is not None and not condition.is_met(config):
            continue
        if any(_takes(load, name) for load in loads):
            continue
        if name in transaction:
            findings.add(
                path,
                "nothing reads it: no class of [[workload.class]] takes it from here; remove it"
                if loads
                else "nothing reads it: every line of [[workload.script]] says what it does; remove it",
            )
        else:
            # A default that nobody takes cannot be at odds with anything.
            findings.doubt(path)


def _takes(load: _Load, name: str) -> bool:
    if not load.is_sound("kind") or load.value("kind") is None:
        return True
    is_given = value_at(load.given, load.path(name)) is not None or not load.is_sound(name)
    return _is_read(load.config, load.index, name) and not is_given


def _check_names(loads: list[_Load]) -> None:
    first: dict[str, _Load] = {}
    for load in loads:
        name = load.value("name")
        if name is None:
            continue
        if name in first:
            other = dotted(first[name].path())
            load.add(f"{other} is named {shown(name)}, too; give each class its own name", "name")
        first.setdefault(name, load)


def _check_needed(load: _Load) -> None:
    kind = load.value("kind")
    for name in _NEEDED.get(kind, ()):
        if value_at(load.given, load.path(name)) is None and load.is_sound(name):
            load.add(f"missing; {kind!r} needs it", name)


def _check_weights(load: _Load, cost_table: CostTable | None) -> None:
    if not load.has_own("operation_types") or not load.is_sound("operation_types"):
        return
    weights = load.value("operation_types")
    total = sum(weights.values())
    if not total > 0.0:
        load.add("the weights add up to 0; give one of them more", "operation_types")
    elif not math.isfinite(total):
        load.add("the weights add up to infinity; scale them down", "operation_types")
    for operation in (name for name, weight in weights.items() if weight):
        if cost_table is not None and operation not in cost_table.operations:
            able = [
                name for name in cost_table_names() if operation in load_cost_table(name).operations
            ]
            load.add(
                f"cost table {cost_table.name!r} has no price for it; "
                f"set transaction.cost_table to {' or '.join(map(repr, able))}",
                "operation_types",
                operation,
            )


def _check_tables(load: _Load) -> None:
    """A transaction stays within its group, and chooses no more tables than that has."""
    if not load.knows("catalog.num_tables", "catalog.num_groups"):
        return
    tables, groups = load.config["catalog"]["num_tables"], load.config["catalog"]["num_groups"]
    if groups > tables:
        return
    per_txn = load.value("tables_per_txn")
    if load.has_own("tables_per_txn") and load.is_sound("tables_per_txn"):
        if groups == 1 and per_txn > tables:
            load.add(
                f"must be at most catalog.num_tables, which is {tables}, not {per_txn}",
                "tables_per_txn",
            )
        elif per_txn > tables // groups:
            load.add(
                f"must be at most {tables // groups}, the tables of the smallest of {groups} "
                f"groups, not {per_txn}: no transaction spans groups",
                "tables_per_txn",
            )
    if groups == 1:
        _check_choice(load, "table", tables)


def _check_partitions(load: _Load) -> None:
    partitions = value_at(load.config, ("catalog", "partitions"))
    if not partitions or not load.knows("catalog.partitions"):
        return
    smallest = int(min(partitions.get("per_table", [partitions.get("num_partitions")])))
    per_txn = load.value("partitions_per_txn")
    if (
        load.has_own("partitions_per_txn")
        and load.is_sound("partitions_per_txn")
        and per_txn > smallest
    ):
        load.add(
            f"must be at most the partitions of the smallest table, which has {smallest}, "
            f"not {per_txn}",
            "partitions_per_txn",
        )
    _check_choice(load, "partition", smallest)


def _check_choice(load: _Load, noun: str, total: int) -> None:
    """A Zipf selector draws until it has enough distinct items: the rarest must come up."""
    selector, count_key = f"{noun}_selector", f"{noun}s_per_txn"
    own = [name for name in (selector, count_key) if load.has_own(name)]
    alpha, count = load.value(selector, "alpha"), load.value(count_key)
    inherited = [f"transaction.{name}" for name in (selector, count_key) if name not in own]
    if not own or not load.is_sound(*own) or not load.knows(*inherited):
        return
    if alpha is None or count in (None, 1):
        return
    weights = [float(rank) ** -alpha for rank in range(1, int(total) + 1)]
    if math.fsum(weights[count - 1 :]) < _RAREST_DRAW * math.fsum(weights):
        load.add(
            f"with alpha {shown(alpha)} a choice of {count} distinct {noun}s out of "
            f"{int(total)} practically never ends; lower alpha or choose fewer",
            *((selector, "alpha") if load.has_own(selector, "alpha") else (own[0],)),
        )
