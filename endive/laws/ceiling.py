"""L6, L7: how many commits a table, and a pointer, can take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from endive.laws.flow import success_share
from endive.laws.model import Law, Measure, Trial
from endive.laws.runs import (
    ABORTED,
    NO_TIME_MS,
    Document,
    Seen,
    Store,
    crowd,
    document,
    exponential,
    fixed,
    lone_client,
    simulator,
    steady_rate,
)
from endive.profiles import load_profiles

LAWS = (
    Law(
        "L6",
        "Ceiling of serial commits",
        "One writer after the other commits 1 / (sum of the latencies of an attempt) times per unit of time.",
        "Serial: each begins when the one before has ended. Rivals that overlap can do better, up to one commit per window W.",
    ),
    Law(
        "L7",
        "Hammering one pointer",
        "n clients in a closed loop, latency L, no other time: with the effect at the end 1/L succeed and 1 − 1/n fail; at half, up to 2/L.",
        "A constant L: at the end exactly; at half with n evenly staggered clients (⌊fn⌋ + 1)·L/n between two commits, which goes to fL. "
        "For an exponential L, with the effect at the end, it is n/(L·Q(n)), Q(n) = Σ (n−1)!/((n−k)!·n^(k−1)). "
        "In an open loop with rate a, 1/(fL + 1/a).",
    ),
)


# -- what the laws say -------------------------------------------------------------------------------------------------


def birthday_sum(clients: int) -> float:
    """Q(n): how many operations end from one success to the next, where each client is as likely to be next.

    After a success only the winner has seen it. Each operation that ends is one of k up-to-date clients' (a success: all begin anew) with
    probability k/n; else one more client looks and is up to date. It is the birthday problem.
    """
    total, still = 0.0, 1.0
    for fresh in range(1, clients + 1):
        total += still
        still *= (clients - fresh) / clients
    return total


def staggered_gap_ms(clients: int, interval_ms: float, window_ms: float) -> float:
    """Between two commits of clients that look one after the other at even distances: the first look after a commit wins."""
    apart_ms = interval_ms / clients
    return (math.floor(window_ms / apart_ms) + 1) * apart_ms


def floored_lognormal_mean(median: float, sigma: float, floor: float) -> float:
    """The mean of a lognormal that is raised to a floor."""
    below = (math.log(floor) - math.log(median)) / sigma
    return floor * _phi(below) + median * math.exp(sigma**2 / 2.0) * _phi(sigma - below)


def _phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def profile_attempt_ms(provider: str) -> float:
    """The mean of a whole attempt by the figures of a profile: catalog read, three manifest operations, swap."""
    profile = load_profiles()[provider]
    floor_ms = profile.min_latency_ms.value
    cas, put = profile.latency["cas"].figures, profile.latency["put"].figures
    swap_ms = floored_lognormal_mean(cas["median"].value, cas["sigma"].value, floor_ms)

    def put_ms(size_bytes: int) -> float:
        median = put["base"].value + put["per_mib"].value * size_bytes / 2**20
        return floored_lognormal_mean(median, put["sigma"].value, floor_ms)

    return 2.0 * swap_ms + 2.0 * put_ms(16_384) + put_ms(65_536)


# -- what runs say -----------------------------------------------------------------------------------------------------


def _commits_per_s(seen: Seen) -> float:
    commits_ms = seen.column("t_commit")
    commits_ms = commits_ms[commits_ms >= seen.statistics.duration_ms * 0.1]
    return 1000.0 * steady_rate(commits_ms)


def _failures(seen: Seen) -> float:
    """The share of operations that fail, once the start is forgotten."""
    late = seen.end_ms >= seen.statistics.duration_ms * 0.1
    return float((seen.column("status")[seen.finished][late] == ABORTED).mean())


def _steady_failures(seen: Seen) -> float:
    """The same from rates, which have no broken cycles at the ends."""
    late = seen.end_ms[seen.end_ms >= seen.statistics.duration_ms * 0.1]
    return 1.0 - _commits_per_s(seen) / (1000.0 * steady_rate(late))


# -- trials ------------------------------------------------------------------------------------------------------------


def serial_trial(
    name: str,
    words: str,
    storage: Mapping[str, Any],
    attempt_ms: float,
    *,
    seeds: int,
    commits: int = 400,
    catalog: Mapping[str, Any] | None = None,
) -> Trial:
    """One client without work or pause: all it does is commit."""
    settings = document(
        storage, commits * attempt_ms, lone_client("fast_append", fixed(0.0)), catalog=catalog
    )
    measure = Measure("L6", f"commits/s, {words}", 1000.0 / attempt_ms, _commits_per_s)
    return Trial(name, simulator(settings), (measure,), seeds)


def inlining_erratum_trial(name: str) -> Trial:
    """The erratum's 175 ms: metadata and list read and written, and the swap; the rest takes no time."""
    store = Store(list_read_ms=27.0, list_write_ms=60.0, swap_ms=1.0, effect_point=0.5)
    storage = store.document()
    storage["latency"]["table_metadata"] = {"read": fixed(27.0), "write": fixed(60.0)}
    attempt_ms = store.attempt_ms + 87.0
    return serial_trial(
        name,
        "metadata not inlined, 27+27+60+60+1 ms",
        storage,
        attempt_ms,
        seeds=2,
        catalog={"table_metadata_inlined": False},
    )


