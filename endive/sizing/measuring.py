"""One run, and what it says of each objective: counts, and of those who missed it where their time went.

Transactions are looked at from the instant at which their work is done and they come to commit. Judged are those that come between
the end of the warm-up and `settle_ms` before the end of the run. The latter is at least the largest limit of a latency, so that each of
them has either ended or is late: nobody is dropped because the end came first. For success, who is still going on counts as failed
in one reckoning and as committed in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endive.config import ResolvedConfig, build_simulation_config, resolve_config
from endive.results import RowLog
from endive.simulation import Simulation, Statistics
from endive.sizing.objectives import Objective, Quantity
from endive.sizing.planning import Plan
from endive.summary import TIME_PARTS
from endive.warmup import mser5

LATE = "late"
IN_FLIGHT = "in_flight"
_NEVER = np.inf
_KEPT, _FEWEST_KEPT = 4.0, 20


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made."""

    document: dict[str, Any] = field(hash=False)
    key: str
    """Equal for runs that differ in the seed alone."""
    seed: int
    objectives: tuple[Objective, ...]
    open_names: frozenset[str]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Missed:
    """Those who missed an objective: why, and where their time went."""

    fates: Mapping[str, int]
    """How many were late, in flight, or aborted for which reason."""
    parts_ms: Mapping[str, float]
    retries: int
    behind: int
    """Historical manifest lists that they read."""

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.fates.values())


@dataclass(frozen=True, slots=True)
class Tally:
    """What a run says of one objective."""

    trials: int
    hits: int
    """Those who kept it, as far as was seen."""
    possible_hits: int
    """Those who kept it if all that still goes on will."""
    rate_per_s: float
    """Commits per second, for a throughput."""
    missed: Missed
    slowest_ms: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """The longest latencies, enough for the quantile; infinite: not ended."""


@dataclass(frozen=True, slots=True)
class Flow:
    """How the open arrivals of a run fared."""

    window_ms: float
    warmup_ms: float
    is_steady: bool
    arrived: int
    committed: int
    calls: int
    """Commit calls."""
    lost: int
    """Commit calls that failed."""
    swapping_ms: float
    """Time in commit calls, of all classes."""
    first_try_ms: float
    """Commit latency of those that committed at once, added up."""
    first_tries: int
    physical_failures: int
    """Appends that found an object longer than expected."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run says."""

    seed: int
    tallies: tuple[Tally, ...]
    flow: Flow


def measure(task: Task) -> Reading:
    """Make one run and read it."""
    config = _resolved(_Keyed(task.key, task.document))
    statistics = Simulation(build_simulation_config(config, task.seed)).run()
    return read(statistics, task)


class _Keyed:
    """A configuration that is resolved once for all its seeds."""

    def __init__(self, key: str, document: dict[str, Any]) -> None:
        self.key, self.document = key, document

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and other.key == self.key


@lru_cache(maxsize=8)
def _resolved(keyed: _Keyed) -> ResolvedConfig:
    return resolve_config(keyed.document)


def read(statistics: Statistics, task: Task) -> Reading:
    """What a run says of the objectives of its task."""
    rows = _Rows(statistics.log, task.open_names, statistics.duration_ms)
    begin_ms, is_steady = rows.warmup_end_ms(task.plan.ramp_ms)
    end_ms = statistics.duration_ms - task.plan.settle_ms
    tallies = tuple(rows.tally(each, begin_ms, end_ms) for each in task.objectives)
    failures = statistics.append_physical_failure + statistics.manifest_append_physical_failure
    flow = rows.flow(begin_ms, end_ms, is_steady, failures)
    return Reading(task.seed, tallies, flow)


