"""Many runs at a time: a pool of processes whose outcomes come back in the order in which they were asked for.

A run that fails, or whose process is killed, is an outcome like any other: the rest go on.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from endive.errors import EndiveError
from endive.experiment import Experiment, finished_summary, run_seed


@dataclass(frozen=True)
class Failure:
    """A run that brought no results, and why."""

    seed: int
    message: str


Outcome = dict[str, Any] | Failure


def run_seeds(
    experiment: Experiment,
    *,
    jobs: int,
    force: bool,
    on_done: Callable[[], object] = lambda: None,
) -> Generator[Outcome, None, None]:
    """Run every seed of an experiment; `on_done` is called as each run ends, in any order."""
    jobs = min(jobs, len(experiment.seeds))
    if jobs == 1:
        for seed in experiment.seeds:
            outcome = _outcome(experiment, seed, force)
            on_done()
            yield outcome
        return

    with processes(jobs) as pool:
        futures = {}
        for seed in experiment.seeds:
            # A finished run only has to be looked up, which needs no other process.
            if force or finished_summary(experiment, seed) is None:
                with contextlib.suppress(BrokenProcessPool):
                    futures[seed] = pool.submit(_outcome, experiment, seed, force)
                    futures[seed].add_done_callback(lambda _future: on_done())
            else:
                on_done()
        for seed in experiment.seeds:
            if seed not in futures:
                yield _outcome(experiment, seed, force)
                continue
            try:
                yield futures.pop(seed).result()
            except BrokenProcessPool:
                # A killed process takes the whole pool down; the innocent get one of their own.
                yield _outcome_alone(experiment, seed, force)


Apply = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Calls a function with each of some tasks; results come in the order of the tasks."""


@contextlib.contextmanager
def applying(
    jobs: int, on_done: Callable[[], object] = lambda: None, *, at_a_time: int = 1
) -> Iterator[Apply]:
    """One task after the other, or several processes at work; `on_done` is called for each that is done."""
    if jobs == 1:

        def here(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            for task in tasks:
                yield function(task)
                on_done()

        yield here
        return
    with processes(jobs) as pool:

        def there(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            for result in pool.map(function, tasks, chunksize=at_a_time):
                yield result
                on_done()

        yield there


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are gone when the block is left, at once if something went wrong in it."""
    pool = _new_pool(jobs)
    try:
        yield pool
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            message = "a process was killed, perhaps for want of memory; try fewer --jobs"
            raise OSError(message) from None
        raise
    pool.shutdown()


def _outcome(experiment: Experiment, seed: int, force: bool) -> Outcome:
    try:
        return run_seed(experiment, seed, force=force)
    except (EndiveError, OSError) as error:
        return Failure(seed, str(error))
    except Exception as error:
        return Failure(seed, f"{type(error).__name__}: {error}")


def _outcome_alone(experiment: Experiment, seed: int, force: bool) -> Outcome:
    with _new_pool(1) as pool:
        try:
            return pool.submit(_outcome, experiment, seed, force).result()
        except BrokenProcessPool:
            return Failure(seed, "its process was killed, perhaps for want of memory")


def _new_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that end with this one, and quietly."""
    # Spawned processes inherit no threads and no locks, and behave alike on all systems.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)


def _start_worker() -> None:
    """Let a worker end quietly: on an interrupt, and when the process that started it is gone."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
