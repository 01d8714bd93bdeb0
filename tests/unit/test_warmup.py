"""MSER-5 finds where a series settles, cuts little of one that always was, and says so when none does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.warmup import (
    FEWEST_BATCHES,
    WarmUp,
    batch_means,
    marginal_standard_errors,
    mser,
    mser5,
)

_series = st.lists(st.floats(-1e4, 1e4), min_size=50, max_size=400)


def steady(count: int, seed: int) -> np.ndarray:
    return np.random.RandomState(seed).normal(100.0, 10.0, count)


def by_hand(series: list[float]) -> list[float]:
    """The definition, one truncation point at a time."""
    errors = []
    for start in range(len(series)):
        rest = series[start:]
        mean = math.fsum(rest) / len(rest)
        errors.append(math.fsum((x - mean) ** 2 for x in rest) / len(rest) ** 2)
    return errors


@given(_series)
def test_errors_are_those_of_the_definition(values: list[float]) -> None:
    found = marginal_standard_errors(np.array(values))
    assert found == pytest.approx(by_hand(values), rel=1e-9, abs=1e-3)


@given(_series)
def test_the_cut_is_where_the_definition_is_least(values: list[float]) -> None:
    means = batch_means(values)
    found = mser5(values)
    errors = by_hand(means.tolist())
    left = max(5, round(0.1 * len(means)))
    least = min(errors[: len(means) - left + 1])
    assert errors[found.least_at] == pytest.approx(least, rel=1e-6, abs=1e-3)


def test_a_known_series_is_cut_where_it_is_known_to_be() -> None:
    # Two batches of 10, then eight of 1, 2, 1, 2, …: without the first two the error is 8 · 0.25 / 8² = 1/32.
    means = [10.0, 10.0, *[1.0, 2.0] * 4]
    found = mser(means)
    assert found == WarmUp(batches=10, least_at=2, standard_error=found.standard_error)
    assert found.standard_error == pytest.approx(1 / 32)
    assert (found.is_steady, found.truncated_batches, found.truncated) == (True, 2, 10)


def test_the_same_series_ten_times_as_long_as_its_batches() -> None:
    values = np.repeat([10.0, 10.0, *[1.0, 2.0] * 4], 5)
    assert mser5(values).truncated == 10
    assert mser5(values).standard_error == pytest.approx(1 / 32)


@pytest.mark.parametrize("step_at", [100, 250, 500])
def test_a_step_is_cut_off_to_the_batch(step_at: int) -> None:
    values = steady(2000, seed=3)
    values[:step_at] += 200.0
    found = mser5(values)
    assert found.is_steady
    assert step_at <= found.truncated <= step_at + 100


def test_a_decaying_transient_is_cut_where_it_has_died_away() -> None:
    values = steady(5000, seed=4) + 500.0 * np.exp(-np.arange(5000) / 200.0)
    found = mser5(values)
    assert found.is_steady
    # After 200 · ln(500 / 10) values the transient is as small as the noise.
    assert 600 < found.truncated < 1600


def test_little_of_a_steady_series_is_cut() -> None:
    found = [mser5(steady(2000, seed)) for seed in range(100)]
    assert sum(one.is_steady for one in found) >= 95
    assert float(np.mean([one.truncated for one in found if one.is_steady])) < 0.1 * 2000


@pytest.mark.parametrize("slope", [1.0, -1.0])
def test_a_trend_never_settles(slope: float) -> None:
    for seed in range(20):
        found = mser5(steady(2000, seed) + slope * np.arange(2000))
        assert not found.is_steady
        assert found.truncated == 0
        assert 2 * found.least_at > found.batches


def test_a_change_late_in_the_run_is_no_steady_state() -> None:
    values = steady(2000, seed=5)
    values[1400:] += 200.0
    assert not mser5(values).is_steady


def test_a_constant_series_keeps_everything() -> None:
    for value in (0.0, 50.1, 1e-9, 1e12):
        found = mser5(np.full(500, value))
        assert (found.is_steady, found.truncated, found.standard_error) == (True, 0, 0.0)


def test_too_few_values_have_no_steady_state() -> None:
    for count in range(5 * FEWEST_BATCHES):
        found = mser5(steady(count, seed=6))
        assert not found.is_steady
        assert found.truncated == 0
        assert math.isnan(found.standard_error)
    assert mser5(np.ones(5 * FEWEST_BATCHES)).is_steady


def test_a_batch_that_is_not_full_is_left_out() -> None:
    assert batch_means([1, 2, 3, 4, 5, 6, 7]).tolist() == [3.0]
    assert batch_means([]).tolist() == []


def test_what_is_no_series_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        mser([1.0] * 20 + [math.nan])
    with pytest.raises(ValueError, match="one dimension"):
        mser5(np.ones((20, 5)))
