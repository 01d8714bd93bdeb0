"""PyIceberg measured: which experiments there are, and what each attempt of them reads and writes.

Situations, each for every operation:

- `fresh`: nobody else.
- `stale`: the table was loaded, then rivals committed n times, then the operation begins. PyIceberg does not look again before
  its first attempt, which therefore loses.
- `retry`: n rivals come in before the swap of the first attempt, after its check.
- `repeated`: n more come in before each of the first three swaps.
- `conflict`: n rivals that touch the same rows.
- `exhausted`: one rival before every swap, until the library gives up.
"""

from __future__ import annotations

import logging
import platform
import sqlite3
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from endive.errors import EndiveError
from endive.oracle.measurement import AttemptCounts, Cell, Measurement, Setting

if TYPE_CHECKING:
    from endive.oracle.pyiceberg_operations import Operation
    from endive.oracle.pyiceberg_tables import Bench, Touch

COMMAND = "endive oracle pyiceberg"
DEPTHS = (1, 2, 5, 10, 20)
_BASE = 3
_LARGE_BASE = 95
_TURNS = {"fresh": 0, "stale": 1, "retry": 1, "conflict": 1, "repeated": 3, "exhausted": 5}
"""How often rivals come in; 5 is every swap that PyIceberg attempts by default."""


class OracleUnavailableError(EndiveError):
    """A library that would be measured is not here, and what would mend it."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What one cell is made of."""

    operation: Operation
    situation: str
    n: int = 0
    partitions: str = "disjoint"
    base_manifests: int = _BASE
    rivals: str = ""
    replaced: int = 0
    """How many of the n replaced data."""
    more: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Setting]:
        """What sets the cell apart beside its own fields."""
        rivals: dict[str, Setting] = {"rivals": self.rivals} if self.rivals else {}
        if self.replaced:
            rivals["replaced"] = self.replaced
        return {**self.operation.settings, **rivals, **self.more}


def require_pyiceberg() -> None:
    """Say what is missing, if PyIceberg cannot be driven here."""
    try:
        import_module("pyiceberg.catalog.sql")
    except ImportError as error:
        raise OracleUnavailableError(
            f"PyIceberg with its SQL catalog is not installed ({error}); install endive[oracle]"
        ) from None


def experiments() -> list[Experiment]:
    """All experiments, in the order in which they are kept."""
    from endive.oracle.pyiceberg_operations import (
        MERGING_EARLY,
        OPERATIONS,
        ROWS_UNVALIDATED,
        TWO_SNAPSHOTS,
    )

    found: list[Experiment] = []
    for operation in OPERATIONS:
        found += _of_operation(operation)
    for operation in MERGING_EARLY:
        found.append(Experiment(operation, "fresh"))
        found += [Experiment(operation, "retry", n, rivals="appends") for n in DEPTHS]
    merging = next(each for each in OPERATIONS if each.name == "merge_append")
    found.append(Experiment(merging, "fresh", base_manifests=_LARGE_BASE))
    found += [
        Experiment(merging, "retry", n, base_manifests=_LARGE_BASE, rivals="appends")
        for n in (4, 5, 10)
    ]
    for operation in (TWO_SNAPSHOTS, ROWS_UNVALIDATED):
        found += _of_operation(operation)
    return found


def _of_operation(operation: Operation) -> Iterator[Experiment]:
    sides = ("disjoint", "same") if operation.tolerates_same else ("disjoint",)
    yield Experiment(operation, "fresh")
    for situation, depths in (("stale", (1, 5, 20)), ("retry", DEPTHS)):
        for partitions in sides:
            for n in depths:
                yield Experiment(operation, situation, n, partitions, rivals="appends")
    # What validation reads depends on what rivals did: those that replace data are read more often.
    for n in DEPTHS[:3]:
        yield Experiment(operation, "retry", n, rivals="overwrites", replaced=n)
    yield Experiment(operation, "retry", 5, rivals="mixed", replaced=2)
    for n in DEPTHS[:2]:
        yield Experiment(operation, "retry", n, rivals="deletes", replaced=n)
    for partitions in sides:
        yield Experiment(operation, "repeated", 3, partitions, rivals="appends")
    for rivals in operation.conflicts_with:
        replaced = 0 if rivals == "conflicting_appends" else 5
        yield Experiment(operation, "conflict", 5, "same", rivals=rivals, replaced=replaced)
    yield Experiment(operation, "exhausted", 1, rivals="appends")


def measure(
    on_done: Callable[[], None] = lambda: None,
    chosen: Callable[[Experiment], bool] = lambda experiment: True,
) -> Measurement:
    """Make all experiments, or those that are chosen; `on_done` is told of each that is done."""
    require_pyiceberg()
    import pyiceberg
    import sqlalchemy

    from endive.oracle.pyiceberg_tables import open_bench

    cells: list[Cell] = []
    with (
        _quiet(),
        tempfile.TemporaryDirectory(prefix="endive-oracle-") as folder,
        open_bench(Path(folder)) as bench,
    ):
        for experiment in filter(chosen, experiments()):
            cells.append(run_experiment(bench, experiment)[0])
            on_done()
    return Measurement(
        library="PyIceberg",
        version=pyiceberg.__version__,
        artifact_sha256=None,
        command=COMMAND,
        environment={
            "python": platform.python_version(),
            "sqlalchemy": sqlalchemy.__version__,
            "sqlite": sqlite3.sqlite_version,
        },
        cells=tuple(cells),
    )


def run_experiment(bench: Bench, experiment: Experiment) -> tuple[Cell, list[list[Touch]]]:
    """Make one experiment: its cell, and what each attempt touched one after another."""
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    from endive.oracle.pyiceberg_tables import OTHER, OWN, Rival

    base = bench.base(experiment.operation.properties, experiment.base_manifests)
    rival = Rival(experiment.rivals, OWN if experiment.partitions == "same" else OTHER)

    n = experiment.n
    turns = _TURNS[experiment.situation]
    come_in = [bench.left_behind(base, rival, n * turn) for turn in range(1, turns + 1)]
    table = bench.open(base)
    commit = experiment.operation.prepare(table)
    if experiment.situation == "stale":
        bench.let_in_now(come_in[0])
    else:
        bench.let_in_later(come_in, "before_swap")
    bench.recorder.begin()
    try:
        commit()
        outcome = "committed"
    except ValidationException:
        outcome = "validation_exception"
    except CommitFailedException:
        outcome = "commit_failed"
    # After the last commit call nothing comes, unless a validation ends it all.
    touched = [each for each in bench.recorder.attempts if each]
    cell = Cell(
        operation=experiment.operation.name,
        situation=experiment.situation,
        n=n,
        partitions=experiment.partitions,
        base_manifests=experiment.base_manifests,
        settings=experiment.settings,
        outcome=outcome,
        attempts=tuple(map(counted, touched)),
    )
    return cell, touched


def counted(touched: list[Touch]) -> AttemptCounts:
    """What an attempt read and wrote; data files are no part of a commit."""
    counts = Counter(f"{kind}_{action}s" for kind, action, _ in touched)
    return AttemptCounts(**{name: counts[name] for name in AttemptCounts().as_dict()})


@contextmanager
def _quiet() -> Iterator[None]:
    """Lost commits are what is looked for here; PyIceberg need not warn of them."""
    logger = logging.getLogger("pyiceberg")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Delete operation did not match any records")
            yield
    finally:
        logger.setLevel(level)
