"""Intervals hold the true value as often as they say, and agree with SciPy's where SciPy has them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from endive.inference import Interval, mean_interval, proportion_interval

CONFIDENCES = (0.5, 0.9, 0.99, 0.9975)
_values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(values=_values, confidence=st.sampled_from(CONFIDENCES))
def test_interval_of_a_mean_is_students(values: list[float], confidence: float) -> None:
    found = mean_interval(values, confidence)
    spread = stats.sem(values)
    if max(values) - min(values) < 1e-9 * (1.0 + max(map(abs, values))):
        return  # rounding is all there is
    low, high = stats.t.interval(confidence, len(values) - 1, np.mean(values), spread)
    scale = 1.0 + max(map(abs, values))
    assert (found.low, found.high) == (
        pytest.approx(low, abs=1e-9 * scale),
        pytest.approx(high, abs=1e-9 * scale),
    )


@given(
    trials=st.integers(1, 10_000), share=st.floats(0, 1), confidence=st.sampled_from(CONFIDENCES)
)
def test_interval_of_a_share_is_wilsons(trials: int, share: float, confidence: float) -> None:
    successes = round(share * trials)
    found = proportion_interval(successes, trials, confidence)
    theirs = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert (found.low, found.high) == (
        pytest.approx(theirs.low, abs=1e-9),
        pytest.approx(theirs.high, abs=1e-9),
    )
    assert 0.0 <= found.low <= found.high <= 1.0


def test_all_or_nothing_leaves_room_for_what_was_not_seen() -> None:
    assert proportion_interval(0, 50, 0.95).low == 0.0
    assert 0.0 < proportion_interval(0, 50, 0.95).high < 0.1
    assert proportion_interval(50, 50, 0.95).high == pytest.approx(1.0)
    assert 0.9 < proportion_interval(50, 50, 0.95).low < 1.0
    assert proportion_interval(0, 0, 0.95) == Interval(0.0, 1.0, 0.95)


def test_one_value_says_nothing_about_its_spread() -> None:
    assert mean_interval([3.0], 0.9) == Interval(-math.inf, math.inf, 0.9)
    assert mean_interval([], 0.9).contains(1e300)


def test_values_that_are_all_alike_have_an_interval_without_width() -> None:
    found = mean_interval([0.1] * 7, 0.9)
    assert (found.low, found.high, found.half_width) == (0.1, 0.1, 0.0)
    assert found.contains(0.1)
    assert not found.contains(0.11)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_certainty_is_not_to_be_had(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([1.0, 2.0], confidence)
    with pytest.raises(ValueError, match="confidence"):
        proportion_interval(1, 2, confidence)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 2), (3, 2)])
def test_counts_that_cannot_be_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        proportion_interval(successes, trials, 0.9)


_TIMES = 2_000


@pytest.mark.parametrize("count", [4, 8, 32])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_interval_of_a_mean_holds_it_as_often_as_it_says(count: int, confidence: float) -> None:
    rng = np.random.RandomState(5)
    held = sum(
        mean_interval(rng.normal(3.0, 2.0, count).tolist(), confidence).contains(3.0)
        for _ in range(_TIMES)
    )
    # Four standard deviations of a count.
    slack = 4.0 * math.sqrt(confidence * (1.0 - confidence) * _TIMES)
    assert abs(held - confidence * _TIMES) < slack


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("trials", [50, 400])
def test_interval_of_a_share_holds_it_about_as_often_as_it_says(share: float, trials: int) -> None:
    # Shares come in steps of one trial, so the coverage can be computed, and is not exact; Wilson's is close on average.
    weights = stats.binom.pmf(np.arange(trials + 1), trials, share)
    held = sum(
        weight
        for successes, weight in enumerate(weights)
        if proportion_interval(successes, trials, 0.95).contains(share)
    )
    assert 0.92 < held < 0.99
