"""A race of real PyIceberg writers on one table, beside the simulator's prediction of it.

All else that Endive says of libraries is counted: reads and writes, one after another. This is about time and rivals: how often commits are
lost, how many give up, how long they take. Both sides run the same closed loop with the same latencies; the real one in real time, once, and
the simulated one with many seeds, whose middle 99 % are the band in which a real run is expected.

What is injected replaces what would take that long elsewhere: a catalog's answers and a store's objects. Table metadata counts as part of the
catalog. PyIceberg works with one thread (`PYICEBERG_MAX_WORKERS=1`), as the model does one thing after another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Distribution = Mapping[str, Any]

CATALOG_READ = "catalog.read"
CATALOG_CAS = "catalog.cas"
EFFECT_POINT = 0.5
"""The share of a catalog operation's latency after which the pointer is read or swapped."""

OPERATIONS = (
    CATALOG_READ,
    CATALOG_CAS,
    "manifest_list.read",
    "manifest_list.write",
    "manifest_file.read",
    "manifest_file.write",
)

BAND = 0.99
LATE = 0.05
"""An answer is late if it comes later than it should by more than this share of the smallest median latency."""
LATE_SHARE = 0.02
"""More late answers than this, and the machine was too slow to say anything."""


def default_latencies(median_ms: float) -> dict[str, Distribution]:
    """What each operation takes: lognormal around one median, with a moderate tail."""
    return {
        name: {"distribution": "lognormal", "median": median_ms, "sigma": 0.3}
        for name in OPERATIONS
    }


@dataclass(frozen=True, slots=True)
class Plan:
    """A race: who runs, for how long, and what takes how long."""

    writers: int
    seconds: float
    seed: int
    latencies: Mapping[str, Distribution]
    runtime: Distribution
    think_time: Distribution

    @property
    def late_ms(self) -> float:
        """From how much on an answer is late."""
        return LATE * min(float(each["median"]) for each in self.latencies.values())

    def as_dict(self) -> dict[str, Any]:
        """The plan as a JSON document."""
        return {**asdict(self), "effect_point": EFFECT_POINT}


def make_plan(writers: int, seconds: float, seed: int, median_ms: float) -> Plan:
    """A race in which everything scales with one latency: four of them to work, ten to think."""
    return Plan(
        writers=writers,
        seconds=seconds,
        seed=seed,
        latencies=default_latencies(median_ms),
        runtime={"distribution": "lognormal", "median": 4 * median_ms, "sigma": 0.3},
        think_time={"distribution": "exponential", "scale": 10 * median_ms},
    )


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction that ended: how, after how many attempts, and how long that took after its work was done."""

    committed: bool
    attempts: int
    commit_latency_ms: float


@dataclass(frozen=True, slots=True)
class Overhead:
    """What PyIceberg itself took, and whether it ever took longer than it was given."""

    answers: int = 0
    """Injected latencies that were waited for to the end."""
    late: int = 0
    latest_ms: float = 0.0
    busy_ms: float = 0.0
    """The library's own time between injected waits; it passes within the next of them."""

    def plus(self, other: Overhead) -> Overhead:
        """What both took."""
        return Overhead(
            self.answers + other.answers,
            self.late + other.late,
            max(self.latest_ms, other.latest_ms),
            self.busy_ms + other.busy_ms,
        )

    @property
    def late_share(self) -> float:
        """The share of answers that came late."""
        return self.late / self.answers if self.answers else 0.0


@dataclass(frozen=True, slots=True)
class Real:
    """What came of a real race."""

    transactions: tuple[Transaction, ...]
    landed: int
    """Commits that took effect, the answer in time or not."""
    rows: int
    """Rows in the table at the end; each commit that landed added one."""
    are_rows_the_landed: bool
    """Whether they are exactly those that the writers say they added."""
    overhead: Overhead


Quantities = Mapping[str, float]

QUANTITIES = (
    "committed",
    "aborted",
    "success_rate",
    "first_attempt_rate",
    "attempts_mean",
    "commit_latency_mean_ms",
    "commit_latency_p50_ms",
    "commit_latency_p95_ms",
)
"""What is compared; all of them are about transactions that ended within the race."""


