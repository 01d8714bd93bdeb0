"""What a sweep is, once it has been read and found sound: cells, each a configuration, and the seeds that all of them run with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.config import ResolvedConfig
from endive.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that varies: a key with its values, or several keys in named cases."""

    name: str
    """The dotted key or, of cases, the name of the axis."""
    values: tuple[Any, ...]
    """The values or, of cases, their names."""
    keys: tuple[str, ...]
    """The keys that it sets or removes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of values."""

    settings: Mapping[str, Any]
    """By axis: the value or, of cases, the name of the case."""
    config: ResolvedConfig
    config_hash: str

    @property
    def name(self) -> str:
        """The combination in one line; empty where nothing varies."""
        return named(self.settings)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Cells × seeds."""

    label: str
    file: str
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    records_attempts: bool = True
    records_trace: bool = False

    @property
    def num_runs(self) -> int:
        """How many runs there are."""
        return len(self.cells) * len(self.seeds)

    def directory(self, cell: Cell) -> str:
        """The name of a cell's directory (§7.3)."""
        return f"{self.label}-{cell.config_hash}"

    def experiment(self, cell: Cell, out: Path, version: str) -> Experiment:
        """A cell as an experiment whose results land below `out`."""
        return Experiment(
            cell.config,
            cell.config_hash,
            version,
            self.seeds,
            out / self.directory(cell),
            self.records_attempts,
            self.records_trace,
        )


def named(settings: Mapping[str, Any]) -> str:
    """A combination of values in one line."""
    return ", ".join(f"{axis} = {written(value)}" for axis, value in settings.items())


def written(value: Any) -> str:
    """A value as a person would write it into the file."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name} = {written(each)}" for name, each in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)
