"""What is said about random runs: it holds, it fails, or it stays open; and how often that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from scenario_files import HEAD, QUICK, RANDOM, expecting, written

from endive.judge.model import Outcome
from endive.scenario import verifying
from endive.scenario.deciding import Decision, Finding, decide, judge_invariants
from endive.scenario.metrics import METRICS, Observed, Selection
from endive.scenario.model import Bounds, Comparison, Expectation, Scenario
from endive.scenario.reading import read_scenario
from endive.scenario.running import Held, Outcomes, Task, perform
from endive.scenario.verifying import Report, verify

PASS, FAIL, UNKNOWN = Finding.PASS, Finding.FAIL, Finding.UNKNOWN
AT_MOST_10 = Bounds(high=10.0)


def decided(
    bounds: Bounds,
    values: Sequence[float | Observed | None],
    other: Sequence[float] | None = None,
    *,
    metric: str = "retries",
    comparison: Comparison | None = None,
    looks: int = 1,
    is_last: bool = True,
    is_single: bool = False,
) -> Decision:
    """What is said about these values of seeds 1, 2, and so on."""
    expectation = Expectation(
        METRICS[metric], Selection(), bounds, "a", "b" if other else None, comparison, line=3
    )
    return decide(
        expectation,
        range(1, len(values) + 1),
        [each if isinstance(each, Observed) else Observed(each) for each in values],
        None if other is None else [Observed(value) for value in other],
        confidence=0.99,
        looks=looks,
        is_last=is_last,
        is_single=is_single,
    )


# -- one look ----------------------------------------------------------------------------------------------------------


def test_interval_wholly_inside_passes_wholly_outside_fails_and_across_is_open() -> None:
    spread = (-0.2, -0.1, 0.1, 0.2)
    for middle, finding in ((8.0, PASS), (12.0, FAIL), (10.0, UNKNOWN)):
        assert decided(AT_MOST_10, [middle + each for each in spread]).finding is finding


def test_replay_is_with_the_seed_farthest_on_the_wrong_side() -> None:
    # Seed 2 is farther from 10 than any other, and as expected.
    decision = decided(AT_MOST_10, [13.0, 2.0, 14.0, *([13.0] * 60)])
    assert (decision.finding, decision.seed) == (FAIL, 3)
    assert decided(Bounds(low=10.0), [7.0, 18.0, 6.0, *([7.0] * 60)]).seed == 3
    assert decided(Bounds(9.0, 10.0), [13.0, 2.0, 14.0, *([13.0] * 90)]).seed in (2, 3)


def test_exact_value_must_come_out_with_every_seed() -> None:
    exact = Bounds(4.0, 4.0, is_exact=True)
    assert decided(exact, [4.0, 4.0 + 5e-7, 4.0]).finding is PASS
    failed = decided(exact, [4.0, 4.0, 4.1, 5.0])
    assert (failed.finding, failed.seed, failed.seen) == (FAIL, 3, "4.1 with seed 3")


def test_nothing_to_measure_is_open_and_no_seed_can_help() -> None:
    decision = decided(AT_MOST_10, [1.0, None, 2.0], is_last=False)
    assert (decision.finding, decision.seed, decision.is_open) == (UNKNOWN, 2, False)
    assert decision.seen == "nothing to measure with seed 2"


def test_one_seed_of_many_can_show_a_failure_but_no_pass() -> None:
    assert decided(AT_MOST_10, [11.0], is_single=True).finding is FAIL
    assert decided(AT_MOST_10, [9.0], is_single=True).finding is UNKNOWN
    assert decided(AT_MOST_10, [9.0]).finding is PASS


def test_ends_that_do_not_belong_to_it_are_kept_apart() -> None:
    assert decided(Bounds(low=10.0), [10.0, 10.0]).finding is PASS
    assert decided(Bounds(low=10.0, has_low=False), [10.0, 10.0]).finding is FAIL
    assert decided(Bounds(high=10.0, has_high=False), [10.0, 10.0]).finding is FAIL
    assert Bounds(low=1.0, has_low=False).words() == "above 1"
    assert Bounds(high=1.0, has_high=False).words() == "below 1"
    assert Bounds(1.0, 2.0).words() == "between 1 and 2"


def test_seeds_that_are_all_alike_are_no_reason_to_stop_early() -> None:
    early = decided(AT_MOST_10, [9.0] * 4, looks=2, is_last=False)
    assert (early.finding, early.is_open) == (UNKNOWN, True)
    assert decided(AT_MOST_10, [9.0] * 8, looks=2, is_last=True).finding is PASS


def test_shares_of_nothing_and_all_count_their_trials() -> None:
    def at(successes: int, trials: int, bounds: Bounds) -> Finding:
        share = Observed(successes / trials, successes, trials)
        return decided(bounds, [share] * 4, metric="success_rate").finding

    # 4 × 10 trials without a success leave room for 14 %; 4 × 1000 for 0.2 %.
    assert at(0, 10, Bounds(high=0.05)) is UNKNOWN
    assert at(0, 1000, Bounds(high=0.05)) is PASS
    assert at(10, 10, Bounds(low=0.95)) is UNKNOWN
    assert at(1000, 1000, Bounds(low=0.95)) is PASS
    assert at(0, 1000, Bounds(low=0.05)) is FAIL


def test_what_cannot_be_is_no_part_of_an_interval() -> None:
    values = [Observed(each / 1000, each, 1000) for each in (0, 4, 0, 4, 1)]
    # Student's interval would reach below 0, where no share is.
    decision = decided(Bounds(0.0, 0.05), values, metric="success_rate")
    assert decision.finding is PASS
    assert "(from 0 to " in decision.seen
    differences = decided(
        Bounds(low=-1.0),
        [2.0, 3.0, 2.0],
        [2.5, 2.9, 2.4],
        comparison=Comparison.DIFFERENCE,
    )
    assert "(from -" in differences.seen


def test_pairs_are_compared_seed_by_seed() -> None:
    # Alone, the two could not be told apart; the difference is always about 1.
    one, other = [101.0, 201.1, 301.0, 400.9], [100.0, 200.0, 300.0, 400.0]
    above = Bounds(low=0.5)
    assert decided(above, one, other, comparison=Comparison.DIFFERENCE).finding is PASS
    ratio = decided(Bounds(0.9, 1.1), one, other, comparison=Comparison.RATIO)
    assert ratio.finding is PASS
    nothing = decided(above, [1.0, 1.0], [0.0, 2.0], comparison=Comparison.RATIO)
    assert (nothing.finding, nothing.seed) == (UNKNOWN, 1)


# -- several looks -----------------------------------------------------------------------------------------------------

Draw = Callable[[np.random.RandomState], Observed]


def made_up(draw: Draw, seed: int) -> Callable[[Sequence[Task]], Iterator[Outcomes]]:
    """Runs that need no simulation: what is observed is drawn from a distribution that is known."""
    rng = np.random.RandomState(seed)

    def perform(tasks: Sequence[Task]) -> Iterator[Outcomes]:
        for task in tasks:
            values = tuple(draw(rng) for _ in task.measures)
            yield Outcomes(task.seed, "", 0, values, ())

    return perform


@pytest.fixture
def no_stories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up runs have nothing to tell."""
    monkeypatch.setattr(verifying, "story_of", lambda *_: [])