def crowded_table_trial(name: str, clients: int) -> Trial:
    """Several clients on one table: not serial, so the law does not speak of it."""
    store = _SLOW
    client = {**lone_client("fast_append", fixed(0.0)), "think_time": exponential(200.0)}
    settings = document(
        store.document(),
        1000 * store.attempt_ms,
        {**client, "clients": clients},
        transaction={"retry": 1000},
    )
    words = f"commits/s, {clients} clients that overlap"
    measure = Measure("L6", words, 1000.0 / store.attempt_ms, _commits_per_s, judged=False)
    return Trial(name, simulator(settings), (measure,), 8)


def _tries_once() -> dict[str, Any]:
    return {"retry": 0}


def staggered_trial(
    name: str, clients: int, effect_point: float, latency_ms: float = 50.0
) -> Trial:
    """Clients that begin one after the other at even distances, each again as soon as it has its answer."""
    store = Store(swap_ms=latency_ms, effect_point=effect_point)
    # A hair longer than an operation takes: the same client's next look comes after its own commit.
    interval_ms = latency_ms + 0.001
    classes = [
        {
            "name": f"client {index}",
            "kind": "periodic",
            "interval_ms": interval_ms,
            "offset_ms": index * interval_ms / clients,
            "runtime": fixed(0.0),
            "operation_types": {"fast_append": 1.0},
        }
        for index in range(clients)
    ]
    settings = document(store.document(), 200 * interval_ms, *classes, transaction=_tries_once())
    gap_ms = staggered_gap_ms(clients, interval_ms, store.window_ms)
    words = f"n={clients} staggered, effect at {effect_point:g}"
    measures = (
        Measure("L7", f"ok·L, {words}", latency_ms / gap_ms, _times(latency_ms)),
        Measure(
            "L7", f"failures, {words}", 1.0 - interval_ms / (clients * gap_ms), _steady_failures
        ),
    )
    return Trial(name, simulator(settings), measures, 2)


def _times(latency_ms: float) -> Callable[[Seen], float]:
    """Commits per latency."""
    return lambda seen: _commits_per_s(seen) * latency_ms / 1000.0


def _hammering(clients: int, think_time: Document) -> Document:
    return {
        **lone_client("fast_append", fixed(0.0)),
        "clients": clients,
        "think_time": think_time,
    }


