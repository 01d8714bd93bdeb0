"""A comparison for people: what differs, then row by row what that buys, and how far it can be trusted."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from endive.cli.words import NOTHING, number, percent
from endive.comparison import Comparison, Row

_FINDINGS = {
    "higher": "[bold]higher[/]",
    "lower": "[bold]lower[/]",
    "equal": "equal",
    "open": "[dim]not told apart[/]",
}


def print_comparison(found: Comparison, a: str, b: str) -> None:
    """Print everything."""
    console = Console(highlight=False)
    console.print(f"A  {a}", markup=False)
    console.print(f"B  {b}", markup=False)
    for key, (left, right) in found.changes.items():
        console.print(f"   {key}: {_shown(left)} → {_shown(right)}", markup=False)
    if not found.changes:
        console.print("   the same configuration; everything must be equal")
    table = Table(box=box.HORIZONTALS, pad_edge=False)
    for name in ("", "A", "B", "B − A"):
        table.add_column(name, justify="right" if name else "left")
    table.add_column("B is")
    heading = None
    for row in found.rows:
        operation = row.measure.selection.operation
        if operation != heading:
            heading = operation
            table.add_section()
            table.add_row(f"[bold]{operation or 'all operations'}[/]")
        table.add_row(*_cells(row))
    console.print(table)
    for line in _notes(found):
        console.print(line, markup=False)


def _cells(row: Row) -> tuple[str, ...]:
    is_share = row.measure.metric.high == 1.0
    show = percent if is_share else number
    return (
        row.measure.name.partition("@")[0],
        show(row.mean_a),
        show(row.mean_b),
        _difference(row, is_share=is_share),
        _FINDINGS[row.finding],
    )


def _difference(row: Row, *, is_share: bool) -> str:
    """The mean difference and how far it may be off: `+0.933 ± 0.477 pp`."""
    value = row.mean_difference
    if value is None:
        return NOTHING
    scale, unit = (100.0, " pp") if is_share else (1.0, "")
    sign = "+" if value > 0.0 else "−" if value < 0.0 else ""
    text = sign + number(scale * abs(value))
    if row.pairs >= 2:
        text += f" ± {number(scale * row.difference.half_width)}"
    return text + unit


def _gain(found: Comparison) -> float | None:
    """How many times as many runs it would have taken without pairing: the middle one of all rows."""
    gains = sorted(
        (row.unpaired_half_width / row.difference.half_width) ** 2
        for row in found.rows
        if row.pairs >= 2 and row.difference.half_width > 0.0
    )
    return gains[len(gains) // 2] if gains else None


def _notes(found: Comparison) -> list[str]:
    seeds = found.seeds
    lines = [
        f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}; the intervals hold together with {percent(found.confidence)} (Student's t of the "
        "differences, Bonferroni). Whole runs, warm-up included.",
    ]
    gain = _gain(found)
    if gain is not None:
        lines.append(
            f"Without pairing, intervals as narrow would have taken about {number(gain)} times as many runs."
        )
    if found.same_load < len(seeds):
        lines.append(
            f"Only {found.same_load} of {len(seeds)} pairs saw the same transactions: the change is to the load itself, so its luck differs too."
        )
    if found.biased_by_survival():
        lines.append(
            "Shares of success differ: latencies are those of what committed, which is not the same in both."
        )
    return lines


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)
