"""The local engine: runs on processes of this machine, told in the order in which they end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from endive.pool import processes
from endive.sweep.tasks import Landing, Lost, Run, Work, do_run

_KILLED = "its process was killed, perhaps for want of memory; try fewer --jobs"


def local_engine(jobs: int) -> Work:
    """An engine of so many processes; a single one is this process itself.

    A process that is killed takes its pool down. Those who were in it then are tried again, each alone, so that only the
    guilty is lost, and the others go on in a new pool.
    """

    def here(runs: Iterable[Run], _computed: Callable[[int], object]) -> Landing:
        for run in runs:
            yield run, do_run(run)

    def there(runs: Iterable[Run], _computed: Callable[[int], object]) -> Landing:
        coming = iter(runs)
        # No process is started before there is something for it to do.
        for first in coming:
            suspects: list[Run] = []
            yield from _until_broken(itertools.chain([first], coming), jobs, suspects)
            while suspects:
                yield from _one_by_one(suspects)

    return here if jobs == 1 else there


def _until_broken(coming: Iterator[Run], jobs: int, suspects: list[Run]) -> Landing:
    """Runs until there are no more, or a process was killed: then whoever was at work is left in `suspects`."""
    with processes(jobs) as pool:
        waiting: dict[Future[dict[str, Any] | Lost], Run] = {}
        while True:
            # One more than there are processes: whoever is done finds the next at hand.
            while len(waiting) <= jobs and not suspects:
                run = next(coming, None)
                if run is None:
                    break
                try:
                    waiting[pool.submit(do_run, run)] = run
                except BrokenProcessPool:
                    suspects.append(run)
            if not waiting:
                return
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                run = waiting.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    suspects.append(run)
                else:
                    yield run, result


def _one_by_one(suspects: list[Run]) -> Landing:
    """The suspects, one at a time, until there are no more or one of them is found guilty."""
    with processes(1) as pool:
        while suspects:
            run = suspects.pop()
            try:
                result = pool.submit(do_run, run).result()
            except BrokenProcessPool:
                yield run, Lost(_KILLED)
                return
            yield run, result
