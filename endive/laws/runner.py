"""Holds laws against runs: seed after seed, until every interval decides something.

Three rules keep the verdicts honest. Intervals that are too wide get more seeds, up to a limit. A law that fails must fail
again on fresh seeds: with a hundred intervals of 99.9 % one in ten families would raise a false alarm at the first look.
And what is random is drawn from seeds that are told, so every figure can be had again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from endive.laws.model import CONFIDENCE, Reading, Row, Trial, Verdict, row_of
from endive.laws.registry import LAWS, trials

_SEEDS_APART = 100_000
_FRESH = 50_000
_MOST = 8
"""No trial is given more than so many times the seeds it begins with."""

Task = tuple[str, int]
"""A trial by name, and a seed."""
Apply = Callable[[Callable[[Task], list[Reading]], Sequence[Task]], Iterable[list[Reading]]]
"""Something that calls a function for every task, in order: here, or in other processes."""


@dataclass(frozen=True, slots=True)
class Report:
    """All rows, in the order of the laws."""

    rows: tuple[Row, ...]
    seed: int

    @property
    def failed(self) -> tuple[Row, ...]:
        """Where a law does not hold."""
        return tuple(row for row in self.rows if row.verdict is Verdict.FAILS)

    @property
    def undecided(self) -> tuple[Row, ...]:
        """Where nothing can be said."""
        return tuple(row for row in self.rows if row.verdict is Verdict.UNDECIDED)


def readings_of(task: Task) -> list[Reading]:
    """What one seed of one trial says about all its measures; found by name, so that any process can do it."""
    name, seed = task
    return trials()[name].readings(seed)


def judge(
    chosen: Mapping[str, Trial],
    seed: int,
    apply: Apply,
    *,
    confidence: float = CONFIDENCE,
    most: int = _MOST,
) -> list[Row]:
    """Run the trials with as many seeds as it takes, at most so many times those to begin with."""
    settled: dict[str, list[Row]] = {}
    for start in (0, _FRESH):
        todo = {
            name: trial
            for name, trial in chosen.items()
            if name not in settled or _has(settled[name], Verdict.FAILS)
        }
        looked = _until_decided(todo, seed * _SEEDS_APART + start, apply, confidence, most)
        for name, rows in looked.items():
            if name not in settled:
                settled[name] = rows
                continue
            # What failed is judged anew by the fresh seeds alone; what did not stays as it was.
            settled[name] = [
                fresh if old.verdict is Verdict.FAILS else old
                for old, fresh in zip(settled[name], rows, strict=True)
            ]
    return [row for name in chosen for row in settled[name]]


def judge_alone(
    trial: Trial, seed: int = 1, *, confidence: float = CONFIDENCE, most: int = _MOST
) -> list[Row]:
    """One trial that need not be in the registry, in this process."""

    def apply(_: object, tasks: Sequence[Task]) -> Iterator[list[Reading]]:
        return (trial.readings(number) for _, number in tasks)

    return judge({trial.name: trial}, seed, apply, confidence=confidence, most=most)


def _until_decided(
    chosen: Mapping[str, Trial], first_seed: int, apply: Apply, confidence: float, most: int
) -> dict[str, list[Row]]:
    readings: dict[str, list[list[Reading]]] = {name: [] for name in chosen}
    rows: dict[str, list[Row]] = {}
    open_trials = dict(chosen)
    while open_trials:
        tasks = [
            (name, first_seed + number)
            for name, trial in open_trials.items()
            # As many again as there are: the first time, those to begin with.
            for number in _next_seeds(len(readings[name]), trial.seeds)
        ]
        for (name, _), found in zip(tasks, apply(readings_of, tasks), strict=True):
            readings[name].append(found)
        for name, trial in open_trials.items():
            rows[name] = [
                row_of(trial, measure, [each[place] for each in readings[name]], confidence)
                for place, measure in enumerate(trial.measures)
            ]
        open_trials = {
            name: trial
            for name, trial in open_trials.items()
            if _has(rows[name], Verdict.UNDECIDED) and len(readings[name]) < most * trial.seeds
        }
    return rows


def _next_seeds(had: int, at_first: int) -> range:
    return range(had, 2 * had or at_first)


def _has(rows: Sequence[Row], verdict: Verdict) -> bool:
    return any(row.verdict is verdict for row in rows)


def report(laws: frozenset[str], seed: int, apply: Apply) -> Report:
    """All rows of the laws asked for."""
    # Readings come for all measures of a trial, so the trials stay whole and the rows are chosen.
    chosen = {
        name: trial
        for name, trial in trials().items()
        if any(measure.law in laws for measure in trial.measures)
    }
    rows = [row for row in judge(chosen, seed, apply) if row.law in laws]
    order = {law.id: place for place, law in enumerate(LAWS)}
    return Report(tuple(sorted(rows, key=lambda row: order[row.law])), seed)
