"""From the base and what is laid over it to one configuration per cell, and from a problem in it back to the line that made it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from endive.config import (
    ResolvedConfig,
    build_simulation_config,
    compute_experiment_hash,
    resolve_config,
)
from endive.config.overrides import Base, OverrideError, lay, locate, origin_of, path_of
from endive.config.toml_lines import KeyPath, line_of
from endive.errors import InputError, Problem
from endive.sweep.model import Axis, Cell, named
from endive.sweep.written import Setting

_MOST_CELLS = 10_000
_MOST_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class Variation:
    """An axis, and what each of its values lays over the base."""

    axis: Axis
    layers: tuple[tuple[Setting, ...], ...]
    path: KeyPath

    @classmethod
    def of_key(cls, setting: Setting) -> Variation:
        """One key of the grid."""
        layers = tuple((replace(setting, value=value),) for value in setting.value)
        axis = Axis(setting.key, tuple(setting.value), (setting.key,))
        return cls(axis, layers, setting.path)

    @classmethod
    def of_cases(cls, name: str, layers: Mapping[str, tuple[Setting, ...]]) -> Variation:
        """Keys that vary together."""
        keys = dict.fromkeys(setting.key for layer in layers.values() for setting in layer)
        axis = Axis(name, tuple(layers), tuple(keys))
        return cls(axis, tuple(layers.values()), ("cases", name))

    def written(self) -> tuple[Setting, ...]:
        """Every setting as it stands in the file, once."""
        return tuple({setting.path: setting for layer in self.layers for setting in layer}.values())


class Composer:
    """Makes the cells, and gathers what is wrong with them: the same mistake once, with a cell that shows it."""

    def __init__(
        self,
        file: str,
        lines: Mapping[KeyPath, int],
        base: Base,
        fixed: tuple[Setting, ...],
        variations: tuple[Variation, ...],
    ) -> None:
        self._file = file
        self._lines = lines
        self._base = base
        self._fixed = fixed
        self._variations = variations
        self._told: dict[Problem, list[str]] = {}

    def cells(self, label: str, seeds: Sequence[int]) -> tuple[Cell, ...]:
        """All cells in the order of the file, the last axis varying fastest; raises InputError with all problems."""
        count = math.prod(len(each.layers) for each in self._variations)
        if count > _MOST_CELLS:
            message = f"the axes make {count} cells; {_MOST_CELLS} are the most, split the sweep"
            raise InputError([Problem(message, file=self._file)])
        if count * len(seeds) > _MOST_RUNS:
            message = f"{count} cells × {len(seeds)} seeds are {count * len(seeds)} runs"
            advice = f"{_MOST_RUNS} are the most, split the sweep"
            raise InputError([Problem(f"{message}; {advice}", file=self._file)])
        cells = []
        for chosen in itertools.product(
            *(range(len(variation.layers)) for variation in self._variations)
        ):
            settings = {
                each.axis.name: each.axis.values[index]
                for each, index in zip(self._variations, chosen, strict=True)
            }
            layers = [
                each.layers[index] for each, index in zip(self._variations, chosen, strict=True)
            ]
            config = self._configuration(label, seeds[0], settings, layers)
            if config is not None:
                cells.append(Cell(settings, config, compute_experiment_hash(config)))
        self._check_twins(cells)
        self._raise_if_any(count)
        return tuple(cells)

    def _configuration(
        self,
        label: str,
        seed: int,
        settings: Mapping[str, Any],
        layers: list[tuple[Setting, ...]],
    ) -> ResolvedConfig | None:
        """The configuration of one cell, or None where something is wrong with it."""
        values = copy.deepcopy(self._base.values)
        name = named(settings)
        sound = True
        laid = [*self._fixed, *itertools.chain.from_iterable(layers)]
        for setting in laid:
            try:
                if setting.value is None and not _is_there(values, setting.key):
                    raise OverrideError("there is nothing to remove; check the key")
                lay(values, setting.key, setting.value)
            except OverrideError as error:
                sound = False
                self._tell(setting.path, setting.key, str(error), name)
        if not sound:
            return None
        experiment = values.setdefault("experiment", {})
        if isinstance(experiment, dict):
            experiment["label"] = label
        try:
            config = resolve_config(values, file=self._file)
            # Parts that refuse to work together say so here, before anything runs.
            build_simulation_config(config, seed)
        except InputError as error:
            origins = {
                locate(values, each.key): each.path for each in laid if each.value is not None
            }
            for problem in error.problems:
                self._told.setdefault(self._moved(problem, origins), []).append(name)
            return None
        return config

    def _tell(self, path: KeyPath, key: str, message: str, name: str) -> None:
        problem = Problem(message, key, self._file, line_of(self._lines, path))
        self._told.setdefault(problem, []).append(name)

    def _moved(self, problem: Problem, origins: Mapping[KeyPath, KeyPath]) -> Problem:
        """The same problem, at the line where the setting stands: of this file or of the base."""
        if problem.file != self._file:
            return problem
        path = path_of(problem.key)
        found = origin_of(path, origins)
        if found is not None:
            return replace(problem, line=line_of(self._lines, found[0]))
        return replace(problem, file=self._base.file, line=line_of(self._base.lines, path))

    def _check_twins(self, cells: list[Cell]) -> None:
        """Two cells in one directory would take each other's results for their own."""
        first: dict[str, Cell] = {}
        for cell in cells:
            other = first.setdefault(cell.config_hash, cell)
            if other is cell:
                continue
            same = other.config.values == cell.config.values
            message = f"the cells {named(other.settings)} and {named(cell.settings)} " + (
                "are the same experiment; remove one of the values"
                if same
                else f"both have the hash {cell.config_hash} by chance; change one of them a little, "
                "like its duration by a millisecond"
            )
            self._told.setdefault(Problem(message, file=self._file), [])

    def _raise_if_any(self, count: int) -> None:
        problems = []
        for problem, names in self._told.items():
            if len(names) in (0, count):
                # Of every cell alike, so it is not the combination that matters.
                problems.append(problem)
                continue
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            where = f"(in the cell {names[0]}{more})"
            problems.append(replace(problem, message=f"{problem.message} {where}"))
        if problems:
            ours = sorted(problems, key=lambda problem: (problem.file != self._file, problem.line))
            raise InputError(ours)


def _is_there(values: Mapping[str, Any], key: str) -> bool:
    here: Any = values
    for part in locate(values, key):
        if isinstance(part, str) and not (isinstance(here, Mapping) and part in here):
            return False
        here = here[part]
    return True