def _scenario(tmp_path: Path, line: str, seeds: str = "{first: 4, limit: 32}") -> Scenario:
    head = f"seeds: {seeds}\nconfidence: 0.9\njudged_seeds: 0\n"
    return read_scenario(written(tmp_path, HEAD, RANDOM, head, expecting(line)))


@pytest.mark.usefixtures("no_stories")
@pytest.mark.parametrize(
    ("mean", "spread", "finding", "runs"),
    [(5.0, 1.0, PASS, 4), (15.0, 1.0, FAIL, 4), (10.0, 1.0, UNKNOWN, 32)],
)
def test_more_seeds_are_run_only_while_it_is_open(
    tmp_path: Path, mean: float, spread: float, finding: Finding, runs: int
) -> None:
    scenario = _scenario(tmp_path, "{metric: retries, at_most: 10}")
    report = verify(scenario, made_up(lambda rng: Observed(rng.normal(mean, spread)), 3))
    assert (report.finding, report.runs) == (finding, runs)


@pytest.mark.usefixtures("no_stories")
def test_nothing_to_measure_costs_no_more_seeds(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, "{metric: retries, at_most: 10}")
    report = verify(scenario, made_up(lambda _: Observed(None), 3))
    assert (report.finding, report.runs) == (UNKNOWN, 4)


