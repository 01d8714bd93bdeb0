"""From which rate of other commits on does an operation no longer commit? (Simulator Fidelity Report, §4.5)"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from endive.analysis.answers import (
    MOST_LINES,
    MOST_PANELS,
    Answer,
    LeftOut,
    finish,
    grid,
    load_scale,
    subplots,
)
from endive.analysis.curves import if_all
from endive.analysis.setups import Setup
from endive.analysis.study import Series, Study
from endive.analysis.threshold import (
    CONFIDENCE,
    EVEN_ODDS,
    HARDLY_EVER,
    Threshold,
    Trial,
    chance,
    find_threshold,
)
from endive.analysis.words import number, percent, short
from endive.inference import proportion_interval
from endive.plots import DASHES, MARKERS, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_APPENDS = ("fast_append", "merge_append")


@dataclass(frozen=True, slots=True)
class Case:
    """An operation of a class within a series, with what each of its runs says."""

    name: str
    series: Series
    kind: tuple[str, str]
    trials: tuple[Trial, ...]
    at: tuple[tuple[Setup, float], ...]
    """The experiments, and the rate of the others' commits in each."""
    thresholds: tuple[Threshold | None, ...]
    """For even odds, and for hardly ever."""


def uncommittable(study: Study) -> Answer | LeftOut:
    """From which rate of other commits on does an operation no longer commit?"""
    id, question = "uncommittable", "From which rate of other commits on does it no longer commit?"
    kinds = [kind for kind in study.kinds if kind[1] not in _APPENDS]
    if not kinds:
        return LeftOut(
            id,
            question,
            "There are only appends: give a class an operation that replaces data, such as "
            "operation_types = { validated_overwrite = 1.0 }.",
        )
    cases = [case for one in study.series() for kind in kinds if (case := _case(study, one, kind))]
    if not cases:
        return LeftOut(
            id,
            question,
            "The rate at which others commit is the same everywhere: vary the inter_arrival of a background class "
            '(kind = "background" in [[workload.class]]).',
        )
    setups = [setup for case in cases for setup, _ in case.at]
    basis = study.basis(setups)
    panels = _panels(study, cases)

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [title for title, _ in panels], sharey=True)
        for axes, (_, lines) in zip(every, panels, strict=True):
            for place, case in enumerate(lines):
                _paint_case(axes, look, place, study, case)
            load_scale(axes, [rate for case in lines for _, rate in case.at])
            axes.set_ylim(-0.03, 1.03)
            axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
            axes.set_xlabel("commits of others [1/s]")
            axes.set_ylabel("commit in the end")
        note = (
            "Points: share of the finished that committed, with Wilson's 95 % interval; curve: fitted. Bars at half height: where "
            "even odds lie, with 95 %. Thin bars: if all, or none, of those in flight had failed."
        )
        finish(figure, look, every, question, basis, note)

    head = (
        "operation",
        "commits of others [1/s]",
        "committed",
        "aborted",
        "in flight",
        "success",
        "95 % (Wilson)",
        "fitted",
    )
    return Answer(
        id,
        question,
        "The chance to commit is fitted by a logistic curve in the logarithm of the rate, and a threshold's interval is that of the profile likelihood, "
        "widened where seeds or points scatter more than chance allows. Beside it stands what the shares say without any curve. A commit "
        "counts however late it came; the budget for retries is a setting of the runs.",
        paint,
        grid(len(panels)),
        head,
        tuple(row for case in cases for row in _rows(study, case)),
        basis,
        tuple(line for case in cases for line in _in_words(case)),
        tuple(_as_data(case) for case in cases),
    )


def rivals_per_s(study: Study, setup: Setup, kind: tuple[str, str]) -> float:
    """How many commits of others land in a second: those of the background, and those of other operations that were achieved."""
    everything = study.metric(setup, "achieved_per_s").mean
    own = study.metric(setup, "achieved_per_s", *kind).mean
    others = 0.0 if math.isnan(everything) else everything - (0.0 if math.isnan(own) else own)
    return setup.load.background_per_s + max(0.0, others)


def _case(study: Study, one: Series, kind: tuple[str, str]) -> Case | None:
    at, trials = [], []
    for setup in one.setups:
        runs = study.runs_of(setup, *kind)
        rate = rivals_per_s(study, setup, kind)
        if runs.empty or rate <= 0.0:
            continue
        at.append((setup, rate))
        for committed, aborted in zip(runs["committed"], runs["aborted"], strict=True):
            trials.append(Trial(rate, int(committed), int(committed) + int(aborted)))
    if len({round(rate, 9) for _, rate in at}) < 2:
        return None
    words = ", ".join(filter(None, (one.name, study.kind_in_words(kind))))
    thresholds = tuple(find_threshold(trials, level) for level in (EVEN_ODDS, HARDLY_EVER))
    return Case(words, one, kind, tuple(trials), tuple(at), thresholds)


