"""A failing example becomes a file that can be run and judged as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from invariants.holding import expect, keep_failure

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


def test_the_message_tells_the_story_and_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expect(True, CONFIG, 7, "nothing to tell")
    with pytest.raises(
        AssertionError, match=r"T3 owed 1(?s:.*)Replay: endive run .*--seed 7 --trace"
    ):
        expect(False, CONFIG, 7, "T3 owed 1")


def test_the_replay_command_runs_and_judges_the_kept_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = keep_failure(CONFIG, 7).removeprefix("Replay: ")
    endive = f"{sys.executable} -m endive.main"
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        command.replace("endive run", f"{endive} run").replace("endive check", f"{endive} check"),
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
