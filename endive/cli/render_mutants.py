"""The kill matrix for people: who noticed what, and everything that is not as it should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.mutants.matrix import Matrix
from endive.mutants.model import Mutant

_SHOWN = 20


def print_matrix(matrix: Matrix, place: str | None) -> None:
    """Show the matrix: code mutant by mutant, tables in numbers."""
    console = Console()
    code = [trial for trial in matrix.trials if not trial.id.startswith("table:")]
    if code:
        table = Table(title="Mutants of the code")
        # An id that is cut off cannot be typed after --only.
        table.add_column("mutant", no_wrap=False, overflow="fold")
        table.add_column("fate")
        table.add_column("killed by (expected first)")
        for trial in code:
            killers = sorted(trial.killed_by, key=lambda name: (name not in trial.expected, name))
            names = ", ".join(f"[bold]{n}[/]" if n in trial.expected else n for n in killers)
            fate = trial.fate if trial.is_as_it_should_be else f"[red]{trial.fate}[/]"
            table.add_row(trial.id, fate, names or "–")
        console.print(table)
    counted = Counter(
        (trial.id.split(":")[1], trial.fate)
        for trial in matrix.trials
        if trial.id.startswith("table:")
    )
    if counted:
        table = Table("cost table", "fate", "mutants", title="Mutants of the cost tables")
        for (name, fate), count in counted.items():
            table.add_row(name, fate, f"{count:,}")
        console.print(table)
    for trial in matrix.failures[:_SHOWN]:
        wanted = ", ".join(trial.expected) or "nobody"
        heard = ", ".join(trial.killed_by) or trial.error or "nobody"
        console.print(f"[red]{trial.fate}[/]: {escape(trial.id)}: {escape(trial.title)}")
        console.print(f"  to be noticed by {wanted}; noticed by {escape(heard)}", highlight=False)
        console.print(f"  replay: endive mutants --only '{escape(trial.id)}'", highlight=False)
    for name, cried in matrix.false_alarms[:_SHOWN]:
        console.print(f"[red]false alarm[/] in the run {name!r}:")
        for invariant, story in cried.items():
            console.print(f"  {invariant}: {escape(story)}", highlight=False)
    fates = Counter(trial.fate for trial in matrix.trials)
    summary = ", ".join(f"{count:,} {fate}" for fate, count in sorted(fates.items()))
    console.print(f"{len(matrix.trials):,} mutants: {summary}", highlight=False)
    if matrix.quiet:
        alarms = len(matrix.false_alarms)
        console.print(f"{len(matrix.quiet):,} runs without fault: {alarms} alarms", highlight=False)
    if place is not None:
        console.print(f"kill matrix: {place}", highlight=False)


def print_list(mutants: Sequence[Mutant]) -> None:
    """Show what there is, without running it."""
    table = Table("mutant", "fault", "source", "to be noticed by")
    for mutant in mutants:
        table.add_row(
            mutant.id, mutant.title, mutant.source, ", ".join(mutant.killed_by) or "nobody"
        )
    Console().print(table)
