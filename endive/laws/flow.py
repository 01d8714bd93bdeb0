"""L1, L2, L8: what goes in comes out, how many are under way, and how many give up."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from endive.laws.fit import poisson_fits
from endive.laws.model import Law, Measure, Reading, Trial
from endive.laws.race import Work, exponential_work, fixed_work, uniform_work
from endive.laws.runs import (
    ABORTED,
    Document,
    Seen,
    Store,
    crowd,
    document,
    fixed,
    lone_client,
    rivals,
    simulator,
)

LAWS = (
    Law(
        "L1",
        "Flow balance",
        "launched = committed + aborted + in flight; over one window, throughput = arrival rate × success rate.",
        "None for the balance. Throughput: Poisson arrivals a, no retries, a constant window W: "
        "a swap is made by whoever looked first after the last one, so the success rate is 1/(1 + aW).",
    ),
    Law(
        "L2",
        "Little",
        "Mean in flight = arrival rate × mean latency; without retries the number in flight is Poisson.",
        "Poisson arrivals. Without retries a transaction takes as long whether it wins or loses, so nobody waits for anybody (M/G/∞).",
    ),
    Law(
        "L8",
        "Giving up",
        "With failure probability q of each attempt and K retries, q^(K+1) abort.",
        "Poisson rivals and the same window for every attempt: q = 1 − exp(−λW), attempt by attempt anew.",
    ),
)

_WARM_UP = 0.1


def abort_share(failure: float, retries: int) -> float:
    """L8: all attempts fail."""
    return failure ** (retries + 1)


def success_share(rate_per_ms: float, window_ms: float) -> float:
    """L1: of Poisson arrivals that try once, those who look first after the last swap."""
    return 1.0 / (1.0 + rate_per_ms * window_ms)


# -- L1 ----------------------------------------------------------------------------------------------------------------


def _accounted_for(seen: Seen) -> float:
    """The share of all launched transactions, counted by their ids, that a counter accounts for."""
    statistics = seen.statistics
    launched = int(seen.column("txn_id").max()) + 1
    return (statistics.committed + statistics.aborted + statistics.in_flight) / launched


def _known_to_the_catalog(seen: Seen) -> float:
    statistics = seen.statistics
    return statistics.seq / (statistics.committed + statistics.background_commits)


def _committed_per_s(seen: Seen) -> float:
    """Commits per second of the time after the warm-up."""
    duration_ms = seen.statistics.duration_ms
    commits_ms = seen.column("t_commit")
    since_ms = duration_ms * _WARM_UP
    return float((commits_ms >= since_ms).sum() / (duration_ms - since_ms) * 1000.0)


def balance_trial(name: str, rate_per_ms: float, retries: int) -> Trial:
    """A crowd with rivals of its own and others, at work until the end: nobody is lost or counted twice."""
    settings = document(
        _SLOW.document(),
        200.0 / rate_per_ms,
        crowd("validated_overwrite", rate_per_ms, fixed(300.0)),
        rivals(rate_per_ms / 2.0),
        transaction={"retry": retries, "real_conflict_probability": 0.1},
    )
    words = f"all are accounted for, K={retries}"
    return Trial(name, simulator(settings), (Measure("L1", words, 1.0, _accounted_for),), 6)


def counted_trial(name: str, rate_per_ms: float) -> Trial:
    """A crowd that comes to its end: the catalog has seen every commit, and no other."""
    duration_ms = 300.0 / rate_per_ms
    settings = document(
        _SLOW.document(),
        duration_ms,
        {**crowd("fast_append", rate_per_ms, fixed(50.0)), "end_ms": duration_ms * 0.5},
        {**rivals(rate_per_ms / 2.0), "end_ms": duration_ms * 0.5},
        transaction={"retry": 5},
    )
    words = "the catalog counts what was committed"
    return Trial(name, simulator(settings), (Measure("L1", words, 1.0, _known_to_the_catalog),), 6)


def throughput_trial(
    name: str,
    rate_per_ms: float,
    store: Store,
    work_ms: float,
    *,
    arrivals: int = 2000,
    seeds: int = 24,
) -> Trial:
    """A crowd whose members try once."""
    settings = document(
        store.document(),
        arrivals / rate_per_ms,
        crowd("fast_append", rate_per_ms, fixed(work_ms)),
        transaction={"retry": 0},
    )
    window_ms = store.window_ms + work_ms
    succeed = success_share(rate_per_ms, window_ms)
    words = f"commits/s, aW={rate_per_ms * window_ms:.3g}, effect at {store.effect_point:g}"
    measure = Measure("L1", words, 1000.0 * rate_per_ms * succeed, _committed_per_s)
    return Trial(name, simulator(settings), (measure,), seeds)


# -- L2 ----------------------------------------------------------------------------------------------------------------


def _mean_in_flight(seen: Seen) -> float:
    since_ms = seen.statistics.duration_ms * _WARM_UP
    return float(np.mean([count for now_ms, count in seen.in_flight if now_ms >= since_ms]))


def _independent_counts(every: int) -> Callable[[Seen], Reading]:
    """Counts so far apart that nobody is counted twice."""

    def read(seen: Seen) -> Reading:
        since_ms = seen.statistics.duration_ms * _WARM_UP
        counts = [count for now_ms, count in seen.in_flight if now_ms >= since_ms]
        return np.array(counts[::every])

    return read


def _little_ratio(seen: Seen) -> float:
    """In flight by the runner's count, over arrival rate times mean latency by the rows."""
    duration_ms = seen.statistics.duration_ms
    since_ms = duration_ms * _WARM_UP
    counted = seen.column("t_submit") >= since_ms
    rate_per_ms = counted.sum() / (duration_ms - since_ms)
    latency_ms = seen.column("total_latency")[counted & seen.finished].mean()
    return float(_mean_in_flight(seen) / (rate_per_ms * latency_ms))


