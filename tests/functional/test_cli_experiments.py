"""Experiment directories: finished runs are kept, killed ones redone, versions not mixed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import endive
from endive.config import compute_experiment_hash, load_config
from endive.experiment import code_version
from endive.main import main

CONFIG = """
[simulation]
duration_ms = 20000
seed = 7
[experiment]
label = "base"
[storage]
provider = "s3x"
[transaction]
runtime = { mean = 400, sigma = 0.5 }
inter_arrival = { scale = 60.0 }
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(endive.__file__).parents[1])}

KILLED_HALFWAY = """
import os, signal
from endive.experiment import plan_experiment, prepare_directory, run_seed
def kill_halfway(progress):
    if progress.now_ms > progress.duration_ms / 2:
        os.kill(os.getpid(), signal.SIGKILL)
experiment = plan_experiment("base.toml")
prepare_directory(experiment)
run_seed(experiment, 7, on_progress=kill_halfway)
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "base.toml"
    file.write_text(CONFIG)
    return file


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["run", "base.toml", *arguments, "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    summary: dict[str, Any] = json.loads(printed.out)
    return summary


def experiment_directory() -> Path:
    return Path("experiments") / f"base-{compute_experiment_hash(load_config('base.toml'))}"


def test_a_label_asks_for_a_directory_with_config_version_and_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = run_json(capsys)
    directory = experiment_directory()
    assert summary["label"] == "base"
    assert summary["results_path"] == str(directory / "7" / "results.parquet")
    assert (directory / "version.txt").read_text().splitlines()[0] == code_version()
    again = load_config(directory / "cfg.toml")
    assert compute_experiment_hash(again) == summary["config_hash"]
    assert sorted(file.name for file in directory.iterdir()) == ["7", "cfg.toml", "version.txt"]
    assert not Path("results.parquet").exists()


def test_a_finished_run_is_skipped_and_tells_its_stored_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = run_json(capsys)
    written = Path(first["results_path"]).stat().st_mtime_ns
    second = run_json(capsys)
    assert second == {**first, "skipped": True}
    assert Path(first["results_path"]).stat().st_mtime_ns == written


def test_force_runs_a_finished_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    first = run_json(capsys)
    inode = Path(first["results_path"]).stat().st_ino
    second = run_json(capsys, "--force")
    assert not second["skipped"]
    assert second["digest"] == first["digest"]
    assert Path(first["results_path"]).stat().st_ino != inode


@pytest.mark.parametrize("content", [b"", b"PAR1 cut off", b"not a Parquet file at all"])
def test_a_file_that_is_no_whole_result_is_made_again(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run_json(capsys)
    Path(first["results_path"]).write_bytes(content)
    second = run_json(capsys)
    assert not second["skipped"]
    assert second["digest"] == first["digest"]


def test_the_result_of_another_config_under_the_same_name_is_not_taken_for_ours(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIG.replace('label = "base"', ""))
    first = run_json(capsys)
    config.write_text(CONFIG.replace('label = "base"', "").replace("60.0", "90.0"))
    second = run_json(capsys)
    assert first["results_path"] == second["results_path"] == "results.parquet"
    assert not second["skipped"]
    assert second["digest"] != first["digest"]
    assert run_json(capsys)["skipped"]


def test_a_killed_run_leaves_no_results_and_is_done_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    killed = subprocess.Popen([sys.executable, "-c", KILLED_HALFWAY], env=ENVIRONMENT)
    assert killed.wait() == -signal.SIGKILL
    directory = experiment_directory()
    assert (directory / "cfg.toml").exists()
    assert not list(directory.rglob("results.parquet"))
    # What a process killed while writing leaves: an unfinished file under another name.
    (directory / "7").mkdir()
    stale = directory / "7" / f".results.parquet.{killed.pid}.part"
    living = directory / "7" / f".results.parquet.{os.getppid()}.part"
    stale.write_bytes(b"PAR1")
    living.write_bytes(b"PAR1")
    summary = run_json(capsys)
    assert not summary["skipped"]
    assert not stale.exists()
    assert living.exists()


def test_a_full_disk_leaves_nothing_under_the_final_name() -> None:
    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    done = subprocess.run(
        [sys.executable, "-m", "endive.main", "run", "base.toml", "--json"],
        preexec_fn=small_files_only,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "endive: seed 7 failed; replay: endive run base.toml --seed 7" in done.stderr
    assert "File too large" in done.stderr
    assert list((experiment_directory() / "7").iterdir()) == []


def test_a_directory_of_another_version_is_refused_without_force(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = run_json(capsys)
    version_file = experiment_directory() / "version.txt"
    version_file.write_text("0123abc\n")
    assert main(["run", "base.toml", "--seed", "8"]) == 2
    message = capsys.readouterr().err
    for words in ("endive: ", "0123abc", code_version(), "--force"):
        assert words in message
    assert not (experiment_directory() / "8").exists()

    forced = run_json(capsys, "--force")
    assert forced["digest"] == first["digest"]
    assert version_file.read_text() == code_version() + "\n"


def test_out_chooses_the_place_and_the_config_stem_the_name(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIG.replace('label = "base"', ""))
    summary = run_json(capsys, "--out", "deep/er")
    directory = Path("deep/er") / f"base-{summary['config_hash']}"
    assert summary["results_path"] == str(directory / "7" / "results.parquet")
    assert summary["label"] is None
