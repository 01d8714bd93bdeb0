"""What a question comes to: a plot with the numbers behind it, or a sentence saying why there is none."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from endive.analysis.study import Estimate, Series, Study
from endive.analysis.words import duration, short
from endive.page import markdown_table
from endive.plots import DASHES, MARKERS, Look, Paint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 9
"""What does not fit on one plot stands in its table, and the plot says so."""
MOST_LINES = 7
"""As many as there are colours that stay apart."""

_COLUMNS = 3
_LETTERS_PER_IN = 16.5


@dataclass(frozen=True)
class Answer:
    """A question that the experiments answer."""

    id: str
    """Names the files."""
    question: str
    reading: str
    """How to read the plot: what is shown, and by which rule something is marked."""
    paint: Paint = field(repr=False)
    size_in: tuple[float, float]
    head: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...] = field(repr=False)
    """The numbers behind the plot."""
    basis: str
    findings: tuple[str, ...] = ()
    """What it comes to, in sentences."""
    data: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """What was found, for programs."""

    def markdown(self) -> str:
        """The numbers as a Markdown document."""
        findings = "".join(f"- {line}\n" for line in self.findings)
        parts = (f"# {self.question}", self.reading, findings.rstrip(), self.basis)
        return "\n\n".join(filter(None, parts)) + f"\n\n{markdown_table(self.head, self.rows)}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that the experiments cannot answer."""

    id: str
    question: str
    why: str
    """Which key must differ, or what else is missing."""


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a panel."""

    name: str
    points: tuple[tuple[float, Estimate], ...]

    def known(self) -> list[tuple[float, Estimate]]:
        """The points at which something is known."""
        return [(x, y) for x, y in self.points if y.is_known and not math.isnan(x)]


def panelled(series: Sequence[Series]) -> list[tuple[str, list[tuple[str, Series]]]]:
    """Series on panels: all on one where colours suffice; else a panel per value of one axis, with the others as lines."""
    if len(series) <= MOST_LINES and not {"storage.provider"} & set(_several(series)):
        return [("", [(one.name, one) for one in series])]
    for axis in sorted(_several(series), key=lambda axis: axis != "storage.provider"):
        panels: dict[str, list[tuple[str, Series]]] = {}
        for one in series:
            panels.setdefault(_in_words(one, axis), []).append((_rest(one, axis), one))
        if max(map(len, panels.values())) <= MOST_LINES:
            return list(panels.items())[:MOST_PANELS]
    return [(one.name, [("", one)]) for one in series][:MOST_PANELS]


def _several(series: Sequence[Series]) -> list[str]:
    """Axes on which the series differ, if there are at least two: one alone makes lines, not panels."""
    axes = list(series[0].values) if series else []
    return axes if len(axes) > 1 else []


def _in_words(one: Series, axis: str) -> str:
    from endive.analysis.setups import in_words

    return in_words(axis, one.values[axis])


def _rest(one: Series, axis: str) -> str:
    return ", ".join(_in_words(one, each) for each in one.values if each != axis)


def grid(panels: int, *, panel_in: tuple[float, float] = (4.2, 3.2)) -> tuple[float, float]:
    """The size of a plot with so many panels, its words below included."""
    if panels == 1:
        return 8.0, 5.0
    columns = _columns(panels)
    rows = math.ceil(panels / columns)
    return columns * panel_in[0], rows * panel_in[1] + 1.2


def _columns(panels: int) -> int:
    """As few places without a panel as may be."""
    return 2 if panels == 4 else min(panels, _COLUMNS)


def subplots(
    figure: Figure,
    titles: Sequence[str],
    *,
    sharex: bool = False,
    sharey: bool = False,
    columns: int = 0,
) -> list[Axes]:
    """Axes for panels, titled; places without a panel stay empty paper."""
    columns = columns or _columns(len(titles))
    rows = math.ceil(len(titles) / columns)
    made = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).ravel()
    for axes in made[len(titles) :]:
        axes.remove()
    for axes, title in zip(made, titles, strict=False):
        if title:
            axes.set_title(textwrap.fill(title, 44))
    return list(made[: len(titles)])


def finish(
    figure: Figure, look: Look, axes: Sequence[Axes], question: str, basis: str, note: str = ""
) -> None:
    """Title and legend above the panels, where they never lie on a curve; below them what the plot rests on."""
    width = figure.get_figwidth()
    below = "\n".join(
        textwrap.fill(part, int(width * _LETTERS_PER_IN)) for part in (note, basis) if part
    )
    figure.supxlabel(below, x=0.01, ha="left", fontsize=7.5, color=look.faint)
    title = textwrap.fill(question, int(width * 9.5))
    found: dict[str, Any] = {}
    for one in axes:
        for handle, name in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    if not found:
        figure.suptitle(title, x=0.01, ha="left")
        return
    longest = max(map(len, found))
    columns = max(1, min(len(found), int(width * 10 / (longest + 8))))
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside upper left",
        ncols=columns,
        fontsize=8.5,
        title=title,
        alignment="left",
        title_fontproperties={"weight": "bold", "size": 12},
        borderpad=0.0,
    )


def plot_line(axes: Axes, look: Look, place: int, line: Line, least: float, most: float) -> None:
    """A curve with its 95 % band."""
    points = [(x, y.clipped(least, most)) for x, y in line.known()]
    if not points:
        return
    xs, ys = [x for x, _ in points], [y for _, y in points]
    colour = look.colours[place % len(look.colours)]
    axes.fill_between(
        xs, [y.low for y in ys], [y.high for y in ys], color=colour, alpha=0.18, linewidth=0
    )
    axes.plot(
        xs,
        [y.mean for y in ys],
        color=colour,
        marker=MARKERS[place % len(MARKERS)],
        linestyle=DASHES[place % len(DASHES)],
        label=line.name or None,
    )


def load_scale(axes: Axes, loads: Sequence[float]) -> None:
    """A scale for loads: logarithmic where they span a decade, with ticks at the loads that were run."""
    values = sorted({load for load in loads if load > 0.0})
    if not values:
        return
    if values[-1] / values[0] >= 8.0:
        axes.set_xscale("log")
        axes.minorticks_off()
        kept: list[float] = []
        for value in values:
            # Two labels need some room between them.
            if not kept or value / kept[-1] >= (values[-1] / values[0]) ** (1 / 9):
                kept.append(value)
        axes.set_xticks(kept, [short(value) for value in kept])


def duration_scale(axes: Axes) -> None:
    """A logarithmic scale of durations with labels that are close enough to read from."""
    from matplotlib.ticker import LogLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = (1.0, 2.0, 5.0) if high / low < 200.0 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(lambda ms, _: duration(ms))
    axes.minorticks_off()


Question = Callable[[Study], Answer | LeftOut]
