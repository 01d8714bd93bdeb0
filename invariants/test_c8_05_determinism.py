"""§8.5: the same seed and configuration give the same run, here and in a fresh process, stream by stream."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation
from endive.trace.files import read_trace
from invariants.holding import expect, hold_api, hold_pair, traced
from invariants.profiles import examples
from invariants.strategies import Config, configs, seeds

pytestmark = pytest.mark.invariant(
    "same-seed-same-run", "fresh-process-same-run", "no-unseeded-randomness"
)


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(config=configs(), seed=seeds)
def test_the_same_seed_gives_the_same_run_event_by_event(config: Config, seed: int) -> None:
    first = traced(config, seed)
    # Whoever draws from the generators of the process would see them changed.
    random.seed(1)
    np.random.seed(1)
    again = traced(config, seed)
    hold_pair(config, seed, first, again, "same-seed-same-run")
    # And without asking the judge.
    expect(first.events == again.events, config, seed, "the second run went another way")


def test_no_module_draws_from_a_generator_without_a_seed() -> None:
    hold_api("no-unseeded-randomness")


def test_the_generators_of_the_process_are_never_touched() -> None:
    @settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
    @given(config=configs(), seed=seeds)
    def untouched(config: Config, seed: int) -> None:
        simulation = Simulation(build_simulation_config(resolve_config(config), seed))
        before = random.getstate(), str(np.random.get_state())
        simulation.run()
        after = random.getstate(), str(np.random.get_state())
        expect(before == after, config, seed, "a run drew from a generator that it was not given")

    untouched()


def test_a_fresh_process_with_another_hash_seed_gives_the_same_run(tmp_path: Path) -> None:
    found: list[tuple[Config, int, str]] = []

    @settings(max_examples=4, suppress_health_check=list(HealthCheck))
    @given(config=configs(), seed=seeds)
    def collect(config: Config, seed: int) -> None:
        digest = Simulation(build_simulation_config(resolve_config(config), seed)).run().digest()
        found.append((config, seed, digest))

    collect()
    for number, (config, seed, digest) in enumerate(found):
        path = tmp_path / f"{number}.toml"
        path.write_text(tomli_w.dumps(config))
        command = [sys.executable, "-m", "endive.main", "run", str(path), "--seed", str(seed)]
        done = subprocess.run(
            [*command, "--json", "--trace", "--out", str(tmp_path / f"out{number}")],
            capture_output=True,
            text=True,
            check=False,
            env={
                "PYTHONHASHSEED": str(number + 1),
                "PYTHONPATH": str(Path(__file__).parent.parent),
            },
        )
        assert done.returncode == 0, done.stderr
        (file,) = (tmp_path / f"out{number}").rglob("trace.parquet")
        elsewhere = read_trace(file)
        # The first event that differs says more than two digests.
        hold_pair(config, seed, traced(config, seed), elsewhere, "fresh-process-same-run")
        assert json.loads(done.stdout)["digest"] == digest
