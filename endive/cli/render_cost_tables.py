"""Cost tables as a person reads them: all in a list, one with its sources, or two side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.cli.cost_tables import (
    describe_difference,
    in_words,
    setting_in_words,
    steps_of,
)
from endive.cost_model import CostTable

_STEPS = {
    "attempt": "attempt 0",
    "merge_on_real_conflict": "real conflict, merged",
    "merging": "threshold merging",
}
_CLASSES = {
    "cross_table": "other table",
    "read_set": "table only read",
    "disjoint_partitions": "other partitions",
    "overlap": "overlap",
}
_LEGEND = (
    "N snapshots behind, R of them replaced data, K manifests to merge again,\n"
    "T manifests of the table, C manifests in real conflict. Counts are per written\n"
    "table; list = manifest list, file = manifest file. What is not shown is free."
)


def print_tables(tables: Sequence[CostTable]) -> None:
    """The shipped tables: what they are and what they price."""
    console = Console(highlight=False)
    for table in tables:
        console.print(f"[bold]{escape(table.name)}[/bold] · {escape(table.title)}", soft_wrap=True)
        grid = _grid()
        grid.add_row("  says", escape(table.summary))
        grid.add_row("  source", escape(table.source))
        grid.add_row("  operations", ", ".join(table.operations))
        console.print(grid)
        console.print()
    console.print("endive cost-tables NAME shows every price with its source;")
    console.print("endive cost-tables --diff A B what sets two tables apart.")


def print_table(table: CostTable) -> None:
    """One table: settings, prices by operation, and the numbered sources of all of them."""
    console = Console(highlight=False)
    sources = _Sources()
    console.print(
        f"[bold]{escape(table.name)}[/bold] · {escape(table.title)} · version {table.version}",
        soft_wrap=True,
    )
    console.print(escape(table.summary), end="\n\n")
    settings = _table("setting", "is", "source")
    for name, value in table.settings().items():
        number = sources.number(table.setting_sources[name])
        settings.add_row(name.replace("_", " "), setting_in_words(value), number)
    console.print(settings)
    for name, prices in table.operations.items():
        grid = _table(name, "costs", "source")
        for step, price in steps_of(prices).items():
            grid.add_row(_step_in_words(step), in_words(price), sources.number(price.source))
        if prices.min_count_to_merge is not None:
            least = f"from {prices.min_count_to_merge} manifests on: T + 1 file reads, 1 file write"
            grid.add_row(_STEPS["merging"], least, sources.number(prices.merging_source))
        console.print(grid)
    console.print(_LEGEND, end="\n\n")
    console.print("[bold]Sources[/bold]")
    for position, source in enumerate(sources.texts, start=1):
        console.print(f"  {position:>2}  {escape(source)}", soft_wrap=True)


def print_difference(left: CostTable, right: CostTable) -> None:
    """Two tables side by side, only where they differ."""
    console = Console(highlight=False)
    difference = describe_difference(left, right)
    only = difference["only_a"], difference["only_b"]
    sections = {"settings": difference["settings"]} | difference["operations"]
    if not any(sections.values()) and not any(only):
        console.print(f"{escape(left.name)} and {escape(right.name)} cost the same.")
        return
    for heading, rows in sections.items():
        if not rows:
            continue
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        grid.add_column(heading, no_wrap=True)
        for name in (left.name, right.name):
            grid.add_column(escape(name), overflow="fold")
        for step, pair in rows.items():
            words = step.replace("_", " ") if heading == "settings" else _step_in_words(step)
            grid.add_row(words, escape(pair["a"]), escape(pair["b"]))
        console.print(grid)
    for table, operations in zip((left, right), only, strict=True):
        if operations:
            console.print(f"Only {escape(table.name)} prices {', '.join(operations)}.")
    console.print(_LEGEND)


class _Sources:
    """Gives every source a number, the same one whenever it is cited again."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, source: str) -> str:
        if source not in self.texts:
            self.texts.append(source)
        return f"({self.texts.index(source) + 1})"


def _step_in_words(step: str) -> str:
    kind, _, conflict_class = step.partition(".")
    if not conflict_class:
        return _STEPS[kind]
    return f"{_CLASSES[conflict_class]}: {kind}"


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    first, *others, last = headings
    # One width for all tables of a page, so that their columns line up.
    table.add_column(first, no_wrap=True, min_width=28)
    for heading in others:
        table.add_column(heading, min_width=40)
    table.add_column(last, justify="right", no_wrap=True)
    return table


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    return grid
