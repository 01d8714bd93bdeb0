"""Runs a configuration with a trace, asks the judge, and turns a failure into a file that anybody can run."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

import endive
from endive.config import build_simulation_config, resolve_config
from endive.experiment import trace_header
from endive.judge.engine import judge, judge_api, judge_pair
from endive.judge.model import Kind, Outcome, Verdict
from endive.judge.registry import by_id
from endive.simulation import Simulation
from endive.trace import Trace
from invariants.profiles import examples, rounds
from invariants.strategies import Config, seeds

FAILURES = Path(".hypothesis") / "failures"
BAD = (Outcome.FAIL, Outcome.ERROR)


def traced(config: Config, seed: int) -> Trace:
    """The trace of a run."""
    resolved = resolve_config(config)
    simulation = Simulation(replace(build_simulation_config(resolved, seed), records_trace=True))
    return Trace(trace_header(resolved, seed), tuple(simulation.run().events or ()))


def keep_failure(
    config: Config, seed: int, *pairs: str, other: Mapping[str, Any] | None = None
) -> str:
    """Write a failing example as a scenario; returns how to run and judge it again.

    Hypothesis tries the smallest example last, so that is the one that stays. Invariants of pairs are judged only where they
    are named; `other` is the second configuration of such a pair, where it is not the same.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "example").split(" ")[0].rsplit("/", 1)[-1]
    name = re.sub(r"[^A-Za-z0-9]+", "-", test.replace(".py", "")).strip("-")
    FAILURES.mkdir(parents=True, exist_ok=True)
    path = FAILURES / f"{name}.yaml"
    beside = path.with_suffix(f".{os.getpid()}")
    scenario: dict[str, Any] = {
        "scenario": f"The smallest example that fails {name}.",
        "sections": ["000 §8"],
        "config": config,
        "seeds": seed,
        "expect": [],
    }
    if pairs:
        scenario["invariants"] = list(pairs)
    if other is not None:
        # A variant may set whole tables; what the other one does not have is removed.
        gone = dict.fromkeys(set(config) - set(other))
        scenario["variants"] = {"one": {}, "other": {**gone, **other}}
    yaml = YAML(typ="safe", pure=True)
    yaml.sort_base_mapping_type_on_output = False
    yaml.default_flow_style = False
    with beside.open("w", encoding="utf-8") as file:
        yaml.dump(scenario, file)
    beside.replace(path)
    return f"Replay: endive verify {path}"


def expect(
    condition: bool,
    config: Config,
    seed: int,
    what: str,
    *pairs: str,
    other: Mapping[str, Any] | None = None,
) -> None:
    """Fail with the story and the way to see it again, unless the condition holds."""
    if not condition:
        raise AssertionError(f"{what}\n{keep_failure(config, seed, *pairs, other=other)}")


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
    # Two runs that a rule finds nothing to compare in prove nothing.
    bad = [verdict for verdict in wanted if verdict.outcome is not Outcome.PASS]
    what = "\n".join(stories(verdict) for verdict in bad)
    is_same = second.header.config == first.header.config
    expect(not bad, config, seed, what, *ids, other=None if is_same else second.header.config)


def hold_api(*ids: str) -> None:
    """The invariants hold for the interfaces of all modules that a run is made of."""
    rooms = (
        "catalog",
        "transaction",
        "storage",
        "workload",
        "conflict_detector",
        "simulation",
        "utils",
    )
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
    runs = 0

    @settings(max_examples=examples(count), suppress_health_check=list(HealthCheck))
    @given(config=configs, seed=seeds)
    def holds(config: Config, seed: int) -> None:
        nonlocal runs
        runs += 1
        exercised.update(hold(config, seed, *ids))
        if also is not None:
            also(config, seed)

    for _ in range(rounds()):
        holds()
        idle = [name for name in ids if not exercised[name]]
        if not idle:
            break
    sometimes = [name for name in idle if by_id(name).kind is Kind.SOMETIMES]
    assert not sometimes, f"never happened in {runs} runs: {', '.join(sometimes)}"
    assert not idle, f"never exercised in {runs} runs: {', '.join(idle)}"