class _Rows:
    """The rows of a run as columns, with the instant at which each came to commit."""

    def __init__(self, log: RowLog, open_names: frozenset[str], duration_ms: float) -> None:
        self.log = log
        status = log.column("status")
        words = log.words("status")
        self.committed = status == words.index("committed")
        self.aborted = status == words.index("aborted")
        self.in_flight = status == words.index("in_flight")
        self.commit_latency = log.column("commit_latency")
        self.total_latency = log.column("total_latency")
        self.submitted_ms = log.column("t_submit")
        ended_ms = np.maximum(log.column("t_commit"), log.column("t_abort"))
        ended_ms[self.in_flight] = duration_ms
        self.committed_ms = np.where(self.committed, ended_ms, _NEVER)
        self.comes_ms = ended_ms - self.commit_latency
        # Whoever is still working has not come yet.
        self.comes_ms[self.in_flight & (self.commit_latency <= 0.0)] = _NEVER
        self.is_open = self._named("class_name", open_names)
        self.duration_ms = duration_ms

    def _named(self, column: str, names: frozenset[str]) -> NDArray[np.bool_]:
        codes = [code for code, word in enumerate(self.log.words(column)) if word in names]
        found: NDArray[np.bool_] = np.isin(self.log.column(column), codes)
        return found

    def subject(self, objective: Objective) -> NDArray[np.bool_]:
        """The rows that an objective is about."""
        if objective.subject is None:
            return self.is_open
        names = frozenset({objective.subject})
        return self._named("class_name", names) | self._named("operation_type", names)

    def warmup_end_ms(self, ramp_ms: float) -> tuple[float, bool]:
        """When commit latencies have settled, by MSER-5; and whether they have."""
        chosen = self.is_open & ~self.in_flight & (self.comes_ms >= ramp_ms)
        order = np.argsort(self.comes_ms[chosen], kind="stable")
        found = mser5(self.commit_latency[chosen][order])
        if not found.truncated:
            return ramp_ms, found.is_steady
        return float(self.comes_ms[chosen][order][found.truncated]), found.is_steady

    def tally(self, objective: Objective, begin_ms: float, end_ms: float) -> Tally:
        """What the rows say of an objective."""
        subject = self.subject(objective)
        if objective.quantity is Quantity.THROUGHPUT:
            landed = subject & (self.committed_ms >= begin_ms) & (self.committed_ms < end_ms)
            rate = 1000.0 * float(np.count_nonzero(landed)) / (end_ms - begin_ms)
            came = subject & (self.comes_ms >= begin_ms) & (self.comes_ms < end_ms)
            return Tally(0, 0, 0, rate, self._missed(came & ~self.committed))
        is_total = objective.quantity is Quantity.TOTAL_LATENCY
        start_ms = self.submitted_ms if is_total else self.comes_ms
        judged = subject & (start_ms >= begin_ms) & (start_ms < end_ms)
        if objective.quantity is Quantity.SUCCESS:
            trials = int(np.count_nonzero(judged))
            hits = int(np.count_nonzero(judged & self.committed))
            going_on = int(np.count_nonzero(judged & self.in_flight))
            missed = self._missed(judged & ~self.committed)
            return Tally(trials, hits, hits + going_on, 0.0, missed)
        # An aborted transaction has no latency; what it means is for an objective of success to say.
        judged &= ~self.aborted
        latency = np.where(
            self.committed, self.total_latency if is_total else self.commit_latency, _NEVER
        )
        kept = latency < objective.limit if objective.is_strict else latency <= objective.limit
        trials = int(np.count_nonzero(judged))
        hits = int(np.count_nonzero(judged & kept))
        slowest = np.sort(latency[judged])[-_kept(trials, objective.quantile) :]
        return Tally(trials, hits, hits, 0.0, self._missed(judged & ~kept), slowest)

    def _missed(self, rows: NDArray[np.bool_]) -> Missed:
        reasons = self.log.words("abort_reason")
        codes = self.log.column("abort_reason")
        fates = {
            LATE: int(np.count_nonzero(rows & self.committed)),
            IN_FLIGHT: int(np.count_nonzero(rows & self.in_flight)),
        }
        for code, word in enumerate(reasons):
            if word is not None:
                fates[word] = int(np.count_nonzero(rows & self.aborted & (codes == code)))
        parts = {
            name: float(self.log.column(column)[rows].sum()) for name, column in TIME_PARTS.items()
        }
        parts["unfinished"] = float(self.log.column("unfinished_ms")[rows].sum())
        return Missed(
            {name: count for name, count in fates.items() if count},
            parts,
            int(self.log.column("n_retries")[rows].sum()),
            int(self.log.column("historical_ml_reads")[rows].sum()),
        )

    def flow(self, begin_ms: float, end_ms: float, is_steady: bool, failures: int) -> Flow:
        """How the open arrivals fared between two instants."""
        came = (self.comes_ms >= begin_ms) & (self.comes_ms < end_ms)
        opened = came & self.is_open
        retries = self.log.column("n_retries")
        at_once = opened & self.committed & (retries == 0)
        given_up = int(np.count_nonzero(opened & self.aborted))
        lost = int(retries[opened].sum())
        return Flow(
            window_ms=end_ms - begin_ms,
            warmup_ms=begin_ms,
            is_steady=is_steady,
            arrived=int(np.count_nonzero(opened)),
            committed=int(np.count_nonzero(opened & self.committed)),
            calls=lost + int(np.count_nonzero(opened)),
            lost=lost + given_up,
            swapping_ms=float(self.log.column("catalog_commit_ms")[came].sum()),
            first_try_ms=float(self.commit_latency[at_once].sum()),
            first_tries=int(np.count_nonzero(at_once)),
            physical_failures=failures,
        )


def _kept(trials: int, quantile: float) -> int:
    """How many of the slowest tell a quantile, even if some seeds have more than their share of them."""
    return max(_FEWEST_KEPT, int(_KEPT * (1.0 - quantile) * trials))