def quantities(transactions: Sequence[Transaction]) -> dict[str, float]:
    """What a race amounts to; NaN where there is nothing to say."""
    done = [each for each in transactions if each.committed]
    ended = max(len(transactions), 1)
    nothing = float("nan")
    latencies = np.array([each.commit_latency_ms for each in done] or [nothing])
    return {
        "committed": float(len(done)),
        "aborted": float(len(transactions) - len(done)),
        "success_rate": len(done) / ended if transactions else nothing,
        "first_attempt_rate": sum(each.attempts == 1 for each in done) / ended,
        "attempts_mean": sum(each.attempts for each in transactions) / ended,
        "commit_latency_mean_ms": float(latencies.mean()),
        "commit_latency_p50_ms": float(np.quantile(latencies, 0.5)),
        "commit_latency_p95_ms": float(np.quantile(latencies, 0.95)),
    }


@dataclass(frozen=True, slots=True)
class Comparison:
    """One quantity: what was seen, and where the simulator expects it."""

    quantity: str
    real: float
    predicted: float
    low: float
    high: float
    rank: float
    """The share of simulated runs below the real one, those at the same value counted half."""

    @property
    def is_inside(self) -> bool:
        """Whether what was seen lies in the band."""
        return bool(self.low <= self.real <= self.high)


@dataclass(frozen=True, slots=True)
class Race:
    """A race and its prediction."""

    plan: Plan
    real: Real
    simulated_runs: int
    comparisons: tuple[Comparison, ...] = field(default_factory=tuple)

    @property
    def is_accounted(self) -> bool:
        """Whether the table holds what the writers say."""
        committed = sum(each.committed for each in self.real.transactions)
        return self.real.are_rows_the_landed and self.real.rows == self.real.landed >= committed

    @property
    def verdict(self) -> str:
        """`inside`, `outside`, or `inconclusive` where the machine could not keep pace."""
        if not self.is_accounted:
            return "outside"
        if self.real.overhead.late_share > LATE_SHARE:
            return "inconclusive"
        return "inside" if all(each.is_inside for each in self.comparisons) else "outside"

    def as_dict(self) -> dict[str, Any]:
        """The race as a JSON document."""
        overhead = self.real.overhead
        attempts = sum(each.attempts for each in self.real.transactions)
        return {
            "plan": self.plan.as_dict(),
            "verdict": self.verdict,
            "ended": len(self.real.transactions),
            "landed": self.real.landed,
            "rows": self.real.rows,
            "accounted": self.is_accounted,
            "overhead": {
                **asdict(overhead),
                "late_share": overhead.late_share,
                "busy_ms_per_attempt": overhead.busy_ms / attempts if attempts else None,
            },
            "simulated_runs": self.simulated_runs,
            "band": BAND,
            "quantities": {
                each.quantity: {
                    **{
                        name: _number(getattr(each, name))
                        for name in ("real", "predicted", "low", "high", "rank")
                    },
                    "inside": each.is_inside,
                }
                for each in self.comparisons
            },
        }


def _number(value: float) -> float | None:
    # JSON knows no NaN; there are quantities of which nothing was seen.
    return None if np.isnan(value) else round(float(value), 4)


def compare(real: Quantities, simulated: Sequence[Quantities]) -> tuple[Comparison, ...]:
    """Each quantity beside the middle of what many simulated runs gave."""
    found = []
    for name in QUANTITIES:
        values = np.array([run[name] for run in simulated])
        values = values[~np.isnan(values)]
        seen = real[name]
        low, middle, high = (
            np.quantile(values, [(1 - BAND) / 2, 0.5, (1 + BAND) / 2])
            if len(values)
            else [float("nan")] * 3
        )
        rank = float(((values < seen).sum() + 0.5 * (values == seen).sum()) / max(len(values), 1))
        found.append(Comparison(name, seen, float(middle), float(low), float(high), rank))
    return tuple(found)


def race_document(races: Sequence[Race], command: str) -> dict[str, Any]:
    """Races as they are kept."""
    import platform

    import pyiceberg

    return {
        "format": 1,
        "library": "PyIceberg",
        "version": pyiceberg.__version__,
        "command": command,
        "environment": {"python": platform.python_version(), "processors": os.cpu_count()},
        "races": [race.as_dict() for race in races],
    }