def memoryless_trial(
    name: str, clients: int, *, mean_ms: float = 50.0, operations: int = 2800, seeds: int = 24
) -> Trial:
    """Clients in a closed loop whose swaps take exponential times."""
    storage = Store(effect_point=1.0).document()
    storage["latency"]["catalog"]["cas"] = exponential(mean_ms)
    settings = document(
        storage,
        operations * mean_ms / clients,
        _hammering(clients, fixed(0.0)),
        transaction=_tries_once(),
    )
    per_success = birthday_sum(clients)
    words = f"n={clients} closed, exponential L, effect at 1"
    measures = (
        Measure("L7", f"ok·L, {words}", clients / per_success, _times(mean_ms)),
        Measure("L7", f"failures, {words}", 1.0 - 1.0 / per_success, _failures),
    )
    return Trial(name, simulator(settings), measures, seeds)


def open_loop_trial(name: str, load: float, effect_point: float, latency_ms: float = 50.0) -> Trial:
    """Arrivals without number, `load` of them per latency, each of which tries once."""
    store = Store(swap_ms=latency_ms, effect_point=effect_point)
    rate_per_ms = load / latency_ms
    settings = document(
        store.document(),
        2000.0 / rate_per_ms,
        crowd("fast_append", rate_per_ms, fixed(0.0)),
        transaction=_tries_once(),
    )
    ok = load * success_share(rate_per_ms, store.window_ms)
    words = f"open loop, aL={load:g}, effect at {effect_point:g}"
    measure = Measure("L7", f"ok·L, {words}", ok, _times(latency_ms))
    return Trial(name, simulator(settings), (measure,), 16)


def closed_loop_trial(
    name: str, clients: int, effect_point: float, limit: float, latency_ms: float = 50.0
) -> Trial:
    """A closed loop as one would build it, with latencies that vary a little: near the law, not on it."""
    storage = Store(effect_point=effect_point).document()
    storage["latency"]["catalog"]["cas"] = {
        "distribution": "lognormal",
        "mean": latency_ms,
        "sigma": 0.2,
    }
    settings = document(
        storage,
        4000.0 * latency_ms / clients,
        _hammering(clients, exponential(NO_TIME_MS)),
        transaction=_tries_once(),
    )
    words = f"n={clients} closed, lognormal L (sigma 0.2), effect at {effect_point:g}"
    measure = Measure("L7", f"ok·L, {words}", limit, _times(latency_ms), judged=False)
    return Trial(name, simulator(settings), (measure,), 8)


_SLOW = Store(10.0, 30.0, list_read_ms=8.0, file_write_ms=7.0, list_write_ms=5.0, effect_point=0.5)


def trials() -> tuple[Trial, ...]:
    """The points at which the laws are held against runs."""
    by_profile = [
        serial_trial(
            f"serial-{provider}",
            f"profile {provider}, floors included",
            {"provider": provider},
            profile_attempt_ms(provider),
            seeds=16,
        )
        for provider in ("s3", "s3x", "azure", "gcp")
    ]
    return (
        serial_trial(
            "serial-fixed", "fixed, 10+20+30 ms", _SLOW.document(), _SLOW.attempt_ms, seeds=2
        ),
        inlining_erratum_trial("serial-erratum"),
        *by_profile,
        crowded_table_trial("serial-crowd", 24),
        staggered_trial("hammer-end-8", 8, 1.0),
        staggered_trial("hammer-half-5", 5, 0.5),
        staggered_trial("hammer-half-31", 31, 0.5),
        memoryless_trial("hammer-exponential-4", 4),
        memoryless_trial("hammer-exponential-16", 16),
        open_loop_trial("hammer-open-end", 4.0, 1.0),
        open_loop_trial("hammer-open-half", 10.0, 0.5),
        closed_loop_trial("hammer-closed-end", 16, 1.0, 1.0),
        closed_loop_trial("hammer-closed-half", 16, 0.5, 2.0),
    )
