"""From which rate on does an operation no longer commit? An estimate from shares at several rates, with its interval.

The chance to commit is taken to fall with the logarithm of the rate along a logistic curve, down to nothing. Where the curve crosses a level
is found by maximum likelihood, and the interval is that of the profile likelihood: it stays sound where all or none committed at every
rate, and it is open on a side on which the rates do not bound it. It is widened where seeds differ by more than chance allows, since
transactions of one run share their rivals, and where shares lie further off the curve than that, since with retries the true curve is not
quite this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from endive.inference import proportion_interval

CONFIDENCE = 0.95
# Even odds, and the level below which an operation is called un-committable: one in twenty.
EVEN_ODDS = 0.5
HARDLY_EVER = 0.05

# How steep the curve may be, in logits per e-fold of the rate, and how finely steepness and threshold are searched.
_STEEPNESS = np.geomspace(0.2, 80.0, 160)
_PLACES = 480
# How far beyond the outermost rates a threshold is looked for: a factor of e² either way.
_BEYOND = 2.0
_LEAST_FREEDOM = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """What one run says: so many of the finished ones committed, at this rate of rivals."""

    rate_per_s: float
    committed: int
    finished: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """The rate at which the chance to commit falls to a level."""

    level: float
    rate_per_s: float | None
    """The likeliest rate; None where the rates do not bracket it."""
    low_per_s: float | None
    """The rate lies above this one with 95 % confidence; None: nothing bounds it from below."""
    high_per_s: float | None
    """The rate lies below this one with 95 % confidence; None: nothing bounds it from above."""
    surely_above_per_s: float | None
    """The highest rate at which surely more than the level commits, by Wilson's interval and without any curve."""
    surely_below_per_s: float | None
    """The lowest rate at which surely less than the level commits."""
    dispersion: float
    """How much more seeds, or rates about the curve, differ than chance alone would make them; 1: no more."""

    @property
    def is_bracketed(self) -> bool:
        """Whether the rates tried bound it on both sides."""
        return None not in (self.rate_per_s, self.low_per_s, self.high_per_s)


def find_threshold(trials: Sequence[Trial], level: float = EVEN_ODDS) -> Threshold | None:
    """The threshold for a level; None where fewer than two rates had anything finished."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a level lies between 0 and 1, not at {level}")
    trials = [trial for trial in trials if trial.finished > 0 and trial.rate_per_s > 0.0]
    rates = sorted({trial.rate_per_s for trial in trials})
    if len(rates) < 2:
        return None
    counts = {rate: [trial for trial in trials if trial.rate_per_s == rate] for rate in rates}
    committed = np.array([sum(t.committed for t in counts[rate]) for rate in rates], dtype=float)
    finished = np.array([sum(t.finished for t in counts[rate]) for rate in rates], dtype=float)
    log_rates = np.log(rates)
    places = np.linspace(log_rates[0] - _BEYOND, log_rates[-1] + _BEYOND, _PLACES)
    surface = _surface(log_rates, committed, finished, places, level)
    likelihood = surface.max(axis=1)
    place, steepness = np.unravel_index(int(surface.argmax()), surface.shape)
    fitted = _curve(log_rates, float(places[place]), float(_STEEPNESS[steepness]), level)
    dispersion, freedom = max(
        _between_seeds([counts[rate] for rate in rates]),
        _about_the_curve(committed, finished, fitted),
    )
    deviance = 2.0 * (likelihood.max() - likelihood) / dispersion
    low, high = _confident(places, deviance, _allowed(freedom, dispersion))
    best = float(places[likelihood >= likelihood.max() - 1e-9].mean())
    above, below = _sure(rates, committed, finished, level)
    # An end outside the rates is an extrapolation, and an open end no end at all; but that it lies beyond all of them can be said.
    low_per_s = None if low is None or low < log_rates[0] else math.exp(min(low, log_rates[-1]))
    high_per_s = None if high is None or high > log_rates[-1] else math.exp(max(high, log_rates[0]))
    is_inside = log_rates[0] <= best <= log_rates[-1]
    return Threshold(
        level,
        math.exp(best) if is_inside else None,
        low_per_s,
        high_per_s,
        above,
        below,
        dispersion,
    )


def chance(trials: Sequence[Trial], rates_per_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The likeliest curve at some rates, for drawing it; None where there is none."""
    trials = [trial for trial in trials if trial.finished > 0 and trial.rate_per_s > 0.0]
    log_rates = np.log([trial.rate_per_s for trial in trials])
    if len(set(log_rates.tolist())) < 2:
        return None
    places = np.linspace(log_rates.min() - _BEYOND, log_rates.max() + _BEYOND, _PLACES)
    committed = np.array([trial.committed for trial in trials], dtype=float)
    finished = np.array([trial.finished for trial in trials], dtype=float)
    surface = _surface(log_rates, committed, finished, places, EVEN_ODDS)
    place, steepness = np.unravel_index(int(surface.argmax()), surface.shape)
    return _curve(
        np.log(rates_per_s), float(places[place]), float(_STEEPNESS[steepness]), EVEN_ODDS
    )


