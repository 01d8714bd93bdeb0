"""Model against measurement, row by row: errors with intervals over seeds, and a verdict.

A throughput is compared by its relative error. A failure rate is compared relative to the rarer of its two outcomes:
where 92.7 % of the attempts are refused, a model that says 90 % has the failures right within 3 %, and lets 37 % too many
through. Rates below 1 % are compared as if they were 1 %, so that 0.1 % measured and none simulated is no misfit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from endive.calibration.data import HELD_OUT, Case, Row
from endive.calibration.experiment import Client, Outcome, StoreModel, simulate
from endive.inference import Interval, mean_interval

LIMIT = 0.15
"""Beyond this error a model does not fit."""
TAIL_LIMIT = 3.0
"""A profile whose p99/p50 is off by more than this factor is not offered, however well the rest fits."""
CONFIDENCE = 0.95
SEEDS = (1, 2, 3, 4, 5)
ATTEMPTS = 8_000
_RAREST = 0.01


class Fit(Enum):
    """Whether an error is beyond the limit, so far as simulated noise lets us say."""

    FITS = "fits"
    DOES_NOT_FIT = "does not fit"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Error:
    """A relative error: its mean over seeds, and where it lies for all we know."""

    value: float
    interval: Interval

    @property
    def fit(self) -> Fit:
        """Within the limit, beyond it, or across it."""
        nearest = max(self.interval.low, -self.interval.high, 0.0)
        if nearest > LIMIT:
            return Fit.DOES_NOT_FIT
        farthest = max(abs(self.interval.low), abs(self.interval.high))
        return Fit.FITS if farthest <= LIMIT else Fit.UNDECIDED


@dataclass(frozen=True, slots=True)
class RowComparison:
    """One row of the table and what the model makes of it."""

    row: Row
    model: Outcome
    """The mean over seeds."""
    failure: Error
    throughput: Error

    @property
    def is_held_out(self) -> bool:
        """Whether no fit has seen this row."""
        return self.row.threads in HELD_OUT

    @property
    def median_error(self) -> float:
        """The relative error of the median latency of successes."""
        return self.model.p50_ms / self.row.p50_ms - 1.0

    @property
    def tail_factor(self) -> float:
        """How many times p99/p50 was measured to be what the model makes it."""
        return self.row.tail / self.model.tail


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operation of one store under one model, all rows."""

    case: Case
    model: StoreModel
    rows: tuple[RowComparison, ...]

    @property
    def load(self) -> Fit:
        """Whether failure rate and throughput fit, on every row, held out or not."""
        return _worst([error.fit for row in self.rows for error in (row.failure, row.throughput)])

    @property
    def held_out(self) -> Fit:
        """Whether failure rate and throughput fit on the rows that no fit has seen."""
        rows = [row for row in self.rows if row.is_held_out]
        return _worst([error.fit for row in rows for error in (row.failure, row.throughput)])

    @property
    def median(self) -> Fit:
        """Whether the median latency of successes fits on every row."""
        return _verdict(max(abs(row.median_error) for row in self.rows))

    @property
    def tail(self) -> Fit:
        """Whether p99/p50 of successes fits on every row."""
        return _verdict(max(abs(1.0 / row.tail_factor - 1.0) for row in self.rows))

    @property
    def worst_tail_factor(self) -> float:
        """The factor by which p99/p50 is off where it is worst; above 1: the measured tail is heavier."""
        return max((row.tail_factor for row in self.rows), key=lambda factor: abs(math.log(factor)))

    @property
    def is_offered(self) -> bool:
        """Whether a profile may claim to describe this operation."""
        factor = self.worst_tail_factor
        return self.load is Fit.FITS and 1.0 / TAIL_LIMIT <= factor <= TAIL_LIMIT

    def worst(self, name: str, *, held_out: bool) -> Error:
        """The largest error of `failure` or `throughput`, on held-out rows or on trained ones."""
        errors: list[Error] = [
            getattr(row, name) for row in self.rows if row.is_held_out is held_out
        ]
        return max(errors, key=lambda error: abs(error.value))


def compare(
    case: Case,
    model: StoreModel,
    *,
    seeds: Sequence[int] = SEEDS,
    attempts: int = ATTEMPTS,
    client: Client = Client.READS_WITHIN,
    threads: Sequence[int] | None = None,
) -> Comparison:
    """Simulate the rows of a case, all or those with so many threads, and compare."""
    rows = [row for row in case.rows if threads is None or row.threads in threads]
    return Comparison(
        case,
        model,
        tuple(_compare_row(case, row, model, seeds, attempts, client) for row in rows),
    )


def failure_error(simulated: float, measured: float) -> float:
    """The error of a failure rate, relative to the rarer outcome."""
    return (simulated - measured) / max(min(measured, 1.0 - measured), _RAREST)


def throughput_error(simulated: float, measured: float) -> float:
    """The relative error of a throughput."""
    return simulated / measured - 1.0


def _compare_row(
    case: Case,
    row: Row,
    model: StoreModel,
    seeds: Sequence[int],
    attempts: int,
    client: Client,
) -> RowComparison:
    runs = [
        simulate(model, case.operation, row.threads, attempts=attempts, seed=seed, client=client)
        for seed in seeds
    ]
    mean = Outcome(
        *(
            math.fsum(getattr(run, name) for run in runs) / len(runs)
            for name in ("failure_rate", "ok_per_s", "mean_ms", "p50_ms", "p99_ms", "refused_ms")
        )
    )
    return RowComparison(
        row,
        mean,
        _error([failure_error(run.failure_rate, row.failure_rate) for run in runs]),
        _error([throughput_error(run.ok_per_s, row.ok_per_s) for run in runs]),
    )


def _error(values: Sequence[float]) -> Error:
    return Error(math.fsum(values) / len(values), mean_interval(values, CONFIDENCE))


def _verdict(error: float) -> Fit:
    return Fit.FITS if error <= LIMIT else Fit.DOES_NOT_FIT


def _worst(fits: Sequence[Fit]) -> Fit:
    for fit in (Fit.DOES_NOT_FIT, Fit.UNDECIDED):
        if fit in fits:
            return fit
    return Fit.FITS
