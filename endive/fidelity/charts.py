"""The plots of the report: I/O per retry against N, and what a retry of each pattern of §3.4 costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from endive.cost_model.expression import parse_expression
from endive.fidelity.context import SITUATIONS, Context
from endive.fidelity.formula import DEFAULT_K_PER_COMMIT, manifests_of
from endive.fidelity.judge_convoys import unit_cost
from endive.fidelity.model import Kind
from endive.fidelity.standard import BEHIND
from endive.fidelity.transcription import transcription
from endive.plots import DASHES, MARKERS, Look, Plot, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_TOTAL = (
    "metadata_reads",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
)
_OPERATIONS = {
    "fast_append": "FastAppend",
    "merge_append": "MergeAppend",
    "validated_overwrite": "Overwrite (validated)",
}
_PLACES = {
    "disjoint_partitions": "rivals in other partitions",
    "overlap": "rivals in the same partition",
}
_DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a panel."""

    name: str
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One small plot: its title and its lines."""

    title: str
    curves: tuple[Curve, ...]


def io_panels(context: Context) -> list[Panel]:
    """I/O per retry by N: a panel for each operation and situation."""
    return [
        Panel(f"{title}\n{_PLACES[where]}", tuple(_io_curves(context, operation, where)))
        for where in SITUATIONS
        for operation, title in _OPERATIONS.items()
    ]


def cost_panels(context: Context) -> list[Panel]:
    """What a retry costs at the unit latencies by N: a panel for each pattern that the document lists."""
    table = transcription().tables["convoy_costs"]
    return [
        Panel(
            row.cells[0], tuple(_cost_curves(context, row.operation, row.says.get("constant_ms")))
        )
        for row in table.rows
        if row.id != "mixed"
    ]


def _io_curves(context: Context, operation: str, where: str) -> Iterator[Curve]:
    yield Curve(_DOCUMENT, _documented(operation))
    for source in context.sources:
        series = context.retries(source, operation, where)
        if series is None or not context.has(source, operation):
            continue
        by_counter = [series.values(counter) for counter in _TOTAL]
        if all(by_counter):
            total = {
                n: float(sum((values or {}).get(n, 0) for values in by_counter))
                for n in BEHIND
                if all(n in (values or {}) for values in by_counter)
            }
            yield Curve(_label(source.kind, source.name), total)


def _documented(operation: str) -> dict[int, float]:
    """Everything that the document's column says of a retry, added up."""
    rows = transcription().tables["retry_costs"].rows
    claims = [
        parse_expression(text).evaluate for row in rows for text in row.says[operation].values()
    ]
    return {
        n: float(sum(claim(n, 0, manifests_of(n, DEFAULT_K_PER_COMMIT), 0, 0) for claim in claims))
        for n in BEHIND
    }


def _cost_curves(context: Context, operation: str, constant_ms: float | None) -> Iterator[Curve]:
    if constant_ms is not None:
        yield Curve(f"{_DOCUMENT}, constant part", dict.fromkeys(BEHIND, float(constant_ms)))
    for source in context.sources:
        series = context.retries(source, operation, "overlap")
        if series is None or not context.has(source, operation):
            continue
        cost = unit_cost(series)
        if cost is not None:
            yield Curve(_label(source.kind, source.name), {n: cost.at_ms(n) for n in BEHIND})


def _label(kind: Kind, name: str) -> str:
    shown = name if len(name) <= 30 else f"{name[:29]}…"
    # A dollar would begin a formula.
    shown = shown.replace("$", r"\$")
    return {Kind.LIBRARY: f"{shown}, measured", Kind.CONTROL: f"{shown} (control)"}.get(
        kind, f"model, {shown}"
    )


def draw_io(context: Context) -> Plot:
    """I/O per retry against N."""
    return draw(
        _painter(io_panels(context), 3, "I/O operations of a retry"), width_in=10.5, height_in=6.6
    )


def draw_costs(context: Context) -> Plot:
    """What a retry of each pattern costs."""
    return draw(_painter(cost_panels(context), 2, "milliseconds"), width_in=10.5, height_in=6.6)


def _painter(panels: list[Panel], columns: int, unit: str) -> Callable[[Figure, Look], None]:
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))

    def paint(figure: Figure, look: Look) -> None:
        rows = -(-len(panels) // columns)
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
        handles: dict[str, Line2D] = {}
        for place, panel in enumerate(panels):
            axes: Axes = grid[place // columns][place % columns]
            axes.set_title(panel.title)
            for curve in panel.curves:
                style = names.index(curve.name)
                (line,) = axes.plot(
                    list(curve.values),
                    list(curve.values.values()),
                    label=curve.name,
                    color=look.colours[style % len(look.colours)],
                    marker=MARKERS[style % len(MARKERS)],
                    linestyle=DASHES[style % len(DASHES)],
                    # The document lies broad and pale beneath, so that whatever agrees with it is seen on it.
                    linewidth=7.0 if curve.name.startswith(_DOCUMENT) else 1.4,
                    alpha=0.35 if curve.name.startswith(_DOCUMENT) else 0.95,
                )
                handles.setdefault(curve.name, line)
            axes.set_yscale("symlog", linthresh=10)
            axes.set_ylim(bottom=0)
            axes.set_xticks(list(BEHIND))
            if place % columns == 0:
                axes.set_ylabel(unit)
            if place >= len(panels) - columns:
                axes.set_xlabel("N, snapshots behind")
        figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=4)

    return paint
