"""Latency distributions (§1.2): parameters, floors and the one standard normal behind each of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LognormalLatency,
    NormalDriven,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)

_MIB = 2**20
_DISTRIBUTIONS: list[NormalDriven] = [
    LognormalLatency.from_median(61.0, 0.14, 43.0),
    LognormalLatency.from_mean(180_000.0, 1.5),
    SizeBasedLatency(30.0, 20.0, 0.3, 10.0).with_size(_MIB),
    NormalLatency(50.0, 5.0),
    ExponentialLatency(100.0),
    UniformLatency(10.0, 50.0),
    ShiftedLatency(LognormalLatency.from_median(20.0, 0.5), 100.0),
]
_EACH = pytest.mark.parametrize("distribution", _DISTRIBUTIONS, ids=lambda d: type(d).__name__)


def test_lognormal_from_median_has_that_median() -> None:
    assert LognormalLatency.from_median(61.0, 0.14).from_normal(0.0) == pytest.approx(61.0)
    assert LognormalLatency.from_median(61.0, 0.14).mu == math.log(61.0)


def test_lognormal_from_mean_subtracts_half_the_variance() -> None:
    assert LognormalLatency.from_mean(180_000.0, 1.5).mu == math.log(180_000.0) - 1.125


def test_size_moves_the_median_in_proportion() -> None:
    model = SizeBasedLatency(30.0, 20.0, 0.3)
    assert model.from_normal(0.0) == pytest.approx(30.0)
    assert model.with_size(_MIB).from_normal(0.0) == pytest.approx(50.0)
    assert model.with_size(5 * _MIB // 2).from_normal(0.0) == pytest.approx(80.0)


def test_with_size_leaves_the_model_as_it_was() -> None:
    model = SizeBasedLatency(30.0, 20.0, 0.3)
    model.with_size(_MIB)
    assert model == SizeBasedLatency(30.0, 20.0, 0.3)


def test_fixed_latency_consumes_no_randomness() -> None:
    rng = np.random.RandomState(1)
    assert FixedLatency(7.5).sample(rng) == 7.5
    assert rng.random_sample() == np.random.RandomState(1).random_sample()


@pytest.mark.parametrize(
    ("z", "median_share"), [(0.0, 0.5), (1.2815515655446004, 0.9), (-1.2815515655446004, 0.1)]
)
def test_uniform_and_exponential_are_quantiles_of_the_normal(z: float, median_share: float) -> None:
    assert UniformLatency(0.0, 1.0).from_normal(z) == pytest.approx(median_share)
    expected = -math.log(1.0 - median_share)
    assert ExponentialLatency(1.0).from_normal(z) == pytest.approx(expected)


def test_exponential_keeps_its_digits_far_out_in_the_tail() -> None:
    # 1 − Φ(9) is about 1e-19: as a difference it would be zero and its logarithm infinite.
    assert ExponentialLatency(1.0).from_normal(9.0) == pytest.approx(43.628149, abs=1e-5)


@_EACH
def test_a_sample_takes_exactly_one_standard_normal(distribution: NormalDriven) -> None:
    rng, twin = np.random.RandomState(3), np.random.RandomState(3)
    for _ in range(100):
        assert distribution.sample(rng) == distribution.from_normal(twin.standard_normal())
    assert rng.random_sample() == twin.random_sample()


@_EACH
def test_many_normals_map_as_one_does(distribution: NormalDriven) -> None:
    normals = np.random.RandomState(4).standard_normal(500)
    one_by_one = [distribution.from_normal(z) for z in normals.tolist()]
    assert distribution.from_normals(normals) == pytest.approx(one_by_one, rel=1e-13)


@_EACH
@given(low=st.floats(-8.0, 8.0), high=st.floats(-8.0, 8.0))
def test_larger_normals_never_give_smaller_latencies(
    distribution: NormalDriven, low: float, high: float
) -> None:
    low, high = min(low, high), max(low, high)
    assert distribution.from_normal(low) <= distribution.from_normal(high)


@_EACH
@given(z=st.floats(-8.0, 8.0), floor_ms=st.floats(0.0, 1e6))
def test_no_sample_falls_below_the_floor(
    distribution: NormalDriven, z: float, floor_ms: float
) -> None:
    raised = distribution.with_floor(floor_ms)
    assert raised.from_normal(z) >= floor_ms
    assert float(raised.from_normals(np.array([z]))[0]) >= floor_ms


def test_a_fixed_latency_is_raised_to_the_floor_too() -> None:
    assert FixedLatency(5.0).with_floor(10.0) == FixedLatency(10.0)
    assert FixedLatency(15.0).with_floor(10.0) == FixedLatency(15.0)


def test_durations_have_the_floor_zero_unless_told_otherwise() -> None:
    assert NormalLatency(1.0, 10.0).from_normal(-5.0) == 0.0
    assert UniformLatency(-10.0, 10.0).from_normal(-5.0) == 0.0


def test_a_shifted_latency_is_the_other_plus_a_constant() -> None:
    inner = LognormalLatency.from_median(20.0, 0.5)
    assert ShiftedLatency(inner, 100.0).from_normal(0.7) == 100.0 + inner.from_normal(0.7)
