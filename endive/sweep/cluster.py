"""The Spark engine: each run a Spark task on any worker, its files filed by this process.

Workers send back the bytes of the files that a run wrote, so they need no file system in common with this process, and
nothing but this process ever writes below the directory of the results: whole, under their names, as the local engine does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from endive.experiment import store_run
from endive.spark import TaskLost, on_workers, spark_session
from endive.sweep.tasks import Landing, Lost, Run, in_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkEngine:
    """An engine on the session that is under way, or on one of its own."""

    def __init__(self, master: str | None, conf: Mapping[str, str] | None) -> None:
        self._master = master
        self._conf = conf
        self._stack = ExitStack()
        self._session: SparkSession | None = None

    def start(self) -> SparkSession:
        """Begin a session, or say why there is none; it lasts until the next runs are done."""
        if self._session is None:
            self._session = self._stack.enter_context(
                spark_session("endive sweep", master=self._master, conf=self._conf)
            )
        return self._session

    def stop(self) -> None:
        """End the session, if it is one of its own."""
        self._session = None
        self._stack.close()

    def __call__(self, runs: Iterable[Run], computed: Callable[[int], object]) -> Landing:
        """Do these runs. Who waits for somebody else afterwards keeps no executors meanwhile."""
        coming = iter(runs)
        try:
            first = next(coming, None)
            if first is None:
                return
            function = "endive.sweep.tasks:compute_files"
            tasks = itertools.chain([first], coming)
            with closing(
                on_workers(self.start(), function, tasks, on_progress=computed)
            ) as results:
                for run, result in results:
                    yield run, _landed(run, result)
        finally:
            self.stop()


def _landed(run: Run, result: dict[str, bytes] | Lost | TaskLost) -> dict[str, Any] | Lost:
    if isinstance(result, TaskLost):
        return Lost(result.message)
    if isinstance(result, Lost):
        return result
    try:
        return store_run(run.experiment, run.seed, result)
    except OSError as error:
        return Lost(in_words(error))
