"""Which experiments are made on Iceberg Java, and how one is made.

Situations, each for every operation:

- `fresh`: nobody else.
- `stale`: the operation begins, then rivals commit n times, then it commits. Iceberg Java looks again before its first attempt, which
  therefore wins.
- `retry`: n rivals come in between the first attempt's work and its swap.
- `repeated`: n more come in before each of the first three swaps.
- `conflict`: as `retry`, and the first of the n is in the way.
- `exhausted`: n rivals before every swap, until the library gives up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from endive.errors import EndiveError
from endive.oracle.java.operations import MERGING_FROM_TWO, OPERATIONS, VARIANTS, Operation
from endive.oracle.java.proxies import (
    AttemptReporter,
    CountingFiles,
    Pointer,
    PointerOperations,
    Swaps,
)
from endive.oracle.java.recording import Recorder
from endive.oracle.java.tables import OTHER, OWN, Base, Bench, Shape
from endive.oracle.measurement import AttemptCounts, Cell, Setting

DEPTHS = (1, 2, 5, 10, 20)
_REPEATS = 3
_LARGE_BASE = 95
_USUAL = Shape()
_OUTCOMES = {
    "org.apache.iceberg.exceptions.ValidationException": "validation_exception",
    "org.apache.iceberg.exceptions.CommitFailedException": "commit_failed",
}
_REPLACED = {
    "overwrites": lambda n: n,
    "conflicting_overwrites": lambda n: n,
    "two_overwrites_then_appends": lambda n: min(n, 2),
    "three_appends_then_overwrites": lambda n: max(n - 3, 0),
}


class DisagreementError(EndiveError):
    """What was counted contradicts what Iceberg says itself, or what was counted before."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What one cell is made of."""

    operation: Operation
    situation: str
    n: int = 0
    rivals: str = ""
    partitions: str = "disjoint"
    shape: Shape = _USUAL

    @property
    def settings(self) -> dict[str, Setting]:
        """What sets the cell apart beside its own fields."""
        told: dict[str, Setting] = dict(self.operation.settings)
        if self.rivals:
            told["rivals"] = self.rivals
        if self.rivals in _REPLACED:
            told["replaced"] = _REPLACED[self.rivals](self.n)
        return told


@dataclass(frozen=True, slots=True)
class Observed:
    """What an experiment came to: its cell, and what was read and written after the last swap."""

    cell: Cell
    afterwards: AttemptCounts


def experiments() -> list[Experiment]:
    """All experiments, in the order in which they are kept."""
    found: list[Experiment] = []
    for operation in OPERATIONS:
        found += _of_operation(operation)
    for operation in VARIANTS:
        found += _of_variant(operation)
    early = Shape(min_count_to_merge=2)
    found.append(Experiment(MERGING_FROM_TWO, "fresh", shape=early))
    for n in DEPTHS:
        found.append(Experiment(MERGING_FROM_TWO, "retry", n, "appends", shape=early))
    found.append(Experiment(MERGING_FROM_TWO, "repeated", 3, "appends", shape=early))
    merging = next(each for each in OPERATIONS if each.name == "merge_append")
    large = Shape(_LARGE_BASE)
    found.append(Experiment(merging, "fresh", shape=large))
    # With 3 more there are 98, and one's own makes 99; with 4 more the bin of 100 is full.
    for situation, n in (("stale", 3), ("stale", 4), ("retry", 3), ("retry", 4), ("retry", 10)):
        found.append(Experiment(merging, situation, n, "appends", shape=large))
    found.append(Experiment(merging, "repeated", 4, "appends", shape=large))
    return found


