"""Goodness of fit as an interval: by which factors could a stated distribution be off, and still pass the test?

A test that passes says little unless it would have failed. So each test is turned around: the stated distribution is
stretched by a factor, and the interval is that of all factors which are not rejected. The stated distribution passes iff 1 is
inside, an error of 5 % is noticed iff 0.95 and 1.05 are outside, and samples of quite another shape leave nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from endive.inference import Interval, proportion_interval
from endive.laws.model import Estimate, Estimator, Reading

Values = NDArray[np.float64]
Cdf = Callable[[Values], Values]

_WIDEST = 1.6
_SPREADING_SEED = 20_250_601


def empty(confidence: float) -> Interval:
    """The interval that contains nothing: no factor makes the distribution fit."""
    return Interval(float("inf"), float("-inf"), confidence)


def distribution_fits(cdf: Cdf, floor: float) -> Estimator:
    """Kolmogorov and Smirnov's test of pooled samples, with the mass at the floor spread evenly over its share."""

    def estimate(readings: Sequence[Reading], confidence: float) -> Estimate:
        from scipy.stats import kstwo

        samples = np.sort(np.concatenate(readings))
        if samples[0] < floor:
            return Estimate(0.0, empty(confidence))
        at_floor = int((samples == floor).sum())
        spread = np.sort(np.random.RandomState(_SPREADING_SEED).random_sample(at_floor))
        above = samples[at_floor:]
        count = len(samples)
        steps = np.arange(count + 1) / count

        def excess(factor: float) -> float:
            mass = float(cdf(np.array([floor / factor]))[0])
            shares = np.concatenate((spread * mass, cdf(above / factor)))
            distance = max(float((steps[1:] - shares).max()), float((shares - steps[:-1]).max()))
            return distance - critical

        critical = float(kstwo.isf(1.0 - confidence, count))
        return _accepted(excess, confidence)

    return estimate


def poisson_fits(mean: float) -> Estimator:
    """Pearson's chi-square test of pooled counts."""

    def estimate(readings: Sequence[Reading], confidence: float) -> Estimate:
        from scipy.stats import chi2, poisson

        counts = np.concatenate(readings)
        # The ends are where at least a handful are to be expected.
        low, high = poisson.ppf([5.0 / len(counts), 1.0 - 5.0 / len(counts)], mean).astype(int)
        observed = np.bincount(np.clip(counts, low, high) - low, minlength=high - low + 1)

        def excess(factor: float) -> float:
            shares = poisson.pmf(np.arange(low, high + 1), mean * factor)
            shares[0] = poisson.cdf(low, mean * factor)
            shares[-1] = poisson.sf(high - 1, mean * factor)
            expected = shares * len(counts)
            return float(((observed - expected) ** 2 / expected).sum()) - critical

        critical = float(chi2.isf(1.0 - confidence, high - low))
        return _accepted(excess, confidence)

    return estimate


def share_of(is_counted: Callable[[Values], NDArray[np.bool_]]) -> Estimator:
    """The share of pooled samples that are counted; they are independent draws, so Wilson's interval holds."""

    def estimate(readings: Sequence[Reading], confidence: float) -> Estimate:
        samples = np.concatenate(readings)
        counted = int(is_counted(samples).sum())
        return Estimate(
            counted / len(samples), proportion_interval(counted, len(samples), confidence)
        )

    return estimate


def _accepted(excess: Callable[[float], float], confidence: float) -> Estimate:
    """The factors whose excess over the critical value is not positive, around the best one."""
    from scipy.optimize import brentq, minimize_scalar

    found = minimize_scalar(
        excess, bounds=(1.0 / _WIDEST, _WIDEST), method="bounded", options={"xatol": 1e-5}
    )
    best = float(found.x)
    # The search may stop beside the stated distribution when that passes by a hair.
    if excess(best) > 0.0 and excess(1.0) <= 0.0:
        best = 1.0
    if excess(best) > 0.0:
        return Estimate(best, empty(confidence))

    def end(widest: float) -> float:
        if excess(widest) <= 0.0:
            return widest
        return float(brentq(excess, best, widest, xtol=1e-7))

    return Estimate(best, Interval(end(1.0 / _WIDEST), end(_WIDEST), confidence))
