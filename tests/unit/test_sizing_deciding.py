"""What seeds say of an objective: true statements are found, false ones are made no more often than allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from endive.inference import mean_interval, proportion_interval
from endive.sizing.deciding import (
    Confidence,
    Verdict,
    confidence_of_a_look,
    decide,
    looks,
    overall,
    pooled_quantile,
    share_interval,
)
from endive.sizing.measuring import Missed, Tally
from endive.sizing.objectives import parse_objective
from endive.sizing.planning import fewest_trials

P99 = parse_objective("p99<2s")
NOBODY = Missed({}, {}, 0, 0)
ALPHA = 0.05
SURE = {level: Confidence(level, level) for level in (0.95, 0.98, 0.99)}


def tally(hits: int, trials: int, possible: int | None = None, rate: float = 0.0) -> Tally:
    return Tally(trials, hits, hits if possible is None else possible, rate, NOBODY)


def seeds_of(
    share: float, spread: float, rng: np.random.Generator, seeds: int = 20, trials: int = 500
) -> list[Tally]:
    """Seeds whose transactions share a fate: their shares vary by more than chance alone would have it."""
    concentration = 1.0 / spread
    shares = rng.beta(share * concentration, (1.0 - share) * concentration, seeds)
    return [tally(int(rng.binomial(trials, each)), trials) for each in shares]


Rule = Callable[[Sequence[Tally], Confidence], Verdict]


def ours(tallies: Sequence[Tally], confidence: Confidence) -> Verdict:
    return decide(P99, tallies, confidence, may_hold=True).verdict


def by_the_mean(tallies: Sequence[Tally], _confidence: Confidence) -> Verdict:
    mean = float(np.mean([each.hits / each.trials for each in tallies]))
    return Verdict.HOLDS if mean >= P99.required else Verdict.FAILS


def as_if_independent(tallies: Sequence[Tally], confidence: Confidence) -> Verdict:
    hits, trials = (sum(getattr(each, name) for each in tallies) for name in ("hits", "trials"))
    interval = proportion_interval(hits, trials, confidence.to_fail)
    if interval.low >= P99.required:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.high < P99.required else Verdict.OPEN


def wrong(rule: Rule, share: float, verdict: Verdict, spread: float, repeats: int) -> float:
    """How often a rule says something that is not so, looking as often as it may."""
    rng = np.random.default_rng(7)
    schedule = looks(20, 40)
    confidence = confidence_of_a_look(
        1.0 - ALPHA, looks=1 + len(schedule), holding_looks=2, objectives=1
    )
    times = 0
    for _ in range(repeats):
        tallies = seeds_of(share, spread, rng, seeds=schedule[-1])
        for count in schedule:
            said = rule(tallies[:count], confidence)
            if said is Verdict.FAILS or (said is Verdict.HOLDS and count >= 20):
                times += said is verdict
                break
    return times / repeats


SPREADS = [
    pytest.param(0.01, 200),
    pytest.param(0.002, 1500, marks=pytest.mark.slow),
    pytest.param(0.01, 1500, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("spread", "repeats"), SPREADS)
def test_what_does_not_hold_is_rarely_said_to_hold(spread: float, repeats: int) -> None:
    assert wrong(ours, 0.9895, Verdict.HOLDS, spread, repeats) <= ALPHA


@pytest.mark.parametrize(("spread", "repeats"), SPREADS)
def test_what_holds_is_rarely_said_to_fail(spread: float, repeats: int) -> None:
    assert wrong(ours, 0.9905, Verdict.FAILS, spread, repeats) <= ALPHA


def test_the_same_questions_tell_wrong_rules_apart() -> None:
    assert wrong(by_the_mean, 0.9905, Verdict.FAILS, 0.002, 200) > 4.0 * ALPHA
    assert wrong(as_if_independent, 0.9905, Verdict.FAILS, 0.01, 200) > 2.0 * ALPHA
    assert wrong(as_if_independent, 0.9895, Verdict.HOLDS, 0.01, 200) > 2.0 * ALPHA


def test_what_is_clear_is_said() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        assert ours(seeds_of(0.998, 0.001, rng), SURE[0.99]) is Verdict.HOLDS
        assert ours(seeds_of(0.97, 0.001, rng), SURE[0.99]) is Verdict.FAILS


def test_seeds_without_a_miss_are_no_proof_if_they_are_small() -> None:
    assert decide(P99, [tally(10, 10)] * 20, SURE[0.95], may_hold=True).verdict is Verdict.OPEN
    assert decide(P99, [tally(100, 100)] * 20, SURE[0.95], may_hold=True).verdict is Verdict.HOLDS
    needed = fewest_trials(0.95, 0.98)
    success = parse_objective("success>=95%")
    assert (
        decide(success, [tally(1, 1)] * needed, SURE[0.98], may_hold=True).verdict is Verdict.HOLDS
    )
    assert (
        decide(success, [tally(1, 1)] * (needed - 1), SURE[0.98], may_hold=True).verdict
        is Verdict.OPEN
    )


def test_an_early_look_may_see_a_loser_but_no_winner() -> None:
    assert decide(P99, [tally(1000, 1000)] * 4, SURE[0.99], may_hold=False).verdict is Verdict.OPEN
    losers = [tally(each, 1000) for each in (500, 510, 490, 505)]
    assert decide(P99, losers, SURE[0.99], may_hold=False).verdict is Verdict.FAILS


def test_the_risk_is_divided_among_looks_and_objectives() -> None:
    assert looks(20, 40) == (4, 10, 20, 40)
    assert looks(30, 30) == (4, 10, 30)
    found = confidence_of_a_look(0.95, looks=4, holding_looks=2, objectives=3)
    assert found.to_hold == pytest.approx(1.0 - 0.05 / 2.0)
    assert found.to_fail == pytest.approx(1.0 - 0.05 / 12.0)


def test_who_still_goes_on_decides_nothing() -> None:
    success = parse_objective("success>=90%")
    torn = [tally(80, 100, possible=100)] * 20
    found = decide(success, torn, SURE[0.95], may_hold=True)
    assert found.verdict is Verdict.OPEN
    assert "cut off" in found.note
    assert found.low < 0.8 < 1.0 <= found.high
    assert (
        decide(success, [tally(70, 100, possible=80)] * 20, SURE[0.95], may_hold=True).verdict
        is Verdict.FAILS
    )
    assert (
        decide(success, [tally(95, 100, possible=100)] * 20, SURE[0.95], may_hold=True).verdict
        is Verdict.HOLDS
    )


def test_a_seed_in_which_nobody_is_judged_says_nothing() -> None:
    found = decide(P99, [tally(1000, 1000)] * 19 + [tally(0, 0)], SURE[0.95], may_hold=True)
    assert found.verdict is Verdict.OPEN
    assert "too short" in found.note


def test_a_throughput_is_decided_by_the_mean_over_seeds() -> None:
    objective = parse_objective("throughput>=49/s")
    rates = [48.0, 50.0, 52.0, 50.0, 51.0] * 4

    def said(offset: float) -> Verdict:
        tallies = [tally(0, 0, rate=rate + offset) for rate in rates]
        return decide(objective, tallies, SURE[0.95], may_hold=True).verdict

    assert (said(0.0), said(-1.2), said(-2.5)) == (Verdict.HOLDS, Verdict.OPEN, Verdict.FAILS)


def test_the_interval_of_a_share_is_the_widest_of_all() -> None:
    apart = [(90, 100), (100, 100), (70, 100)]
    between = mean_interval([0.9, 1.0, 0.7], 0.9)
    assert share_interval(apart, 0.9).low < between.low
    balanced = [(40, 100), (60, 100)] * 10
    assert share_interval(balanced, 0.9).high == mean_interval([0.4, 0.6] * 10, 0.9).high
    alike = [(99, 100)] * 5
    assert share_interval(alike, 0.9).low == proportion_interval(495, 500, 0.9).low


def test_one_bad_seed_in_twenty_speaks_of_those_that_were_not_drawn() -> None:
    shares = [(1000, 1000)] * 19 + [(900, 1000)]
    student = mean_interval([hits / trials for hits, trials in shares], 0.99)
    assert share_interval(shares, 0.99).low < student.low - 0.01


def test_single_misses_in_small_seeds_are_chance_and_no_bad_seeds() -> None:
    few = [tally(3, 3)] * 38 + [tally(2, 3)] * 2
    success = parse_objective("success>=90%")
    assert decide(success, few, SURE[0.95], may_hold=True).verdict is Verdict.HOLDS


def test_a_candidate_holds_if_all_of_its_objectives_do() -> None:
    holds = decide(P99, [tally(1000, 1000)] * 20, SURE[0.95], may_hold=True)
    opened = decide(P99, [tally(10, 10)] * 20, SURE[0.95], may_hold=True)
    fails = decide(P99, [tally(0, 1000)] * 20, SURE[0.95], may_hold=True)
    assert overall([holds, holds]) is Verdict.HOLDS
    assert overall([holds, opened]) is Verdict.OPEN
    assert overall([opened, fails, holds]) is Verdict.FAILS


def test_the_quantile_shown_is_that_of_all_seeds_together() -> None:
    rng = np.random.default_rng(1)
    values = [rng.exponential(100.0 * (1 + seed % 3), 800) for seed in range(20)]
    together = np.sort(np.concatenate(values))
    tallies = [
        Tally(800, 0, 0, 0.0, NOBODY, np.sort(each)[-int(4 * 0.05 * 800) :]) for each in values
    ]
    found = pooled_quantile(tallies, 0.95)
    assert found == pytest.approx(float(np.quantile(together, 0.95)), rel=0.01)
