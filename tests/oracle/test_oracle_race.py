"""The race: both sides run the same loop, what is compared is computed by hand here, and no commit gets lost on the way."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from endive.config import resolve_config
from endive.oracle.race import (
    OPERATIONS,
    QUANTITIES,
    Overhead,
    Plan,
    Race,
    Real,
    Transaction,
    compare,
    make_plan,
    quantities,
)
from endive.oracle.race_prediction import configuration, predict, simulate
from endive.oracle.race_writers import Pacer, RaceOver, run_race

PLAN = make_plan(writers=4, seconds=20.0, seed=1, median_ms=100.0)
DONE = (
    Transaction(True, 1, 100.0),
    Transaction(True, 3, 300.0),
    Transaction(False, 5, 900.0),
    Transaction(True, 2, 200.0),
)
REAL = Real(DONE, landed=3, rows=3, are_rows_the_landed=True, overhead=Overhead(100, 1, 7.0, 50.0))


def fixed(value: float) -> dict[str, Any]:
    return {"distribution": "fixed", "value": value}


def test_quantities_are_those_of_what_ended() -> None:
    assert quantities(DONE) == {
        "committed": 3.0,
        "aborted": 1.0,
        "success_rate": 0.75,
        "first_attempt_rate": 0.25,
        "attempts_mean": 2.75,
        "commit_latency_mean_ms": 200.0,
        "commit_latency_p50_ms": 200.0,
        "commit_latency_p95_ms": pytest.approx(290.0),
    }
    assert set(quantities(DONE)) == set(QUANTITIES)
    nothing = quantities(())
    assert nothing["committed"] == 0.0
    assert nothing["success_rate"] != nothing["success_rate"]


def test_a_lone_writer_takes_what_its_operations_take() -> None:
    latencies = {name: fixed(10.0 * (1 + index)) for index, name in enumerate(OPERATIONS)}
    plan = Plan(1, 10.0, 1, latencies, runtime=fixed(400.0), think_time=fixed(535.0))
    # A commit call of 20, a list read and written in 30 and 40, a manifest written in 60. With 10 to load, a round takes 1,095.
    done = simulate(plan, seed=1)
    assert done == [Transaction(True, 1, 30.0 + 60.0 + 40.0 + 20.0)] * 9


def test_the_prediction_is_of_the_races_own_configuration() -> None:
    values = resolve_config(configuration(PLAN)).values
    assert values["transaction"]["cost_table"] == "pyiceberg"
    assert values["transaction"]["retry"] == 4
    assert values["storage"]["max_parallel"] == 1
    assert values["workload"]["class"][0]["clients"] == 4
    assert {
        f"{artifact}.{operation}": table
        for artifact, tables in values["storage"]["latency"].items()
        for operation, table in tables.items()
    } == PLAN.latencies


def test_more_writers_are_expected_to_lose_more() -> None:
    attempts = [
        sum(run["attempts_mean"] for run in predict(replace(PLAN, writers=writers), 5)) / 5
        for writers in (2, 6, 16)
    ]
    assert attempts == sorted(attempts)
    assert attempts[-1] > 1.5 * attempts[0]


def test_a_prediction_repeats_itself() -> None:
    assert predict(PLAN, 3) == predict(PLAN, 3)
    assert predict(PLAN, 3) != predict(replace(PLAN, seed=7), 3)


def simulated(values: list[float]) -> list[dict[str, float]]:
    return [dict.fromkeys(QUANTITIES, value) for value in values]


def test_inside_is_the_middle_99_percent_of_the_simulated_runs() -> None:
    runs = simulated([float(value) for value in range(1001)])
    for seen, inside in ((4.9, False), (5.1, True), (500.0, True), (994.9, True), (995.1, False)):
        each = compare(dict.fromkeys(QUANTITIES, seen), runs)[0]
        assert (each.low, each.predicted, each.high) == pytest.approx((5.0, 500.0, 995.0))
        assert each.is_inside == inside
        assert each.rank == pytest.approx(seen / 1000.0, abs=1e-3)


def test_what_was_never_seen_is_not_inside() -> None:
    nothing = quantities(())
    found = {each.quantity: each for each in compare(nothing, simulated([1.0, 2.0]))}
    assert not found["commit_latency_p50_ms"].is_inside


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "inside"),
        ({"rows": 2}, "outside"),
        ({"are_rows_the_landed": False}, "outside"),
        ({"landed": 2, "rows": 2}, "outside"),
        ({"overhead": Overhead(100, 3, 60.0, 50.0)}, "inconclusive"),
        ({"transactions": DONE[:1]}, "outside"),
    ],
)
def test_the_verdict_needs_every_row_and_a_machine_that_keeps_pace(
    change: dict[str, Any], verdict: str
) -> None:
    real = replace(REAL, **change)
    comparisons = compare(quantities(real.transactions), [quantities(DONE)] * 3)
    assert Race(PLAN, real, 3, comparisons).verdict == verdict


def test_a_writers_own_time_passes_within_the_next_wait() -> None:
    pacer = Pacer(replace(PLAN, seconds=5.0), writer=0)
    pacer.begin()
    began = pacer.due
    pacer.wait(0.05)
    time.sleep(0.03)
    pacer.wait(0.05)
    assert pacer.due == pytest.approx(began + 0.1)
    assert time.monotonic() >= began + 0.1
    assert pacer.busy_ms >= 30.0
    # What takes longer than its wait is late, and the schedule stands.
    time.sleep(0.06)
    pacer.wait(0.01)
    assert pacer.due == pytest.approx(began + 0.11)
    assert (pacer.answers, pacer.late >= 1, pacer.latest_ms >= 45.0) == (3, True, True)


def test_the_end_of_the_race_cuts_a_wait_short() -> None:
    pacer = Pacer(replace(PLAN, seconds=0.05), writer=0)
    pacer.begin()
    with pytest.raises(RaceOver):
        pacer.wait(60.0)


def test_writers_draw_from_streams_of_their_own() -> None:
    draws = [Pacer(PLAN, writer).draw_s("runtime") for writer in (0, 1, 0)]
    assert draws[0] == draws[2] != draws[1]


@pytest.mark.slow
def test_real_writers_lose_no_commit_and_lose_more_races_the_more_they_are() -> None:
    attempts = []
    for writers in (1, 6):
        real = run_race(make_plan(writers, seconds=15.0, seed=3, median_ms=100.0))
        committed = [each for each in real.transactions if each.committed]
        assert real.are_rows_the_landed
        # What landed shortly before the end was not answered in time.
        assert len(committed) <= real.landed <= len(committed) + writers
        assert all(1 <= each.attempts <= 5 for each in real.transactions)
        assert all(each.attempts == 5 for each in real.transactions if not each.committed)
        assert len(real.transactions) >= 2
        attempts.append(quantities(real.transactions)["attempts_mean"])
    assert attempts[0] == 1.0
    assert attempts[1] > 1.2
