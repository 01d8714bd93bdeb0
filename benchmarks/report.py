"""The rows as people read them, and as programs do."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import endive
from benchmarks.measure import Options
from benchmarks.verdict import Row, exit_code

_COLORS = {"held": "green", "missed": "bold red", "not judged": "dim"}
# Where no terminal sets a width, nothing should wrap.
_WIDTH_WITHOUT_TERMINAL = 150
# Below this the figures would squeeze all else; --json has them too.
_WIDTH_WITH_FIGURES = 120


def as_json(rows: Sequence[Row], options: Options) -> str:
    """Everything measured, as one JSON object."""
    document: dict[str, Any] = {
        "endive": endive.__version__,
        "python": platform.python_version(),
        "repeat": options.repeat,
        "quick": options.quick,
        "all_held": exit_code(rows) == 0,
        "rows": [row.as_dict() for row in rows],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def print_table(rows: Sequence[Row], options: Options) -> None:
    """One line per row: what was measured, its target, the verdict, what it was computed from."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("benchmark", no_wrap=True)
    table.add_column("measure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("target", justify="right")
    table.add_column("verdict", no_wrap=True)
    has_figures = console.width >= _WIDTH_WITH_FIGURES
    if has_figures:
        table.add_column("from", style="dim")
    for row in rows:
        color = _COLORS[row.verdict]
        table.add_row(
            row.benchmark,
            row.measure,
            f"{_digits(row.value)} {row.unit}",
            _target(row),
            f"[{color}]{row.verdict}[/{color}]",
            *([_figures(row.figures)] if has_figures else []),
        )
    console.print(table)
    console.print(f"\n{_closing(rows, options)}")


def _target(row: Row) -> str:
    text = f"{row.target.sense} {_digits(row.target.bound)}"
    return text if row.target.aim is None else f"{text} (aim {_digits(row.target.aim)})"


def _figures(figures: Mapping[str, float]) -> str:
    parts = []
    for key, value in figures.items():
        name, _, unit = key.rpartition("_")
        parts.append(f"{name} {_digits(value)} {'MiB' if unit == 'mib' else unit}")
    return ", ".join(parts)


def _closing(rows: Sequence[Row], options: Options) -> str:
    turns = "one turn" if options.repeat == 1 else f"best of {options.repeat} turns"
    missed = sum(row.verdict == "missed" for row in rows)
    judged = sum(row.verdict != "not judged" for row in rows)
    words = (
        f"{missed} of {judged} targets missed" if missed else f"{judged} of {judged} targets held"
    )
    if judged < len(rows):
        words += f"; {len(rows) - judged} not judged, because targets are set for the full size"
    return f"{words} (CPU time, {turns}, Python {platform.python_version()})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"
