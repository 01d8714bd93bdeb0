"""A transaction's time as a picture: what each commit call cost it, and who committed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from endive.plots import HATCHES, Look, Plot, draw
from endive.why.finding import OTHER_TABLE, SAME_PARTITIONS, SAME_TABLE, Step, Telling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The order of colours, and a hatch each.
_KINDS = (
    "work",
    "catalog reads",
    "its own manifests",
    "commit calls",
    "reading history",
    "manifests again",
    "backoff",
    "merging after a conflict",
    "cut off by the end",
)
# From the top down: the nearer to the transaction, the nearer to its own line.
_RIVAL_LINES = {OTHER_TABLE: 3.0, SAME_TABLE: 2.4, SAME_PARTITIONS: 1.8}
_RIVAL_MARKERS = {OTHER_TABLE: "|", SAME_TABLE: "d", SAME_PARTITIONS: "o"}
_WORK_SHOWN = 0.12
"""How much of the picture the work before the first commit call may take."""


def picture_of(telling: Telling) -> Plot:
    """The picture of one transaction."""

    def paint(figure: Figure, look: Look) -> None:
        _paint(figure.add_subplot(), telling, look)

    return draw(paint, width_in=10.0, height_in=4.2)


def in_one_sentence(telling: Telling) -> str:
    """What the picture shows, for those who cannot see it."""
    return (
        f"Timeline of transaction {telling.txn_id}: {len(telling.losses)} lost commit calls, "
        f"{telling.needed_ms:.0f} ms needed anyway, {telling.lost_ms:.0f} ms lost to rivals; {telling.status}."
    )


def _paint(axes: Axes, telling: Telling, look: Look) -> None:
    from matplotlib.ticker import MaxNLocator

    zero_ms = _work_end_ms(telling)
    end_ms = max((step.start_ms + step.took_ms for step in telling.steps), default=zero_ms)
    begin_ms = max(telling.submitted.t_ms, zero_ms - _WORK_SHOWN * (end_ms - zero_ms))
    drawn: dict[str, Any] = {}
    for step in telling.steps:
        left_ms = max(step.start_ms, begin_ms)
        width_ms = step.start_ms + step.took_ms - left_ms
        if width_ms <= 0.0:
            continue
        place = _KINDS.index(step.what) % len(look.colours) if step.what in _KINDS else -1
        colour, hatch = look.colours[place], HATCHES[place]
        bars = axes.barh(
            1.0,
            width_ms / 1000.0,
            left=(left_ms - zero_ms) / 1000.0,
            height=0.5,
            color=colour if step.what != "work" else look.grid,
            edgecolor=look.paper,
            linewidth=0.4,
            hatch=hatch if step.what != "work" else "",
        )
        drawn.setdefault(step.what, bars)
    calls = _calls_s(telling, zero_ms)
    lost = axes.plot(calls, [0.55] * len(calls), "x", color=look.ink, ms=7, mew=1.6, ls="none")
    drawn["commit call lost"] = lost[0]
    for place, (relation, height) in enumerate(_RIVAL_LINES.items()):
        times = sorted(
            {
                (rival.t_ms - zero_ms) / 1000.0
                for loss in telling.losses
                for rival in loss.rivals
                if rival.relation == relation
            }
        )
        axes.plot(
            times,
            [height] * len(times),
            _RIVAL_MARKERS[relation],
            color=look.colours[place],
            ms=7 if relation == OTHER_TABLE else 4,
            ls="none",
        )
    axes.set_yticks(
        [1.0, *_RIVAL_LINES.values()],
        [f"T{telling.txn_id}", *(f"commits to\n{name}" for name in _RIVAL_LINES)],
    )
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(0.2, 3.4)
    axes.set_xlim((begin_ms - zero_ms) / 1000.0, (end_ms - zero_ms) / 1000.0 * 1.01)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.set_xlabel("seconds since its work was done")
    axes.set_title(_title(telling))
    axes.figure.legend(
        drawn.values(),
        drawn.keys(),
        loc="outside lower center",
        ncols=min(5, len(drawn)),
        fontsize=9,
    )


def _title(telling: Telling) -> str:
    calls = "1 lost call" if len(telling.losses) == 1 else f"{len(telling.losses)} lost calls"
    return (
        f"T{telling.txn_id}, {telling.submitted.operation}: {telling.status.replace('_', ' ')} after {calls}; "
        f"{telling.lost_ms / 1000.0:.3g} s lost to rivals"
    )


def _work_end_ms(telling: Telling) -> float:
    work: Sequence[Step] = [step for step in telling.steps if step.what == "work"]
    return work[0].start_ms + work[0].took_ms if work else telling.submitted.t_ms


def _calls_s(telling: Telling, zero_ms: float) -> list[float]:
    return [(loss.called_ms - zero_ms) / 1000.0 for loss in telling.losses]
