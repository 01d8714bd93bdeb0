"""L9: the convoy. Who is N snapshots behind reads N lists, and meanwhile falls behind again.

The exact law is a Markov chain over N, attempt by attempt; the fixed point of the mean is what it settles at where commits are rare.
Both are computed here from rates and times alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from endive.laws.model import Law, Measure, Trial
from endive.laws.runs import (
    ABORTED,
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
        "L9",
        "Convoy",
        "W' = c + t·⌈N/p⌉, N the rivals of the last window; N' follows a Markov chain, whose mean settles at λ(c + g)/(1 − λt) "
        "for p = 1 iff λt < 1. Beyond, it grows without end.",
        "Poisson rivals with rate λ; a validated overwrite alone on one table; t per list, p lists at a time, c for the rest of the window, "
        "g from a lost swap to the next look. The fixed point leaves out commits, rounding to batches, and that who lost is at least 1 behind.",
    ),
)


@dataclass(frozen=True, slots=True)
class Convoy:
    """An overwrite against rivals."""

    rate_per_ms: float
    store: Store
    retries: int
    work_ms: float = 0.0

    @property
    def list_ms(self) -> float:
        """t: reading one list of history."""
        return self.store.list_read_ms

    @property
    def gain(self) -> float:
        """λt: how many land while one list is read, with nothing in parallel."""
        return self.rate_per_ms * self.list_ms / self.store.max_parallel

    def window_ms(self, behind: float) -> float:
        """W of a retry that is so many snapshots behind."""
        batches = math.ceil(behind / self.store.max_parallel)
        return self.store.window_ms + batches * self.list_ms

    @property
    def fixed_point(self) -> float:
        """N* of the mean, batches not rounded up."""
        cycle_ms = self.store.window_ms + self.store.blind_ms
        return self.rate_per_ms * cycle_ms / (1.0 - self.gain)


@dataclass(frozen=True, slots=True)
class Chain:
    """What the chain says, attempt by attempt."""

    alive: tuple[float, ...]
    """The probability that retry 1, 2, … is made at all; then, that it is lost, too."""
    behind: tuple[float, ...]
    """Mean N at retry 1, 2, …, if it is made."""

    @property
    def aborted(self) -> float:
        """The probability that all attempts are lost."""
        return self.alive[-1]


def chain_of(convoy: Convoy) -> Chain:
    """The exact law."""
    from scipy.stats import poisson

    rate = convoy.rate_per_ms
    first_ms = convoy.store.window_ms + convoy.work_ms
    size = _states(convoy, first_ms)
    behind = np.arange(size)
    unseen = poisson.pmf(np.arange(min(size, 200)), rate * convoy.store.blind_ms)

    def lost_in(window_ms: float) -> NDArray[np.float64]:
        """How far behind one is after a window that was not quiet."""
        landed = poisson.pmf(behind, rate * window_ms)
        landed[0] = 0.0
        return np.convolve(landed, unseen)[:size]

    # Windows of all N that make the same number of batches are the same.
    batches = np.ceil(behind / convoy.store.max_parallel).astype(int)
    after = [
        lost_in(convoy.store.window_ms + count * convoy.list_ms)
        for count in range(int(batches[-1]) + 1)
    ]
    state = lost_in(first_ms)
    alive, means = [float(state.sum())], []
    for _ in range(convoy.retries):
        means.append(float(state @ behind / state.sum()))
        mass = np.bincount(batches, weights=state)
        state = np.sum([share * after[count] for count, share in enumerate(mass)], axis=0)
        alive.append(float(state.sum()))
    return Chain(tuple(alive), tuple(means))


def _states(convoy: Convoy, first_ms: float) -> int:
    """So many N that more are out of the question."""
    highest = mean = convoy.rate_per_ms * (first_ms + convoy.store.blind_ms)
    cycle_ms = convoy.store.window_ms + convoy.store.blind_ms + convoy.list_ms
    for _ in range(convoy.retries):
        mean = convoy.rate_per_ms * cycle_ms + convoy.gain * mean
        highest = max(highest, mean)
    return int(4.0 * highest + 12.0 * math.sqrt(highest) + 30.0)


# -- what runs say -----------------------------------------------------------------------------------------------------


def _aborted(seen: Seen) -> float:
    return float((seen.column("status")[seen.finished] == ABORTED).mean())


def behind_at(retry: int) -> Callable[[Seen], float]:
    """Mean N at one retry, of all who come so far."""

    def read(seen: Seen) -> float:
        table = seen.attempts
        at_retry = table["attempt"].to_numpy() == retry
        return float(table["snapshots_behind"].to_numpy()[at_retry].mean())

    return read


def success_at(retry: int) -> Callable[[Seen], float]:
    """The share of those who come so far that commit there and then."""

    def read(seen: Seen) -> float:
        table = seen.attempts
        outcomes = table["outcome"].to_numpy(zero_copy_only=False)
        at_retry = (table["attempt"].to_numpy() == retry) & (outcomes != "in_flight")
        return float((outcomes[at_retry] == "committed").mean())

    return read


# -- trials ------------------------------------------------------------------------------------------------------------


def convoy_trial(
    name: str,
    convoy: Convoy,
    *,
    overwrites: int = 300,
    seeds: int = 24,
    shares: bool = True,
    compares: bool = False,
) -> Trial:
    """A lone overwrite after the other against Poisson rivals; `compares` shows the fixed point beside it."""
    chain, last = chain_of(convoy), convoy.retries
    # Attempts last about as long as the mean has it; a few overwrites more or less do not matter.
    alive = (1.0, *chain.alive[:-1])
    windows_ms = [convoy.work_ms, *(convoy.window_ms(behind) for behind in chain.behind)]
    life_ms = sum(
        share * (window_ms + convoy.store.attempt_ms)
        for share, window_ms in zip(alive, windows_ms, strict=True)
    )
    settings = document(
        convoy.store.document(),
        overwrites * life_ms,
        lone_client("validated_overwrite", fixed(convoy.work_ms)),
        rivals(convoy.rate_per_ms),
        transaction={"retry": convoy.retries},
    )
    words = _words(convoy)
    measures = [Measure("L9", f"N at retry {last}, {words}", chain.behind[-1], behind_at(last))]
    if shares:
        measures.append(Measure("L9", f"aborted, {words}", chain.aborted, _aborted))
    if compares:
        point = convoy.fixed_point
        in_window = convoy.rate_per_ms * (
            convoy.store.window_ms + convoy.gain * point / convoy.rate_per_ms
        )
        measures += [
            Measure(
                "L9",
                f"fixed point: N at retry {last}, {words}",
                point,
                behind_at(last),
                judged=False,
            ),
            Measure(
                "L9",
                f"fixed point: success at retry {last}, {words}",
                math.exp(-in_window),
                success_at(last),
                judged=False,
            ),
        ]
    return Trial(name, simulator(settings, attempts=True), tuple(measures), seeds)


def _words(convoy: Convoy) -> str:
    return (
        f"λ={1000.0 * convoy.rate_per_ms:g}/s, t={convoy.list_ms:g}, c={convoy.store.window_ms:g} ms, "
        f"p={convoy.store.max_parallel}, K={convoy.retries}"
    )


def self_contending_trial(name: str, convoy: Convoy, retry: int) -> Trial:
    """Overwrites that are each other's rivals."""
    settings = document(
        convoy.store.document(),
        1500.0 / convoy.rate_per_ms,
        crowd("validated_overwrite", convoy.rate_per_ms, fixed(convoy.work_ms)),
        transaction={"retry": 100},
    )
    words = f"self-contending: N at retry {retry}, {_words(convoy)}"
    measure = Measure(
        "L9", words, chain_of(convoy).behind[retry - 1], behind_at(retry), judged=False
    )
    return Trial(name, simulator(settings, attempts=True), (measure,), 8)


