"""Progress on the terminal while runs are under way: on stderr, gone when they are done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from endive.cli.words import duration, number
from endive.simulation import Progress


@contextmanager
def progress_of_run() -> Iterator[Callable[[Progress], None]]:
    """A bar of simulated time for one run."""
    bars = Bars(
        BarColumn(bar_width=16),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        task = bars.add_task("", total=1.0, state="starting")
        started_s = time.monotonic()

        def on_progress(progress: Progress) -> None:
            elapsed_s = max(time.monotonic() - started_s, 1e-6)
            state = describe(progress, elapsed_s)
            share = progress.now_ms / progress.duration_ms
            bars.update(task, completed=share, state=state)

        yield on_progress


@contextmanager
def progress_of_seeds(total: int) -> Iterator[Callable[[], None]]:
    """A bar of finished runs."""
    bars = Bars(
        TextColumn("runs"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        # Lines on the same terminal go above the bar; lines into a file or a pipe go there.
        redirect_stdout=sys.stdout.isatty(),
    )
    with bars:
        task = bars.add_task("", total=total)
        yield lambda: bars.advance(task)


@contextmanager
def progress_of_sweep(total: int) -> Iterator[Callable[[int], None]]:
    """A bar of finished runs with their rate; what it yields is told how many are done."""
    started_s = time.monotonic()
    bars = Bars(
        TextColumn("runs"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("time left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    with bars:
        task = bars.add_task("", total=total, rate="")

        def on_done(done: int) -> None:
            per_s = done / max(time.monotonic() - started_s, 1e-6)
            rate = f"{number(per_s)}/s" if per_s >= 1.0 else f"{number(per_s * 60.0)}/min"
            bars.update(task, completed=done, rate=rate)

        yield on_done


@contextmanager
def progress_if_watched(total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr for a person who watches; nothing for anybody else."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with progress_of_seeds(total) as advance:
        yield advance


def describe(progress: Progress, elapsed_s: float) -> str:
    """How far a run has come after so many seconds, in less than sixty letters."""
    simulated_s = progress.now_ms / 1000.0
    rate = simulated_s / elapsed_s
    left_s = (progress.duration_ms / 1000.0 - simulated_s) / rate if rate else 0.0
    place = f"{duration(progress.now_ms)}/{duration(progress.duration_ms)} {number(rate)}×"
    fate = f"{progress.committed} ok {progress.aborted} aborted {progress.in_flight} open"
    return f"{place} · {fate} · {duration(left_s * 1000.0)} left"


class ScenarioBar:
    """Counts scenarios that are done, and tells how many runs that took."""

    def __init__(self, bars: Bars, total: int) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=total, runs=0)
        self._runs = 0

    def expect(self, count: int) -> None:
        """So many more runs are under way."""
        self._runs += count
        self._bars.update(self._task, runs=self._runs)

    def done(self) -> None:
        """One more scenario is done."""
        self._bars.advance(self._task)


@contextmanager
def progress_of_scenarios(total: int) -> Iterator[ScenarioBar]:
    """A bar of finished scenarios."""
    console = Console(stderr=True)
    bars = Bars(
        TextColumn("scenarios"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[runs]} runs"),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not console.is_terminal,
    )
    with bars:
        yield ScenarioBar(bars, total)
