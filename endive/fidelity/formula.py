"""How a count grows with N: which formula its values follow exactly, and which straight line is nearest to them.

A retry that is N snapshots behind counts a + b·N + c·K, with K = ⌊N · manifests per concurrent commit⌋. Which of the three
it is tells whether a read was one of history, of merging, or none of both; a mean could not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_K_PER_COMMIT = 1.5
_MOST_PER_COMMIT = 4
"""No library and no document reads the same thing more often than this for each commit."""


@dataclass(frozen=True, slots=True)
class Formula:
    """a + b·N + c·K."""

    constant: int
    per_commit: int = 0
    per_k: int = 0
    k_per_commit: float = DEFAULT_K_PER_COMMIT

    def at(self, n: int) -> int:
        """The count for a retry that is N snapshots behind."""
        return self.constant + self.per_commit * n + self.per_k * manifests_of(n, self.k_per_commit)

    def __str__(self) -> str:
        parts = []
        for count, letter in ((self.per_commit, "N"), (self.per_k, "K")):
            if count:
                parts.append(letter if count == 1 else f"{count} {letter}")
        if self.constant or not parts:
            sign = "-" if self.constant < 0 and parts else ""
            parts.append(f"{sign}{abs(self.constant)}" if parts else str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def manifests_of(n: int, k_per_commit: float) -> int:
    """K, as a cost table's expressions know it."""
    return math.floor(n * k_per_commit)


def fit_formula(
    values: Mapping[int, int], k_per_commit: float = DEFAULT_K_PER_COMMIT
) -> Formula | None:
    """The simplest formula that all values follow exactly; None if none does, or if one N is all there is.

    A constant needs two different N as well: with one of them nothing tells 5 from N.
    """
    if len(values) < 2:
        return None
    first = min(values)
    slopes = range(_MOST_PER_COMMIT + 1)
    candidates = sorted(
        ((b, c) for b in slopes for c in slopes), key=lambda pair: (sum(pair), pair[1])
    )
    for b, c in candidates:
        rest = Formula(0, b, c, k_per_commit)
        formula = Formula(values[first] - rest.at(first), b, c, k_per_commit)
        if all(formula.at(n) == value for n, value in values.items()):
            return formula
    return None


@dataclass(frozen=True, slots=True)
class Line:
    """The straight line nearest to some points, by least squares."""

    slope: float
    intercept: float
    furthest: float
    """How far the point is that lies furthest from it."""

    @property
    def is_exact(self) -> bool:
        """Whether all points lie on it, but for the rounding of floats."""
        scale = max(1.0, abs(self.slope), abs(self.intercept))
        return self.furthest <= 1e-6 * scale


def fit_line(points: Mapping[float, float]) -> Line | None:
    """The line through points of at least two different abscissas."""
    if len(points) < 2:
        return None
    count = len(points)
    mean_x, mean_y = sum(points) / count, sum(points.values()) / count
    spread = sum((x - mean_x) ** 2 for x in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / spread
    intercept = mean_y - slope * mean_x
    furthest = max(abs(y - intercept - slope * x) for x, y in points.items())
    return Line(slope, intercept, furthest)


def listed(values: Mapping[int, object]) -> str:
    """Values that follow no formula, one by one."""
    return ", ".join(f"{n}→{value}" for n, value in sorted(values.items()))
