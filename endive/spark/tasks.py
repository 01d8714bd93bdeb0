"""Hands out tasks to the workers of a session, one Spark task each, and brings back what they return as they end."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from endive.spark.session import SparkUnavailableError, reason_of
from endive.spark.shipping import ship

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_Task = TypeVar("_Task")

# Jobs under way at a time: while the last tasks of one are at work, those of the next find the free slots.
_JOBS = 3
# A job's tasks all carry what all of them are given, so that stays small, whatever is given.
_MOST_BYTES_PER_JOB = 32 * 2**20
# A job costs a fraction of a second itself. Where tasks are short it gets more of them, so that this is made up for.
_BRISK_S = 10.0
_MOST_TASKS_PER_SLOT = 16
_POLL_S = 0.5
_SCHEMA = "task long, kind string, part long, data binary"
_DONE, _FAILED, _UNFIT = "done", "failed", "unfit"


@dataclass(frozen=True, slots=True)
class TaskLost:
    """A task that brought nothing, and why."""

    message: str


def on_workers(
    spark: SparkSession,
    function: str,
    tasks: Iterable[_Task],
    *,
    on_progress: Callable[[int], object] = lambda _: None,
) -> Generator[tuple[_Task, Any], None, None]:
    """Call a function of Endive, named as "module:name", with each task, one Spark task each, where Spark finds room.

    Yields (task, result) as they come back, in any order; a task whose worker dies again and again, or whose function
    raises, has a `TaskLost` for its result. Tasks are taken from the iterable as there is room for them, and travel, like
    results, by way of this process: workers need no file system in common with it. `on_progress` is told from another
    thread how many tasks are done whose results have not been yielded yet.

    Raises SparkUnavailableError if workers cannot run Endive at all, ConnectionError if Spark is gone.
    """
    jobs = _Jobs(spark, function)
    with jobs.watched(on_progress), ThreadPoolExecutor(_JOBS) as threads:
        waiting: dict[Future[list[Any]], list[_Task]] = {}
        coming = _batches(tasks, jobs.width)
        retries: list[_Task] = []
        try:
            while True:
                while len(waiting) < _JOBS:
                    batch = [retries.pop()] if retries else next(coming, None)
                    if batch is None:
                        break
                    waiting[threads.submit(jobs.run, batch)] = batch
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    batch = waiting.pop(future)
                    error = future.exception()
                    if error is None:
                        yield from zip(batch, future.result(), strict=True)
                    elif len(batch) > 1 and jobs.is_task_failure(error):
                        # One of them takes the others along: each is tried on its own.
                        retries += batch
                    elif jobs.is_task_failure(error):
                        yield batch[0], TaskLost(reason_of(error))
                    else:
                        raise error
        finally:
            # Nothing is left when all went well; otherwise nobody is going to look at what is under way.
            if waiting:
                jobs.cancel()


class _Jobs:
    """The jobs of one call: all in one group, so that they can be watched and cancelled."""

    def __init__(self, spark: SparkSession, function: str) -> None:
        self._spark = spark
        self._context = spark.sparkContext
        self._function = function
        self._folder = ship(spark)
        self._group = f"endive-{uuid.uuid4()}"
        self._tasks_per_slot = 1

    def width(self) -> int:
        """How many tasks a job should have now. Executors may still be joining, so slots are counted every time."""
        return max(1, int(self._context.defaultParallelism)) * self._tasks_per_slot

    def run(self, batch: Sequence[Any]) -> list[Any]:
        """One job: a Spark task for each of these tasks."""
        started_s = time.monotonic()
        results = self._results(batch)
        is_brisk = time.monotonic() - started_s < _BRISK_S
        if is_brisk and len(batch) >= self.width():
            self._tasks_per_slot = min(2 * self._tasks_per_slot, _MOST_TASKS_PER_SLOT)
        return results

    def _results(self, batch: Sequence[Any]) -> list[Any]:
        payloads = [pickle.dumps(task) for task in batch]
        count = len(payloads)
        # Per thread: each job is in the group of the thread that starts it.
        self._context.setJobGroup(self._group, self._function, interruptOnCancel=True)
        work = _worker(payloads, self._function, self._folder)
        rows = self._spark.range(0, count, 1, count).mapInPandas(work, _SCHEMA).collect()
        return _put_together(rows, count)

    def is_task_failure(self, error: BaseException) -> bool:
        """Whether an error is about the tasks of one job, and not about the cluster or this code."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not isinstance(error, (Py4JError, PySparkException)):
            return False
        if "PYTHON_VERSION_MISMATCH" in str(error):
            message = "the workers run another Python than this process; set PYSPARK_PYTHON to one of the same version there"
            raise SparkUnavailableError(f"{message} ({reason_of(error)})") from None
        if self._is_stopped():
            # Something ran, so this is a failure and no bad input; a sweep that is started again goes on from here.
            raise ConnectionError(f"Spark has ended: {reason_of(error)}") from None
        return True

    def cancel(self) -> None:
        """Stop what is under way."""
        with contextlib.suppress(Exception):
            # What a thread is only about to start belongs to the group, too.
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(self._group)

    @contextlib.contextmanager
    def watched(self, on_progress: Callable[[int], object]) -> Iterator[None]:
        """Ask Spark now and then how far the jobs are, from a thread of its own, while the block lasts."""
        over = threading.Event()

        def watch() -> None:
            tracker = self._context.statusTracker()
            while not over.wait(_POLL_S):
                # A job may end between two questions about it, and a session at any time.
                with contextlib.suppress(Exception):
                    on_progress(self._num_computed(tracker))

        thread = threading.Thread(target=watch, name="endive-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _num_computed(self, tracker: Any) -> int:
        active = set(tracker.getActiveJobsIds())
        computed = 0
        for job in tracker.getJobIdsForGroup(self._group):
            if job not in active:
                continue
            info = tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                of_stage = tracker.getStageInfo(stage)
                computed += 0 if of_stage is None else of_stage.numCompletedTasks
        return computed

    def _is_stopped(self) -> bool:
        try:
            return bool(self._context._jsc.sc().isStopped())
        except Exception:
            return True


def _batches(tasks: Iterable[_Task], width: Callable[[], int]) -> Iterator[list[_Task]]:
    """Tasks in lots that fill the slots, but not the memory; a task may say how large it is in `num_bytes`."""
    batch: list[_Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += getattr(task, "num_bytes", 0)
        if len(batch) >= width() or size >= _MOST_BYTES_PER_JOB:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _worker(
    payloads: Sequence[bytes], function: str, folder: str
) -> Callable[[Iterable[pd.DataFrame]], Iterable[pd.DataFrame]]:
    """What runs on a worker. It travels by value and may know nothing of Endive until it has unpacked it."""
    done, failed, unfit = _DONE, _FAILED, _UNFIT
    part_bytes = 8 * 2**20

    def load() -> Any:
        import importlib
        import os
        import sys

        from pyspark import SparkFiles

        place = os.path.join(SparkFiles.getRootDirectory(), folder)
        known = sys.modules.get("endive")
        if known is None or not str(known.__file__).startswith(place):
            # Another Endive on this machine is not the one that was sent.
            for name in [name for name in sys.modules if name.split(".")[0] == "endive"]:
                del sys.modules[name]
            sys.path.insert(0, place)
        module, _, name = function.partition(":")
        return getattr(importlib.import_module(module), name)

    def call(task: int) -> tuple[str, bytes]:
        import pickle

        try:
            target = load()
            payload = pickle.loads(payloads[task])
        except ImportError as error:
            return unfit, str(error).encode()
        try:
            return done, pickle.dumps(target(payload))
        except Exception as error:
            return failed, f"{type(error).__name__}: {error}".encode()

    def work(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas

        for frame in frames:
            for task in frame["id"].tolist():
                kind, data = call(task)
                # In parts: what is large does not have to be in one piece on its way.
                for part in range(max(1, -(-len(data) // part_bytes))):
                    piece = data[part * part_bytes : (part + 1) * part_bytes]
                    row = {"task": [task], "kind": [kind], "part": [part], "data": [piece]}
                    yield pandas.DataFrame(row)

    return work


def _put_together(rows: Iterable[Any], count: int) -> list[Any]:
    """The results of a job from the parts that came back."""
    parts: list[list[tuple[int, str, bytes]]] = [[] for _ in range(count)]
    for row in rows:
        parts[row.task].append((row.part, row.kind, bytes(row.data)))
    results: list[Any] = []
    for pieces in parts:
        pieces.sort(key=lambda piece: piece[0])
        data = b"".join(piece for _, _, piece in pieces)
        kind = pieces[0][1]
        if kind == _UNFIT:
            message = f"a worker cannot run Endive: {data.decode()}"
            raise SparkUnavailableError(
                f"{message}; its Python needs the packages that Endive needs here"
            )
        results.append(pickle.loads(data) if kind == _DONE else TaskLost(data.decode()))
    return results
