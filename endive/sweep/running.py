"""Runs a sweep: what is finished is skipped, what another process is at is waited for, what fails sinks nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from endive.errors import InputError, Problem
from endive.experiment import (
    DEFAULT_ROOT,
    Experiment,
    check_directory,
    code_version,
    prepare_directory,
    remove_stale_parts,
    stored_run,
)
from endive.pool import usable_processors
from endive.sweep.claims import Claims, claims_in
from endive.sweep.index import write_index
from endive.sweep.local import local_engine
from endive.sweep.model import Sweep
from endive.sweep.tasks import Lost, Run, Work, in_words, replay_command

EngineName = Literal["local", "spark"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of one run. Its summary is stored with its results; here is what a sweep is told by."""

    cell: int
    """The number of the cell."""
    seed: int
    digest: str | None = None
    """The fingerprint of the results; None if the run failed."""
    skipped: bool = False
    """Whether it was finished already, by an earlier sweep or by one at the same time."""
    commits_per_s: float = 0.0
    success_rate: float | None = None
    failure: str = ""
    replay: str = ""
    """For a run that failed: the command that does it again, as it can be typed."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What became of a sweep: every run, by cell and seed."""

    sweep: Sweep
    out: Path
    index: Path
    outcomes: tuple[RunOutcome, ...]

    @property
    def failures(self) -> tuple[RunOutcome, ...]:
        """The runs that brought no results."""
        return tuple(outcome for outcome in self.outcomes if outcome.digest is None)

    @property
    def num_skipped(self) -> int:
        """How many runs were finished already."""
        return sum(outcome.skipped for outcome in self.outcomes)

    def of_cell(self, number: int) -> tuple[RunOutcome, ...]:
        """The runs of one cell in the order of the seeds."""
        width = len(self.sweep.seeds)
        return self.outcomes[number * width : (number + 1) * width]

    def digests(self) -> dict[str, dict[int, str]]:
        """The digest of every finished run, by directory and seed."""
        return {
            self.sweep.directory(cell): {
                outcome.seed: outcome.digest
                for outcome in self.of_cell(number)
                if outcome.digest is not None
            }
            for number, cell in enumerate(self.sweep.cells)
        }


OnDone = Callable[[int], object]
"""Is told how many runs are done by now, as often as that changes."""


def run_sweep(
    sweep: Sweep,
    out: str | Path = DEFAULT_ROOT,
    *,
    engine: EngineName = "local",
    jobs: int | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    force: bool = False,
    on_done: OnDone = lambda _: None,
) -> SweepResult:
    """Do every run of a sweep that is not finished below `out` already.

    `engine` "local" uses `jobs` processes of this machine, one per processor unless told otherwise; "spark" uses the
    session that is under way, or one at `master` with the settings `conf`. Both file the same results under the same
    names. A run that fails is an outcome. What keeps everything from running raises: InputError before anything is
    written, if results of another version of the code are in the way; EndiveError or OSError otherwise.
    """
    out = Path(out)
    version = code_version()
    experiments = [sweep.experiment(cell, out, version) for cell in sweep.cells]
    _check_directories(experiments, force=force)
    with ExitStack() as stack:
        work: Work
        if engine == "spark":
            from endive.sweep.cluster import SparkEngine

            work = cluster = SparkEngine(master, conf)
            stack.callback(cluster.stop)
            todo = (each for each in experiments for seed in sweep.seeds if not _has(each, seed))
            if force or next(todo, None) is not None:
                # Where there is no Spark, that is known before anything is written.
                cluster.start()
        else:
            work = local_engine(min(jobs or usable_processors(), sweep.num_runs))
        out.mkdir(parents=True, exist_ok=True)
        index = write_index(sweep, out, version)
        claims = stack.enter_context(claims_in(out))
        driver = _Driver(experiments, sweep.seeds, claims, _Progress(on_done), force=force)
        outcomes = driver.run(work)
    place = {seed: at for at, seed in enumerate(sweep.seeds)}
    outcomes.sort(key=lambda outcome: (outcome.cell, place[outcome.seed]))
    return SweepResult(sweep, out, index, tuple(outcomes))


