"""The knee of a latency-throughput curve, by Kleinrock's rule: where throughput divided by what a commit costs is greatest.

Beyond it, one per cent more throughput costs more than one per cent more time. The rule needs no threshold of anybody's choosing, does not
depend on how the axes are drawn, and on the queue M/M/1 it gives half the capacity. Where overload ends in aborts the latency of the
survivors hardly rises; what a commit costs is therefore the time that all who finished spent on committing, per commit. A grid cannot
tell where between two loads the greatest value lies, so what is told is a bracket: the neighbours of the best load, over all seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

RULE = (
    "the load at which committed throughput divided by the price of a commit is greatest (Kleinrock's power): beyond it, one per cent more "
    "throughput costs more than one per cent more time. The price is the time that all who finished spent on committing, those who "
    "failed too, divided by the commits"
)


@dataclass(frozen=True, slots=True)
class Point:
    """One load of a curve: what was offered, what was committed, and what time a commit cost."""

    load: float
    throughput_per_s: float
    price_ms: float

    @property
    def power(self) -> float:
        """Throughput per price; nothing where nothing was committed."""
        if not (self.throughput_per_s > 0.0 and self.price_ms > 0.0):
            return 0.0
        return self.throughput_per_s / self.price_ms


@dataclass(frozen=True, slots=True)
class Knee:
    """Where a curve bends, as far as its loads can tell."""

    point: Point
    low: float | None
    """The knee lies above this load; None: the lightest load tried is already the best, so nothing bounds it from below."""
    high: float | None
    """The knee lies below this load; None: the heaviest load tried is still the best, so nothing bounds it from above."""

    @property
    def is_bracketed(self) -> bool:
        """Whether lighter and heavier loads are both worse."""
        return self.low is not None and self.high is not None


def find_knee(curve: Sequence[Point], seeds: Sequence[Sequence[Point]] = ()) -> Knee | None:
    """The knee of a mean curve, bracketed wide enough for the curve of every seed; None where too little was committed.

    Fewer than three loads have no inside, so they have no knee.
    """
    points = sorted(curve, key=lambda point: point.load)
    best = _best(points)
    if len(points) < 3 or best is None:
        return None
    loads = [point.load for point in points]
    places = [best]
    for one in seeds:
        powers = {point.load: point.power for point in one}
        place = _best([Point(load, powers.get(load, 0.0), 1.0) for load in loads])
        if place is not None:
            places.append(place)
    first, last = min(places), max(places)
    return Knee(
        points[best],
        None if first == 0 else loads[first - 1],
        None if last == len(loads) - 1 else loads[last + 1],
    )


def _best(points: Sequence[Point]) -> int | None:
    """The place of the greatest power; the lightest load of several that are alike."""
    powers = [point.power for point in points]
    if not powers or max(powers) <= 0.0 or not math.isfinite(max(powers)):
        return None
    return powers.index(max(powers))
