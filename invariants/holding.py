"""Runs a configuration with a trace, asks the judge, and turns a failure into a file that anybody can run."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import endive
from endive.config import build_simulation_config, resolve_config
from endive.experiment import trace_header
from endive.judge.engine import judge, judge_api, judge_pair
from endive.judge.model import Kind, Outcome, Verdict
from endive.judge.registry import by_id
from endive.simulation import Simulation
from endive.trace import Trace
from invariants.profiles import examples
from invariants.strategies import Config, seeds

FAILURES = Path(".hypothesis") / "failures"
BAD = (Outcome.FAIL, Outcome.ERROR)


def traced(config: Config, seed: int) -> Trace:
    """The trace of a run."""
    resolved = resolve_config(config)
    simulation = Simulation(replace(build_simulation_config(resolved, seed), records_trace=True))
    return Trace(trace_header(resolved, seed), tuple(simulation.run().events or ()))


def keep_failure(config: Config, seed: int) -> str:
    """Write a failing example as a file; returns how to run and judge it again.

    Hypothesis tries the smallest example last, so that is the one that stays.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "example").split(" ")[0].rsplit("/", 1)[-1]
    name = re.sub(r"[^A-Za-z0-9]+", "-", test.replace(".py", "")).strip("-")
    FAILURES.mkdir(parents=True, exist_ok=True)
    path = FAILURES / f"{name}.toml"
    out = FAILURES / name
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(tomli_w.dumps(config))
    beside.replace(path)
    return (
        f"Replay: endive run {path} --seed {seed} --trace --force --out {out}"
        f" && endive check {out}/*/{seed}/trace.parquet"
    )


def expect(condition: bool, config: Config, seed: int, what: str) -> None:
    """Fail with the story and the way to see it again, unless the condition holds."""
    if not condition:
        raise AssertionError(f"{what}\n{keep_failure(config, seed)}")


def stories(verdict: Verdict) -> str:
    """What a verdict says, in full."""
    lines = [verdict.detail] if verdict.detail else []
    lines += [violation.story for violation in verdict.violations]
    return f"{verdict.invariant.id} ({verdict.invariant.clause}): {verdict.outcome.value}\n" + "\n".join(lines)  # fmt: skip


def hold(config: Config, seed: int, *ids: str) -> Counter[str]:
    """The invariants hold in this run; says how often each had something to look at."""
    verdicts = {v.invariant.id: v for v in judge(traced(config, seed))}
    wanted = [verdicts[by_id(name).id] for name in ids]
    bad = [verdict for verdict in wanted if verdict.outcome in BAD]
    expect(not bad, config, seed, "\n".join(stories(verdict) for verdict in bad))
    return Counter({verdict.invariant.id: verdict.exercised for verdict in wanted})


def hold_pair(config: Config, seed: int, first: Trace, second: Trace, *ids: str) -> None:
    """The invariants hold for a pair of runs of this configuration."""
    wanted = [v for v in judge_pair(first, second) if v.invariant.id in ids]
    assert len(wanted) == len(ids), f"not all of {ids} are judged on pairs"
    bad = [verdict for verdict in wanted if verdict.outcome in BAD]
    expect(not bad, config, seed, "\n".join(stories(verdict) for verdict in bad))


def hold_api(*ids: str) -> None:
    """The invariants hold for the interfaces of all modules that a run is made of."""
    rooms = ("catalog", "transaction", "storage", "workload", "conflict_detector", "simulation")
    modules = {
        info.name: importlib.import_module(info.name)
        for info in pkgutil.walk_packages(endive.__path__, "endive.")
        if info.name.split(".")[1] in rooms
    }
    wanted = {v.invariant.id: v for v in judge_api(modules)}
    for name in ids:
        assert wanted[name].outcome is Outcome.PASS, stories(wanted[name])


def hold_over(
    configs: st.SearchStrategy[Config],
    *ids: str,
    count: int = 40,
    also: Callable[[Config, int], None] | None = None,
) -> None:
    """The invariants hold in every run of a corpus, and over all of it each had something to look at.

    For what must happen sometimes, that is the whole point; for what holds always, a pass that was never exercised is not one.
    """
    exercised: Counter[str] = Counter()

    @settings(max_examples=examples(count), suppress_health_check=list(HealthCheck))
    @given(config=configs, seed=seeds)
    def holds(config: Config, seed: int) -> None:
        exercised.update(hold(config, seed, *ids))
        if also is not None:
            also(config, seed)

    holds()
    idle = [name for name in ids if not exercised[name]]
    sometimes = [name for name in idle if by_id(name).kind is Kind.SOMETIMES]
    assert not sometimes, f"never happened in {count} runs: {', '.join(sometimes)}"
    assert not idle, f"never exercised in {count} runs: {', '.join(idle)}"
