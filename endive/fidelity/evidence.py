"""What the runs showed, as values few enough to look at, and the questions that the report asks of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from endive.fidelity.formula import DEFAULT_K_PER_COMMIT, Formula, fit_formula
from endive.fidelity.model import Point, Run
from endive.fidelity.standard import MAINTENANCE, UNIT_MS
from endive.pipeline.schemas import IO_COUNTERS

COUNTERS = (*IO_COUNTERS, "current_list_reads")
"""What is counted, and the list reads that are not of the past."""

# These are there to show something else than what a retry costs when others append.
_APART = frozenset({"conflicts", "many manifests", "replaced"})
_OF_METADATA = frozenset({"metadata_reads", "metadata_writes"})


@dataclass(frozen=True, slots=True)
class Seen:
    """Attempts that were alike in all their counts, and how many there were."""

    run: str
    source: str
    role: str
    class_name: str
    operation: str
    kind: str
    """`first` or `retry`."""
    conflict_class: str
    n: int
    attempt: int
    """The least number that any of them has in its transaction."""
    gave_up: bool
    """Whether validation found a real conflict, so that no commit was called."""
    counts: Mapping[str, int]
    io_ms_low: float
    io_ms_high: float
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """How long was waited before one retry."""

    run: str
    source: str
    role: str
    attempt: int
    low_ms: float
    high_ms: float
    count: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of some transactions."""

    run: str
    source: str
    role: str
    class_name: str
    operation: str
    status: str
    abort_reason: str
    retries_low: int
    retries_high: int
    count: int


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean I/O of one situation, over all runs of a cost table."""

    source: str
    operation: str
    kind: str
    conflict_class: str
    attempts: int
    means: Mapping[str, float]
    most: Mapping[str, int]


@dataclass(frozen=True)
class Evidence:
    """All that was observed."""

    attempts: tuple[Seen, ...]
    means: tuple[Mean, ...]
    waits: tuple[Wait, ...]
    fates: tuple[Fate, ...]
    runs: tuple[Run, ...]
    excluded: Mapping[str, str]
    """Runs of which the counts are not looked at, and why."""
    metadata_apart: frozenset[str]
    """Runs in which table metadata are objects of their own, so that reading them shows."""
    k_per_commit: Mapping[str, float]
    """Manifests merged again for each commit, by run."""

    @cached_property
    def _by_operation(self) -> Mapping[tuple[str, str], list[Seen]]:
        found: dict[tuple[str, str], list[Seen]] = {}
        for seen in self.attempts:
            found.setdefault((seen.source, seen.operation), []).append(seen)
        return found

    def of(self, source: str, operation: str) -> Iterator[Seen]:
        """The attempts of an operation under one cost table."""
        yield from self._by_operation.get((source, operation), ())

    def series(
        self,
        source: str,
        operation: str,
        conflict_class: str,
        *,
        kind: str = "retry",
        roles: Collection[str] | None = None,
    ) -> Series:
        """What retries (or first attempts) of one operation counted, by how far behind they were."""
        chosen = [
            seen
            for seen in self.of(source, operation)
            if seen.kind == kind
            and not seen.gave_up
            and (kind == "first" or seen.conflict_class == conflict_class)
            and self._is_looked_at(seen, roles)
        ]
        points = {}
        for counter in COUNTERS:
            of_counter = chosen
            if counter in _OF_METADATA:
                of_counter = [seen for seen in chosen if seen.run in self.metadata_apart]
            points[counter] = map_points(
                (seen.n, seen.counts[counter], seen.count, seen.run) for seen in of_counter
            )
        factors = {self.k_per_commit.get(seen.run, DEFAULT_K_PER_COMMIT) for seen in chosen}
        is_of_one_k = len(factors) <= 1
        return Series(points, min(factors, default=DEFAULT_K_PER_COMMIT), is_of_one_k)

    def _is_looked_at(self, seen: Seen, roles: Collection[str] | None) -> bool:
        if roles is not None:
            return seen.role in roles
        is_apart = seen.role in _APART or seen.role.startswith(MAINTENANCE)
        return not is_apart and seen.run not in self.excluded

    def io_ms(
        self, source: str, operation: str, conflict_class: str, *, roles: Collection[str]
    ) -> dict[int, tuple[float, float]]:
        """How long the I/O of a retry took, least and most, by how far behind it was; scripted runs only.

        The documents count no writes of table metadata, so what those took is left out.
        """
        times: dict[int, tuple[float, float]] = {}
        for seen in self.of(source, operation):
            wanted = (seen.kind, seen.conflict_class) == ("retry", conflict_class)
            if not wanted or seen.gave_up or seen.role not in roles:
                continue
            low_ms, high_ms = without_metadata_writes(seen)
            least, most = times.get(seen.n, (low_ms, high_ms))
            times[seen.n] = min(low_ms, least), max(high_ms, most)
        return times

    def attempts_of(self, source: str, role: str) -> list[Seen]:
        """The attempts of the runs that a source has for one purpose."""
        return [one for one in self.attempts if (one.source, one.role) == (source, role)]

    def fates_of(self, source: str, role: str) -> list[Fate]:
        """What became of the transactions of those runs."""
        return [one for one in self.fates if (one.source, one.role) == (source, role)]

    def runs_of(self, source: str, role: str) -> tuple[str, ...]:
        """The names of those runs."""
        return tuple(run.name for run in self.runs if (run.source, run.role) == (source, role))


def without_metadata_writes(seen: Seen) -> tuple[float, float]:
    """How long the I/O took, least and most, but for the writes of table metadata, at unit latencies."""
    written_ms = UNIT_MS["table_metadata.write"] * seen.counts["metadata_writes"]
    return seen.io_ms_low - written_ms, seen.io_ms_high - written_ms


@dataclass(frozen=True, slots=True)
class Series:
    """Every counter of one operation in one situation, by N."""

    points: Mapping[str, tuple[Point, ...]]
    k_per_commit: float = DEFAULT_K_PER_COMMIT
    is_of_one_k: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen at all."""
        return not any(self.points.values())

    def values(self, counter: str) -> dict[int, int] | None:
        """The one value at each N; None where an N has several."""
        values = {}
        for point in self.points.get(counter, ()):
            if len(point.values) > 1:
                return None
            values[point.n] = next(iter(point.values))
        return values

    def formula(self, counter: str) -> Formula | None:
        """The formula that the counter follows; None if it follows none or too little was seen."""
        values = self.values(counter)
        if not values or not self.is_of_one_k:
            return None
        return fit_formula(values, self.k_per_commit)

    def behind(self) -> list[int]:
        """Every N that was seen."""
        return sorted({point.n for points in self.points.values() for point in points})

    def runs(self) -> tuple[str, ...]:
        """The runs that it was seen in."""
        names = {run for points in self.points.values() for point in points for run in point.runs}
        return tuple(sorted(names))


def map_points(seen: Iterable[tuple[int, int, int, str]]) -> tuple[Point, ...]:
    """Points from (N, value, how many attempts, run)."""
    values: dict[int, dict[int, int]] = {}
    runs: dict[int, set[str]] = {}
    for n, value, count, run in seen:
        at_n = values.setdefault(n, {})
        at_n[value] = at_n.get(value, 0) + count
        runs.setdefault(n, set()).add(run)
    return tuple(
        Point(n, dict(sorted(at_n.items())), tuple(sorted(runs[n])))
        for n, at_n in sorted(values.items())
    )


def single_observations(
    cells: Iterable[tuple[int, Mapping[str, int]]], run: str, names: Callable[[str], str] = str
) -> dict[str, tuple[Point, ...]]:
    """Points made of single observations, one attempt each."""
    seen: dict[str, list[tuple[int, int, int, str]]] = {}
    for n, counts in cells:
        for counter, value in counts.items():
            seen.setdefault(names(counter), []).append((n, value, 1, run))
    return {counter: map_points(of_counter) for counter, of_counter in seen.items()}
