"""What can be said of a quantity that was seen in a sample: an interval, and how sure it is.

Replications over seeds are independent, so they are the sample; transactions within a run are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the true value lies, with a stated confidence; the ends belong to it."""

    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """How far the ends are from the middle."""
        return (self.high - self.low) / 2.0

    def contains(self, value: float) -> bool:
        """Whether the value cannot be ruled out."""
        return self.low <= value <= self.high


def mean_interval(values: Sequence[float], confidence: float) -> Interval:
    """The interval of a mean, by Student's t; a single value says nothing about its own spread.

    Values that are all alike have an interval without width: nothing random has been seen.
    """
    _check_confidence(confidence)
    count = len(values)
    if count < 2:
        return Interval(-math.inf, math.inf, confidence)
    mean = math.fsum(values) / count
    spread = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    if min(values) == max(values):
        return Interval(values[0], values[0], confidence)
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2.0, count - 1)) * math.sqrt(spread / count)
    return Interval(mean - half, mean + half, confidence)


def proportion_interval(successes: int, trials: int, confidence: float) -> Interval:
    """Wilson's interval of a share; sound at 0 and 1, where the textbook one has no width."""
    _check_confidence(confidence)
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    if trials == 0:
        return Interval(0.0, 1.0, confidence)
    from scipy.stats import norm

    z2 = float(norm.ppf(0.5 + confidence / 2.0)) ** 2
    share = successes / trials
    middle = share + z2 / (2.0 * trials)
    half = math.sqrt(z2 * (share * (1.0 - share) / trials + z2 / (4.0 * trials**2)))
    scale = 1.0 + z2 / trials
    return Interval(
        max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale), confidence
    )


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
