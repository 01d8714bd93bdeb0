"""Heatmaps: load against tables, load against the latency of the catalog, with the cells in which too little commits hatched."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from endive.analysis.answers import MOST_PANELS, Answer, LeftOut, finish, subplots
from endive.analysis.curves import LOAD_KEYS
from endive.analysis.setups import CATALOG_LATENCY, TABLES, Setup
from endive.analysis.study import Series, Study
from endive.analysis.words import duration, number, percent, short
from endive.plots import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOW_SUCCESS = 0.9
"""Cells with a lower success are hatched: their latencies are those of the lucky."""


def load_tables(study: Study) -> Answer | LeftOut:
    """How do load and the number of tables go together?"""
    return _heatmap(
        study,
        "load-tables",
        "How much do more tables help, at which load?",
        TABLES,
        "tables",
        "Every experiment has the same number of tables: vary catalog.num_tables, and",
    )


def load_catalog_latency(study: Study) -> Answer | LeftOut:
    """How do load and the latency of the catalog go together?"""
    return _heatmap(
        study,
        "load-catalog-latency",
        "What does a slower catalog cost, at which load?",
        CATALOG_LATENCY,
        "latency of a catalog swap [ms]",
        "Every experiment has the same catalog latency: vary storage.T_CAS or storage.latency.catalog.cas and .read, and",
    )


def _heatmap(
    study: Study, id: str, question: str, axis: str, words: str, why: str
) -> Answer | LeftOut:
    panels = [
        one
        for one in study.series(without=[axis])
        if len({study.load(s) for s in one.setups}) > 1
        and len({s.axes[axis] for s in one.setups if s.axes[axis] is not None}) > 1
    ]
    if not panels:
        return LeftOut(id, question, f"{why} with it {LOAD_KEYS}.")
    basis = study.basis([s for one in panels for s in one.setups])
    drawn = panels[: MOST_PANELS // 2]

    def paint(figure: Figure, look: Look) -> None:
        titles = [
            f"{one.name + ': ' if one.name else ''}{quantity}"
            for one in drawn
            for quantity in ("p95 of commit latency", "committed [1/s]")
        ]
        every = subplots(figure, titles, columns=2)
        for place, one in enumerate(drawn):
            _paint_cells(figure, every[2 * place], look, study, one, axis, words, is_latency=True)
            _paint_cells(
                figure, every[2 * place + 1], look, study, one, axis, words, is_latency=False
            )
        note = f"Hatched: less than {percent(LOW_SUCCESS)} of the finished committed. Empty: not run, or nothing committed."
        finish(figure, look, every, question, basis, note)

    head = (
        "experiments",
        words,
        study.load_words,
        "p95 of commit latency [ms]",
        "committed [1/s]",
        "success",
        "hatched",
        "in flight",
    )
    rows = [
        (
            one.name or study.name,
            number(setup.axes[axis]),
            number(study.load(setup)),
            number(study.metric(setup, "commit_latency_p95_ms").mean),
            number(study.metric(setup, "achieved_per_s").mean),
            percent(study.metric(setup, "success_rate").mean),
            "yes" if is_low(study, setup) else "no",
            percent(study.metric(setup, "censored_share").mean),
        )
        for one in panels
        for setup in sorted(one.setups, key=lambda s: (_value(s, axis), study.load(s)))
    ]
    return Answer(
        id,
        question,
        f"One cell per experiment. Hatched cells commit less than {percent(LOW_SUCCESS)} of what finishes: their latency is that of the "
        "few that were lucky, and no comfort.",
        paint,
        (11.5, 1.3 + sum(_height_in(one, axis) for one in drawn)),
        head,
        tuple(rows),
        basis,
    )


def _height_in(one: Series, axis: str) -> float:
    """High enough for the rows of cells and the words around them."""
    return 1.1 + 0.42 * max(3, len({setup.axes[axis] for setup in one.setups}))


def is_low(study: Study, setup: Setup) -> bool:
    """Whether so little commits that the cell is hatched."""
    return study.metric(setup, "success_rate").mean < LOW_SUCCESS


def _paint_cells(
    figure: Figure,
    axes: Axes,
    look: Look,
    study: Study,
    one: Series,
    axis: str,
    words: str,
    *,
    is_latency: bool,
) -> None:
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patches import Rectangle

    loads = sorted({study.load(s) for s in one.setups})
    values = sorted({_value(s, axis) for s in one.setups if s.axes[axis] is not None})
    name = "commit_latency_p95_ms" if is_latency else "achieved_per_s"
    found = {
        (study.load(s), _value(s, axis)): (study.metric(s, name).mean, is_low(study, s))
        for s in one.setups
        if s.axes[axis] is not None
    }
    known = [value for value, _ in found.values() if value > 0.0]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    norm = LogNorm(low, high * 1.0001) if is_latency else Normalize(0.0, high)
    cells = np.ma.masked_invalid(
        [[found.get((load, value), (math.nan, False))[0] for load in loads] for value in values]
    )
    edges = [np.arange(len(places) + 1) - 0.5 for places in (loads, values)]
    # Cividis reads the same with and without colour vision; dark is much in both looks.
    mesh = axes.pcolormesh(*edges, cells, cmap="cividis_r", norm=norm)
    for (load, value), (level, is_hatched) in found.items():
        x, y = loads.index(load), values.index(value)
        # Read on the colour of the cell; nothing has the colour of the lightest.
        is_dark = level > 0.0 and norm(level) > 0.45
        ink = "#ffffff" if is_dark else "#000000"
        if is_hatched:
            corner = (x - 0.5, y - 0.5)
            cell = Rectangle(corner, 1, 1, fill=False, hatch="///", hatchcolor=ink, linewidth=0)
            axes.add_patch(cell)
        if level > 0.0:
            text = duration(level) if is_latency else short(level)
            # Figures stand on the colour of their cell, so that no hatch runs through them.
            behind = {"facecolor": mesh.cmap(norm(level)), "edgecolor": "none", "pad": 1.0}
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color=ink, bbox=behind)
    axes.set_xticks(range(len(loads)), [short(load) for load in loads])
    axes.set_yticks(range(len(values)), [short(value) for value in values])
    axes.set_xlabel(study.load_words)
    axes.set_ylabel(words)
    axes.grid(False)
    axes.set_facecolor(look.paper)


def _value(setup: Setup, axis: str) -> float:
    value = setup.axes[axis]
    return float(value) if isinstance(value, int | float) else math.nan
