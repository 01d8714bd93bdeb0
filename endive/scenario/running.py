"""Makes one run of a scenario, measures it, and holds it against the invariants. Everything here may happen in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from endive.config import ResolvedConfig, build_simulation_config
from endive.experiment import trace_header
from endive.judge.engine import judge, judge_pair
from endive.judge.model import Kind, Outcome, Verdict
from endive.scenario.metrics import Level, Metric, Observed, Selection, observe
from endive.trace import Trace

if TYPE_CHECKING:
    from endive.simulation import Statistics

SAME_PROCESS, FRESH_PROCESS = "same-seed-same-run", "fresh-process-same-run"
OTHER_VARIANT = "streams-independent"
_MAX_STORIES = 3


@dataclass(frozen=True, slots=True)
class Task:
    """One run that is to be made, with what is to be found out about it."""

    config: ResolvedConfig
    seed: int
    measures: tuple[tuple[Metric, Selection], ...]
    is_judged: bool
    pairs: tuple[str, ...] = ()
    """The invariants of pairs that this run is held against, beside those of single traces."""
    other: ResolvedConfig | None = None
    """What it is paired with, where that is another configuration."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one invariant said about one run."""

    id: str
    clause: str
    outcome: Outcome
    exercised: int
    is_sometimes: bool
    stories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What came of one run."""

    seed: int
    digest: str
    launched: int
    observed: tuple[Observed, ...]
    verdicts: tuple[Held, ...]


def perform(task: Task) -> Outcomes:
    """Make the run."""
    needs_attempts = any(metric.level is Level.ATTEMPTS for metric, _ in task.measures)
    is_traced = task.is_judged or bool(task.pairs)
    statistics = run(task.config, task.seed, attempts=needs_attempts, traced=is_traced)
    verdicts: list[Verdict] = []
    if is_traced:
        trace = trace_of(task.config, task.seed, statistics)
        verdicts += judge(trace) if task.is_judged else []
        for id in task.pairs:
            verdicts += [
                each for each in judge_pair(trace, _twin(task, id)) if each.invariant.id == id
            ]
    return Outcomes(
        task.seed,
        statistics.digest(),
        statistics.launched,
        tuple(observe(statistics, metric, selection) for metric, selection in task.measures),
        tuple(_held(verdict) for verdict in verdicts),
    )


def run(
    config: ResolvedConfig, seed: int, *, attempts: bool = False, traced: bool = False
) -> Statistics:
    """One run of a configuration."""
    from endive.simulation import Simulation

    parts = build_simulation_config(config, seed)
    return Simulation(replace(parts, records_attempts=attempts, records_trace=traced)).run()


def trace_of(config: ResolvedConfig, seed: int, statistics: Statistics) -> Trace:
    """The trace of a run that was traced."""
    assert statistics.events is not None
    return Trace(trace_header(config, seed), tuple(statistics.events))


def _twin(task: Task, id: str) -> Trace:
    """The run that this one is paired with."""
    if id == FRESH_PROCESS:
        return _from_fresh_process(task.config, task.seed)
    config = task.config if id == SAME_PROCESS or task.other is None else task.other
    return trace_of(config, task.seed, run(config, task.seed, traced=True))


def _from_fresh_process(config: ResolvedConfig, seed: int) -> Trace:
    """The same run from a process that shares nothing with this one, not even the order of its hash tables."""
    import pickle

    from endive.trace.files import read_trace

    with tempfile.TemporaryDirectory(prefix="endive-") as place:
        asked, answered = Path(place) / "task.pickle", Path(place) / "trace.parquet"
        asked.write_bytes(pickle.dumps((config, seed)))
        # This process has its own hash seed, or a fixed one; either way this is another.
        hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        subprocess.run(
            [sys.executable, "-m", "endive.scenario.elsewhere", str(asked), str(answered)],
            check=True,
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
        )
        return read_trace(str(answered))


def _held(verdict: Verdict) -> Held:
    # The judge knows of no scenario; the way back to this run is told by whoever reports it.
    stories = [
        violation.story.partition(" Replay: ")[0] for violation in verdict.violations[:_MAX_STORIES]
    ]
    if verdict.outcome is Outcome.ERROR:
        stories = [verdict.detail]
    return Held(
        verdict.invariant.id,
        verdict.invariant.clause,
        verdict.outcome,
        verdict.exercised,
        verdict.invariant.kind is Kind.SOMETIMES,
        tuple(stories),
    )


def story_of(
    config: ResolvedConfig, seed: int, metric: Metric, selection: Selection
) -> Sequence[str]:
    """What happened to the first transaction that is meant, event by event; nothing for a metric of whole runs."""
    if metric.level is Level.RUN:
        return []
    from endive.scenario.metrics import chosen_ids
    from endive.trace.text import text_lines

    is_about_attempts = metric.level is Level.ATTEMPTS
    statistics = run(config, seed, attempts=is_about_attempts, traced=True)
    ids = chosen_ids(statistics, metric, selection)
    if not ids or statistics.events is None:
        return ["no transaction of this kind was there to be measured"]
    # A look is told when its answer is in; whoever reads wants it where it happened.
    events = [event for event in statistics.events if event.txn_id == ids[0]]
    return list(text_lines(sorted(events, key=lambda event: event.t_ms)))
