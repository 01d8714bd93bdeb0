"""The real side of a race: PyIceberg in one process per writer, with latencies that are waited for by the clock.

Each writer keeps a schedule: whatever is injected ends at a time that was fixed when the operation before it ended. What the library itself
takes, to parse or to write, passes within the next wait and lengthens nothing, as long as it is shorter than that; how often it was not is
counted. Only the library's own backoff is real waiting; after it the schedule begins anew.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any

import numpy as np

from endive.errors import EndiveError
from endive.oracle.race import (
    CATALOG_CAS,
    CATALOG_READ,
    EFFECT_POINT,
    Overhead,
    Plan,
    Real,
    Transaction,
)

if TYPE_CHECKING:
    from pyiceberg.table import Table

TABLE = "race.t"
_STARTING_S = 240.0
_IMPORTED = [__name__, "endive.oracle.watched_io", "endive.config", "pyiceberg.catalog.sql"]
_TICK_S = 0.25
_NOBODY = -1


class WriterLostError(EndiveError):
    """A writer's process ended before its race."""


class RaceOver(Exception):
    """The end of the race comes before the end of a wait; not an error, and nothing the library would retry."""


class Pacer:
    """A writer's clock: draws latencies and waits for them by the schedule."""

    def __init__(self, plan: Plan, writer: int) -> None:
        from endive.config.distributions import build_distribution

        seeds = np.random.SeedSequence(plan.seed, spawn_key=(writer,))
        self._rng = np.random.RandomState(np.random.MT19937(seeds))
        self._distributions = {
            **{name: build_distribution(table) for name, table in plan.latencies.items()},
            "runtime": build_distribution(plan.runtime),
            "think_time": build_distribution(plan.think_time),
        }
        self._seconds, self._late_ms = plan.seconds, plan.late_ms
        self._end = self.due = self._woke = 0.0
        self.answers = self.late = 0
        self.latest_ms = self.busy_ms = 0.0

    def begin(self) -> None:
        """The race begins now."""
        self.restart()
        self._end = self.due + self._seconds

    def restart(self) -> None:
        """The schedule goes on from now."""
        self.due = self._woke = time.monotonic()

    def draw_s(self, name: str) -> float:
        """How long something takes, in seconds."""
        return self._distributions[name].sample(self._rng) / 1000.0

    def wait(self, seconds: float) -> None:
        """Wait for what is due so long after what was due before."""
        self.wait_until(self.due + seconds)

    def wait_until(self, due: float) -> None:
        """Wait for what is due at this time; the race may be over before."""
        now = time.monotonic()
        self.busy_ms += (now - self._woke) * 1000.0
        self.due = due
        if due >= self._end:
            time.sleep(max(0.0, self._end - now))
            raise RaceOver
        if due > now:
            time.sleep(due - now)
        late_ms = max(0.0, (now - due) * 1000.0)
        self.answers += 1
        self.late += late_ms > self._late_ms
        self.latest_ms = max(self.latest_ms, late_ms)
        self._woke = time.monotonic()

    def touched(self, kind: str, action: str) -> None:
        """A file is about to be read or written: manifests and their lists take their time."""
        name = f"{kind}.{action}"
        if name in self._distributions:
            self.wait(self.draw_s(name))


def _paced_catalog(pacer: Pacer, where: dict[str, str]) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    class PacedCatalog(SqlCatalog):
        """PyIceberg's SQL catalog, whose answers take the time of the schedule; what it does itself is done by PyIceberg."""

        landed = 0
        calls = 0
        is_committing = False
        swap_due = 0.0

        def load_table(self, identifier: Any) -> Table:
            if self.is_committing:
                # Part of a commit call, which has a latency of its own.
                return super().load_table(identifier)
            pacer.restart()
            took_s = pacer.draw_s(CATALOG_READ)
            pacer.wait(EFFECT_POINT * took_s)
            table = super().load_table(identifier)
            pacer.wait((1.0 - EFFECT_POINT) * took_s)
            return table

        def commit_table(self, table: Table, requirements: Any, updates: Any) -> Any:
            took_s = pacer.draw_s(CATALOG_CAS)
            called = pacer.due
            self.swap_due = called + EFFECT_POINT * took_s
            self.calls += 1
            self.is_committing = True
            try:
                response = super().commit_table(table, requirements, updates)
                self.landed += 1
                return response
            finally:
                self.is_committing = False
                pacer.wait_until(called + took_s)

        def _write_metadata(self, *arguments: Any, **more: Any) -> None:  # type: ignore[override]
            super()._write_metadata(*arguments, **more)
            # What follows is the swap.
            pacer.wait_until(self.swap_due)

    return _without_disk(PacedCatalog("race", **where))


