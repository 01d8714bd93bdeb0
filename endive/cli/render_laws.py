"""Laws for people: what each says, what runs show, and everything that does not agree."""

from __future__ import annotations

import math
from collections import Counter

from rich.console import Console
from rich.table import Table

from endive.inference import Interval
from endive.laws.model import ERROR, Row, Verdict
from endive.laws.runner import Report

_COLOURS = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow"}


def print_report(report: Report) -> None:
    """Show all rows, then what is wrong with any of them."""
    console = Console()
    table = Table(title="Laws", box=None, padding=(0, 1, 0, 0))
    table.add_column("law")
    table.add_column("point", min_width=14)
    for name in ("analytic", "simulated", "interval", "seeds", "off"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in report.rows:
        colour = _COLOURS.get(row.verdict, "dim")
        table.add_row(
            row.law,
            row.point,
            figure(row.analytic),
            figure(row.simulated),
            interval_words(row.interval),
            str(row.seeds),
            f"{row.deviation:+.1%}",
            f"[{colour}]{row.verdict}[/]",
        )
    console.print(table, highlight=False)
    for row in (*report.failed, *report.undecided):
        console.print(f"{row.verdict}: {_story(row, report.seed)}", highlight=False, markup=False)
    counted = Counter(row.verdict for row in report.rows)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items()))
    console.print(f"{len(report.rows)} rows, seed {report.seed}: {summary}", highlight=False)


def figure(value: float) -> str:
    """Four digits that count."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.4g}"


def interval_words(interval: Interval) -> str:
    """The bounds, or that there is nothing between them."""
    if interval.low > interval.high:
        return "none fits"
    return f"{figure(interval.low)}–{figure(interval.high)}"


def _story(row: Row, seed: int) -> str:
    said = f"{row.law}, {row.point}: the law says {figure(row.analytic)}, {row.seeds} seeds say {interval_words(row.interval)}"
    if row.verdict is Verdict.UNDECIDED:
        said += f"; that is too wide to notice an error of {ERROR:.0%}"
    return f"{said}. Replay: endive laws --only {row.law} --seed {seed}"