def _of_operation(operation: Operation) -> Iterator[Experiment]:
    yield Experiment(operation, "fresh")
    appends = Experiment(operation, "retry", rivals="appends")
    sides = ("disjoint", "same") if operation.tolerates_same else ("disjoint",)
    for partitions in sides:
        for n in DEPTHS:
            yield replace(appends, n=n, partitions=partitions)
    for n in DEPTHS:
        yield replace(appends, situation="stale", n=n)
    for n in (1, 5) if operation.tolerates_same else ():
        yield replace(appends, situation="stale", n=n, partitions="same")
    for situation in ("stale", "retry"):
        for n in (1, 5):
            yield replace(appends, situation=situation, n=n, rivals="overwrites")
    # Whether the newest commit replaced data decides whether its list has been read already.
    for rivals in ("two_overwrites_then_appends", "three_appends_then_overwrites"):
        yield replace(appends, n=5, rivals=rivals)
    if operation.names_files:
        crowded = Shape(has_neighbour=True)
        yield replace(appends, n=5, rivals="overwrites", partitions="same", shape=crowded)
    for partitions in sides:
        yield replace(appends, situation="repeated", n=3, partitions=partitions)
    for rivals in operation.conflicts_with:
        yield replace(appends, situation="conflict", n=5, rivals=rivals, partitions="same")
    yield replace(appends, situation="exhausted", n=1)


def _of_variant(operation: Operation) -> Iterator[Experiment]:
    yield Experiment(operation, "fresh")
    retry = Experiment(operation, "retry", 5, "appends")
    yield replace(retry, situation="stale")
    for partitions in ("disjoint", "same"):
        yield replace(retry, n=1, partitions=partitions)
        yield replace(retry, partitions=partitions)
    yield replace(retry, rivals="overwrites")
    yield replace(retry, situation="repeated", n=3, partitions="same")
    for rivals in operation.conflicts_with:
        yield replace(retry, situation="conflict", rivals=rivals, partitions="same")


def run_experiment(bench: Bench, experiment: Experiment) -> Observed:
    """Make one experiment."""
    base = bench.base(experiment.shape)
    pointer = Pointer(base.location)
    recorder = Recorder()
    come_in = _comings(bench, base, experiment)

    def before_swap() -> None:
        location = next(come_in, None)
        if location is not None:
            pointer.location = location

    files = CountingFiles(bench.bridge, bench.files, recorder)
    swaps = Swaps(before_swap, recorder.attempt_over)
    operations = PointerOperations(bench.bridge, pointer, files, bench.names, swaps)
    reporter = AttemptReporter(bench.bridge)
    table = bench.bridge.iceberg.BaseTable(operations, "t", reporter)
    operations.refresh()
    update = experiment.operation.prepare(bench, table, base)
    if experiment.situation == "stale":
        before_swap()
    recorder.begin()
    outcome = _commit(update)
    recorder.end()
    attempts, afterwards = recorder.attempts(gave_up_before_swap=outcome == "validation_exception")
    cell = Cell(
        operation=experiment.operation.name,
        situation=experiment.situation,
        n=experiment.n,
        partitions=experiment.partitions,
        base_manifests=experiment.shape.manifests,
        settings=experiment.settings,
        outcome=outcome,
        attempts=attempts,
    )
    if not recorder.reads_lists_in_turn:
        raise DisagreementError(
            f"{cell.label}: several threads opened manifest lists; cost tables of Iceberg Java say that "
            "validation is sequential, settings.validation_io"
        )
    if outcome == "committed" and reporter.attempts != len(attempts):
        raise DisagreementError(
            f"{cell.label}: {len(attempts)} attempts counted, and Iceberg reports {reporter.attempts}"
        )
    return Observed(cell, afterwards)


def _comings(bench: Bench, base: Base, experiment: Experiment) -> Iterator[str]:
    """Where the pointer is moved, each time that rivals come in."""
    if not experiment.rivals:
        return iter(())
    partition = OWN if experiment.partitions == "same" else OTHER

    def after(commits: int) -> str:
        return bench.location_after(base, experiment.rivals, partition, commits)

    times = {"repeated": _REPEATS, "exhausted": 5}.get(experiment.situation, 1)
    # Made before anything is counted.
    return iter([after(experiment.n * turn) for turn in range(1, times + 1)])


def _commit(update: Any) -> str:
    from py4j.protocol import Py4JJavaError

    try:
        update.commit()
    except Py4JJavaError as error:
        name = str(error.java_exception.getClass().getName())
        if name not in _OUTCOMES:
            raise DisagreementError(
                f"Iceberg ended a commit with {name}: {error.java_exception.getMessage()}"
            ) from None
        return _OUTCOMES[name]
    return "committed"
