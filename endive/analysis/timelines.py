"""Commits per second over time: whether a run has settled, and what it does when it is overloaded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endive.analysis.answers import (
    MOST_PANELS,
    Answer,
    LeftOut,
    Line,
    finish,
    grid,
    subplots,
)
from endive.analysis.setups import Setup
from endive.analysis.study import ALL, Estimate, Series, Study, spread
from endive.analysis.words import number
from endive.inference import mean_interval
from endive.plots import DASHES, Look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MOST_LOADS = 5
_MOST_BINS = 30
# Two in a bin.
_FEWEST_COMMITS = 2 * _MOST_BINS


def commit_rate(study: Study) -> Answer | LeftOut:
    """Does the commit rate settle, and where?"""
    id, question = "commit-rate", "How does the commit rate develop over time?"
    if study.timeline.empty:
        return LeftOut(
            id,
            question,
            "The runs are shorter than one bin of the timeline: raise simulation.duration_ms.",
        )
    commits = study.totals(study.setups)["committed"]
    most = int(commits.max()) if len(commits) else 0
    if most < _FEWEST_COMMITS:
        return LeftOut(
            id,
            question,
            f"No run has more than {most} commits, too few for a rate: raise simulation.duration_ms or the load.",
        )
    series = study.series()
    drawn = series[:MOST_PANELS]
    lines = {
        one.name: [(s, _line(study, s)) for s in spread(one.setups, _MOST_LOADS)] for one in drawn
    }
    basis = study.basis([s for one in drawn for s, _ in lines[one.name]])

    unit, unit_s = _unit(study)

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [one.name for one in drawn])
        for axes, one in zip(every, drawn, strict=True):
            for place, (setup, line) in enumerate(lines[one.name]):
                points = line.known()
                axes.plot(
                    [x / unit_s for x, _ in points],
                    [y.mean for _, y in points],
                    color=look.colours[place],
                    linestyle=DASHES[place],
                    marker="",
                    label=line.name,
                )
                warmup_s = _warmup_s(study, setup)
                axes.axvline(warmup_s / unit_s, ymax=0.03, color=look.colours[place], linewidth=2.2)
            axes.set_ylim(bottom=0.0)
            axes.set_xlim(left=0.0)
            axes.set_xlabel(f"simulated time [{unit}]")
            axes.set_ylabel("committed [1/s]")
        note = "Mean over seeds. Short marks on the axis: the end of the warm-up, by load."
        if any(len(one.setups) > _MOST_LOADS for one in drawn) or len(series) > len(drawn):
            note += " Some loads are left out here; the table has them all."
        finish(figure, look, every, question, basis, note)

    head = (
        "experiments",
        study.load_words,
        "middle of the bin [s]",
        "committed [1/s]",
        "95 %",
        "aborted [1/s]",
    )
    return Answer(
        id,
        question,
        "The mean over seeds in bins of simulated time. A curve that still rises or falls at the end has not settled, and its averages are "
        "those of a transition.",
        paint,
        grid(len(drawn)),
        head,
        tuple(row for one in series for setup in one.setups for row in _rows(study, one, setup)),
        study.basis(study.setups),
    )


def _unit(study: Study) -> tuple[str, float]:
    """The unit that suits the runs, and its length in seconds."""
    end_s = float(study.totals(study.setups)["window_end_ms"].max()) / 1000.0
    return next(
        (name, size)
        for name, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0))
        if end_s >= 5 * size or size == 1.0
    )


def _bins(study: Study, setup: Setup, name: str) -> list[tuple[float, Estimate]]:
    """Rates in bins that are coarse enough: the middle of each in seconds, and the mean over seeds."""
    rows = _total(study, setup)
    if rows.empty:
        return []
    bin_ms = float(rows["bin_ms"].iloc[0])
    end_ms = float(study.totals([setup])["window_end_ms"].min())
    width_ms = bin_ms * max(1, math.ceil(end_ms / bin_ms / _MOST_BINS))
    # A last bin that is not whole would seem to be a fall.
    whole = int(end_ms / width_ms + 1e-9)
    counts: dict[int, list[float]] = {}
    seeds = sorted(rows["seed"].unique())
    per_seed = {seed: [0.0] * whole for seed in seeds}
    for seed, start_ms, count in zip(rows["seed"], rows["bin_start_ms"], rows[name], strict=True):
        place = int(float(start_ms) / width_ms + 1e-9)
        if place < whole:
            per_seed[seed][place] += float(count)
    for values in per_seed.values():
        for place, value in enumerate(values):
            counts.setdefault(place, []).append(value * 1000.0 / width_ms)
    return [
        ((place + 0.5) * width_ms / 1000.0, _estimate(values)) for place, values in counts.items()
    ]


def _total(study: Study, setup: Setup) -> pd.DataFrame:
    rows = study.timeline[study.timeline["experiment"] == setup.name]
    return rows[(rows["class_name"] == ALL) & (rows["operation_type"] == ALL)]


def _estimate(values: list[float]) -> Estimate:
    mean = math.fsum(values) / len(values)
    interval = mean_interval(values, 0.95)
    if math.isinf(interval.low):
        return Estimate(mean, math.nan, math.nan)
    return Estimate(mean, interval.low, interval.high)


def _line(study: Study, setup: Setup) -> Line:
    return Line(study.load_in_words(setup), tuple(_bins(study, setup, "committed")))


def _rows(study: Study, one: Series, setup: Setup) -> list[tuple[object, ...]]:
    aborted = _bins(study, setup, "aborted")
    return [
        (
            one.name or study.name,
            number(study.load(setup)),
            number(middle_s),
            number(rate.mean),
            f"{number(rate.low)} to {number(rate.high)}",
            number(lost.mean),
        )
        for (middle_s, rate), (_, lost) in zip(
            _bins(study, setup, "committed"), aborted, strict=True
        )
    ]


def _warmup_s(study: Study, setup: Setup) -> float:
    runs = study.totals([setup])
    return float(runs["warmup_ms"].mean()) / 1000.0