def _store(list_ms: float, window_ms: float, max_parallel: int) -> Store:
    """A store with this c: what lists and catalog leave of it is spent writing a manifest."""
    rest_ms = window_ms - list_ms - 1.0
    return Store(
        1.0,
        1.0,
        list_read_ms=list_ms,
        file_write_ms=rest_ms,
        effect_point=0.5,
        max_parallel=max_parallel,
    )


def trials() -> tuple[Trial, ...]:
    """The points at which the law is held against runs."""
    light = Convoy(0.02, _store(20.0, 45.0, 1), 2, work_ms=40.0)
    batched = Convoy(0.025, _store(30.0, 62.0, 4), 5, work_ms=400.0)
    # Begun at the fixed point: W* = 160/(1 − 0.61) ms.
    noted = Convoy(0.02, _store(30.5, 160.0, 1), 10, work_ms=250.3)
    beyond = Convoy(0.04, _store(32.5, 60.0, 1), 4)
    crowded = Convoy(1.0 / 300.0, _store(20.0, 45.0, 1), 2, work_ms=50.0)
    return (
        convoy_trial("convoy-light", light, overwrites=550),
        convoy_trial("convoy-batched", batched, overwrites=300, compares=True),
        convoy_trial("convoy-noted", noted, overwrites=80, compares=True),
        convoy_trial("convoy-beyond", beyond, overwrites=100, shares=False),
        self_contending_trial("convoy-crowd", crowded, 1),
    )
