"""The knee of a curve: where throughput divided by the price of a commit is greatest, bracketed by the loads tried."""

from __future__ import annotations

import math

import pytest

from endive.analysis.knee import Knee, Point, find_knee


def queue(load: float, capacity: float = 10.0) -> Point:
    """M/M/1: everything gets through, and takes 1/(capacity - load)."""
    return Point(load, load, 1000.0 / (capacity - load))


def saturating(load: float, ceiling: float = 10.0) -> Point:
    """Beyond the ceiling throughput stays and the price rises with what is offered in vain."""
    return Point(load, min(load, ceiling), 100.0 * max(1.0, load / ceiling))


def found(loads: list[float], curve: list[Point], *seeds: list[Point]) -> Knee:
    knee = find_knee(curve, seeds)
    assert knee is not None
    assert knee.point.load in loads
    return knee


def test_a_queue_has_its_knee_at_half_its_capacity() -> None:
    loads = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    knee = found(loads, [queue(load) for load in loads])
    assert (knee.low, knee.point.load, knee.high) == (4.0, 5.0, 6.0)
    assert knee.is_bracketed


@pytest.mark.parametrize("ceiling", [3.0, 10.0, 40.0])
def test_what_saturates_has_its_knee_at_the_ceiling(ceiling: float) -> None:
    loads = [ceiling * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]
    knee = found(loads, [saturating(load, ceiling) for load in loads])
    assert knee.point.load == ceiling


def test_the_order_of_the_loads_does_not_matter() -> None:
    curve = [queue(load) for load in (8.0, 2.0, 5.0, 4.0, 6.0)]
    assert find_knee(curve) == find_knee(curve[::-1])


def test_loads_below_the_knee_bound_it_from_below_only() -> None:
    knee = found([1.0, 2.0, 3.0], [queue(load) for load in (1.0, 2.0, 3.0)])
    assert (knee.low, knee.high) == (2.0, None)
    assert not knee.is_bracketed


def test_loads_beyond_the_knee_bound_it_from_above_only() -> None:
    knee = found([6.0, 7.0, 8.0], [queue(load) for load in (6.0, 7.0, 8.0)])
    assert (knee.low, knee.high) == (None, 7.0)


def test_the_bracket_holds_for_every_seed() -> None:
    loads = [1.0, 2.0, 4.0, 5.0, 6.0, 8.0]
    mean = [queue(load) for load in loads]
    lucky = [queue(load, capacity=12.0) for load in loads]
    unlucky = [queue(load, capacity=8.5) for load in loads]
    knee = found(loads, mean, lucky, unlucky)
    assert (knee.low, knee.point.load, knee.high) == (2.0, 5.0, 8.0)


def test_a_seed_in_which_nothing_committed_says_nothing() -> None:
    mean = [queue(load) for load in (2.0, 5.0, 8.0)]
    nothing = [Point(load, 0.0, math.nan) for load in (2.0, 5.0, 8.0)]
    assert find_knee(mean, [nothing]) == find_knee(mean)


@pytest.mark.parametrize("curve", [[], [queue(1.0)], [queue(1.0), queue(2.0)]])
def test_fewer_than_three_loads_have_no_knee(curve: list[Point]) -> None:
    assert find_knee(curve) is None


def test_where_nothing_committed_there_is_no_knee() -> None:
    assert find_knee([Point(load, 0.0, math.nan) for load in (1.0, 2.0, 3.0)]) is None