def test_risk_is_divided_among_the_looks() -> None:
    values = [9.0, 9.4, 8.6, 9.2, 9.3, 8.9]
    narrow, wide = (decided(AT_MOST_10, values, looks=looks).seen for looks in (1, 10))
    from scipy.stats import t

    for seen, looks in ((narrow, 1), (wide, 10)):
        half = t.ppf(1.0 - 0.01 / looks / 2.0, 5) * np.std(values, ddof=1) / np.sqrt(6)
        assert f"from {np.mean(values) - half:.6g} to {np.mean(values) + half:.6g}" in seen


@pytest.mark.usefixtures("no_stories")
@pytest.mark.parametrize(("mean", "finding"), [(9.5, PASS), (10.5, FAIL)])
def test_mean_just_inside_passes_and_just_outside_fails(
    tmp_path: Path, mean: float, finding: Finding
) -> None:
    scenario = _scenario(tmp_path, "{metric: retries, at_most: 10}", "{first: 4, limit: 256}")
    found = [
        verify(scenario, made_up(lambda rng: Observed(rng.normal(mean, 2.0)), seed)).finding
        for seed in range(20)
    ]
    assert found.count(finding) >= 18
    assert set(found) <= {finding, UNKNOWN}


def _normal(rng: np.random.RandomState) -> Observed:
    return Observed(float(rng.normal(10.0, 3.0)))


def _mean_of_waits(rng: np.random.RandomState) -> Observed:
    # Latencies are skewed, and a run has a few dozen of them.
    return Observed(float(rng.exponential(10.0, 40).mean()))


def _share(rng: np.random.RandomState) -> Observed:
    successes = int(rng.binomial(200, 0.1))
    return Observed(successes / 200, successes, 200)


@pytest.mark.usefixtures("no_stories")
@pytest.mark.parametrize(
    ("draw", "line", "wrong"),
    [
        # The truth is a hair's breadth on the wrong side of the bound, where errors are likeliest.
        (_normal, "{metric: retries, at_most: 9.9999}", PASS),
        (_normal, "{metric: retries, at_least: 10.0001}", PASS),
        (_normal, "{metric: retries, at_most: 10.0001}", FAIL),
        (_normal, "{metric: retries, between: [9.9999, 30]}", FAIL),
        (_mean_of_waits, "{metric: latency_ms, at_most: 9.9999}", PASS),
        (_mean_of_waits, "{metric: latency_ms, at_least: 9.9999}", FAIL),
        (_share, "{metric: success_rate, at_most: 0.09999}", PASS),
        (_share, "{metric: success_rate, at_most: 0.10001}", FAIL),
    ],
)
def test_wrong_verdicts_are_rarer_than_the_confidence_allows(
    tmp_path: Path, draw: Draw, line: str, wrong: Finding
) -> None:
    scenario = _scenario(tmp_path, line)
    times = 500
    found = [verify(scenario, made_up(draw, seed)).finding for seed in range(times)]
    # A confidence of 0.9 allows 50 in 500.
    assert found.count(wrong) < 0.1 * times
    assert found.count(UNKNOWN) > 0.5 * times


