"""The contestants: the shipped engine, the naive one of the test tree, and bare SimPy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import simpy

from benchmarks.cases import SEED, Config
from benchmarks.measure import ROOT
from endive.config import build_simulation_config, compute_experiment_hash, resolve_config
from endive.experiment import Experiment, code_version, run_seed
from endive.simulation import Simulation, Statistics

_TIMEOUTS_PER_UNIT = 1_000_000

Outcome = tuple[int, int]
"""How many transactions were launched and how many commits the catalog saw."""


def endive_run(config: Config, *, traced: bool = False) -> Callable[[], Outcome]:
    """A run of the shipped engine; reading the configuration is not part of it."""
    built = build_simulation_config(resolve_config(config), SEED)
    simulation = Simulation(replace(built, records_trace=traced))

    def run() -> Outcome:
        statistics: Statistics = simulation.run()
        return statistics.launched, statistics.seq

    return run


def endive_command(config: Config, place: Path, *, traced: bool) -> Callable[[], object]:
    """All that `endive run` does with one seed once the configuration is read, files included."""
    resolved = resolve_config(config)
    name = compute_experiment_hash(resolved)
    experiment = Experiment(
        resolved, name, code_version(), [SEED], place / str(traced), records_trace=traced
    )
    return lambda: run_seed(experiment, SEED, force=True)


def naive_run(config: Config) -> Callable[[], Outcome]:
    """A run of the naive engine."""
    run_naive = _naive().run_naive

    def run() -> Outcome:
        result = run_naive(config, SEED)
        return len(result.rows), result.seq

    return run


def bare_timeouts(scale: float = 1.0) -> Callable[[], None]:
    """One unit: a million timeouts of one SimPy process, the least that any use of SimPy costs."""

    def waits(env: simpy.Environment) -> Generator[simpy.Event, Any, None]:
        for _ in range(round(_TIMEOUTS_PER_UNIT * scale)):
            yield env.timeout(1)

    def run() -> None:
        env = simpy.Environment()
        env.process(waits(env))
        env.run()

    return run


def _naive() -> Any:
    # It belongs to the tests and is not installed; only here is it looked for.
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    return importlib.import_module("naive")
