"""The threshold of an operation that no longer commits: its interval covers the truth, and is open where the rates are no help."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from endive.analysis.threshold import EVEN_ODDS, HARDLY_EVER, Trial, chance, find_threshold

RATES = (0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)


def logistic(rate: float) -> float:
    """Even odds at one a second."""
    return 1.0 / (1.0 + rate**5)


def five_tries(rate: float) -> float:
    """An overwrite of three minutes that reads 18 ms for each append since, and has five tries (docs/worked_questions.md)."""
    lost, window_s = 1.0, rate * 0.018 * 180.0
    for _ in range(5):
        lost *= 1.0 - math.exp(-rate * window_s)
        window_s *= 1.0 + rate * 0.018
    return 1.0 - lost


def crossing(curve: Callable[[float], float], level: float) -> float:
    """Where a falling curve crosses a level, by bisection."""
    low, high = 0.01, 50.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if curve(middle) > level else (low, middle)
    return low


def drawn(
    curve: Callable[[float], float],
    rng: np.random.RandomState,
    *,
    seeds: int = 10,
    each: int = 8,
    alike: float = 0.0,
    rates: tuple[float, ...] = RATES,
) -> list[Trial]:
    """Runs of so many transactions; `alike` is the correlation of those that share a run."""
    trials = []
    for rate in rates:
        for _ in range(seeds):
            share = curve(rate)
            if alike and 1e-6 < share < 1.0 - 1e-6:
                share = rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1))
            trials.append(Trial(rate, int(rng.binomial(each, share)), each))
    return trials


@pytest.mark.parametrize("level", [EVEN_ODDS, HARDLY_EVER])
@pytest.mark.parametrize(
    ("curve", "alike"),
    [(logistic, 0.0), (five_tries, 0.0), (logistic, 0.1)],
    ids=["logistic", "five tries", "alike within seeds"],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(
    curve: Callable[[float], float], alike: float, level: float
) -> None:
    truth, rng = crossing(curve, level), np.random.RandomState(7)
    covered = below = 0
    for _ in range(120):
        found = find_threshold(drawn(curve, rng, alike=alike), level)
        assert found is not None
        low, high = found.low_per_s or 0.0, found.high_per_s or math.inf
        covered += low <= truth <= high
        below += high < truth
        # An interval that covers because it is as wide as the grid would say nothing.
        assert found.is_bracketed or level == HARDLY_EVER
        if found.is_bracketed:
            assert high / low < 2.6
    # 95 % of 120 are 114; with 105 or more the coverage is not below 90 % by chance.
    assert covered >= 105
    assert below <= 12


def test_more_seeds_make_the_interval_narrower() -> None:
    rng = np.random.RandomState(1)
    few, many = (find_threshold(drawn(logistic, rng, seeds=seeds)) for seeds in (3, 60))
    assert few is not None
    assert many is not None
    width = [math.log((one.high_per_s or 0.0) / (one.low_per_s or 1.0)) for one in (few, many)]
    assert width[1] < width[0] / 2.5


def test_seeds_that_differ_more_than_chance_allows_widen_the_interval() -> None:
    trials = (
        [Trial(0.5, 10, 10)] * 8
        + [Trial(1.0, 10, 10), Trial(1.0, 0, 10)] * 4
        + [Trial(2.0, 0, 10)] * 8
    )
    even = [Trial(0.5, 10, 10)] * 8 + [Trial(1.0, 5, 10)] * 8 + [Trial(2.0, 0, 10)] * 8
    clustered, plain = find_threshold(trials), find_threshold(even)
    assert clustered is not None
    assert plain is not None
    assert plain.dispersion == 1.0
    assert clustered.dispersion > 5.0
    assert (clustered.high_per_s or math.inf) > (plain.high_per_s or 0.0)


def test_where_everything_commits_the_rates_do_not_bound_it_from_above() -> None:
    found = find_threshold([Trial(rate, 20, 20) for rate in (1.0, 2.0, 4.0)])
    assert found is not None
    assert found.rate_per_s is None
    assert found.high_per_s is None
    assert found.low_per_s is not None
    assert 1.0 < found.low_per_s <= 4.0
    assert found.surely_above_per_s == 4.0
    assert found.surely_below_per_s is None


def test_where_nothing_commits_the_rates_do_not_bound_it_from_below() -> None:
    found = find_threshold([Trial(rate, 0, 20) for rate in (10.0, 50.0, 100.0)])
    assert found is not None
    assert (found.rate_per_s, found.low_per_s) == (None, None)
    assert found.high_per_s is not None
    assert 10.0 <= found.high_per_s < 100.0
    assert not found.is_bracketed


def test_all_below_and_none_above_is_bracketed_without_a_point_in_between() -> None:
    found = find_threshold(
        [Trial(1.0, 30, 30), Trial(2.0, 30, 30), Trial(4.0, 0, 30), Trial(8.0, 0, 30)]
    )
    assert found is not None
    assert found.is_bracketed
    assert 2.0 <= (found.rate_per_s or 0.0) <= 4.0
    assert (found.low_per_s or 0.0) > 1.5
    assert (found.high_per_s or math.inf) < 5.0
    assert (found.surely_above_per_s, found.surely_below_per_s) == (2.0, 4.0)


def test_too_few_at_a_rate_to_rule_out_one_in_twenty_leave_the_end_open() -> None:
    found = find_threshold([Trial(0.5, 8, 8), Trial(1.0, 4, 8), Trial(2.0, 0, 8)], HARDLY_EVER)
    assert found is not None
    assert found.high_per_s is None


@pytest.mark.parametrize(
    "trials",
    [
        [],
        [Trial(1.0, 1, 2)],
        [Trial(1.0, 1, 2), Trial(2.0, 0, 0)],
        [Trial(0.0, 1, 1), Trial(1.0, 1, 2)],
    ],
)
def test_fewer_than_two_rates_have_no_threshold(trials: list[Trial]) -> None:
    assert find_threshold(trials) is None


def test_the_curve_that_is_drawn_crosses_a_half_at_the_threshold() -> None:
    trials = drawn(logistic, np.random.RandomState(3))
    found, rates = find_threshold(trials), np.geomspace(0.2, 3.0, 400)
    curve = chance(trials, rates)
    assert found is not None
    assert curve is not None
    assert rates[np.argmin(abs(curve - 0.5))] == pytest.approx(found.rate_per_s, rel=0.03)
    assert (np.diff(curve) <= 0.0).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, math.nan])
def test_a_level_lies_between_nothing_and_everything(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        find_threshold([Trial(1.0, 1, 2), Trial(2.0, 1, 2)], level)
