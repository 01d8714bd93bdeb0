"""Arrivals (docs/MODEL.md, section 13): turns loads into the processes that submit their transactions.

Every load is one process, a closed one is one per client. Processes are numbered in the order of loads and clients, and
take turns in that order when they are due at the same instant.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Protocol

from endive.workload.loads import BackgroundLoad, ClosedLoad, Load
from endive.workload.script import LANDED, ScriptedLoad
from endive.workload.workload import Touched, Workload

# Nobody submits so often at one instant, unless thinking and working take no time at all.
_MAX_ROUNDS_AT_ONCE = 100_000


class Runner(Protocol):
    """Whoever lets time pass and runs what is submitted."""

    @property
    def now_ms(self) -> float:
        """What time it is."""

    def arrive(self, steps: Generator[float, None, None], process: int) -> None:
        """Turn every value that `steps` yields into a wait of this process."""

    def submit(self, workload: Workload, on_end: Callable[[], None] | None = None) -> None:
        """Launch the next transaction of a workload now; `on_end` is called when it has ended."""

    def land(self, touched: Touched, replaces_data: bool) -> None:
        """Apply a commit from elsewhere now."""


def start_loads(loads: Iterable[Load], runner: Runner) -> None:
    """Start all processes of all loads."""
    process = 0
    for load in loads:
        if isinstance(load, ScriptedLoad):
            runner.arrive(_as_written(load, runner), process)
            process += 1
            continue
        # The clients of a class share its stream: a wait is drawn when it begins, whoever's it is.
        next_wait_ms = load.waits()
        for _ in range(load.processes):
            if isinstance(load, ClosedLoad):
                _Client(load, next_wait_ms, process, runner).think()
            else:
                act = (
                    partial(_land, load, runner)
                    if isinstance(load, BackgroundLoad)
                    else partial(runner.submit, load.workload)
                )
                steps = _again_and_again(next_wait_ms, act, runner, load.end_ms)
                runner.arrive(steps, process)
            process += 1


def _land(load: BackgroundLoad, runner: Runner) -> None:
    runner.land(load.workload.next_touched(), load.replaces_data)


def _as_written(load: ScriptedLoad, runner: Runner) -> Generator[float, None, None]:
    for at_ms, line in load.workload.entries:
        yield max(0.0, at_ms - runner.now_ms)
        if line.operation == LANDED:
            runner.land(line.touched, line.replaces_data)
        else:
            runner.submit(load.workload)


def _again_and_again(
    next_wait_ms: Callable[[], float], act: Callable[[], None], runner: Runner, end_ms: float
) -> Generator[float, None, None]:
    while True:
        yield next_wait_ms()
        if runner.now_ms >= end_ms:
            return
        act()


class _Client:
    """One client of a closed load: thinks, submits, waits for the end, thinks again."""

    def __init__(
        self,
        load: ClosedLoad,
        next_think_ms: Callable[[], float],
        process: int,
        runner: Runner,
    ) -> None:
        self._workload = load.workload
        self._end_ms = load.end_ms
        self._next_think_ms = next_think_ms
        self._process = process
        self._runner = runner
        self._submitted_ms = -1.0
        self._rounds_at_once = 0

    def think(self) -> None:
        """Begin to think; what comes next comes by itself."""
        self._runner.arrive(self._round(), self._process)

    def _round(self) -> Generator[float, None, None]:
        yield self._next_think_ms()
        now_ms = self._runner.now_ms
        if now_ms >= self._end_ms:
            return
        self._rounds_at_once = self._rounds_at_once + 1 if now_ms == self._submitted_ms else 0
        if self._rounds_at_once == _MAX_ROUNDS_AT_ONCE:
            name = self._workload.config.class_name
            raise ValueError(
                f"time stands still at {now_ms} ms: in the closed load {name!r} neither thinking "
                "nor the transactions take any time"
            )
        self._submitted_ms = now_ms
        self._runner.submit(self._workload, self.think)