# -- real runs ---------------------------------------------------------------------------------------------------------


def _verified(path: Path, seed: int | None = None) -> Report:
    return verify(read_scenario(path), lambda tasks: map(perform, tasks), seed=seed)


def test_variants_meet_the_same_arrivals_with_the_same_seed(tmp_path: Path) -> None:
    # The number of submissions differs widely from seed to seed, and not at all between variants.
    variants = "variants:\n  calm: {transaction.retry: 0}\n  keen: {transaction.retry: 9}\n"
    lines = expecting(
        "{metric: count, variant: keen, minus: calm, equals: 0}",
        "{metric: submit_time_ms, variant: keen, over: calm, equals: 1}",
        "{metric: success_rate, variant: keen, minus: calm, above: 0}",
    )
    report = _verified(written(tmp_path, HEAD, RANDOM, QUICK, variants, lines))
    assert [each.finding for each in report.decisions] == [PASS, PASS, PASS]


def test_failure_comes_with_the_story_of_a_run_that_fails_alone(tmp_path: Path) -> None:
    line = "{metric: success_rate, below: 0.2, because: nobody should succeed}"
    path = written(tmp_path, HEAD, RANDOM, QUICK, expecting(line))
    (decision,) = _verified(path).decisions
    assert decision.finding is FAIL
    assert decision.stories[0] == "because: nobody should succeed"
    assert any("T0" in line for line in decision.stories[1:])
    assert _verified(path, decision.seed).finding is FAIL


# -- invariants --------------------------------------------------------------------------------------------------------


def _held(id: str, outcome: Outcome, exercised: int = 0, clause: str = "8.1") -> Held:
    return Held(id, clause, outcome, exercised, id.startswith("some-"), ("T1 did it",))


def _judged(tmp_path: Path, extra: str, *held: Held) -> tuple[list[str], dict[str, int]]:
    scenario = read_scenario(written(tmp_path, HEAD, RANDOM, extra, "expect: []\n"))
    decisions, counts = judge_invariants(scenario, {"default": [(7, each) for each in held]})
    return [f"{each.finding.value}: {each.what}: {each.seen}" for each in decisions], counts


def test_violation_and_broken_check_fail(tmp_path: Path) -> None:
    said, counts = _judged(
        tmp_path, "", _held("seq-adds-one", Outcome.FAIL, 5), _held("lists-exact", Outcome.ERROR)
    )
    assert said == [
        "fail: invariant seq-adds-one (§8.1): violated",
        "fail: invariant lists-exact (§8.1): the check broke",
    ]
    assert counts == {"seq-adds-one": 5, "lists-exact": 0}


def test_clause_that_is_claimed_must_be_exercised(tmp_path: Path) -> None:
    claim = "clauses: ['8.1']\n"
    idle = _held("seq-adds-one", Outcome.UNKNOWN)
    assert _judged(tmp_path, claim, idle)[0] == ["unknown: clause 8.1: seq-adds-one: never"]
    assert _judged(tmp_path, claim, idle, _held("seq-starts-at-zero", Outcome.PASS, 1))[0] == []
    nowhere = "unknown: clause 8.1: no invariant of it was judged that applies to any variant"
    assert _judged(tmp_path, claim, _held("seq-adds-one", Outcome.NOT_APPLICABLE))[0] == [nowhere]
    assert _judged(tmp_path, claim, _held("some-commit", Outcome.PASS, 3))[0] == [nowhere]


def test_what_is_named_must_be_exercised_somewhere(tmp_path: Path) -> None:
    named = "invariants: [seq-adds-one]\nsometimes: [some-convoy]\n"
    said, _ = _judged(tmp_path, named, _held("seq-adds-one", Outcome.UNKNOWN))
    assert said == [
        "unknown: invariant some-convoy: never, in no variant",
        "unknown: invariant seq-adds-one: never, in no variant",
    ]
