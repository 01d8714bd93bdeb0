"""A failing example becomes a scenario that can be verified as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from endive.config import resolve_config
from endive.judge.model import Outcome
from endive.scenario import running
from endive.scenario.deciding import Finding
from endive.scenario.reading import read_scenario
from endive.scenario.running import Held, perform
from endive.scenario.verifying import verify
from invariants.holding import expect, keep_failure, traced
from invariants.profiles import examples
from invariants.strategies import Config, configs, seeds

ROOT = Path(__file__).resolve().parent.parent
CONFIG = {
    "simulation": {"duration_ms": 200.0},
    "storage": {"provider": "instant"},
    "catalog": {"num_tables": 2},
    "transaction": {
        "runtime": {"distribution": "fixed", "value": 4.0},
        "inter_arrival": {"distribution": "fixed", "value": 1.0},
    },
}


def kept(config: Config, seed: int, *pairs: str, other: Config | None = None) -> Path:
    """The file of a failure."""
    command = keep_failure(config, seed, *pairs, other=other)
    return Path(command.removeprefix("Replay: endive verify "))


def test_the_message_tells_the_story_and_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expect(True, CONFIG, 7, "nothing to tell")
    with pytest.raises(AssertionError, match=r"T3 owed 1(?s:.*)Replay: endive verify .*\.yaml$"):
        expect(False, CONFIG, 7, "T3 owed 1")


def test_the_replay_command_runs_and_judges_the_kept_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = keep_failure(CONFIG, 7).removeprefix("Replay: ")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        command.replace("endive verify", f"{sys.executable} -m endive.main verify"),
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 run, at most 1 seed" in done.stdout


def test_the_kept_file_fails_as_long_as_the_judge_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    violated = Held("seq-adds-one", "8.1", Outcome.FAIL, 1, False, ("T3 owed 1",))
    monkeypatch.setattr(running, "judge", lambda _trace: [violated])
    monkeypatch.setattr(running, "_held", lambda verdict: verdict)
    report = verify(read_scenario(kept(CONFIG, 7)), lambda tasks: map(perform, tasks))
    (decision,) = report.decisions
    assert (decision.finding, decision.seed, decision.stories) == (Finding.FAIL, 7, ("T3 owed 1",))


def test_any_configuration_is_kept_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    @settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
    @given(config=configs(), seed=seeds)
    def is_the_same(config: Config, seed: int) -> None:
        scenario = read_scenario(kept(config, seed))
        assert scenario.settings("default") == resolve_config(config).values
        assert scenario.seeds.head(1) == (seed,)

    is_the_same()


def test_pair_is_kept_with_both_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = traced({**CONFIG, "storage": {"provider": "s3"}}, 7).header.config
    scenario = read_scenario(kept(CONFIG, 7, "streams-independent", other=dict(other)))
    assert scenario.invariants == ("streams-independent",)
    assert scenario.settings("one") == resolve_config(CONFIG).values
    assert scenario.settings("other") == other
