"""Comparing two configurations seed by seed.

Both are run with the same seeds. Each kind of randomness has a stream of its own, so as long as the change leaves the load alone the same
transactions arrive at the same instants in both, and their difference is the change's and not luck's. Whether the load was the
same is looked at in every pair of runs, not taken for granted. Differences are taken within pairs; the intervals of
all rows hold together with the stated confidence (Bonferroni), so that many rows make no false finding likelier.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from endive.comparison.measures import Measure
from endive.config import ResolvedConfig
from endive.inference import Interval, mean_interval
from endive.pool import Apply
from endive.scenario.composing import submitters
from endive.scenario.metrics import Level, Observed, observe
from endive.scenario.running import run
from endive.simulation import Statistics

_LOAD = ("txn_id", "t_submit", "t_runtime", "operation_type")


@dataclass(frozen=True, slots=True)
class Task:
    """One pair of runs."""

    a: ResolvedConfig
    b: ResolvedConfig
    seed: int
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """What one pair of runs came to."""

    seed: int
    same_load: bool
    a: tuple[Observed, ...]
    b: tuple[Observed, ...]
    digests: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One measure in both configurations."""

    measure: Measure
    mean_a: float | None
    mean_b: float | None
    difference: Interval
    """B less A, with the confidence of its own that makes all rows hold together."""
    mean_difference: float | None
    pairs: int
    """How many seeds had something to measure in both."""
    unpaired_half_width: float
    """What the interval would be from as many independent runs: what pairing is worth."""

    @property
    def finding(self) -> str:
        """`higher`, `lower`, `equal` or `open`: what B is, compared with A."""
        if self.pairs < 2:
            return "open"
        if self.difference.low > 0.0:
            return "higher"
        if self.difference.high < 0.0:
            return "lower"
        return "equal" if self.difference.low == self.difference.high == 0.0 else "open"

    def as_dict(self) -> dict[str, Any]:
        """The row as a JSON object; infinite ends are null."""
        ends = [
            end if math.isfinite(end) else None
            for end in (self.difference.low, self.difference.high)
        ]
        half = self.unpaired_half_width
        return {
            "measure": self.measure.name,
            "statement": self.measure.metric.statement,
            "a": self.mean_a,
            "b": self.mean_b,
            "difference": self.mean_difference,
            "low": ends[0],
            "high": ends[1],
            "finding": self.finding,
            "pairs": self.pairs,
            "unpaired_half_width": half if math.isfinite(half) else None,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows, and under which circumstances they hold."""

    rows: tuple[Row, ...]
    confidence: float
    """That all intervals hold together."""
    seeds: tuple[int, ...]
    same_load: int
    """In how many pairs both configurations saw the same transactions."""
    changes: Mapping[str, tuple[Any, Any]]
    """The keys in which the configurations differ, with both values."""
    digests: tuple[tuple[str, str], ...]

    def biased_by_survival(self) -> bool:
        """Whether shares of success differ, so that latencies are those of different survivors."""
        return any(
            row.measure.metric.name == "success_rate" and row.finding in ("higher", "lower")
            for row in self.rows
        )


def compare(
    a: ResolvedConfig,
    b: ResolvedConfig,
    seeds: Sequence[int],
    measures: Sequence[Measure],
    apply: Apply,
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Run both with every seed and compare."""
    tasks = [Task(a, b, seed, tuple(measures)) for seed in seeds]
    pairs: list[Pair] = list(apply(perform, tasks))
    each = 1.0 - (1.0 - confidence) / max(1, len(measures))
    return Comparison(
        rows=tuple(_row(measure, place, pairs, each) for place, measure in enumerate(measures)),
        confidence=confidence,
        seeds=tuple(seeds),
        same_load=sum(pair.same_load for pair in pairs),
        changes=changes(a.values, b.values),
        digests=tuple(pair.digests for pair in pairs),
    )


def perform(task: Task) -> Pair:
    """Make both runs of one seed."""
    attempts = any(measure.metric.level is Level.ATTEMPTS for measure in task.measures)
    found = [run(config, task.seed, attempts=attempts) for config in (task.a, task.b)]
    observed = [
        tuple(observe(each, measure.metric, measure.selection) for measure in task.measures)
        for each in found
    ]
    loads = [_load(each) for each in found]
    return Pair(
        task.seed,
        loads[0] == loads[1],
        observed[0],
        observed[1],
        (found[0].digest(), found[1].digest()),
    )


def operations_of(*configs: ResolvedConfig) -> tuple[str, ...]:
    """The operations that any of these configurations submits."""
    names: dict[str, None] = {}
    for config in configs:
        for _, operations in submitters(config):
            names.update(dict.fromkeys(sorted(operations)))
    return tuple(names)


def changes(
    a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = ""
) -> dict[str, tuple[Any, Any]]:
    """The keys in which two configurations differ."""
    found: dict[str, tuple[Any, Any]] = {}
    for name in dict.fromkeys((*a, *b)):
        left, right, key = a.get(name), b.get(name), f"{prefix}{name}"
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            found |= changes(left, right, f"{key}.")
        elif left != right and key not in ("simulation.seed", "simulation.output_path"):
            found[key] = (left, right)
    return found


def _load(statistics: Statistics) -> str:
    """What was submitted, as one word; what the end cut off belongs to it."""
    log = statistics.log
    order = log.order()
    hasher = hashlib.sha256()
    for name in _LOAD:
        values = log.column(name)[order]
        if name == "operation_type":
            values = np.array([str(word) for word in log.words(name)], dtype="S")[values]
        hasher.update(np.ascontiguousarray(values).tobytes())
    return hasher.hexdigest()


def _row(measure: Measure, place: int, pairs: Sequence[Pair], confidence: float) -> Row:
    both = [(pair.a[place].value, pair.b[place].value) for pair in pairs]
    known = [(a, b) for a, b in both if a is not None and b is not None]
    a_values, b_values = [a for a, _ in known], [b for _, b in known]
    differences = [b - a for a, b in known]
    a_alone, b_alone = mean_interval(a_values, confidence), mean_interval(b_values, confidence)
    return Row(
        measure=measure,
        mean_a=_mean(a_values),
        mean_b=_mean(b_values),
        difference=mean_interval(differences, confidence),
        mean_difference=_mean(differences),
        pairs=len(known),
        unpaired_half_width=math.hypot(a_alone.half_width, b_alone.half_width),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