def _curve(
    log_rates: NDArray[np.float64], place: float, steepness: float, level: float
) -> NDArray[np.float64]:
    """The chance to commit at some rates, where it crosses the level at one place."""
    from scipy.special import expit

    at_level = math.log(level / (1.0 - level))
    return np.asarray(expit(at_level - steepness * (log_rates - place)))


def _surface(
    log_rates: NDArray[np.float64],
    committed: NDArray[np.float64],
    finished: NDArray[np.float64],
    places: NDArray[np.float64],
    level: float,
) -> NDArray[np.float64]:
    """The log-likelihood of every place of the threshold with every steepness."""
    at_level = math.log(level / (1.0 - level))
    total = np.zeros((len(places), len(_STEEPNESS)))
    for log_rate, successes, trials in zip(log_rates, committed, finished, strict=True):
        logits = at_level - np.outer(log_rate - places, _STEEPNESS)
        total += successes * logits - trials * np.logaddexp(0.0, logits)
    return total


def _confident(
    places: NDArray[np.float64], deviance: NDArray[np.float64], allowed: float
) -> tuple[float | None, float | None]:
    """The ends of the places that cannot be ruled out; None where there is no end."""
    inside = np.flatnonzero(deviance <= allowed)
    first, last = int(inside[0]), int(inside[-1])

    def crossing(outer: int, inner: int) -> float:
        share = (allowed - deviance[inner]) / (deviance[outer] - deviance[inner])
        return float(places[inner] + share * (places[outer] - places[inner]))

    low = None if first == 0 else crossing(first - 1, first)
    high = None if last == len(places) - 1 else crossing(last + 1, last)
    return low, high


def _between_seeds(groups: Sequence[Sequence[Trial]]) -> tuple[float, int]:
    """How much more the runs at one rate differ than they would by chance, at least 1, and from how many degrees of freedom."""
    squares, freedom = 0.0, 0
    for group in groups:
        share = sum(t.committed for t in group) / sum(t.finished for t in group)
        if len(group) < 2 or share in (0.0, 1.0):
            continue
        squares += sum(
            (t.committed - t.finished * share) ** 2 / (t.finished * share * (1.0 - share))
            for t in group
        )
        freedom += len(group) - 1
    return (max(1.0, squares / freedom), freedom) if freedom else (1.0, 0)


def _about_the_curve(
    committed: NDArray[np.float64], finished: NDArray[np.float64], fitted: NDArray[np.float64]
) -> tuple[float, int]:
    """The same of the shares about the fitted curve."""
    expected = finished * fitted
    spread = expected * (1.0 - fitted)
    # Where hardly anything is expected, one commit would count for thousands.
    telling = (expected >= 1.0) & (finished - expected >= 1.0)
    freedom = int(telling.sum()) - 2
    if freedom < 1:
        return 1.0, 0
    squares = (((committed - expected) ** 2)[telling] / spread[telling]).sum()
    return max(1.0, float(squares) / freedom), freedom


def _allowed(freedom: int, dispersion: float) -> float:
    """The deviance that 95 % of the true thresholds stay below; larger where the dispersion itself is an estimate."""
    from scipy.stats import chi2, f

    if dispersion > 1.0:
        # From one or two degrees of freedom the quantile would be so large that no interval had an end.
        return float(f.ppf(CONFIDENCE, 1, max(freedom, _LEAST_FREEDOM)))
    return float(chi2.ppf(CONFIDENCE, 1))


def _sure(
    rates: Sequence[float],
    committed: NDArray[np.float64],
    finished: NDArray[np.float64],
    level: float,
) -> tuple[float | None, float | None]:
    """The highest rate that is surely above the level, and the lowest that is surely below it."""
    intervals = [
        proportion_interval(int(successes), int(trials), CONFIDENCE)
        for successes, trials in zip(committed, finished, strict=True)
    ]
    above = [rate for rate, found in zip(rates, intervals, strict=True) if found.low > level]
    below = [rate for rate, found in zip(rates, intervals, strict=True) if found.high < level]
    return (max(above) if above else None), (min(below) if below else None)