def _has(experiment: Experiment, seed: int) -> bool:
    try:
        return stored_run(experiment, seed) is not None
    except OSError:
        return False


def _check_directories(experiments: list[Experiment], *, force: bool) -> None:
    """Find out for every cell, before anything is written, what stands in its way."""
    problems: list[Problem] = []
    for experiment in experiments:
        try:
            check_directory(experiment, force=force)
        except InputError as error:
            problems += error.problems
    if len(problems) > _MOST_TOLD:
        more = f"and {len(problems) - _MOST_TOLD} more directories of this sweep, likewise"
        problems = [*problems[:_MOST_TOLD], Problem(more)]
    if problems:
        raise InputError(problems)


class _Progress:
    """Counts runs that are done, and those that an engine has computed but not yet handed over."""

    def __init__(self, on_done: OnDone) -> None:
        self._on_done = on_done
        self._landed = 0
        self._told = 0

    def landed(self) -> None:
        """One more run is done."""
        self._landed += 1
        self.computed(0)

    def computed(self, waiting: int) -> None:
        """So many runs more than have landed are computed."""
        # A run that is just being handed over is in neither count for a moment.
        done = self._landed + waiting
        if done > self._told:
            self._told = done
            self._on_done(done)


class _Driver:
    """Hands out the runs that are to be done, and gathers what becomes of all of them."""

    def __init__(
        self,
        experiments: list[Experiment],
        seeds: tuple[int, ...],
        claims: Claims,
        progress: _Progress,
        *,
        force: bool,
    ) -> None:
        self._experiments = experiments
        self._seeds = seeds
        self._claims = claims
        self._progress = progress
        self._force = force
        self._prepared: set[int] = set()
        self._deferred: list[Run] = []
        self._outcomes: list[RunOutcome] = []

    def run(self, work: Work) -> list[RunOutcome]:
        """What became of every run, in the order in which that was known."""
        runs: Iterable[Run] = (
            Run(number, replace(experiment, seeds=(seed,)), seed, self._force)
            for number, experiment in enumerate(self._experiments)
            for seed in self._seeds
        )
        while True:
            # Left early, an engine stops what it has begun.
            with closing(work(self._to_do(runs), self._progress.computed)) as results:
                for run, result in results:
                    self._claims.release(run.directory.name, run.seed)
                    self._settle(run, result)
            if not self._deferred:
                return self._outcomes
            # Nothing is under way here now, so it is safe to wait; then all that were left are looked at again.
            runs, self._deferred = self._deferred, []
            first = runs[0]
            self._claims.wait_for(first.directory.name, first.seed)

    def _to_do(self, runs: Iterable[Run]) -> Iterator[Run]:
        """The runs that are to be done here, as the engine asks for them."""
        for run in runs:
            name = run.directory.name
            try:
                remove_stale_parts(run.experiment, run.seed)
                if self._is_finished(run):
                    continue
                if not self._claims.take(name, run.seed):
                    self._deferred.append(run)
                    continue
                # Between the look and the claim another process may have finished it.
                if self._is_finished(run):
                    self._claims.release(name, run.seed)
                    continue
                self._prepare(run)
            except OSError as error:
                self._claims.release(name, run.seed)
                self._settle(run, Lost(in_words(error)))
                continue
            yield run

    def _is_finished(self, run: Run) -> bool:
        """Whether there is nothing left to do; the outcome is noted then."""
        stored = None if run.force else stored_run(run.experiment, run.seed)
        if stored is None:
            return False
        self._settle(run, stored)
        return True

    def _prepare(self, run: Run) -> None:
        if run.cell not in self._prepared:
            prepare_directory(run.experiment)
            self._prepared.add(run.cell)

    def _settle(self, run: Run, result: dict[str, Any] | Lost) -> None:
        if isinstance(result, Lost):
            outcome = RunOutcome(
                run.cell, run.seed, failure=result.message, replay=replay_command(run)
            )
        else:
            outcome = RunOutcome(
                run.cell,
                run.seed,
                result["digest"],
                result["skipped"],
                result["commits_per_s"],
                result["success_rate"],
            )
        self._outcomes.append(outcome)
        self._progress.landed()
