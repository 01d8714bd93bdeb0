"""Scenarios for people: a line for each, then the failures as expected and seen, with their stories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.cli.words import duration
from endive.scenario.deciding import Finding
from endive.scenario.metrics import Metric
from endive.scenario.reporting import in_words, many
from endive.scenario.verifying import Report

_COLOURS = {Finding.PASS: "green", Finding.FAIL: "bold red", Finding.UNKNOWN: "yellow"}


def print_line(report: Report) -> None:
    """One scenario."""
    colour = _COLOURS[report.finding]
    counts = Counter(decision.finding for decision in report.decisions)
    judged = sum(1 for count in report.exercised.values() if count)
    Console(highlight=False, soft_wrap=True).print(
        f"[{colour}]{report.finding.value:<8}[/]{escape(report.scenario.name):<42} "
        f"[dim]{counts[Finding.PASS]} of {len(report.decisions)} as expected, "
        f"{many(judged, 'invariant')}, {many(report.runs, 'run')}[/]"
    )


def print_summary(reports: Sequence[Report], selected: int, elapsed_s: float) -> None:
    """What did not hold, and the totals."""
    console = Console(highlight=False, soft_wrap=True)
    for report in reports:
        wrong = [each for each in report.decisions if each.finding is not Finding.PASS]
        if wrong:
            console.print(
                f"\n[bold]{escape(report.scenario.file)}[/]: {escape(report.scenario.title)}"
            )
        for decision in wrong:
            first, *rest = in_words(report, decision)
            colour = _COLOURS[decision.finding]
            place = f"line {decision.line}: " if decision.line else ""
            console.print(f"  [{colour}]{decision.finding.value}[/] {place}{escape(first)}")
            for line in rest:
                console.print(f"    {escape(line)}")
    counts = Counter(report.finding for report in reports)
    runs, seeds = (
        sum(each.runs for each in reports),
        max((each.seeds for each in reports), default=0),
    )
    console.print(
        f"\n{selected} selected, {len(reports)} run: {counts[Finding.PASS]} pass, "
        f"{counts[Finding.FAIL]} fail, {counts[Finding.UNKNOWN]} unknown · "
        f"{many(runs, 'run')}, at most {many(seeds, 'seed')} · {duration(1000.0 * elapsed_s)}"
    )


def print_metrics(metrics: Iterable[Metric]) -> None:
    """What can be measured."""
    table = Table()
    for column in ("metric", "of", "what it is", "needs"):
        table.add_column(column, no_wrap=column == "metric")
    for each in metrics:
        table.add_row(each.name, each.level.value, each.statement, each.needs)
    Console().print(table)
