"""When a run has warmed up: MSER-5, the truncation that makes the mean of what remains most certain.

White's rule (1997; the batches of five are White, Cobb and Spratt's, 2000): average the series in batches of five, and cut
where the marginal standard error of the remaining batches is least. Cutting a transient lowers their spread, cutting steady
values only lowers their number. Where the least lies in the second half there is no evidence of a steady state: either the
run is too short or the system has none. That is a finding, and it is told; nothing is cut then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH = 5
"""Values per batch, which is what the 5 in MSER-5 stands for."""
FEWEST_BATCHES = 10
"""With fewer batches than this there is no telling a transient from noise."""
_FEWEST_LEFT = 5
_LEAST_LEFT = 0.1


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Where a series settles, if it does."""

    batches: int
    """How many whole batches the series has; what is left over at its end is not looked at."""
    least_at: int
    """The batch from which on the marginal standard error is least."""
    standard_error: float
    """What it is there; NaN where there are too few batches to ask."""
    batch: int = BATCH

    @property
    def is_steady(self) -> bool:
        """Whether a steady state was found: the least lies in the first half of enough batches."""
        return self.batches >= FEWEST_BATCHES and 2 * self.least_at <= self.batches

    @property
    def truncated_batches(self) -> int:
        """How many batches belong to the warm-up; none where no steady state was found."""
        return self.least_at if self.is_steady else 0

    @property
    def truncated(self) -> int:
        """How many values belong to the warm-up; none where no steady state was found."""
        return self.truncated_batches * self.batch


def mser5(values: ArrayLike) -> WarmUp:
    """The warm-up of a series of values, such as latencies in order of submission."""
    return mser(batch_means(values))


def batch_means(values: ArrayLike, batch: int = BATCH) -> NDArray[np.float64]:
    """The means of consecutive batches; a last one that is not full is left out."""
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise ValueError(f"a series has one dimension, not {series.ndim}")
    whole = len(series) // batch
    means: NDArray[np.float64] = series[: whole * batch].reshape(whole, batch).mean(axis=1)
    return means


def mser(means: ArrayLike, batch: int = BATCH) -> WarmUp:
    """The warm-up of a series that has been averaged in batches already."""
    series = np.asarray(means, dtype=np.float64)
    if series.ndim != 1:
        raise ValueError(f"a series has one dimension, not {series.ndim}")
    if not np.isfinite(series).all():
        raise ValueError("a series to be truncated holds a value that is not finite")
    if len(series) < FEWEST_BATCHES:
        return WarmUp(len(series), 0, float("nan"), batch)
    errors = marginal_standard_errors(series)
    # The very last batches always look certain: one alone has no spread at all.
    left = max(_FEWEST_LEFT, round(_LEAST_LEFT * len(series)))
    candidates = errors[: len(series) - left + 1]
    # Of equals the first, which keeps the most.
    least_at = int(np.argmin(candidates))
    return WarmUp(len(series), least_at, float(candidates[least_at]), batch)


def marginal_standard_errors(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """For every truncation point d, the squared standard error of the mean of what follows: Σ(x − x̄)² / (n − d)²."""
    if not len(series):
        return np.empty(0)
    # Sums from the end, of distances from a value in the middle: small numbers lose little to rounding.
    around = series - np.median(series)
    remaining = np.arange(len(series), 0, -1, dtype=np.float64)
    sums = np.cumsum(around[::-1])[::-1]
    squares = np.cumsum((around * around)[::-1])[::-1]
    spreads = squares - sums * sums / remaining
    # What rounding leaves of a spread that is none would otherwise decide where a constant series is cut.
    noise = 4.0 * np.finfo(np.float64).eps * remaining * squares
    spreads[spreads <= noise] = 0.0
    errors: NDArray[np.float64] = spreads / (remaining * remaining)
    return errors
