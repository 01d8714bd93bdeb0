"""How often transactions try again, and how far behind they find themselves: distributions over all seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from endive.analysis.answers import MOST_PANELS, Answer, LeftOut, finish, grid, subplots
from endive.analysis.setups import Setup
from endive.analysis.study import ALL, Series, Study, spread
from endive.analysis.words import number, percent
from endive.plots import DASHES, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LOADS = 5
_SHARES = (0.5, 0.9, 0.95, 0.99)

Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Values in rising order, and how often each was seen."""


def retries(study: Study) -> Answer | LeftOut:
    """How often do transactions try again?"""
    return _distribution(
        study,
        "retries",
        "How often do transactions try again?",
        "n_retries",
        "retries of a transaction",
        "transactions",
        "The share of the finished transactions, committed or not, that needed at most so many commit calls after the first.",
        "No transaction finished.",
    )


def snapshots_behind(study: Study) -> Answer | LeftOut:
    """How far behind do attempts find themselves?"""
    return _distribution(
        study,
        "snapshots-behind",
        "How many snapshots behind are attempts?",
        "snapshots_behind",
        "snapshots behind",
        "attempts",
        "The share of the commit attempts that found at most so many snapshots between the one they knew and the present one.",
        "The runs kept no attempts: run them with --attempts, or a sweep with attempts = true.",
    )


def _distribution(
    study: Study,
    id: str,
    question: str,
    quantity: str,
    words: str,
    unit: str,
    reading: str,
    why: str,
) -> Answer | LeftOut:
    found = {
        setup.name: counted
        for setup in study.setups
        if (counted := counts_of(study, setup, quantity)) is not None
    }
    if not found:
        return LeftOut(id, question, why)
    series = study.series()
    drawn = series[:MOST_PANELS]
    most = max(int(values[-1]) for values, _ in found.values())

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [one.name for one in drawn], sharex=True, sharey=True)
        for axes, one in zip(every, drawn, strict=True):
            for place, setup in enumerate(_chosen(one, found)):
                values, counts = found[setup.name]
                shares = np.cumsum(counts) / counts.sum()
                axes.step(
                    np.concatenate(([0], values, [max(most, 1)])),
                    np.concatenate(([0.0 if values[0] else shares[0]], shares, [1.0])),
                    where="post",
                    color=look.colours[place],
                    linestyle=DASHES[place],
                    marker="",
                    label=study.load_in_words(setup),
                )
            _value_scale(axes, [found[s.name][0] for one in drawn for s in _chosen(one, found)])
            axes.set_ylim(0.0, 1.03)
            axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
            axes.set_xlabel(f"at most so many {words}")
            axes.set_ylabel(f"share of {unit}")
        note = ""
        if any(len(one.setups) > _MOST_LOADS for one in drawn) or len(series) > len(drawn):
            note = "Some loads are left out here; the table has them all."
        finish(figure, look, every, question, study.basis(study.setups), note)

    head = (
        "experiments",
        study.load_words,
        unit,
        "none",
        "mean",
        *(f"{share:.0%} at most" for share in _SHARES),
        "largest",
    )
    return Answer(
        id,
        question,
        reading,
        paint,
        grid(len(drawn)),
        head,
        tuple(
            _row(study, one, setup, found[setup.name])
            for one in series
            for setup in one.setups
            if setup.name in found
        ),
        study.basis(study.setups),
    )


def _value_scale(axes: Axes, seen: list[NDArray[np.int64]]) -> None:
    """A scale for whole numbers: logarithmic where they are many, from nothing on unless all are far from it."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    least, most = min(int(values[0]) for values in seen), max(int(values[-1]) for values in seen)
    if most <= 50:
        axes.set_xlim(0, max(1, most))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    if least >= 5:
        axes.set_xscale("log")
        axes.set_xlim(left=0.8 * least)
        steps = (1.0, 2.0, 5.0) if most / least < 200.0 else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
    else:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")


def counts_of(study: Study, setup: Setup, quantity: str) -> Counted | None:
    """How often each value of a quantity was seen in an experiment."""
    table = study.histograms
    rows = table[(table["experiment"] == setup.name) & (table["quantity"] == quantity)]
    rows = rows[(rows["class_name"] == ALL) & (rows["operation_type"] == ALL)]
    rows = rows[rows["count"] > 0].sort_values("value")
    if rows.empty:
        return None
    return rows["value"].to_numpy(dtype=np.int64), rows["count"].to_numpy(dtype=np.int64)


def quantile(counted: Counted, share: float) -> int:
    """The smallest value that at least such a share does not exceed."""
    values, counts = counted
    place = int(np.searchsorted(np.cumsum(counts), share * counts.sum() - 1e-9))
    return int(values[place])


def _chosen(one: Series, found: dict[str, Counted]) -> list[Setup]:
    return list(spread([setup for setup in one.setups if setup.name in found], _MOST_LOADS))


def _row(study: Study, one: Series, setup: Setup, counted: Counted) -> tuple[object, ...]:
    values, counts = counted
    total = int(counts.sum())
    none = int(counts[values == 0].sum())
    return (
        one.name or study.name,
        number(study.load(setup)),
        number(total),
        percent(none / total),
        number(float(values @ counts) / total),
        *(number(quantile(counted, share)) for share in _SHARES),
        number(int(values[-1])),
    )
