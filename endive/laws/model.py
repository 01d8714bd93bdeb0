"""What a law is: a declared object. What it says is computed without the simulator; what is seen is read off runs of it.

A *trial* is one way to run the simulator, over and over with other seeds. A *measure* is one number of it that a law speaks
about. Several laws may speak about the same runs, so a trial has measures of several laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from endive.inference import Interval, mean_interval

CONFIDENCE = 0.999
"""Of each single interval: there are more than a hundred of them, and a failure must show twice (`runner`)."""
ERROR = 0.05
"""A value that far off must lie outside of an interval; else the interval decides nothing."""
# Sums of floats are not exact, and what is not random has an interval without width.
_ROUNDING = 1e-9


class Verdict(StrEnum):
    """What can be said of a law at one point."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    REPORTED = "reported"
    """Shown for comparison: the law does not claim to hold here."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What was seen, and within which bounds the truth lies."""

    value: float
    interval: Interval


Reading = Any
"""What one run says about a measure: a number, or an array where a whole distribution is asked about."""
Estimator = Callable[[Sequence[Reading], float], Estimate]
"""From the readings of all seeds and a confidence to an estimate."""


def mean_over_seeds(readings: Sequence[Reading], confidence: float) -> Estimate:
    """The mean; seeds are the sample, because transactions of one run may depend on each other."""
    interval = mean_interval(readings, confidence)
    value = sum(readings) / len(readings)
    return Estimate(value, widened(interval, abs(value) * _ROUNDING))


def widened(interval: Interval, by: float) -> Interval:
    """The interval with some more room at both ends."""
    return Interval(interval.low - by, interval.high + by, interval.confidence)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number that a law speaks about."""

    law: str
    point: str
    """Where in the space of parameters, in words."""
    analytic: float
    """What the law says; computed without looking at the simulator."""
    read: Callable[[Any], Reading]
    """What one run says."""
    estimate: Estimator = mean_over_seeds
    judged: bool = True
    """False where the law's assumptions do not hold: the deviation is shown, and nobody is blamed."""

    @property
    def key(self) -> str:
        """How the measure is called wherever there are many."""
        return f"{self.law}: {self.point}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to run the simulator (or a part of it), seed by seed, and what is measured."""

    name: str
    run: Callable[[int], Any]
    """From a seed to what was seen."""
    measures: tuple[Measure, ...]
    seeds: int = 24
    """How many to begin with; more are added while an interval is too wide to decide anything."""

    def readings(self, seed: int) -> list[Reading]:
        """What one seed says about each measure."""
        seen = self.run(seed)
        return [measure.read(seen) for measure in self.measures]


@dataclass(frozen=True, slots=True)
class Law:
    """A closed form, and what it rests on."""

    id: str
    title: str
    statement: str
    assumes: str
    source: str = "laws-and-data.md"


@dataclass(frozen=True, slots=True)
class Row:
    """A law at one point: what it says and what was seen."""

    law: str
    point: str
    analytic: float
    simulated: float
    interval: Interval
    seeds: int
    verdict: Verdict
    trial: str

    @property
    def deviation(self) -> float:
        """How far off the simulation is, as a share of what the law says."""
        return self.simulated / self.analytic - 1.0

    def as_dict(self) -> dict[str, Any]:
        """For machines. An interval without end, or an empty one, has no bounds to show."""
        low, high = self.interval.low, self.interval.high
        bounded = abs(low) != float("inf") and abs(high) != float("inf")
        return {
            "law": self.law,
            "point": self.point,
            "analytic": self.analytic,
            "simulated": self.simulated,
            "deviation": self.deviation,
            "interval": [low, high] if bounded else None,
            "confidence": self.interval.confidence,
            "seeds": self.seeds,
            "verdict": str(self.verdict),
        }


def verdict_on(analytic: float, interval: Interval, error: float = ERROR) -> Verdict:
    """Holds if the law's value is inside and values a little off are not: a wide interval proves nothing."""
    if not interval.contains(analytic):
        return Verdict.FAILS
    if any(interval.contains(analytic * factor) for factor in (1.0 - error, 1.0 + error)):
        return Verdict.UNDECIDED
    return Verdict.HOLDS


def row_of(
    trial: Trial, measure: Measure, readings: Sequence[Reading], confidence: float = CONFIDENCE
) -> Row:
    """What the readings of all seeds say about one measure."""
    estimate = measure.estimate(readings, confidence)
    verdict = (
        verdict_on(measure.analytic, estimate.interval) if measure.judged else Verdict.REPORTED
    )
    return Row(
        measure.law,
        measure.point,
        measure.analytic,
        estimate.value,
        estimate.interval,
        len(readings),
        verdict,
        trial.name,
    )
