"""A study: experiments that belong together, and the aggregated tables about them (docs/ANALYSIS.md).

Experiments of one label are one study, as a sweep makes them. Those that are alone under their label are taken together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from endive.analysis.setups import LOAD, Setup, in_words, varied_axes
from endive.analysis.words import duration, listed, percent, whole_numbers
from endive.cost_model import OPERATIONS

if TYPE_CHECKING:
    import pandas as pd

ALL = "*"
OTHERS = "single experiments"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds with its 95 % interval; NaN where there is none."""

    mean: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is a mean."""
        return not math.isnan(self.mean)

    def clipped(self, least: float, most: float) -> Estimate:
        """The same with an interval within what is possible; without one, the mean alone."""
        low = self.mean if math.isnan(self.low) else max(least, self.low)
        high = self.mean if math.isnan(self.high) else min(most, self.high)
        return Estimate(self.mean, low, high)


NOTHING_KNOWN = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Series:
    """Experiments that differ in their load alone, the lightest first."""

    name: str
    values: Mapping[str, object]
    """The axes on which this series differs from the others, and its value on each."""
    setups: tuple[Setup, ...]


@dataclass(frozen=True)
class Study:
    """Experiments and the tables about them; the columns are those of `endive.pipeline`."""

    name: str
    setups: tuple[Setup, ...]
    runs: pd.DataFrame = field(repr=False)
    cells: pd.DataFrame = field(repr=False)
    timeline: pd.DataFrame = field(repr=False)
    histograms: pd.DataFrame = field(repr=False)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The axes on which the experiments differ."""
        return varied_axes(self.setups)

    @cached_property
    def is_by_clients(self) -> bool:
        """Whether what differs in the load is the number of clients rather than a rate."""
        loads = [setup.load for setup in self.setups]
        return len({one.per_s for one in loads}) == 1 and len({one.clients for one in loads}) > 1

    @cached_property
    def is_by_background(self) -> bool:
        """Whether what differs in the load is the background alone."""
        loads = [setup.load for setup in self.setups]
        return (
            len({(one.submitted_per_s, one.clients) for one in loads}) == 1
            and len({one.background_per_s for one in loads}) > 1
        )

    @property
    def load_words(self) -> str:
        """What the load is, for an axis."""
        if self.is_by_clients:
            return "clients"
        return "background commits [1/s]" if self.is_by_background else "offered load [1/s]"

    def load(self, setup: Setup) -> float:
        """The load of an experiment: a rate as configured, or clients."""
        if self.is_by_clients:
            return float(setup.load.clients)
        if self.is_by_background:
            return setup.load.background_per_s
        if setup.load.clients and not setup.load.per_s:
            # Nobody knows beforehand how often clients that wait come round.
            return self.metric(setup, "offered_per_s").mean
        return setup.load.per_s

    def load_in_words(self, setup: Setup) -> str:
        """The load of an experiment, for a legend."""
        value = f"{self.load(setup):.3g}"
        return f"{value} clients" if self.is_by_clients else f"{value}/s"

    def series(self, without: Sequence[str] = ()) -> tuple[Series, ...]:
        """The experiments by everything but their load, and but the axes that are left out."""
        axes = [axis for axis in self.axes if axis != LOAD and axis not in without]
        groups: dict[tuple[object, ...], list[Setup]] = defaultdict(list)
        for setup in self.setups:
            groups[tuple(setup.axes.get(axis) for axis in axes)].append(setup)
        found = [
            Series(
                ", ".join(in_words(axis, value) for axis, value in zip(axes, values, strict=True)),
                dict(zip(axes, values, strict=True)),
                tuple(sorted(members, key=self.load)),
            )
            for values, members in groups.items()
        ]
        return tuple(sorted(found, key=lambda one: [_rank(value) for value in one.values.values()]))

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
        keys = ["experiment", "class_name", "operation_type"]
        rows: list[dict[Any, Any]] = self.cells.to_dict("records")
        return {(row[keys[0]], row[keys[1]], row[keys[2]]): row for row in rows}

    def metric(
        self, setup: Setup, name: str, class_name: str = ALL, operation: str = ALL
    ) -> Estimate:
        """A metric of one experiment, mean over seeds."""
        row = self._cells.get((setup.name, class_name, operation))
        if row is None:
            return NOTHING_KNOWN
        mean, low, high = (_float(row.get(f"{name}{end}")) for end in ("", "_low", "_high"))
        return Estimate(mean, low, high)

    @cached_property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Every class and operation that something was submitted of."""
        found = {
            (class_name, operation)
            for _, class_name, operation in self._cells
            if ALL not in (class_name, operation)
        }
        return tuple(sorted(found, key=lambda kind: (kind[0], _place(kind[1]))))

    def kind_in_words(self, kind: tuple[str, str]) -> str:
        """A class and an operation, or the operation alone where there is but one class."""
        class_name, operation = kind
        words = operation.replace("_", " ")
        return words if len({c for c, _ in self.kinds}) == 1 else f"{words} ({class_name})"

    def totals(self, setups: Sequence[Setup]) -> pd.DataFrame:
        """The runs of some experiments, over all classes and operations."""
        names = {setup.name for setup in setups}
        runs = self.runs
        chosen = (runs["class_name"] == ALL) & (runs["operation_type"] == ALL)
        return runs[chosen & runs["experiment"].isin(names)]

    def runs_of(self, setup: Setup, class_name: str = ALL, operation: str = ALL) -> pd.DataFrame:
        """The runs of one experiment, for one class and operation."""
        runs = self.runs
        return runs[
            (runs["experiment"] == setup.name)
            & (runs["class_name"] == class_name)
            & (runs["operation_type"] == operation)
        ]

    def basis(self, setups: Sequence[Setup]) -> str:
        """What a plot of these experiments rests on: window, seeds, catalog model, censored share."""
        runs = self.totals(setups)
        if runs.empty:
            return "No run."
        models = list(dict.fromkeys(setup.catalog_model for setup in setups))
        seeds = whole_numbers([int(seed) for seed in runs["seed"].unique()])
        offered, cut = float(runs["offered"].sum()), float(runs["in_flight"].sum())
        censored = percent(cut / offered) if offered else "–"
        least, most = runs["warmup_ms"].min(), runs["warmup_ms"].max()
        warmup = duration(least) if least == most else f"{duration(least)} to {duration(most)}"
        ends = sorted(set(runs["window_end_ms"]))
        end = (
            duration(ends[0]) if len(ends) == 1 else f"{duration(ends[0])} to {duration(ends[-1])}"
        )
        unsettled = int((~runs["steady"]).sum())
        doubt = (
            f" No steady state found in {unsettled} of {len(runs)} runs, which count as a whole."
            if unsettled
            else ""
        )
        return (
            f"Submitted from the end of the warm-up ({warmup}) to the end of the run ({end}). "
            f"Seeds {seeds}. Catalog model: {listed(models)}. "
            f"Still in flight at the end, counted as neither success nor failure: {censored}.{doubt}"
        )


def studies(
    setups: Sequence[Setup],
    *,
    runs: pd.DataFrame,
    cells: pd.DataFrame,
    timeline: pd.DataFrame,
    histograms: pd.DataFrame,
) -> tuple[Study, ...]:
    """The studies of a tree."""
    by_label: dict[str, list[Setup]] = defaultdict(list)
    for setup in setups:
        by_label[setup.label].append(setup)
    groups = {label: members for label, members in by_label.items() if len(members) > 1}
    alone = [setup for setup in setups if len(by_label[setup.label]) == 1]
    if alone:
        name = alone[0].label if len(alone) == 1 else OTHERS
        groups[name if name not in groups else f"{name} (others)"] = alone
    return tuple(_study(name, groups[name], runs, cells, timeline, histograms) for name in groups)


def _study(name: str, setups: Sequence[Setup], *tables: pd.DataFrame) -> Study:
    names = {setup.name for setup in setups}
    ordered = tuple(sorted(setups, key=lambda setup: setup.name))
    return Study(name, ordered, *(table[table["experiment"].isin(names)] for table in tables))


def spread(setups: Sequence[Setup], most: int) -> Iterator[Setup]:
    """So many of the experiments at most, evenly spread, the first and the last among them."""
    if len(setups) <= most:
        yield from setups
        return
    places = {round(step * (len(setups) - 1) / (most - 1)) for step in range(most)}
    yield from (setups[place] for place in sorted(places))


def _rank(value: object) -> tuple[int, float, str]:
    """An order for values of any kind: nothing, numbers, words."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 2, 0.0, str(value)


def _place(operation: str) -> tuple[int, str]:
    return (OPERATIONS.index(operation) if operation in OPERATIONS else len(OPERATIONS), operation)


def _float(value: Any) -> float:
    """A number of a table; NaN for what is missing, in whatever way."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
