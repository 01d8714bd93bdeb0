"""Where the time of a transaction goes, part by part, stacked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endive.analysis.answers import (
    MOST_PANELS,
    Answer,
    LeftOut,
    finish,
    grid,
    subplots,
)
from endive.analysis.setups import Setup
from endive.analysis.study import ALL, Series, Study, spread
from endive.analysis.words import duration, number
from endive.plots import HATCHES, Look
from endive.summary import TIME_PARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNTIME = "runtime"
# In the order in which a transaction comes by them, in words.
PARTS = {
    "start_io": "metadata at start",
    "catalog_read": "catalog reads",
    "per_attempt_io": "own manifests",
    "conflict_io": "catching up",
    "catalog_commit": "commit calls",
    "backoff": "backoff",
    "rework": "work done again",
}
_MOST_BARS = 8


def time_parts(study: Study) -> Answer | LeftOut:
    """Where does the time of a transaction go, besides its work?"""
    id, question = "time-parts", "What is the price of a commit made of?"
    panels = _panels(study)
    spent = {
        part
        for _, one, kind in panels
        for s in one.setups
        for part in PARTS
        if _ms(study, s, part, kind) > 0.0
    }
    parts = [part for part in PARTS if part in spent]
    if not parts:
        return LeftOut(id, question, "No transaction finished, or no part took any time.")

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [title for title, _, _ in panels])
        for axes, (_, one, kind) in zip(every, panels, strict=True):
            setups = list(spread(one.setups, _MOST_BARS))
            below = [0.0] * len(setups)
            for place, part in enumerate(parts):
                heights = [max(0.0, _ms(study, s, part, kind)) for s in setups]
                heights = [0.0 if math.isnan(height) else height for height in heights]
                axes.bar(
                    range(len(setups)),
                    heights,
                    bottom=below,
                    width=0.72,
                    label=PARTS[part],
                    color=look.colours[place],
                    hatch=HATCHES[place],
                    hatchcolor=look.paper,
                    edgecolor=look.paper,
                    linewidth=0.5,
                )
                below = [low + height for low, height in zip(below, heights, strict=True)]
            axes.set_xticks(range(len(setups)), [f"{study.load(s):.3g}" for s in setups])
            axes.set_xlabel(study.load_words)
            axes.set_ylabel("mean per finished")
            axes.yaxis.set_major_formatter(lambda ms, _: duration(ms) if ms else "0")
        finish(
            figure,
            look,
            every,
            question,
            study.basis(study.setups),
            "Mean over the finished transactions, committed or not; the work itself (runtime) is left out here and stands in the table.",
        )

    head = (
        "experiments",
        "operation",
        study.load_words,
        "work [ms]",
        *(f"{PARTS[part]} [ms]" for part in PARTS),
        "all but work [ms]",
    )
    rows = []
    for _, one, kind in _all_panels(study):
        for setup in one.setups:
            values = [_ms(study, setup, part, kind) for part in PARTS]
            rows.append(
                (
                    one.name or study.name,
                    study.kind_in_words(kind) if ALL not in kind else "all",
                    number(study.load(setup)),
                    number(_ms(study, setup, RUNTIME, kind)),
                    *map(number, values),
                    number(math.fsum(values)),
                )
            )
    return Answer(
        id,
        question,
        "The parts add up to the time of a transaction from submission to its end. Catching up is what a lost commit costs: manifest lists "
        "of the snapshots in between, and manifests to validate or merge.",
        paint,
        grid(len(panels), panel_in=(4.4, 3.0)),
        head,
        tuple(rows),
        study.basis(study.setups),
    )


def _panels(study: Study) -> list[tuple[str, Series, tuple[str, str]]]:
    return _all_panels(study)[:MOST_PANELS]


def _all_panels(study: Study) -> list[tuple[str, Series, tuple[str, str]]]:
    """A panel for every series, and where there are several operations for each of them."""
    kinds = study.kinds if len(study.kinds) > 1 else [(ALL, ALL)]
    panels = []
    for one in study.series():
        for kind in kinds:
            if any(study.metric(s, "offered", *kind).mean > 0 for s in one.setups):
                words = [one.name, study.kind_in_words(kind) if len(kinds) > 1 else ""]
                panels.append((": ".join(filter(None, words)), one, kind))
    return panels


def _ms(study: Study, setup: Setup, part: str, kind: tuple[str, str]) -> float:
    assert part in TIME_PARTS
    return study.metric(setup, f"part_{part}_ms", *kind).mean
