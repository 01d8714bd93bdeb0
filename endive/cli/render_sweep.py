"""What `endive sweep` tells a person: each cell with its settings, how its runs fared, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.cli.words import count, number, percent
from endive.sweep import Axis, RunOutcome, SweepResult
from endive.sweep.model import written

_MOST_ROWS = 50


def print_sweep(result: SweepResult) -> None:
    """A line per cell, then where everything is."""
    sweep, console = result.sweep, Console(highlight=False)
    names = short_names(sweep.axes)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("cell", no_wrap=True)
    for name in names:
        table.add_column(escape(name))
    for name in ("runs", "commits/s", "success"):
        table.add_column(name, justify="right", no_wrap=True)
    for at, cell in enumerate(sweep.cells[:_MOST_ROWS]):
        outcomes = result.of_cell(at)
        values = [
            escape(value if isinstance(value, str) else written(value))
            for value in cell.settings.values()
        ]
        table.add_row(cell.config_hash, *values, *_figures(outcomes))
    console.print(table)
    if len(sweep.cells) > _MOST_ROWS:
        console.print(f"and {len(sweep.cells) - _MOST_ROWS} more cells; --json tells them all")
    skipped = (
        f", {count(result.num_skipped)} of them finished earlier" if result.num_skipped else ""
    )
    failed = f", [bold red]{count(len(result.failures))} failed[/]" if result.failures else ""
    console.print(
        f"{_several(len(sweep.cells), 'cell')} × {_several(len(sweep.seeds), 'seed')} = "
        f"{_several(sweep.num_runs, 'run')}{skipped}{failed}",
        soft_wrap=True,
    )
    console.print(
        f"results  {escape(f'{result.out}/{sweep.label}-<cell>/<seed>/')}", soft_wrap=True
    )
    console.print(f"index    {escape(str(result.index))}", soft_wrap=True)


def short_names(axes: Sequence[Axis]) -> list[str]:
    """The name of each axis by its last parts: as many as it takes to tell it from the others."""
    parts = [axis.name.split(".") for axis in axes]
    names = []
    for own in parts:
        length = 1
        while length < len(own) and sum(other[-length:] == own[-length:] for other in parts) > 1:
            length += 1
        names.append(".".join(own[-length:]))
    return names


def _figures(outcomes: Sequence[RunOutcome]) -> tuple[str, str, str]:
    """Runs that are there, and the means over them."""
    there = [outcome for outcome in outcomes if outcome.digest is not None]
    rates = [outcome.success_rate for outcome in there if outcome.success_rate is not None]
    runs = str(len(there))
    if len(there) < len(outcomes):
        runs = f"[bold red]{runs} of {len(outcomes)}[/]"
    commits_per_s = mean(outcome.commits_per_s for outcome in there) if there else None
    return runs, number(commits_per_s), percent(mean(rates) if rates else None)


def _several(value: int, what: str) -> str:
    return f"{count(value)} {what}{'' if value == 1 else 's'}"
