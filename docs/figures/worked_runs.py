"""What the worked questions share: the shipped examples, runs of them, shares with intervals, tables."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, Statistics

ROOT = Path(__file__).resolve().parents[2]

Document = dict[str, Any]


def example(name: str) -> Document:
    """One of the shipped configurations."""
    with (ROOT / "examples" / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def run(document: Document, seed: int) -> tuple[Statistics, pd.DataFrame]:
    """One run, with its attempts."""
    config = build_simulation_config(resolve_config(document), seed)
    statistics = Simulation(replace(config, records_attempts=True)).run()
    assert statistics.attempts is not None
    return statistics, statistics.attempts.to_dataframe()


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share; sound at 0 and 1, where the textbook one has no width."""
    z2 = 1.96**2
    share = successes / trials
    middle = share + z2 / (2 * trials)
    half = 1.96 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, (middle - half) / (1 + z2 / trials)), (middle + half) / (1 + z2 / trials)


def percent(successes: int, trials: int) -> str:
    """A share with its interval."""
    low, high = wilson(successes, trials)
    return f"{successes / trials:.0%} ({low:.0%}–{high:.0%})"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table."""
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