def little_trial(
    name: str, rate_per_ms: float, work: Work, longest_ms: float | None, seeds: int = 24
) -> Trial:
    """A crowd that tries once. `longest_ms` is the longest work there is: counts that far apart are independent."""
    store = _SLOW
    latency_ms = store.attempt_ms + work.mean_ms
    # The runner tells 400 times how many are in flight.
    apart = (
        4 if longest_ms is None else math.ceil(4.0 * (store.attempt_ms + longest_ms) / latency_ms)
    )
    settings = document(
        store.document(),
        100.0 * latency_ms,
        crowd("fast_append", rate_per_ms, work.document),
        transaction={"retry": 0},
    )
    mean = rate_per_ms * latency_ms
    measures = [
        Measure("L2", f"mean in flight, {work.words} work, ρ={mean:.3g}", mean, _mean_in_flight)
    ]
    if longest_ms is not None:
        words = f"in flight is Poisson (factor on its mean), {work.words} work, ρ={mean:.3g}"
        measures.append(Measure("L2", words, 1.0, _independent_counts(apart), poisson_fits(mean)))
    return Trial(name, simulator(settings, watch=True), tuple(measures), seeds)


def little_with_retries_trial(name: str, rate_per_ms: float, seeds: int = 16) -> Trial:
    """Little's law asks nothing of how long things take, or why."""
    settings = document(
        _SLOW.document(),
        2_500.0 / rate_per_ms,
        crowd("fast_append", rate_per_ms, fixed(1500.0)),
        transaction={"retry": 5, "retry_backoff": {"enabled": True, "base_ms": 100.0}},
    )
    measure = Measure("L2", "in flight / (rate × latency), retries and backoff", 1.0, _little_ratio)
    return Trial(name, simulator(settings, watch=True), (measure,), seeds)


# -- L8 ----------------------------------------------------------------------------------------------------------------


def _aborted(seen: Seen) -> float:
    return float((seen.column("status")[seen.finished] == ABORTED).mean())


def _mean_retries(seen: Seen) -> float:
    return float(seen.column("n_retries")[seen.finished].mean())


def giving_up_trial(
    name: str, failure: float, retries: int, *, transactions: int = 1200, seeds: int = 24
) -> Trial:
    """A lone client that does nothing but try: every attempt has the same window."""
    store = _SLOW
    rate_per_ms = -math.log(1.0 - failure) / store.window_ms
    attempts = (1.0 - abort_share(failure, retries)) / (1.0 - failure)
    no_work: Document = fixed(0.0)
    settings = document(
        store.document(),
        transactions * attempts * store.attempt_ms,
        lone_client("fast_append", no_work),
        rivals(rate_per_ms),
        transaction={"retry": retries},
    )
    words = f"q={failure:g}, K={retries}"
    measures = [Measure("L8", f"aborted, {words}", abort_share(failure, retries), _aborted)]
    if retries:
        measures.append(Measure("L8", f"mean retries, {words}", attempts - 1.0, _mean_retries))
    return Trial(name, simulator(settings), tuple(measures), seeds)


_SLOW = Store(10.0, 30.0, list_read_ms=8.0, file_write_ms=7.0, list_write_ms=5.0, effect_point=0.5)
_LATE = Store(2.0, 40.0, list_read_ms=1.0, file_write_ms=1.0, list_write_ms=1.0, effect_point=1.0)


def trials() -> tuple[Trial, ...]:
    """The points at which the laws are held against runs."""
    return (
        balance_trial("balance-once", 1.0 / 50.0, 0),
        balance_trial("balance-retries", 1.0 / 100.0, 10),
        counted_trial("counted", 1.0 / 60.0),
        throughput_trial("throughput-light", 1.0 / 80.0, _SLOW, 0.0),
        throughput_trial("throughput-heavy", 1.0 / 15.0, _LATE, 20.0),
        little_trial("little-fixed", 1.0 / 100.0, fixed_work(1940.0), 1940.0),
        little_trial("little-uniform", 1.0 / 150.0, uniform_work(0.0, 3880.0), 3880.0),
        little_trial("little-exponential", 1.0 / 150.0, exponential_work(2940.0), None),
        little_with_retries_trial("little-retries", 1.0 / 150.0),
        giving_up_trial("gives-up-once", 0.6, 1, transactions=1300),
        giving_up_trial("gives-up-early", 0.75, 2, transactions=1400),
        giving_up_trial("gives-up-late", 0.9, 4, transactions=700),
    )


__all__ = [
    "LAWS",
    "abort_share",
    "balance_trial",
    "counted_trial",
    "giving_up_trial",
    "little_trial",
    "little_with_retries_trial",
    "success_share",
    "throughput_trial",
    "trials",
]
