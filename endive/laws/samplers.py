"""L10: every sampler draws what it says it draws, the mass at its floor included.

Distributions are stated here once more, by their textbook functions, and not by the code that draws from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)
from endive.laws.fit import Cdf, Values, distribution_fits, share_of
from endive.laws.model import Law, Measure, Trial
from endive.profiles import ProviderProfile, load_profiles
from endive.sampling import OperationSampler
from endive.storage import create_provider
from endive.utils import NormalStream, Purpose, random_stream

LAWS = (
    Law(
        "L10",
        "Samplers",
        "Every sampler follows its stated distribution, and the share of draws at the floor is the probability below it.",
        "None: draws are independent. The interval is that of the factors on the stated distribution that a Kolmogorov–Smirnov test does not reject.",
    ),
)

_SIZE_BYTES = 65_536
_DRAWS = 12_000
_SEEDS = 5
# Below this share more draws would be needed than the rest of all laws takes.
_LEAST_MASS = 0.05


def lognormal_cdf(median: float, sigma: float) -> Cdf:
    """The distribution function of a lognormal."""

    def cdf(x: Values) -> Values:
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(x) - math.log(median)) / sigma))

    return cdf


def normal_cdf(mean: float, std_dev: float) -> Cdf:
    """The distribution function of a normal."""

    def cdf(x: Values) -> Values:
        from scipy.special import ndtr

        return np.asarray(ndtr((x - mean) / std_dev))

    return cdf


def exponential_cdf(mean: float) -> Cdf:
    """The distribution function of an exponential."""
    return lambda x: -np.expm1(-np.maximum(x, 0.0) / mean)


def uniform_cdf(low: float, high: float) -> Cdf:
    """The distribution function of a uniform."""
    return lambda x: np.clip((x - low) / (high - low), 0.0, 1.0)


def shifted_cdf(cdf: Cdf, by: float) -> Cdf:
    """The distribution function of the same plus a constant."""
    return lambda x: cdf(np.maximum(x - by, 0.0))


def sampler_trial(
    name: str,
    words: str,
    draw: Callable[[int, int], Values],
    cdf: Cdf,
    floor: float,
    *,
    draws: int = _DRAWS,
    seeds: int = _SEEDS,
) -> Trial:
    """Draws of one sampler: their distribution and, where there is enough of it, the mass at the floor."""
    mass = float(cdf(np.array([floor]))[0]) if floor > 0.0 else 0.0
    measures = []
    # Where nearly everything is at the floor the rest tells little of its own; the mass tells all there is.
    if mass < 0.9:
        fits = distribution_fits(cdf, floor)
        measures.append(Measure("L10", f"{words}: factor", 1.0, _itself, fits))
    if mass >= _LEAST_MASS:
        at_floor = share_of(lambda samples: samples == floor)
        measures.append(
            Measure("L10", f"{words}: share at floor {floor:g}", mass, _itself, at_floor)
        )
    wanted = draws if mass < _LEAST_MASS else math.ceil(max(draws, 30_000.0 * (1.0 - mass) / mass))
    return Trial(name, lambda seed: draw(seed, wanted), tuple(measures), seeds)


def _itself(samples: NDArray[Any]) -> NDArray[Any]:
    return samples


def _draw(distribution: LatencyDistribution, seed: int, count: int) -> Values:
    rng = random_stream(seed, Purpose.STORAGE)
    draw_ms = OperationSampler(distribution, NormalStream(rng), rng).draw_ms
    return np.array([draw_ms() for _ in range(count)])


def _draw_from_store(provider: str, operation: str, seed: int, count: int) -> Values:
    store = create_provider(provider, random_stream(seed, Purpose.STORAGE), load_profiles())
    draw_ms = store.sampler(operation, _SIZE_BYTES).draw_ms
    return np.array([draw_ms() for _ in range(count)])


def _families() -> tuple[Trial, ...]:
    """Every sampler there is, with and without something at the floor."""
    stated: tuple[tuple[str, LatencyDistribution, Cdf, float], ...] = (
        ("lognormal", LognormalLatency(math.log(40.0), 0.5, 0.0), lognormal_cdf(40.0, 0.5), 0.0),
        (
            "lognormal of a mean",
            LognormalLatency.from_mean(200.0, 1.5, 50.0),
            lognormal_cdf(200.0 * math.exp(-1.125), 1.5),
            50.0,
        ),
        (
            "size_based at 2 MiB",
            SizeBasedLatency(30.0, 20.0, 0.3, 60.0).at_size(2**21),
            lognormal_cdf(70.0, 0.3),
            60.0,
        ),
        ("normal", NormalLatency(50.0, 10.0), normal_cdf(50.0, 10.0), 0.0),
        ("normal with floor", NormalLatency(50.0, 20.0, 40.0), normal_cdf(50.0, 20.0), 40.0),
        ("exponential", ExponentialLatency(100.0), exponential_cdf(100.0), 0.0),
        ("exponential with floor", ExponentialLatency(100.0, 30.0), exponential_cdf(100.0), 30.0),
        ("uniform", UniformLatency(20.0, 60.0), uniform_cdf(20.0, 60.0), 0.0),
        ("uniform with floor", UniformLatency(20.0, 60.0, 35.0), uniform_cdf(20.0, 60.0), 35.0),
        (
            "shifted",
            ShiftedLatency(ExponentialLatency(80.0), 15.0),
            shifted_cdf(exponential_cdf(80.0), 15.0),
            0.0,
        ),
    )
    found = [
        sampler_trial(f"sampler-{words}", words, partial(_draw, distribution), cdf, floor)
        for words, distribution, cdf, floor in stated
    ]
    exact = Measure("L10", "fixed: mean", 42.5, lambda samples: float(samples.mean()))
    found.append(
        Trial("sampler-fixed", lambda seed: _draw(FixedLatency(42.5), seed, 100), (exact,), 2)
    )
    return tuple(found)


# Which operation draws from which latency of a profile.
_OPERATIONS = {
    "cas": "catalog.cas",
    "append": "catalog.append",
    "append_failure": "catalog.append_failure",
    "put": "manifest_file.write",
}


def _stated(profile: ProviderProfile, latency: str) -> Cdf:
    value = {name: figure.value for name, figure in profile.latency[latency].figures.items()}
    if latency == "put":
        median = value["base"] + value["per_mib"] * _SIZE_BYTES / 2**20
        return lognormal_cdf(median, value["sigma"])
    return lognormal_cdf(value["median"], value["sigma"])


def trials() -> tuple[Trial, ...]:
    """Every sampler, and every latency of every profile as its store draws it."""
    by_profile = [
        sampler_trial(
            f"sampler-{name}-{latency}",
            f"{name} {latency}",
            partial(_draw_from_store, name, _OPERATIONS[latency]),
            _stated(profile, latency),
            profile.min_latency_ms.value,
        )
        for name, profile in load_profiles().items()
        for latency in profile.latency
    ]
    return (*_families(), *by_profile)
