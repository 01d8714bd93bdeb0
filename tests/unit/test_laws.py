"""Laws hold, an error of 5 % would be noticed at every point, and faults of the engine break the law that is about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endive import express, sampling
from endive.errors import InputError
from endive.inference import Interval
from endive.latency import ExponentialLatency, LognormalLatency
from endive.laws import ceiling, convoy, flow, race
from endive.laws.fit import distribution_fits, poisson_fits
from endive.laws.model import Measure, Row, Trial, Verdict, verdict_on
from endive.laws.registry import LAWS, chosen_laws, trials
from endive.laws.runner import judge, judge_alone
from endive.laws.runs import Store
from endive.laws.samplers import exponential_cdf, lognormal_cdf
from endive.mutants.patch import Fault, edited, setting, together
from endive.storage import ProfileStorageProvider
from endive.transaction import Transaction

# So sure that no number of examples raises a false alarm.
CERTAIN = 1.0 - 1e-7
QUICK = [
    name
    for name in trials()
    if name.startswith(("balance", "counted", "serial-", "hammer-end", "hammer-half", "sampler-"))
    and name != "serial-crowd"
]
SLOWER = [name for name in trials() if name not in QUICK]


def rows_of(name: str) -> list[Row]:
    return judge_alone(trials()[name])


def assert_holds_with_power(rows: list[Row]) -> None:
    for row in rows:
        if row.verdict is Verdict.REPORTED:
            continue
        assert row.verdict is Verdict.HOLDS, row
        for wrong in (row.analytic * 1.05, row.analytic * 0.95):
            assert verdict_on(wrong, row.interval) is Verdict.FAILS, (row, wrong)


@pytest.mark.parametrize("name", QUICK)
def test_law_holds_and_an_error_of_5_percent_is_rejected(name: str) -> None:
    assert_holds_with_power(rows_of(name))


@pytest.mark.parametrize("name", ["race-fixed-half", "race-tables-half"])
def test_random_law_holds_and_an_error_of_5_percent_is_rejected(name: str) -> None:
    assert_holds_with_power(rows_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOWER)
def test_every_other_law_holds_and_an_error_of_5_percent_is_rejected(name: str) -> None:
    assert_holds_with_power(rows_of(name))


# -- the laws themselves ---------------------------------------------------------------------------------------------


def test_every_law_has_points_and_every_point_is_of_a_law() -> None:
    assert [law.id for law in LAWS] == [f"L{number}" for number in range(1, 11)]
    measures = [measure for trial in trials().values() for measure in trial.measures]
    judged = {measure.law for measure in measures if measure.judged}
    assert judged == {law.id for law in LAWS}
    keys = [measure.key for measure in measures]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("law", ["L3", "L4", "L5", "L9"])
def test_self_contending_rows_are_reported_without_a_verdict(law: str) -> None:
    measures = [m for trial in trials().values() for m in trial.measures if m.law == law]
    contending = [m for m in measures if m.point.startswith("self-contending")]
    assert contending
    assert not any(m.judged for m in contending)


def test_cross_table_share_has_the_limits_that_the_law_names() -> None:
    pure = Store(effect_point=1.0)
    five = race.cross_table_share(0.01, pure, race.fixed_work(500.0), 10)
    assert five == pytest.approx(0.6039, abs=1e-4)
    # One intervening commit: (T − 1)/T.
    rare = race.cross_table_share(1e-6, pure, race.fixed_work(500.0), 10)
    assert rare == pytest.approx(0.9, abs=1e-3)


def test_exponential_window_loses_lambda_over_lambda_plus_mu() -> None:
    share = race.lost_share(0.02, Store(effect_point=1.0), race.exponential_work(100.0))
    assert share == pytest.approx(0.02 / (0.02 + 0.01), abs=1e-6)


def test_window_begins_at_the_effect_of_the_read_and_ends_at_that_of_the_swap() -> None:
    store = Store(10.0, 30.0, 8.0, 7.0, 5.0, effect_point=0.25)
    assert store.window_ms == pytest.approx(7.5 + 20.0 + 7.5)
    assert store.blind_ms == pytest.approx(22.5 + 2.5)
    assert store.window_ms + store.blind_ms == pytest.approx(store.attempt_ms)


def test_transforms_of_work_agree_with_plain_averages() -> None:
    rng = np.random.RandomState(1)
    samples = 40.0 * np.exp(0.8 * rng.standard_normal(400_000))
    assert race.lognormal_work(40.0, 0.8).laplace(0.01) == pytest.approx(
        float(np.exp(-0.01 * samples).mean()), rel=2e-3
    )
    uniform = rng.uniform(10.0, 90.0, 400_000)
    assert race.uniform_work(10.0, 90.0).laplace(0.02) == pytest.approx(
        float(np.exp(-0.02 * uniform).mean()), rel=2e-3
    )


def test_birthday_sum_is_what_the_birthday_problem_has() -> None:
    # How many people until two share a birthday, less one.
    assert ceiling.birthday_sum(365) == pytest.approx(24.6166 - 1.0, abs=1e-3)
    assert ceiling.birthday_sum(1) == 1.0


def test_mean_of_the_chain_settles_at_the_fixed_point_where_commits_are_rare() -> None:
    store = Store(1.0, 1.0, list_read_ms=30.0, file_write_ms=400.0, max_parallel=1)
    rare = convoy.Convoy(0.02, store, 60)
    assert convoy.chain_of(rare).behind[-1] == pytest.approx(rare.fixed_point, rel=2e-3)


def test_chain_without_history_to_read_is_the_law_of_constant_failure() -> None:
    store = Store(1.0, 1.0, file_write_ms=30.0, max_parallel=1)
    chain = convoy.chain_of(convoy.Convoy(0.03, store, 4))
    failure = 1.0 - math.exp(-0.03 * store.window_ms)
    assert chain.aborted == pytest.approx(flow.abort_share(failure, 4), rel=1e-4)


def test_convoy_beyond_the_threshold_grows_without_end() -> None:
    store = Store(1.0, 1.0, list_read_ms=50.0, file_write_ms=20.0, max_parallel=1)
    behind = convoy.chain_of(convoy.Convoy(0.03, store, 8)).behind
    assert all(later > 1.3 * earlier for earlier, later in pairwise(behind[2:]))


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.97, 1.03, Verdict.HOLDS),
        (1.01, 1.03, Verdict.FAILS),
        (0.97, 1.06, Verdict.UNDECIDED),
        (0.94, 1.02, Verdict.UNDECIDED),
        (math.inf, -math.inf, Verdict.FAILS),
    ],
)
def test_verdict_asks_for_power_too(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_on(1.0, Interval(low, high, 0.999)) is verdict


def _noisy(spread: float, bias_of_first: float = 0.0) -> tuple[Trial, list[int]]:
    asked: list[int] = []

    def run(seed: int) -> float:
        asked.append(seed)
        early = bias_of_first if seed % 100_000 < 50_000 else 0.0
        return 1.0 + early + spread * float(np.random.RandomState(seed).standard_normal())

    return Trial("noisy", run, (Measure("L1", "noise", 1.0, float),), 10), asked


def test_wide_interval_gets_more_seeds_and_in_the_end_stays_undecided() -> None:
    trial, asked = _noisy(0.06)
    (row,) = judge_alone(trial)
    assert row.verdict is Verdict.HOLDS
    assert row.seeds == len(set(asked)) > 10
    trial, asked = _noisy(5.0)
    (row,) = judge_alone(trial)
    assert (row.verdict, len(asked)) == (Verdict.UNDECIDED, 80)


def test_failure_counts_only_if_fresh_seeds_fail_too() -> None:
    trial, asked = _noisy(0.01, bias_of_first=0.1)
    (row,) = judge_alone(trial)
    assert row.verdict is Verdict.HOLDS
    assert len(set(asked)) == 20
    wrong = Trial("off", lambda seed: 1.1, (Measure("L1", "off", 1.0, float),), 4)
    (row,) = judge_alone(wrong)
    assert row.verdict is Verdict.FAILS


def test_another_seed_means_other_runs_and_the_same_seed_the_same() -> None:
    chosen = {"serial-s3": trials()["serial-s3"]}

    def apply(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        return [function(task) for task in tasks]

    one, again, other = (judge(chosen, seed, apply) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_laws_asked_for_are_found_whatever_their_case() -> None:
    assert chosen_laws(["l3", " L4 "]) == {"L3", "L4"}
    for bad in (["L11"], [""]):
        with pytest.raises(InputError, match="there are L1"):
            chosen_laws(bad)


# -- fits --------------------------------------------------------------------------------------------------------------


def test_fit_of_another_shape_leaves_no_factor() -> None:
    rng = np.random.RandomState(3)
    samples = rng.exponential(40.0, 20_000)
    estimate = distribution_fits(lognormal_cdf(30.0, 1.0), 0.0)([samples], 0.999)
    assert estimate.interval.low > estimate.interval.high
    fits = distribution_fits(exponential_cdf(40.0), 0.0)([samples], 0.999)
    assert verdict_on(1.0, fits.interval) is Verdict.HOLDS


def test_fit_sees_a_floor_that_is_not_there() -> None:
    samples = np.random.RandomState(4).exponential(100.0, 20_000)
    floored = np.maximum(samples, 30.0)
    cdf = exponential_cdf(100.0)
    assert distribution_fits(cdf, 30.0)([floored], 0.999).interval.contains(1.0)
    assert not distribution_fits(cdf, 0.0)([floored], 0.999).interval.contains(1.0)


def test_counts_too_regular_to_be_poisson_leave_no_factor() -> None:
    rng = np.random.RandomState(5)
    assert poisson_fits(20.0)([rng.poisson(20.0, 3000)], 0.999).interval.contains(1.0)
    regular = poisson_fits(20.0)([rng.binomial(40, 0.5, 3000)], 0.999).interval
    assert regular.low > regular.high


# -- parameters at random ------------------------------------------------------------------------------------------------

few = settings(max_examples=5)


def assert_not_contradicted(trial: Trial) -> None:
    for row in judge_alone(trial, confidence=CERTAIN, most=1):
        assert row.verdict is not Verdict.FAILS, row


@few
@given(
    load=st.floats(0.3, 3.0),
    read_ms=st.floats(1.0, 60.0),
    swap_ms=st.floats(1.0, 60.0),
    effect_point=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    tables=st.integers(1, 8),
    work=st.sampled_from([race.fixed_work(40.0), race.exponential_work(40.0)]),
)
def test_race_holds_for_any_rate_window_and_number_of_tables(
    load: float, read_ms: float, swap_ms: float, effect_point: float, tables: int, work: race.Work
) -> None:
    store = Store(read_ms, swap_ms, 3.0, 4.0, 5.0, effect_point)
    rate = load / (store.window_ms + work.mean_ms)
    trial = race.race_trial("any", rate, store, work, tables=tables, transactions=150, seeds=12)
    assert_not_contradicted(trial)


@few
@given(failure=st.floats(0.2, 0.9), retries=st.integers(0, 6))
def test_giving_up_holds_for_any_failure_and_number_of_retries(
    failure: float, retries: int
) -> None:
    trial = flow.giving_up_trial("any", failure, retries, transactions=200, seeds=12)
    assert_not_contradicted(trial)


@few
@given(load=st.floats(0.3, 8.0), work_ms=st.floats(0.0, 100.0))
def test_throughput_holds_for_any_load(load: float, work_ms: float) -> None:
    store = Store(5.0, 20.0, 2.0, 2.0, 2.0)
    rate = load / (store.window_ms + work_ms)
    trial = flow.throughput_trial("any", rate, store, work_ms, arrivals=400, seeds=12)
    assert_not_contradicted(trial)


@few
@given(clients=st.integers(1, 20))
def test_memoryless_hammering_holds_for_any_number_of_clients(clients: int) -> None:
    assert_not_contradicted(ceiling.memoryless_trial("any", clients, operations=800, seeds=12))


@few
@given(clients=st.integers(1, 20).map(lambda n: 2 * n + 1), f=st.sampled_from([0.5, 0.8, 1.0]))
def test_staggered_hammering_holds_for_any_number_of_clients(clients: int, f: float) -> None:
    # With fn whole, looks and swaps fall on the same instant, and who comes first is a matter of ids.
    if f < 1.0 and abs(f * clients - round(f * clients)) < 1e-3:
        clients += 2
    assert_not_contradicted(ceiling.staggered_trial("any", clients, f))


@few
@given(
    gain=st.floats(0.1, 1.2),
    list_ms=st.floats(5.0, 40.0),
    rest_ms=st.floats(5.0, 60.0),
    width=st.integers(1, 5),
    retries=st.integers(1, 4),
)
def test_convoy_holds_for_any_rate_times_and_batches(
    gain: float, list_ms: float, rest_ms: float, width: int, retries: int
) -> None:
    store = Store(2.0, 3.0, list_ms, rest_ms, 1.0, max_parallel=width)
    one = convoy.Convoy(gain / list_ms, store, retries)
    assert_not_contradicted(convoy.convoy_trial("any", one, overwrites=60, seeds=12))


# -- faults of the engine --------------------------------------------------------------------------------------------


def lognormal_in_place_of_exponential() -> Fault:
    """The known trap: arrivals that are called exponential and are not."""

    def from_normal(self: ExponentialLatency, z: float) -> float:
        return LognormalLatency.from_mean(self.mean_ms, 1.5, 0.0).from_normal(z)

    return setting(ExponentialLatency, "from_normal", from_normal)


def effect_at_the_end() -> Fault:
    """A store whose operations take effect when they end, whatever its profile says."""
    begin = ProfileStorageProvider.__init__

    def init(self: ProfileStorageProvider, *args: Any, **settings: Any) -> None:
        begin(self, *args, **settings)
        self.effect_point = 1.0

    return setting(ProfileStorageProvider, "__init__", init)


def one_retry_too_few() -> Fault:
    """Who may try K times more tries K − 1 times more; with no retry at all nothing changes."""
    changes = (
        ("for attempt in range(max_retries + 1):", "for attempt in range(max(1, max_retries)):"),
        ("if attempt == max_retries:", "if attempt == max(1, max_retries) - 1:"),
    )
    return together(edited(Transaction.execute, *changes), edited(express.execute, *changes))


def broken(name: str, *faults: Fault) -> dict[str, Verdict]:
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(fault())
        trial = trials()[name]
        rows = judge_alone(replace(trial, seeds=min(12, trial.seeds)), most=1)
    failed = {row.law for row in rows if row.verdict is Verdict.FAILS}
    return {row.law: Verdict.FAILS if row.law in failed else row.verdict for row in rows}


def test_rivals_that_are_not_poisson_break_the_race() -> None:
    found = broken("race-fixed-half", lognormal_in_place_of_exponential())
    assert found == {"L3": Verdict.FAILS, "L4": Verdict.FAILS}


def test_arrivals_that_are_not_poisson_break_the_fit_of_the_sampler_and_throughput() -> None:
    fault = lognormal_in_place_of_exponential()
    assert broken("sampler-exponential", fault) == {"L10": Verdict.FAILS}
    assert broken("throughput-light", fault) == {"L1": Verdict.FAILS}


def test_effect_at_the_wrong_point_breaks_the_race_and_hammering() -> None:
    found = broken("race-fixed-half", effect_at_the_end())
    assert found["L3"] is Verdict.FAILS
    assert broken("hammer-half-5", effect_at_the_end())["L7"] is Verdict.FAILS
    # Where it is at the end anyway, nothing is broken.
    assert broken("hammer-end-8", effect_at_the_end()) == {"L7": Verdict.HOLDS}


def test_one_retry_too_few_breaks_giving_up() -> None:
    assert broken("gives-up-once", one_retry_too_few())["L8"] is Verdict.FAILS


def test_a_floor_that_nobody_heeds_breaks_the_fit_of_the_sampler() -> None:
    def heedless(self: LognormalLatency, z: float) -> float:
        return math.exp(self.mu + self.sigma * z)

    def plain(distribution: LognormalLatency, normals: Any) -> Callable[[], float]:
        return lambda: heedless(distribution, normals.next())

    with setting(sampling, "block_sampler", plain)():
        rows = rows_of("sampler-gcp-cas")
    assert [row.verdict for row in rows] == [Verdict.FAILS, Verdict.FAILS]
