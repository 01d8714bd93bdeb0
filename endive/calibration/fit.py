"""Fits a store: one effect point, and per operation a latency and a latency of refusals, on 1, 4 and 16 threads.

The search is small and deterministic. The effect point belongs to the store, as in a profile, so it is walked over a grid
for all its operations together. For each, median latency and median latency of refusals are found by least squares over
the errors that are judged, with the same random numbers throughout. The spread is not searched: p99/p50 of one client
alone, whom nobody refuses, shows it directly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from endive.calibration.compare import LIMIT, failure_error
from endive.calibration.data import TRAINED_ON, Case, Operation
from endive.calibration.experiment import Client, StoreModel, simulate

COARSE = tuple(place / 10 for place in range(11))
_FINE_STEPS = (-0.05, 0.05)
FIT_ATTEMPTS = 4_000
_FIT_SEED = 101
# The 99th percentile of a standard normal.
_Z99 = 2.3263478740408408
# Steps of a tenth in the logarithm are wide enough to see through what noise remains.
_STEP = 0.1
_MAX_EVALUATIONS = 6
# How long refusals must have taken for a row to add up settles what failure rate and throughput leave open, no more.
_HINT = 0.1


@dataclass(frozen=True, slots=True)
class OperationFit:
    """What was found for one operation at one effect point."""

    model: StoreModel
    residuals: tuple[float, ...]
    """The errors of failure rate and throughput on the trained rows, and the hints."""

    @property
    def loss(self) -> float:
        """Sum of the squared errors."""
        return math.fsum(error * error for error in self.residuals)

    @property
    def worst(self) -> float:
        """The largest error."""
        return max(abs(error) for error in self.residuals)


@dataclass(frozen=True, slots=True)
class StoreFit:
    """The best fit of a store, and which other effect points would do."""

    store: str
    models: Mapping[Operation, StoreModel]
    effect_range: tuple[float, float] | None
    """The effect points of the grid with which the trained rows are within the limit; None: there is none."""
    loss: float
    client: Client = Client.READS_WITHIN

    @property
    def effect_point(self) -> float:
        """The one effect point of all its operations."""
        return next(iter(self.models.values())).effect_point


def fit_store(
    cases: Sequence[Case],
    floor_ms: float,
    *,
    client: Client = Client.READS_WITHIN,
    attempts: int = FIT_ATTEMPTS,
    effect_points: Sequence[float] = COARSE,
) -> StoreFit:
    """Fit all operations of one store."""
    tried: dict[float, dict[Operation, OperationFit]] = {}

    def loss_at(effect_point: float) -> float:
        if effect_point not in tried:
            tried[effect_point] = {
                case.operation: fit_operation(case, effect_point, floor_ms, client, attempts)
                for case in cases
            }
        return math.fsum(found.loss for found in tried[effect_point].values())

    best = min(effect_points, key=loss_at)
    near = [round(best + step, 2) for step in _FINE_STEPS if 0.0 <= best + step <= 1.0]
    best = min([best, *near], key=loss_at)
    good = [
        effect_point
        for effect_point, found in sorted(tried.items())
        if all(each.worst <= LIMIT for each in found.values())
    ]
    return StoreFit(
        store=cases[0].store,
        models={operation: _rounded(found.model) for operation, found in tried[best].items()},
        effect_range=(good[0], good[-1]) if good else None,
        loss=loss_at(best),
        client=client,
    )


def _rounded(model: StoreModel) -> StoreModel:
    """The same model in figures that can be read aloud; more digits than that are noise."""
    return replace(
        model,
        median_ms=float(f"{model.median_ms:.4g}"),
        sigma=float(f"{model.sigma:.3g}"),
        refused_median_ms=float(f"{model.refused_median_ms:.4g}"),
        refused_sigma=float(f"{model.refused_sigma:.3g}"),
    )


def fit_operation(
    case: Case, effect_point: float, floor_ms: float, client: Client, attempts: int
) -> OperationFit:
    """Find the median latencies of an operation, refused and not, at this effect point."""
    from scipy.optimize import least_squares

    alone = case.row(1)
    sigma = math.log(alone.tail) / _Z99

    def model_at(point: Sequence[float]) -> StoreModel:
        return StoreModel(
            effect_point=effect_point,
            median_ms=math.exp(point[0]),
            sigma=sigma,
            floor_ms=floor_ms,
            refused_median_ms=math.exp(point[1]),
            # Nothing is known of the spread of refusals; that of successes stands in.
            refused_sigma=sigma,
        )

    def residuals(point: Sequence[float]) -> list[float]:
        model = model_at(point)
        errors = []
        for threads in TRAINED_ON:
            row = case.row(threads)
            run = simulate(
                model,
                case.operation,
                threads,
                attempts=attempts,
                seed=_FIT_SEED,
                client=client,
            )
            # Half as fast is as far off as twice as fast, or the search would rather have a store that stands still.
            errors += [
                failure_error(run.failure_rate, row.failure_rate),
                math.log(run.ok_per_s / row.ok_per_s),
            ]
            if run.refused_ms and row.refused_ms:
                errors.append(_HINT * math.log(run.refused_ms / row.refused_ms))
        return errors

    crowd = case.row(max(TRAINED_ON))
    # Where nearly all are refused, the time of an attempt is nearly that of a refusal; the mean is above the median.
    first_refused_ms = max(crowd.refused_ms or crowd.cycle_ms, floor_ms) / math.exp(sigma**2 / 2.0)
    start = [math.log(alone.p50_ms), math.log(first_refused_ms)]
    found = least_squares(
        residuals,
        start,
        method="dogbox",
        bounds=([math.log(floor_ms / 4.0)] * 2, [math.inf] * 2),
        x_scale=1.0,
        diff_step=_STEP / max(1.0, *(abs(value) for value in start)),
        max_nfev=_MAX_EVALUATIONS,
    )
    return OperationFit(model_at(found.x), tuple(float(error) for error in found.fun))
