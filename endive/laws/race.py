"""L3, L4, L5: a commit fails if a rival lands in its window; how many did, and on which tables.

The rivals are a Poisson process of background commits, as the laws assume. The window W runs from the effect of the
read to the effect of the swap. Who has lost looks again only after the answer to the swap and a part of the next read (`Store.blind_ms`, g);
rivals that land meanwhile count as snapshots behind, though they were not in the way. The laws speak of W alone: they are the
case g = 0, which some of the points are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from endive.laws.model import Law, Measure, Trial
from endive.laws.runs import (
    Document,
    Seen,
    Store,
    crowd,
    document,
    exponential,
    fixed,
    lone_client,
    rivals,
    simulator,
)

LAWS = (
    Law(
        "L3",
        "Lost first attempts",
        "The first attempt fails with probability 1 − E[exp(−λW)]; for an exponential W that is λ/(λ + μ).",
        "Rivals' commits are Poisson with rate λ; W is independent of them and runs from the effect of the read to that of the swap.",
    ),
    Law(
        "L4",
        "Snapshots behind",
        "Given a conflict, E[N] = λE[W] / (1 − E[exp(−λW)]), plus λg for what lands before the loser looks again.",
        "As L3; g is what remains of the swap after its effect plus the read up to its effect.",
    ),
    Law(
        "L5",
        "Lost to other tables",
        "Of the lost first attempts e^(−λg/T)·(E[e^(−λW/T)] − E[e^(−λW)]) / (1 − E[e^(−λW)]) met no rival on their own table.",
        "As L3; one of T equally likely tables is written, by rivals too; one pointer for the whole catalog.",
    ),
)


@dataclass(frozen=True, slots=True)
class Work:
    """How long a transaction works: the random part of its window."""

    words: str
    document: Document
    mean_ms: float
    laplace: Callable[[float], float]
    """E[exp(−s · work)] for s per millisecond."""


def fixed_work(ms: float) -> Work:
    """Always the same."""
    return Work("fixed", fixed(ms), ms, lambda s: math.exp(-s * ms))


def exponential_work(mean_ms: float) -> Work:
    """Memoryless."""
    return Work("exponential", exponential(mean_ms), mean_ms, lambda s: 1.0 / (1.0 + s * mean_ms))


def uniform_work(low_ms: float, high_ms: float) -> Work:
    """Anything between two bounds."""

    def laplace(s: float) -> float:
        return (math.exp(-s * low_ms) - math.exp(-s * high_ms)) / (s * (high_ms - low_ms))

    table = {"distribution": "uniform", "low": low_ms, "high": high_ms}
    return Work("uniform", table, (low_ms + high_ms) / 2.0, laplace)


def lognormal_work(median_ms: float, sigma: float) -> Work:
    """Mostly short, sometimes very long. Its transform has no closed form; it is integrated."""

    def laplace(s: float) -> float:
        from scipy.integrate import quad

        def density(z: float) -> float:
            work_ms = median_ms * math.exp(sigma * z)
            return math.exp(-s * work_ms - z * z / 2.0) / math.sqrt(2.0 * math.pi)

        return float(quad(density, -9.0, 9.0)[0])

    table = {"distribution": "lognormal", "median": median_ms, "sigma": sigma}
    return Work("lognormal", table, median_ms * math.exp(sigma**2 / 2.0), laplace)


# -- what the laws say -------------------------------------------------------------------------------------------------


def lost_share(rate_per_ms: float, store: Store, work: Work) -> float:
    """L3: the probability that a rival lands in the window."""
    return 1.0 - _none_lands(rate_per_ms, store, work)


def mean_behind(rate_per_ms: float, store: Store, work: Work) -> float:
    """L4: how many snapshots behind a loser finds itself."""
    in_window = rate_per_ms * (store.window_ms + work.mean_ms)
    return in_window / lost_share(rate_per_ms, store, work) + rate_per_ms * store.blind_ms


def cross_table_share(rate_per_ms: float, store: Store, work: Work, tables: int) -> float:
    """L5: the share of losers whose own table nobody wrote before they looked again."""
    own = rate_per_ms / tables
    spared = _none_lands(own, store, work) - _none_lands(rate_per_ms, store, work)
    return math.exp(-own * store.blind_ms) * spared / lost_share(rate_per_ms, store, work)


def _none_lands(rate_per_ms: float, store: Store, work: Work) -> float:
    return math.exp(-rate_per_ms * store.window_ms) * work.laplace(rate_per_ms)


# -- what runs say -----------------------------------------------------------------------------------------------------


def _lost(seen: Seen) -> float:
    """The share of finished transactions that tried again."""
    return float((seen.column("n_retries")[seen.finished] > 0).mean())


def _behind(seen: Seen) -> float:
    # On one table every loss is an overlap, for which an overwrite reads one list per snapshot behind.
    lost = seen.finished & (seen.column("n_retries") > 0)
    return float(seen.column("historical_ml_reads")[lost].mean())


def _spared(seen: Seen) -> float:
    lost = seen.finished & (seen.column("n_retries") > 0)
    return float((seen.column("historical_ml_reads")[lost] == 0).mean())


# -- trials ------------------------------------------------------------------------------------------------------------


def race_trial(
    name: str,
    rate_per_ms: float,
    store: Store,
    work: Work,
    *,
    tables: int = 1,
    transactions: int = 900,
    seeds: int = 24,
) -> Trial:
    """A lone client against Poisson rivals; one retry, so that a loser looks once."""
    life_ms = store.attempt_ms + work.mean_ms
    settings = document(
        store.document(),
        transactions * life_ms,
        lone_client("validated_overwrite", work.document),
        rivals(rate_per_ms),
        catalog={"num_tables": tables},
        transaction={"retry": 1},
    )
    words = _words(rate_per_ms, store, work, tables)
    measures = [Measure("L3", words, lost_share(rate_per_ms, store, work), _lost)]
    if tables == 1:
        measures.append(Measure("L4", words, mean_behind(rate_per_ms, store, work), _behind))
    else:
        share = cross_table_share(rate_per_ms, store, work, tables)
        measures.append(Measure("L5", words, share, _spared))
    return Trial(name, simulator(settings), tuple(measures), seeds)


def _words(rate_per_ms: float, store: Store, work: Work, tables: int) -> str:
    load = rate_per_ms * (store.window_ms + work.mean_ms)
    words = f"{work.words} work, λW={load:.3g}, effect at {store.effect_point:g}"
    if store.blind_ms > 1e-3:
        words += f", λg={rate_per_ms * store.blind_ms:.2g}"
    return words if tables == 1 else f"{words}, T={tables}"


def self_contending_trial(
    name: str, rate_per_ms: float, store: Store, work: Work, *, tables: int = 1, seeds: int = 6
) -> Trial:
    """Rivals that are like oneself: they lose, too, and come in bursts, so their commits are not Poisson."""
    settings = document(
        store.document(),
        2_000 / rate_per_ms,
        crowd("validated_overwrite", rate_per_ms, work.document),
        catalog={"num_tables": tables},
        # Nearly all commit in the end, so the rate of commits is that of arrivals.
        transaction={"retry": 100},
    )
    words = f"self-contending: {_words(rate_per_ms, store, work, tables)}"
    lost = Measure("L3", words, lost_share(rate_per_ms, store, work), _lost, judged=False)
    if tables == 1:
        behind = mean_behind(rate_per_ms, store, work)
        other = Measure("L4", words, behind, _behind_at_first, judged=False)
    else:
        share = cross_table_share(rate_per_ms, store, work, tables)
        other = Measure("L5", words, share, _spared_at_first, judged=False)
    return Trial(name, simulator(settings, attempts=True), (lost, other), seeds)


def _behind_at_first(seen: Seen) -> float:
    """As `_behind`, where there may be further retries: of the first one only."""
    table = seen.attempts
    first = table["attempt"].to_numpy() == 1
    return float(table["snapshots_behind"].to_numpy()[first].mean())


def _spared_at_first(seen: Seen) -> float:
    table = seen.attempts.filter(seen.attempts["conflict_class"].is_valid())
    first = table["attempt"].to_numpy() == 1
    classes = table["conflict_class"].to_numpy(zero_copy_only=False)[first]
    return float((classes == "cross_table").mean())


# Ten and thirty milliseconds, so that it matters at which share of them the operations take effect.
_SLOW = Store(10.0, 30.0, list_read_ms=8.0, file_write_ms=7.0, list_write_ms=5.0, effect_point=0.5)
_EARLY = Store(40.0, 10.0, list_read_ms=2.0, file_write_ms=2.0, list_write_ms=1.0, effect_point=0.0)
_LATE = Store(5.0, 60.0, list_read_ms=5.0, file_write_ms=5.0, list_write_ms=5.0, effect_point=1.0)
_PURE = Store(effect_point=1.0)


def trials() -> tuple[Trial, ...]:
    """The points at which the laws are held against runs."""
    return (
        race_trial("race-fixed-half", 1.0 / 80.0, _SLOW, fixed_work(40.0)),
        race_trial("race-fixed-start", 1.0 / 90.0, _EARLY, fixed_work(45.0), transactions=1100),
        race_trial("race-fixed-end", 1.0 / 50.0, _LATE, fixed_work(25.0), transactions=550),
        race_trial("race-fixed-pure", 1.0 / 100.0, _PURE, fixed_work(60.0), transactions=1250),
        race_trial("race-exponential-pure", 1.0 / 100.0, _PURE, exponential_work(100.0)),
        race_trial("race-lognormal-half", 1.0 / 80.0, _SLOW, lognormal_work(30.0, 1.0)),
        race_trial(
            "race-tables-pure", 1.0 / 100.0, _PURE, fixed_work(500.0), tables=10, transactions=600
        ),
        race_trial(
            "race-tables-half", 1.0 / 80.0, _SLOW, fixed_work(80.0), tables=4, transactions=900
        ),
        race_trial(
            "race-tables-exponential",
            1.0 / 100.0,
            _PURE,
            exponential_work(200.0),
            tables=3,
            transactions=1100,
        ),
        self_contending_trial("crowd-one-table", 1.0 / 160.0, _SLOW, fixed_work(40.0)),
        self_contending_trial("crowd-ten-tables", 1.0 / 160.0, _SLOW, fixed_work(40.0), tables=10),
    )
