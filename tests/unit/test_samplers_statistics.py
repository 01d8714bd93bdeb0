"""Every random quantity follows its stated distribution, by tests with the power to reject an error of 5 %.

Each check is made twice: with the stated parameters, which must pass, and with each parameter off by 5 %, which must
fail. A test too weak to notice such an error would prove nothing. Seeds are fixed, so the outcome is too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from endive.catalog import CatalogSnapshot
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.latency import (
    ExponentialLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)
from endive.profiles import load_profiles
from endive.storage import ProfileStorageProvider, StorageResult, create_provider, total_ms
from endive.transaction import Backoff, ValidatedOverwriteTransaction
from endive.utils import Purpose, random_stream
from endive.workload import (
    UniformPartitionSelector,
    UniformTableSelector,
    Workload,
    WorkloadConfig,
    ZipfPartitionSelector,
    ZipfTableSelector,
)

ALPHA = 1e-3
ERROR = 1.05
_MIB = 2**20
Values = NDArray[np.float64]
Cdf = Callable[[Values], Values]


def _fits(samples: Values, cdf: Cdf) -> bool:
    """Kolmogorov–Smirnov: could these samples come from this distribution?"""
    return bool(stats.kstest(samples, cdf).pvalue > ALPHA)


def _counts_fit(counts: Iterable[int], probabilities: Iterable[float]) -> bool:
    """Chi-square: could these counts come from these probabilities?"""
    observed = np.array(list(counts))
    expected = np.array(list(probabilities))
    return bool(
        stats.chisquare(observed, observed.sum() * expected / expected.sum()).pvalue > ALPHA
    )


# -- distributions -------------------------------------------------------------------------------------------------


def _lognormal(median: float, sigma: float) -> Cdf:
    return lambda x: np.asarray(stats.lognorm.cdf(x, s=sigma, scale=median))


def _lognormal_of_mean(mean: float, sigma: float) -> Cdf:
    return _lognormal(mean * np.exp(-sigma * sigma / 2.0), sigma)


def _sized(size_mib: float) -> Callable[..., Cdf]:
    return lambda base, per_mib, sigma: _lognormal(base + per_mib * size_mib, sigma)


def _normal(mean: float, std_dev: float) -> Cdf:
    return lambda x: np.asarray(stats.norm.cdf(x, mean, std_dev))


def _exponential(scale: float) -> Cdf:
    return lambda x: np.asarray(stats.expon.cdf(x, scale=scale))


def _uniform(low: float, high: float) -> Cdf:
    return lambda x: np.asarray(stats.uniform.cdf(x, low, high - low))


def _shifted(offset: float, median: float, sigma: float) -> Cdf:
    return lambda x: _lognormal(median, sigma)(x - offset)


# Name, sampler, family, stated parameters, and which of them are told apart at an error of 5 %: the fixed part of a large
# object and the rate of a small one hardly show in its latency.
_SAMPLERS: list[tuple[str, LatencyDistribution, Callable[..., Cdf], tuple[float, ...], str]] = [
    ("median", LognormalLatency.from_median(61.0, 0.14), _lognormal, (61.0, 0.14), "yy"),
    (
        "mean",
        LognormalLatency.from_mean(180_000.0, 1.5, 0.0),
        _lognormal_of_mean,
        (180_000.0, 1.5),
        "yy",
    ),
    ("empty", SizeBasedLatency(30, 20, 0.3), _sized(0.0), (30.0, 20.0, 0.3), "yny"),
    (
        "1 MiB",
        SizeBasedLatency(30, 20, 0.3).with_size(_MIB),
        _sized(1.0),
        (30.0, 20.0, 0.3),
        "yyy",
    ),
    (
        "64 MiB",
        SizeBasedLatency(30, 20, 0.3).with_size(64 * _MIB),
        _sized(64.0),
        (30.0, 20.0, 0.3),
        "nyy",
    ),
    ("normal", NormalLatency(100.0, 15.0), _normal, (100.0, 15.0), "yy"),
    ("exponential", ExponentialLatency(100.0), _exponential, (100.0,), "y"),
    ("uniform", UniformLatency(10.0, 50.0), _uniform, (10.0, 50.0), "yy"),
    (
        "shifted",
        ShiftedLatency(LognormalLatency.from_median(20.0, 0.5, 0.0), 100.0),
        _shifted,
        (100.0, 20.0, 0.5),
        "yyy",
    ),
]


@pytest.mark.parametrize(
    ("distribution", "family", "parameters", "told_apart"),
    [case[1:] for case in _SAMPLERS],
    ids=[case[0] for case in _SAMPLERS],
)
def test_sampler_follows_its_distribution_and_no_other(
    distribution: LatencyDistribution,
    family: Callable[..., Cdf],
    parameters: tuple[float, ...],
    told_apart: str,
) -> None:
    rng = np.random.RandomState(20_250_601)
    samples = np.array([distribution.sample(rng) for _ in range(150_000)])
    assert _fits(samples, family(*parameters))
    for index, flag in enumerate(told_apart):
        for factor in (ERROR, 1.0 / ERROR):
            wrong = list(parameters)
            wrong[index] *= factor
            if flag == "y":
                assert not _fits(samples, family(*wrong)), f"parameter {index} times {factor}"


def test_lognormal_from_mean_has_that_mean() -> None:
    rng = np.random.RandomState(7)
    distribution = LognormalLatency.from_mean(180.0, 0.5)
    samples = np.array([distribution.sample(rng) for _ in range(100_000)])
    assert samples.mean() == pytest.approx(180.0, rel=0.01)


# -- providers -----------------------------------------------------------------------------------------------------


def _spread_floor(samples: Values, cdf: Cdf, floor_ms: float) -> Values:
    """Probability transform; the mass at the floor is spread evenly over its share.

    If the model is right, the result is uniform: both the mass at the floor and the shape above it are tested at once.
    """
    shares = cdf(samples)
    at_floor = samples == floor_ms
    spread = np.random.RandomState(1).random_sample(len(samples))
    return np.where(at_floor, spread * shares, shares)


def _call(provider: ProfileStorageProvider, operation: str, index: int) -> StorageResult:
    calls: dict[str, Callable[[], Any]] = {
        "cas": lambda: provider.cas("catalog/pointer", index, 16_384),
        "append": lambda: provider.append("catalog/log", index * 100, 100),
        "put": lambda: provider.write("manifest_list/x", 4 * _MIB),
        "append_failure": lambda: provider.append("catalog/log", 5, 100),
    }
    steps = calls[operation]()
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: StorageResult = stop.value
            return result


_PROFILES = load_profiles()
_PROVIDER_OPERATIONS = [
    (name, operation)
    for name, profile in _PROFILES.items()
    for operation in ("cas", "put", "append", "append_failure")
    if operation in profile.latency
]


def _stated_cdf(name: str, operation: str, factor: float) -> Cdf:
    figures = {key: f.value for key, f in _PROFILES[name].latency[operation].figures.items()}
    if operation == "put":
        return _lognormal((figures["base"] + 4.0 * figures["per_mib"]) * factor, figures["sigma"])
    own = _lognormal(figures["median"] * factor, figures["sigma"])
    if operation != "append_failure":
        return own
    # A failed append takes as long as its failure, but at least until its effect point (half of a drawn append).
    append = {key: f.value for key, f in _PROFILES[name].latency["append"].figures.items()}
    to_effect = _lognormal(append["median"], append["sigma"])
    floor_ms = _PROFILES[name].min_latency_ms.value
    return lambda x: own(x) * np.where(2.0 * x < floor_ms, 0.0, to_effect(2.0 * x))


@pytest.mark.parametrize(("name", "operation"), _PROVIDER_OPERATIONS)
def test_provider_draws_follow_the_profile_and_its_floor(name: str, operation: str) -> None:
    provider = create_provider(name, random_stream(11, Purpose.STORAGE), _PROFILES)
    samples = np.array([_call(provider, operation, i).latency_ms for i in range(40_000)])
    floor_ms = provider.min_latency_ms
    assert samples.min() >= floor_ms
    for factor, fits in ((1.0, True), (ERROR, False), (1.0 / ERROR, False)):
        shares = _spread_floor(samples, _stated_cdf(name, operation, factor), floor_ms)
        assert _fits(shares, _uniform(0.0, 1.0)) is fits, f"median times {factor}"


def test_share_of_draws_at_the_floor_is_what_the_distribution_says() -> None:
    provider = create_provider("gcp", random_stream(12, Purpose.STORAGE), _PROFILES)
    draws = 40_000
    at_floor = sum(
        total_ms(provider.cas("catalog/pointer", i, 16_384)) == 118.0 for i in range(draws)
    )
    share = float(_lognormal(170.0, 0.91)(np.array([118.0]))[0])
    assert stats.binomtest(at_floor, draws, share).pvalue > ALPHA
    assert stats.binomtest(at_floor, draws, share * ERROR).pvalue < ALPHA


def test_provider_draws_are_the_plain_stream_in_order() -> None:
    provider = create_provider("azure", np.random.RandomState(13), _PROFILES)
    plain = np.random.RandomState(13)
    cas = LognormalLatency.from_median(93.0, 0.82, 51.0)
    put = SizeBasedLatency(50.0, 25.0, 0.3, 51.0).with_size(4 * _MIB)
    for index in range(5_000):
        assert _call(provider, "cas", index).latency_ms == pytest.approx(
            cas.sample(plain), rel=1e-15
        )
        assert _call(provider, "put", index).latency_ms == put.sample(plain)


# -- workload ------------------------------------------------------------------------------------------------------

_ARRIVALS = 150_000


@pytest.fixture(scope="module")
def arrivals() -> tuple[Values, Values, Counter[str]]:
    """Delays, runtimes and operation types of one long workload."""
    config = WorkloadConfig(
        inter_arrival=ExponentialLatency(100.0),
        runtime=LognormalLatency.from_mean(180_000.0, 1.5, 0.0),
        num_tables=1,
        partitions_per_table=(1,),
        fast_append_weight=7.0,
        merge_append_weight=2.0,
        validated_overwrite_weight=1.0,
    )
    delays, runtimes, operations = [], [], Counter[str]()
    for delay_ms, txn in islice(Workload(config, seed=17).generate(), _ARRIVALS):
        delays.append(delay_ms)
        runtimes.append(txn.runtime_ms)
        operations[txn.operation_type] += 1
    return np.array(delays), np.array(runtimes), operations


Arrivals = tuple[Values, Values, Counter[str]]


def test_inter_arrival_times_are_exponential(arrivals: Arrivals) -> None:
    delays = arrivals[0]
    assert _fits(delays, _exponential(100.0))
    assert not _fits(delays, _exponential(100.0 * ERROR))
    assert not _fits(delays, _exponential(100.0 / ERROR))


def test_arrivals_in_a_second_are_poisson(arrivals: Arrivals) -> None:
    times = np.cumsum(arrivals[0])
    seconds = int(times[-1] // 1_000.0)
    per_second = np.bincount((times[times < seconds * 1_000.0] // 1_000.0).astype(int))
    counts = np.bincount(np.clip(per_second, 2, 20))[2:]

    def shares(rate: float) -> Values:
        inner = stats.poisson.pmf(np.arange(2, 21), rate)
        inner[0] = stats.poisson.cdf(2, rate)
        inner[-1] = stats.poisson.sf(19, rate)
        return np.asarray(inner)

    assert _counts_fit(counts, shares(10.0))
    assert not _counts_fit(counts, shares(10.0 * ERROR))
    assert not _counts_fit(counts, shares(10.0 / ERROR))


def test_successive_delays_are_uncorrelated(arrivals: Arrivals) -> None:
    delays = arrivals[0]
    assert stats.spearmanr(delays[:-1], delays[1:]).pvalue > ALPHA


def test_runtimes_follow_their_distribution_within_a_workload(arrivals: Arrivals) -> None:
    runtimes = arrivals[1]
    assert _fits(runtimes, _lognormal_of_mean(180_000.0, 1.5))
    assert not _fits(runtimes, _lognormal_of_mean(180_000.0 * ERROR, 1.5))
    assert not _fits(runtimes, _lognormal_of_mean(180_000.0, 1.5 * ERROR))


def test_operation_mix_follows_the_normalised_weights(arrivals: Arrivals) -> None:
    names = ("fast_append", "merge_append", "validated_overwrite")
    counts = [arrivals[2][name] for name in names]
    weights = [0.7, 0.2, 0.1]
    assert _counts_fit(counts, weights)
    for index in range(3):
        wrong = list(weights)
        wrong[index] *= ERROR
        assert not _counts_fit(counts, wrong), names[index]


# -- selectors -----------------------------------------------------------------------------------------------------

_SELECTIONS = 150_000


@pytest.mark.parametrize("selector", [UniformTableSelector(), UniformPartitionSelector()])
def test_uniform_selector_prefers_nobody(
    selector: UniformTableSelector | UniformPartitionSelector,
) -> None:
    rng = np.random.RandomState(19)
    counts = Counter(min(selector.select(1, 4, rng)[0]) for _ in range(_SELECTIONS))
    assert _counts_fit([counts[k] for k in range(4)], [1.0] * 4)
    assert not _counts_fit([counts[k] for k in range(4)], [ERROR, 1.0, 1.0, 1.0])


def test_uniform_selector_of_several_makes_every_ordered_choice_alike() -> None:
    rng = np.random.RandomState(23)
    # With half of two written, the written one is the first that was chosen.
    selector = UniformTableSelector(write_fraction=0.5)
    counts: Counter[tuple[int, int]] = Counter()
    for _ in range(_SELECTIONS):
        read, written = selector.select(2, 4, rng)
        counts[min(written), min(read - written)] += 1
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    assert set(counts) == set(pairs)
    assert _counts_fit([counts[pair] for pair in pairs], [1.0] * 12)
    assert not _counts_fit(
        [counts[pair] for pair in pairs], [ERROR if i < j else 1.0 for i, j in pairs]
    )


def _zipf(alpha: float, total: int) -> Values:
    weights = np.arange(1, total + 1, dtype=float) ** -alpha
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("selector", [ZipfTableSelector(1.5), ZipfPartitionSelector(1.5)])
def test_zipf_selector_follows_its_exponent(
    selector: ZipfTableSelector | ZipfPartitionSelector,
) -> None:
    rng = np.random.RandomState(29)
    counts = Counter(min(selector.select(1, 10, rng)[0]) for _ in range(_SELECTIONS))
    observed = [counts[k] for k in range(10)]
    assert _counts_fit(observed, _zipf(1.5, 10))
    assert not _counts_fit(observed, _zipf(1.5 * ERROR, 10))
    assert not _counts_fit(observed, _zipf(1.5 / ERROR, 10))


def test_zipf_selector_of_several_draws_again_what_it_has() -> None:
    rng = np.random.RandomState(31)
    selector = ZipfTableSelector(1.5, write_fraction=0.5)
    counts: Counter[tuple[int, int]] = Counter()
    for _ in range(_SELECTIONS):
        read, written = selector.select(2, 4, rng)
        counts[min(written), min(read - written)] += 1
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]

    def shares(alpha: float) -> list[float]:
        p = _zipf(alpha, 4)
        return [float(p[i] * p[j] / (1.0 - p[i])) for i, j in pairs]

    assert _counts_fit([counts[pair] for pair in pairs], shares(1.5))
    assert not _counts_fit([counts[pair] for pair in pairs], shares(1.5 * ERROR))


# -- backoff and detector ------------------------------------------------------------------------------------------


def test_backoff_jitter_is_uniform_around_the_wait() -> None:
    backoff = Backoff(np.random.RandomState(37), base_ms=10.0, multiplier=2.0, jitter=0.1)
    waits = np.array([backoff.wait_ms(3) for _ in range(60_000)])

    def around(base: float, multiplier: float, jitter: float) -> Cdf:
        centre = base * multiplier**2
        return _uniform(centre * (1.0 - jitter), centre * (1.0 + jitter))

    assert _fits(waits, around(10.0, 2.0, 0.1))
    assert not _fits(waits, around(10.0 * ERROR, 2.0, 0.1))
    assert not _fits(waits, around(10.0, 2.0 * ERROR, 0.1))
    assert not _fits(waits, around(10.0, 2.0, 0.1 * ERROR))


def test_probabilistic_detector_is_real_as_often_as_stated() -> None:
    detector = ProbabilisticConflictDetector(0.3, np.random.RandomState(41))
    txn = ValidatedOverwriteTransaction(0, 0.0, 1.0, frozenset({0}))
    snapshot = CatalogSnapshot(0, (), 0.0)
    questions = 60_000
    real = sum(detector.is_real_conflict(txn, snapshot, snapshot) for _ in range(questions))
    assert stats.binomtest(real, questions, 0.3).pvalue > ALPHA
    assert stats.binomtest(real, questions, 0.3 * ERROR).pvalue < ALPHA
    assert stats.binomtest(real, questions, 0.3 / ERROR).pvalue < ALPHA
