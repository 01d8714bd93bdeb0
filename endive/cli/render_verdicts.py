"""Verdicts and invariants as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.judge.model import Invariant, Kind, Outcome, Verdict

if TYPE_CHECKING:
    from endive.cli.invariants import Coverage

_COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.ERROR: "bold yellow",
    Outcome.UNKNOWN: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
}
_MAX_STORIES = 5


def print_verdicts(path: str, seed: int, verdicts: Sequence[Verdict]) -> None:
    """One trace: a line for each invariant, then the stories of what is violated."""
    console = Console()
    table = Table(title=f"{escape(str(path))} (seed {seed})", title_justify="left")
    table.add_column("clause", no_wrap=True)
    table.add_column("invariant", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("exercised", justify="right")
    for verdict in verdicts:
        colour = _COLOURS[verdict.outcome]
        table.add_row(
            verdict.invariant.clause,
            verdict.invariant.id,
            f"[{colour}]{verdict.outcome.value}[/]",
            f"{verdict.exercised:,}" if verdict.exercised else "",
        )
    console.print(table)
    for verdict in verdicts:
        if verdict.outcome is Outcome.ERROR:
            console.print(f"[bold yellow]{verdict.invariant.id}[/]: {escape(verdict.detail)}")
        for violation in verdict.violations[:_MAX_STORIES]:
            console.print(f"[bold red]{verdict.invariant.id}[/]: {escape(violation.story)}")
        if len(verdict.violations) > _MAX_STORIES:
            console.print(f"  and {len(verdict.violations) - _MAX_STORIES} more or above")
    found = Counter(verdict.outcome for verdict in verdicts)
    console.print(", ".join(f"{found[each]} {each.value}" for each in Outcome if found[each]))


def print_corpus(judged: Sequence[Sequence[Verdict]], together: Sequence[Verdict]) -> None:
    """Many traces: a line for each invariant with what was said how often, and what that amounts to."""
    console = Console()
    table = Table(title=f"{len(judged):,} traces together", title_justify="left")
    for column in ("clause", "invariant", "together"):
        table.add_column(column, no_wrap=True)
    for outcome in Outcome:
        table.add_column(outcome.value.replace("not applicable", "n/a"), justify="right")
    table.add_column("exercised", justify="right")
    said = Counter((verdict.invariant.id, verdict.outcome) for each in judged for verdict in each)
    for verdict in together:
        colour = _COLOURS[verdict.outcome]
        counts = (said[verdict.invariant.id, outcome] for outcome in Outcome)
        table.add_row(
            verdict.invariant.clause,
            verdict.invariant.id,
            f"[{colour}]{verdict.outcome.value}[/]",
            *(f"{count:,}" if count else "" for count in counts),
            f"{verdict.exercised:,}" if verdict.exercised else "",
        )
    console.print(table)
    for verdict in together:
        # What is violated in a run has been told with that run.
        if verdict.outcome is Outcome.FAIL and verdict.invariant.kind is Kind.SOMETIMES:
            console.print(
                f"[bold red]{verdict.invariant.id}[/]: {escape(verdict.violations[0].story)}"
            )


def print_invariants(invariants: Sequence[Invariant]) -> None:
    """All invariants in a table."""
    table = Table()
    for column in ("clause", "invariant", "scope", "kind"):
        table.add_column(column, no_wrap=True)
    table.add_column("statement")
    for each in invariants:
        table.add_row(each.clause, each.id, each.scope.value, each.kind.value, each.statement)
    Console().print(table)


def print_matrix(coverage: Sequence[Coverage], gaps: Sequence[str]) -> None:
    """How much stands behind each invariant, and what is missing; the names are in the JSON form."""
    console, table = Console(), Table()
    for column in ("clause", "invariant", "kind"):
        table.add_column(column, no_wrap=True)
    for column in ("property tests", "scenarios", "mutants"):
        table.add_column(column, justify="right")
    for each in coverage:
        table.add_row(
            each.invariant.clause,
            each.invariant.id,
            each.invariant.kind.value,
            str(len(each.tests) or ""),
            str(len(each.scenarios) or ""),
            str(len(each.mutants) or ""),
        )
    console.print(table)
    for gap in gaps:
        console.print(f"[bold red]gap[/]: {escape(gap)}")
    if not gaps:
        console.print("no gap")