def _panels(study: Study, cases: list[Case]) -> list[tuple[str, list[Case]]]:
    if len(cases) <= MOST_LINES:
        return [("", cases)]
    by_series: dict[str, list[Case]] = {}
    for case in cases:
        by_series.setdefault(case.series.name, []).append(case)
    return [(name, members[:MOST_LINES]) for name, members in by_series.items()][:MOST_PANELS]


def _paint_case(axes: Any, look: Look, place: int, study: Study, case: Case) -> None:
    colour = look.colours[place % len(look.colours)]
    rates = sorted({rate for _, rate in case.at})
    fine = np.geomspace(rates[0], rates[-1], 200)
    curve = chance(case.trials, fine)
    if curve is not None:
        dash = DASHES[place % len(DASHES)]
        axes.plot(fine, curve, color=colour, linestyle=dash, linewidth=1.2, marker="")
    for setup, rate in case.at:
        low, high = if_all(study, setup, case.kind)
        axes.vlines(rate, low, high, color=colour, linewidth=0.8)
    for rate in rates:
        committed, finished = _at(case, rate)
        if not finished:
            continue
        found = proportion_interval(committed, finished, CONFIDENCE)
        axes.vlines(rate, found.low, found.high, color=colour, linewidth=2.2, alpha=0.5)
        axes.plot(
            [rate],
            [committed / finished],
            color=colour,
            marker=MARKERS[place % len(MARKERS)],
            linestyle="none",
            label=case.name if rate == rates[0] else None,
        )
    even = case.thresholds[0]
    if even is not None and even.is_bracketed:
        # Several cases would cover each other at exactly one half.
        height = EVEN_ODDS + 0.012 * place
        axes.hlines(height, even.low_per_s, even.high_per_s, color=colour, linewidth=4.0)


def _at(case: Case, rate: float) -> tuple[int, int]:
    chosen = [trial for trial in case.trials if trial.rate_per_s == rate]
    return sum(t.committed for t in chosen), sum(t.finished for t in chosen)


def _rows(study: Study, case: Case) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for setup, rate in case.at:
        runs = study.runs_of(setup, *case.kind)
        committed, aborted, cut = (
            int(runs[name].sum()) for name in ("committed", "aborted", "in_flight")
        )
        finished = committed + aborted
        interval = proportion_interval(committed, finished, CONFIDENCE)
        fitted = chance(case.trials, np.array([rate]))
        rows.append(
            (
                case.name,
                number(rate),
                number(committed),
                number(aborted),
                number(cut),
                percent(committed / finished if finished else None),
                f"{percent(interval.low)} to {percent(interval.high)}",
                percent(None if fitted is None else float(fitted[0])),
            )
        )
    return rows


def _in_words(case: Case) -> list[str]:
    what = ("even odds", "at most one in twenty commits")
    return [
        f"{case.name}: {_one_in_words(case, words, threshold)}"
        for words, threshold in zip(what, case.thresholds, strict=True)
    ]


def _one_in_words(case: Case, words: str, threshold: Threshold | None) -> str:
    if threshold is None:
        return f"{words}: nothing finished at two rates or more; run longer."
    lowest, highest = (f(rate for _, rate in case.at) for f in (min, max))
    low, high, rate = threshold.low_per_s, threshold.high_per_s, threshold.rate_per_s
    if low is None and high is None:
        found = f"{words}: the rates tried, {short(lowest)} to {short(highest)}/s, do not bracket this; try others, or more seeds."
    elif high is None or (rate is None and low is not None):
        found = f"{words}: above {short(low)}/s; the rates tried do not bound it from above: try more seeds, or more than {short(highest)}/s."
    elif low is None:
        found = f"{words}: below {short(high)}/s; the rates tried do not bound it from below: try more seeds, or less than {short(lowest)}/s."
    else:
        found = f"{words} at {short(rate)}/s (95 %: {short(low)} to {short(high)}/s)."
    sure = []
    if threshold.surely_above_per_s is not None:
        sure.append(f"surely more up to {short(threshold.surely_above_per_s)}/s")
    if threshold.surely_below_per_s is not None:
        sure.append(f"surely fewer from {short(threshold.surely_below_per_s)}/s on")
    return f"{found} Without a curve: {', '.join(sure)}." if sure else found


def _as_data(case: Case) -> dict[str, Any]:
    return {
        "series": case.series.name,
        "class": case.kind[0],
        "operation": case.kind[1],
        "thresholds": [
            None
            if threshold is None
            else {
                "level": threshold.level,
                "rate_per_s": threshold.rate_per_s,
                "low_per_s": threshold.low_per_s,
                "high_per_s": threshold.high_per_s,
                "is_bracketed": threshold.is_bracketed,
                "surely_above_per_s": threshold.surely_above_per_s,
                "surely_below_per_s": threshold.surely_below_per_s,
                "dispersion": threshold.dispersion,
            }
            for threshold in case.thresholds
        ],
    }
