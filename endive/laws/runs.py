"""Runs that laws are read off: configurations of few parts with known times, and what is seen of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endive.config import ResolvedConfig, build_simulation_config, resolve_config
from endive.simulation import Progress, Simulation, Statistics

Document = dict[str, Any]
NO_TIME_MS = 1e-6
"""A latency must be above 0; this one is too short for anything to happen in it."""
COMMITTED, ABORTED = 0, 1


def fixed(value_ms: float) -> Document:
    """Always the same."""
    return {"distribution": "fixed", "value": value_ms}


def exponential(mean_ms: float) -> Document:
    """The gaps of a Poisson process."""
    return {"distribution": "exponential", "scale": mean_ms}


@dataclass(frozen=True, slots=True)
class Store:
    """A store whose every latency is a known constant; `window_ms` and `blind_ms` are what laws ask of it.

    A transaction sees the catalog at the effect of its read and changes it at the effect of its swap. So the window in
    which a rival makes it fail is the rest of the read, the work, the manifests, and the first part of the swap.
    """

    read_ms: float = NO_TIME_MS
    swap_ms: float = NO_TIME_MS
    list_read_ms: float = NO_TIME_MS
    file_write_ms: float = NO_TIME_MS
    list_write_ms: float = NO_TIME_MS
    effect_point: float = 0.5
    max_parallel: int = 4

    @property
    def manifests_ms(self) -> float:
        """The manifests of one attempt on one table."""
        return self.list_read_ms + self.file_write_ms + self.list_write_ms

    @property
    def window_ms(self) -> float:
        """From the effect of a read to that of the swap, but for work and validation in between."""
        f = self.effect_point
        return (1.0 - f) * self.read_ms + self.manifests_ms + f * self.swap_ms

    @property
    def blind_ms(self) -> float:
        """From the effect of a lost swap to that of the next read: what lands then was not in the way, and is behind."""
        f = self.effect_point
        return (1.0 - f) * self.swap_ms + f * self.read_ms

    @property
    def attempt_ms(self) -> float:
        """All of an attempt, from the start of the read to the end of the swap."""
        return self.read_ms + self.manifests_ms + self.swap_ms

    def document(self) -> Document:
        """The `[storage]` table."""
        return {
            "provider": "instant",
            "min_latency_ms": NO_TIME_MS,
            "effect_point": self.effect_point,
            "max_parallel": self.max_parallel,
            "latency": {
                "catalog": {"read": fixed(self.read_ms), "cas": fixed(self.swap_ms)},
                "manifest_list": {
                    "read": fixed(self.list_read_ms),
                    "write": fixed(self.list_write_ms),
                },
                "manifest_file": {"write": fixed(self.file_write_ms)},
            },
        }


@dataclass(frozen=True)
class Seen:
    """What a run showed."""

    statistics: Statistics
    in_flight: list[tuple[float, int]] = field(default_factory=list)
    """How many were under way, at equal distances of time, as the runner counts them."""

    def column(self, name: str) -> NDArray[Any]:
        """One column of all rows, in the order in which they ended."""
        return self.statistics.log.column(name)

    @cached_property
    def finished(self) -> NDArray[np.bool_]:
        """Which rows are of transactions that came to an end."""
        return np.asarray(self.column("status") <= ABORTED)

    @cached_property
    def end_ms(self) -> NDArray[Any]:
        """When each finished transaction ended, in that order."""
        ends = np.maximum(self.column("t_commit"), self.column("t_abort"))
        return np.asarray(ends[self.finished])

    @cached_property
    def attempts(self) -> Any:
        """The attempts, where they were recorded."""
        assert self.statistics.attempts is not None
        return self.statistics.attempts.to_arrow()


def simulator(
    document: Document, *, attempts: bool = False, watch: bool = False
) -> Callable[[int], Seen]:
    """What runs a configuration with a seed; `watch` counts who is in flight while it goes on."""

    @lru_cache(maxsize=1)
    def resolved() -> ResolvedConfig:
        return resolve_config(document)

    def run(seed: int) -> Seen:
        config = replace(build_simulation_config(resolved(), seed), records_attempts=attempts)
        samples: list[tuple[float, int]] = []

        def note(progress: Progress) -> None:
            samples.append((progress.now_ms, progress.in_flight))

        statistics = Simulation(config).run(on_progress=note if watch else None)
        return Seen(statistics, samples)

    return run


def document(
    store: Mapping[str, Any],
    duration_ms: float,
    *classes: Mapping[str, Any],
    catalog: Mapping[str, Any] | None = None,
    transaction: Mapping[str, Any] | None = None,
) -> Document:
    """A configuration of a store and some loads."""
    return {
        "simulation": {"duration_ms": duration_ms},
        "storage": dict(store),
        "catalog": {"type": "cas", **(catalog or {})},
        "transaction": dict(transaction or {}),
        "workload": {"class": [dict(each) for each in classes]},
    }


def lone_client(operation: str, runtime: Document) -> Document:
    """One transaction after another, without pause: it never meets itself."""
    return {
        "name": "lone",
        "kind": "closed",
        "clients": 1,
        "think_time": fixed(0.0),
        "runtime": runtime,
        "operation_types": {operation: 1.0},
    }


def rivals(rate_per_ms: float) -> Document:
    """Commits that always land, at the instants of a Poisson process."""
    return {
        "name": "rivals",
        "kind": "background",
        "inter_arrival": exponential(1.0 / rate_per_ms),
    }


def crowd(operation: str, rate_per_ms: float, runtime: Document) -> Document:
    """Transactions that arrive as a Poisson process and are each other's rivals."""
    return {
        "name": "crowd",
        "kind": "open",
        "inter_arrival": exponential(1.0 / rate_per_ms),
        "runtime": runtime,
        "operation_types": {operation: 1.0},
    }


def steady_rate(times_ms: NDArray[Any]) -> float:
    """Events per millisecond, from the first to the last: no part of a gap at either end is counted in."""
    return float((len(times_ms) - 1) / (times_ms[-1] - times_ms[0]))
