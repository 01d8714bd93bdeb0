"""Latency against throughput, with the knee; success against load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from endive.analysis.answers import (
    Answer,
    LeftOut,
    Line,
    duration_scale,
    finish,
    grid,
    load_scale,
    panelled,
    plot_line,
    subplots,
)
from endive.analysis.knee import RULE, Knee, Point, find_knee
from endive.analysis.setups import Setup
from endive.analysis.study import Series, Study
from endive.analysis.words import duration, number, percent, short
from endive.plots import DASHES, MARKERS, Look
from endive.summary import TIME_PARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The work itself, done once or again, is no part of what committing costs.
_COMMITTING = tuple(f"part_{part}_ms" for part in TIME_PARTS if part not in ("runtime", "rework"))

LOAD_KEYS = (
    "transaction.inter_arrival (or the inter_arrival or clients of a class in [[workload.class]])"
)


def latency_throughput(study: Study) -> Answer | LeftOut:
    """What does throughput cost in latency, and where does it begin to cost too much?"""
    id, question = "latency-throughput", "What does throughput cost in commit latency?"
    series = [one for one in study.series() if len({_submitted(s) for s in one.setups}) > 1]
    if not series:
        return LeftOut(
            id,
            question,
            f"What is submitted is the same everywhere, apart from background load: vary {LOAD_KEYS}.",
        )
    if not any(_latency_ms(study, s, "p50") > 0 for one in series for s in one.setups):
        return LeftOut(id, question, "No commit took any time: use a store other than `instant`.")
    knees = {one.name: knee_of(study, one) for one in series}
    panels = panelled(series)

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [title for title, _ in panels], sharey=True)
        for axes, (_, lines) in zip(every, panels, strict=True):
            for place, (name, one) in enumerate(lines):
                _curve(axes, look, place, name, study, one)
                knee = knees[one.name]
                if knee is not None and knee.is_bracketed:
                    _mark(axes, look, place, study, one, knee)
            duration_scale(axes)
            axes.set_xlim(left=0.0)
            axes.set_xlabel("committed [1/s]")
            axes.set_ylabel("commit latency")
        finish(
            figure,
            look,
            every,
            question,
            study.basis([s for one in series for s in one.setups]),
            "Thick: median; thin: 95th percentile. Ring: the knee.",
        )

    head = (
        "experiments",
        study.load_words,
        "committed [1/s]",
        "95 %",
        "mean [ms]",
        "p50 [ms]",
        "p95 [ms]",
        "p99 [ms]",
        "price of a commit [ms]",
        "success",
        "in flight",
    )
    rows = []
    for one in series:
        for setup in one.setups:
            rate = study.metric(setup, "achieved_per_s")
            rows.append(
                (
                    one.name or study.name,
                    number(study.load(setup)),
                    number(rate.mean),
                    f"{number(rate.low)} to {number(rate.high)}",
                    *(
                        number(_latency_ms(study, setup, name))
                        for name in ("mean", "p50", "p95", "p99")
                    ),
                    number(price_ms(study, setup)),
                    percent(study.metric(setup, "success_rate").mean),
                    percent(study.metric(setup, "censored_share").mean),
                )
            )
    return Answer(
        id,
        question,
        "Commit latency is everything after the work itself, of the transactions that committed. Each point of a curve is a load; where "
        f"the curve turns back, more load brings fewer commits. The knee is {RULE}.",
        paint,
        grid(len(panels)),
        head,
        tuple(rows),
        study.basis([s for one in series for s in one.setups]),
        tuple(_knee_in_words(study, one, knees[one.name]) for one in series),
        tuple(_knee_as_data(one, knees[one.name]) for one in series),
    )


def knee_of(study: Study, one: Series) -> Knee | None:
    """The knee of a series; its bracket holds for each of its seeds."""
    curve = [
        Point(
            study.load(setup),
            study.metric(setup, "achieved_per_s").mean,
            price_ms(study, setup),
        )
        for setup in one.setups
    ]
    by_seed: dict[int, list[Point]] = {}
    loads = {setup.name: study.load(setup) for setup in one.setups}
    for row in study.totals(one.setups).to_dict("records"):
        point = Point(loads[row["experiment"]], row["achieved_per_s"], _price_ms(row))
        by_seed.setdefault(int(row["seed"]), []).append(point)
    # A seed of which some loads are missing cannot say which is best.
    whole = [points for points in by_seed.values() if len(points) == len(curve)]
    return find_knee([point for point in curve if not math.isnan(point.price_ms)], whole)


def price_ms(study: Study, setup: Setup) -> float:
    """What a commit costs: the time that all who finished spent on committing, per commit."""
    spent = {name: study.metric(setup, name).mean for name in _COMMITTING}
    return _price_ms({**spent, "success_rate": study.metric(setup, "success_rate").mean})


def _price_ms(row: Mapping[Any, Any]) -> float:
    success = row["success_rate"]
    if not success > 0.0:
        return math.nan
    return math.fsum(row[name] for name in _COMMITTING) / float(success)


def success_load(study: Study) -> Answer | LeftOut:
    """Which share of each operation commits, at which load?"""
    id, question = "success-load", "Which share commits, at which load?"
    series = [one for one in study.series() if len({study.load(s) for s in one.setups}) > 1]
    if not series:
        return LeftOut(id, question, f"The load is the same everywhere: vary {LOAD_KEYS}.")
    kinds = study.kinds
    if len(kinds) == 1:
        panels = [
            (title, [(name, one, kinds[0]) for name, one in lines])
            for title, lines in panelled(series)
        ]
    else:
        panels = [
            (one.name, [(study.kind_in_words(kind), one, kind) for kind in kinds]) for one in series
        ][:9]

    def paint(figure: Figure, look: Look) -> None:
        every = subplots(figure, [title for title, _ in panels], sharey=True)
        for axes, (_, lines) in zip(every, panels, strict=True):
            loads = []
            for place, (name, one, kind) in enumerate(lines):
                points = tuple(
                    (study.load(s), study.metric(s, "success_rate", *kind)) for s in one.setups
                )
                plot_line(axes, look, place, Line(name, points), 0.0, 1.0)
                colour = look.colours[place % len(look.colours)]
                for setup in one.setups:
                    low, high = if_all(study, setup, kind)
                    axes.vlines(
                        study.load(setup), low, high, color=colour, linewidth=1.0, alpha=0.7
                    )
                loads += [x for x, _ in points]
            load_scale(axes, loads)
            axes.set_ylim(-0.03, 1.03)
            axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
            axes.set_xlabel(study.load_words)
            axes.set_ylabel("success")
        finish(
            figure,
            look,
            every,
            question,
            study.basis([s for one in series for s in one.setups]),
            "Shaded: 95 % over seeds. Thin bars: if all, or none, of those still in flight at the end had failed.",
        )

    head = (
        "experiments",
        "operation",
        study.load_words,
        "success",
        "95 %",
        "committed",
        "aborted",
        "in flight",
        "seeds",
    )
    rows = []
    for one in series:
        for kind in kinds:
            for setup in one.setups:
                share = study.metric(setup, "success_rate", *kind)
                runs = study.runs_of(setup, *kind)
                clipped = share.clipped(0.0, 1.0)
                rows.append(
                    (
                        one.name or study.name,
                        study.kind_in_words(kind),
                        number(study.load(setup)),
                        percent(share.mean),
                        f"{percent(clipped.low)} to {percent(clipped.high)}",
                        *(
                            number(int(runs[name].sum()))
                            for name in ("committed", "aborted", "in_flight")
                        ),
                        len(runs),
                    )
                )
    return Answer(
        id,
        question,
        "Success is the share of the finished transactions that committed.",
        paint,
        grid(len(panels)),
        head,
        tuple(rows),
        study.basis([s for one in series for s in one.setups]),
    )


def _curve(axes: Any, look: Look, place: int, name: str, study: Study, one: Series) -> None:
    points = [
        (
            study.metric(setup, "achieved_per_s").mean,
            _latency_ms(study, setup, "p50"),
            _latency_ms(study, setup, "p95"),
        )
        for setup in one.setups
    ]
    points = [point for point in points if point[1] > 0.0]
    if not points:
        return
    rates, middle, high = (list(column) for column in zip(*points, strict=True))
    colour = look.colours[place % len(look.colours)]
    axes.plot(
        rates, high, color=colour, linestyle=DASHES[place % len(DASHES)], linewidth=0.8, marker=""
    )
    axes.plot(
        rates,
        middle,
        color=colour,
        marker=MARKERS[place % len(MARKERS)],
        linestyle=DASHES[place % len(DASHES)],
        label=name or None,
    )


def _mark(axes: Any, look: Look, place: int, study: Study, one: Series, knee: Knee) -> None:
    """A ring about the knee."""
    setup = next(s for s in one.setups if study.load(s) == knee.point.load)
    axes.plot(
        [knee.point.throughput_per_s],
        [_latency_ms(study, setup, "p50")],
        marker="o",
        markersize=14,
        fillstyle="none",
        markeredgewidth=2.0,
        color=look.colours[place % len(look.colours)],
        linestyle="none",
    )


def _knee_in_words(study: Study, one: Series, knee: Knee | None) -> str:
    name = one.name or study.name
    unit = " clients" if study.is_by_clients else "/s"
    if knee is None:
        return f"{name}: too few loads, or too few commits, for a knee."
    at = f"{short(knee.point.load)}{unit} offered"
    reached = f"{short(knee.point.throughput_per_s)}/s committed, {duration(knee.point.price_ms)} per commit"
    if knee.high is None:
        return (
            f"{name}: knee above {short(knee.low)}{unit}, the best load on the average being {at} ({reached}); for some seeds or all, the "
            "heaviest load tried is the best. Offer more."
            if knee.low is not None
            else f"{name}: the loads tried do not tell where the knee is. Run more seeds, or a wider range of loads."
        )
    if knee.low is None:
        return (
            f"{name}: knee below {short(knee.high)}{unit}, the best load on the average being {at} ({reached}); for some seeds or all, the lightest "
            "load tried is the best. Offer less, or run more seeds."
        )
    return f"{name}: knee at {at} ({reached}); the loads tried place it between {short(knee.low)} and {short(knee.high)}{unit}."


def _knee_as_data(one: Series, knee: Knee | None) -> dict[str, Any]:
    found: dict[str, Any] = {"series": one.name, "axes": dict(one.values)}
    if knee is None:
        return {**found, "knee": None}
    return {
        **found,
        "knee": {
            "load": knee.point.load,
            "low": knee.low,
            "high": knee.high,
            "committed_per_s": knee.point.throughput_per_s,
            "price_ms": knee.point.price_ms,
        },
    }


def _submitted(setup: Setup) -> tuple[float, int]:
    return setup.load.submitted_per_s, setup.load.clients


def if_all(study: Study, setup: Setup, kind: tuple[str, str]) -> tuple[float, float]:
    """Success if everything still in flight failed, and if it all committed."""
    runs = study.runs_of(setup, *kind)
    offered = float(runs["offered"].sum())
    if not offered:
        return math.nan, math.nan
    committed, cut = float(runs["committed"].sum()), float(runs["in_flight"].sum())
    return committed / offered, (committed + cut) / offered


def _latency_ms(study: Study, setup: Setup, name: str) -> float:
    return study.metric(setup, f"commit_latency_{name}_ms").mean
