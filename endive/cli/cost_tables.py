"""`endive cost-tables`: what attempts and retries cost, by operation and class, each with its source."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.cost_model import CostTable, OperationPrices, Price

_EPILOG = """\
examples:
  endive cost-tables
  endive cost-tables iceberg-java
  endive cost-tables iceberg-java --yaml > my_table.yaml
  endive cost-tables my_table.yaml
  endive cost-tables --diff spec-2.0 iceberg-java
  endive cost-tables pyiceberg --json
"""

FREE = "nothing"

_WORDS = {
    "manifest_list_reads": ("list read", "list reads"),
    "historical_ml_reads": ("historical list read", "historical list reads"),
    "manifest_file_reads": ("file read", "file reads"),
    "manifest_file_writes": ("file write", "file writes"),
    "manifest_list_writes": ("list write", "list writes"),
}


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "cost-tables",
        help="show what attempts and retries cost, and compare tables",
        description="Show what an attempt and a retry of each operation cost, with sources.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="one table, with every price; a name or a .yaml file",
    )
    parser.add_argument(
        "--diff", nargs=2, metavar=("A", "B"), help="only what differs between two tables"
    )
    parser.add_argument(
        "--yaml", action="store_true", help="the file of a table, to begin one of your own with"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Show all tables, one of them, or what sets two of them apart."""
    from endive.cost_model import cost_table_names
    from endive.errors import InputError, Problem

    if arguments.diff is not None and arguments.name is not None:
        raise InputError([Problem(f"give either {arguments.name!r} or --diff, not both")])
    if arguments.yaml:
        return _print_file(arguments)
    if arguments.diff is not None:
        left, right = (_load(name) for name in arguments.diff)
        return _show_difference(left, right, arguments.json)
    if arguments.name is not None:
        return _show_table(_load(arguments.name), arguments.json)
    tables = [_load(name) for name in cost_table_names()]
    if arguments.json:
        print(json.dumps({table.name: describe_table(table) for table in tables}))
        return 0
    from endive.cli.render_cost_tables import print_tables

    print_tables(tables)
    return 0


def _print_file(arguments: argparse.Namespace) -> int:
    from endive.errors import InputError, Problem

    if arguments.name is None or arguments.json or arguments.diff is not None:
        raise InputError([Problem("is about one table; give its NAME alone", "--yaml")])
    print(_load(arguments.name).text, end="")
    return 0


def _load(name: str) -> CostTable:
    from endive.cost_model import cost_table_names, load_cost_table, load_cost_table_file

    is_file = name.endswith((".yaml", ".yml")) and name not in cost_table_names()
    return load_cost_table_file(name) if is_file else load_cost_table(name)


def _show_table(table: CostTable, as_json: bool) -> int:
    if as_json:
        print(json.dumps(describe_table(table)))
        return 0
    from endive.cli.render_cost_tables import print_table

    print_table(table)
    return 0


def _show_difference(left: CostTable, right: CostTable, as_json: bool) -> int:
    if as_json:
        print(json.dumps(describe_difference(left, right)))
        return 0
    from endive.cli.render_cost_tables import print_difference

    print_difference(left, right)
    return 0


def describe_table(table: CostTable) -> dict[str, Any]:
    """A table as a JSON document."""
    return {
        "name": table.name,
        "version": table.version,
        "title": table.title,
        "summary": table.summary,
        "source": table.source,
        "settings": {
            name: {"is": value, "source": table.setting_sources[name]}
            for name, value in table.settings().items()
        },
        "operations": {
            name: {
                step: {"counts": counts_of(price), "source": price.source}
                for step, price in steps_of(prices).items()
            }
            | _merging_entry(prices)
            for name, prices in table.operations.items()
        },
    }


def _merging_entry(prices: OperationPrices) -> dict[str, Any]:
    if prices.min_count_to_merge is None:
        return {}
    return {"merging": {"min_count": prices.min_count_to_merge, "source": prices.merging_source}}


def steps_of(prices: OperationPrices, *, listed_only: bool = True) -> dict[str, Price]:
    """Everything an operation may pay, by step and class, with or without what its table leaves out."""
    steps = {"attempt": prices.attempt}
    # As in a retry: class by class, first what is validated, then what is built again.
    for conflict_class in prices.validate:
        for step, by_class in (("validate", prices.validate), ("rebuild", prices.rebuild)):
            if by_class[conflict_class].source or not listed_only:
                steps[f"{step}.{conflict_class}"] = by_class[conflict_class]
    if prices.merge_on_real_conflict is not None:
        steps["merge_on_real_conflict"] = prices.merge_on_real_conflict
    return steps


def counts_of(price: Price) -> dict[str, str | int]:
    """The counts of a price that are not nothing, as numbers where they are constant."""
    return {
        name: int(count.text) if count.text.isdecimal() else count.text
        for name, count in price.counts.items()
        if not count.is_zero
    }


def in_words(price: Price) -> str:
    """A price as a phrase: `1 list read, N file reads`."""
    phrases = []
    for name, count in counts_of(price).items():
        one, many = _WORDS[name]
        shown = f"({count})" if isinstance(count, str) and " " in count else count
        phrases.append(f"{shown} {one if count == 1 else many}")
    return ", ".join(phrases) or FREE


def setting_in_words(value: object) -> str:
    """A setting as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)


def describe_difference(left: CostTable, right: CostTable) -> dict[str, Any]:
    """What differs between two tables: settings, then operations step by step; both sides in words."""
    settings = _differing(
        {name: setting_in_words(value) for name, value in left.settings().items()},
        {name: setting_in_words(value) for name, value in right.settings().items()},
        "not set",
    )
    operations = {}
    for name, prices in left.operations.items():
        if name in right.operations:
            sides = _steps_in_words(prices), _steps_in_words(right.operations[name])
            if difference := _differing(*sides, FREE):
                operations[name] = difference
    return {
        "a": left.name,
        "b": right.name,
        "settings": settings,
        "operations": operations,
        "only_a": [name for name in left.operations if name not in right.operations],
        "only_b": [name for name in right.operations if name not in left.operations],
    }


def _steps_in_words(prices: OperationPrices) -> dict[str, str]:
    steps = {step: in_words(price) for step, price in steps_of(prices, listed_only=False).items()}
    least = prices.min_count_to_merge
    return steps | {"merging": FREE if least is None else f"from {least} manifests on"}


def _differing(
    left: Mapping[str, str], right: Mapping[str, str], absent: str
) -> dict[str, dict[str, str]]:
    pairs = {
        name: {"a": left.get(name, absent), "b": right.get(name, absent)}
        for name in dict.fromkeys((*left, *right))
    }
    return {name: pair for name, pair in pairs.items() if pair["a"] != pair["b"]}
