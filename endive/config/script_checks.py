"""Scripts (docs/MODEL.md, section 13) as a file gives them: what can be wrong with their lines beyond the schema.

As everywhere, `given` is what the file says, and `config` has the defaults filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endive.config.findings import Findings
from endive.config.schema import value_at
from endive.config.toml_lines import KeyPath
from endive.cost_model import CostTable, cost_table_names, load_cost_table
from endive.schema_words import shown
from endive.workload.script import LANDED

SCRIPT: KeyPath = ("workload", "script")
# Results keep names as small codes; the classes of load need some, too.
_MAX_NAMES = 100


@dataclass(frozen=True, slots=True)
class _Line:
    """One line under judgement."""

    index: int
    given: Mapping[str, Any]
    config: Mapping[str, Any]
    findings: Findings

    def value(self, name: str) -> Any:
        return value_at(self.config, (*SCRIPT, self.index, name))

    def is_given(self, name: str) -> bool:
        return value_at(self.given, (*SCRIPT, self.index, name)) is not None

    def is_sound(self, *names: str) -> bool:
        return self.findings.is_sound(*((*SCRIPT, self.index, name) for name in names))

    def knows(self, *keys: str) -> bool:
        """Whether nothing is known against these settings outside the script."""
        return self.findings.is_sound(*(tuple(key.split(".")) for key in keys))

    def add(self, name: str, message: str) -> None:
        self.findings.add((*SCRIPT, self.index, name), message)


def check_script(
    given: Mapping[str, Any],
    config: Mapping[str, Any],
    findings: Findings,
    cost_table: CostTable | None,
) -> None:
    """Record everything that is wrong with the lines of a script."""
    count = len(value_at(given, SCRIPT) or ())
    names: set[str] = set()
    for index in range(count):
        line = _Line(index, given, config, findings)
        _check_times(line)
        _check_operation(line, cost_table)
        _check_tables(line)
        _check_partitions(line)
        if line.is_sound("name"):
            names.add(line.value("name"))
            if len(names) == _MAX_NAMES + 1:
                line.add("name", f"is one name too many; a script may have {_MAX_NAMES}")


def _check_times(line: _Line) -> None:
    at_ms = line.value("at_ms")
    duration_ms = value_at(line.config, ("simulation", "duration_ms"))
    are_known = line.is_sound("at_ms") and line.knows("simulation.duration_ms")
    if are_known and None not in (at_ms, duration_ms) and at_ms >= duration_ms:
        line.add(
            "at_ms",
            f"{shown(at_ms)} is not before the end of the run, simulation.duration_ms "
            f"{shown(duration_ms)}: it would never be submitted; choose an earlier time",
        )
    if line.is_given("every_ms") and line.is_sound("times") and line.value("times") == 1:
        line.add("every_ms", "nothing reads it while times is 1; remove it or set times")


def _check_operation(line: _Line, cost_table: CostTable | None) -> None:
    operation = line.value("operation")
    if not line.is_sound("operation") or operation in (None, LANDED):
        return
    if cost_table is not None and operation not in cost_table.operations:
        able = [
            name for name in cost_table_names() if operation in load_cost_table(name).operations
        ]
        line.add(
            "operation",
            f"cost table {cost_table.name!r} has no price for {operation!r}; "
            f"set transaction.cost_table to {' or '.join(map(repr, able))}",
        )


def _check_tables(line: _Line) -> None:
    if not line.knows("catalog.num_tables", "catalog.num_groups"):
        return
    tables = line.config["catalog"]["num_tables"]
    for name in ("tables", "tables_read"):
        chosen = line.value(name)
        if not line.is_sound(name) or chosen is None:
            continue
        beyond = [table for table in chosen if table >= tables]
        if beyond:
            line.add(
                name,
                f"there is no table {beyond[0]}; catalog.num_tables is {tables}, "
                f"so they go from 0 to {tables - 1}",
            )
        elif len(set(chosen)) < len(chosen):
            line.add(name, f"{chosen} names a table twice; name it once")
    if not line.is_sound("tables", "tables_read") or line.value("tables") is None:
        return
    both = set(line.value("tables")) & set(line.value("tables_read"))
    if both:
        line.add("tables_read", f"table {min(both)} is written, so it is read anyway; remove it")
    touched = len(line.value("tables")) + len(line.value("tables_read"))
    if line.config["catalog"]["num_groups"] > 1 and touched > 1:
        line.add(
            "tables",
            "a transaction stays within its group, and the seed decides which tables share one; "
            "name one table, or set catalog.num_groups to 1",
        )


def _check_partitions(line: _Line) -> None:
    settings = value_at(line.config, ("catalog", "partitions"))
    if settings is None or not line.knows("catalog.partitions", "catalog.num_tables"):
        return
    if not line.is_sound("tables", "partitions") or line.value("tables") is None:
        return
    tables, partitions = line.value("tables"), line.value("partitions")
    if partitions is None:
        example = [[0]] * len(tables)
        line.add("partitions", f"missing; with [catalog.partitions] add it, like {example}")
        return
    if len(partitions) != len(tables):
        line.add(
            "partitions",
            f"has {len(partitions)} lists for {len(tables)} tables; give one list per table",
        )
        return
    for table, chosen in zip(tables, partitions, strict=True):
        if "per_table" in settings:
            per_table = settings["per_table"]
            if table >= len(per_table):
                continue
            count = per_table[table]
        else:
            count = settings["num_partitions"]
        beyond = [partition for partition in chosen if partition >= count]
        if beyond:
            line.add(
                "partitions",
                f"table {table} has no partition {beyond[0]}; they go from 0 to {count - 1}",
            )
        elif not chosen or len(set(chosen)) < len(chosen):
            line.add(
                "partitions",
                f"{chosen} must name at least one partition of table {table}, each once",
            )
