"""The Spark engine: each run a Spark task on any worker, its files filed by this process.

Workers send back the bytes of the files that a run wrote, so they need no file system in common with this process, and
nothing but this process ever writes below the directory of the results: whole, under their names, as the local engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from endive.experiment import store_run
from endive.spark import TaskLost, on_workers, spark_session
from endive.sweep.tasks import Landing, Lost, Run, Work, in_words


def spark_engine(master: str | None, conf: Mapping[str, str] | None) -> Work:
    """An engine of the session that is under way, or of one that is started when there is something to do."""

    def work(runs: Iterable[Run], computed: Callable[[int], object]) -> Landing:
        coming = iter(runs)
        first = next(coming, None)
        if first is None:
            return

        def all_runs() -> Iterable[Run]:
            yield first
            yield from coming

        with spark_session("endive sweep", master=master, conf=conf) as spark:
            results = on_workers(
                spark, "endive.sweep.tasks:compute_files", all_runs(), on_progress=computed
            )
            try:
                for run, result in results:
                    yield run, _landed(run, result)
            finally:
                results.close()

    return work


def _landed(run: Run, result: dict[str, bytes] | Lost | TaskLost) -> dict[str, Any] | Lost:
    if isinstance(result, TaskLost):
        return Lost(result.message)
    if isinstance(result, Lost):
        return result
    try:
        return store_run(run.experiment, run.seed, result)
    except OSError as error:
        return Lost(in_words(error))