def _without_disk(catalog: Any) -> Any:
    """Have SQLite not wait for the disk: how long the catalog takes is injected."""
    from sqlalchemy import event

    def connected(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(catalog.engine, "connect", connected)
    # Connections that are there already know nothing of it.
    catalog.engine.dispose()
    return catalog


def _write(plan: Plan, writer: int, folder: str, start: Any) -> None:
    """One writer, in a process of its own; leaves a file with what it did."""
    os.environ["PYICEBERG_MAX_WORKERS"] = "1"
    import pyarrow as pa
    from pyiceberg.exceptions import CommitFailedException

    from endive.oracle.watched_io import watching

    # Lost commits are what this is about.
    logging.getLogger("pyiceberg").setLevel(logging.ERROR)
    pacer = Pacer(plan, writer)
    ended: list[Transaction] = []
    with watching(f"race-{writer}", pacer) as properties:
        catalog = _paced_catalog(pacer, {**_where(Path(folder)), **properties})
        catalog.is_committing = True
        # Whatever is imported or connected on first use is, before the race begins.
        catalog.load_table(TABLE)
        catalog.is_committing = False
        number = -1
        added: list[int] = []
        try:
            start.wait(_STARTING_S)
        except BrokenBarrierError:
            # Somebody else did not start; whoever started us tells.
            return
        pacer.begin()
        try:
            while True:
                number += 1
                pacer.restart()
                pacer.wait(pacer.draw_s("think_time"))
                table = catalog.load_table(TABLE)
                pacer.wait(pacer.draw_s("runtime"))
                done, calls, landed = time.monotonic(), catalog.calls, catalog.landed
                rows = pa.table({"writer": [writer], "number": [number]})
                committed = True
                try:
                    table.append(rows)
                except CommitFailedException:
                    committed = False
                finally:
                    if catalog.landed > landed:
                        added.append(number)
                spent_ms = (time.monotonic() - done) * 1000.0
                ended.append(Transaction(committed, catalog.calls - calls, spent_ms))
        except RaceOver:
            pass
        catalog.engine.dispose()
    overhead = Overhead(pacer.answers, pacer.late, pacer.latest_ms, pacer.busy_ms)
    report = {
        "transactions": [asdict(each) for each in ended],
        "added": added,
        "overhead": asdict(overhead),
    }
    (Path(folder) / f"writer-{writer}.json").write_text(json.dumps(report), encoding="utf-8")


def _where(folder: Path) -> dict[str, str]:
    return {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": folder.as_uri()}


def run_race(plan: Plan, on_tick: Callable[[float], object] = lambda seconds: None) -> Real:
    """Run a race in real time; `on_tick` is told now and then how many seconds have passed."""
    from endive.oracle.pyiceberg import require_pyiceberg

    require_pyiceberg()
    with tempfile.TemporaryDirectory(prefix="endive-race-") as name:
        folder = Path(name)
        _make_table(folder)
        # What all writers import is imported once; with sixteen of them that is half a minute of processor time.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_IMPORTED)
        start = context.Barrier(plan.writers + 1)
        writers = [
            context.Process(target=_write, args=(plan, writer, name, start), daemon=True)
            for writer in range(plan.writers)
        ]
        for process in writers:
            process.start()
        try:
            _watch(writers, start, plan.seconds, on_tick)
            reports = [
                json.loads((folder / f"writer-{writer}.json").read_text(encoding="utf-8"))
                for writer in range(plan.writers)
            ]
            return _result(reports, _rows(folder))
        finally:
            for process in writers:
                if process.is_alive():
                    process.terminate()
                process.join()


def _watch(
    writers: list[Any], start: Any, seconds: float, on_tick: Callable[[float], object]
) -> None:
    try:
        start.wait(_STARTING_S)
    except BrokenBarrierError:
        raise WriterLostError("the writers did not start in time; try fewer of them") from None
    began = time.monotonic()
    while any(process.is_alive() for process in writers):
        on_tick(min(seconds, time.monotonic() - began))
        time.sleep(_TICK_S)
    lost = [process.exitcode for process in writers if process.exitcode != 0]
    if lost:
        codes = ", ".join(map(str, lost))
        raise WriterLostError(f"{len(lost)} writers ended early, with exit codes {codes}")


def _make_table(folder: Path) -> None:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("race", **_where(folder))
    catalog.create_namespace("race")
    schema = pa.schema([("writer", pa.int64()), ("number", pa.int64())])
    table = catalog.create_table(TABLE, schema)
    # The very first commit would have no list to read.
    table.append(pa.table({"writer": [_NOBODY], "number": [0]}))
    catalog.engine.dispose()


def _rows(folder: Path) -> list[tuple[int, int]]:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("race", **_where(folder))
    rows = catalog.load_table(TABLE).scan().to_arrow()
    catalog.engine.dispose()
    found = zip(rows["writer"].to_pylist(), rows["number"].to_pylist(), strict=True)
    return sorted(each for each in found if each[0] != _NOBODY)


def _result(reports: list[dict[str, Any]], rows: list[tuple[int, int]]) -> Real:
    overhead = Overhead()
    for report in reports:
        overhead = overhead.plus(Overhead(**report["overhead"]))
    added = sorted(
        (writer, number) for writer, report in enumerate(reports) for number in report["added"]
    )
    return Real(
        transactions=tuple(
            Transaction(**each) for report in reports for each in report["transactions"]
        ),
        landed=len(added),
        rows=len(rows),
        are_rows_the_landed=rows == added,
        overhead=overhead,
    )
