"""Bad usage, input and places: exit code, message, nothing written. Start-up stays light."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import endive
from endive.main import main

CONFIG = '[simulation]\nduration_ms = 1000\nseed = 7\n[storage]\nprovider = "instant"\n'
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(endive.__file__).parents[1])}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.toml"
    file.write_text(CONFIG)
    return file


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required"),
        (["fly"], "invalid choice: 'fly'"),
        (["run"], "CONFIG.toml"),
        (["run", "small.toml", "--sed", "1"], "--sed"),
        (["run", "small.toml", "--seed", "-1"], "--seed"),
        (["run", "small.toml", "--seed", "1.5"], "'1.5' is not a whole number"),
        (["run", "small.toml", "--seed", "1", "--seeds", "1..2"], "not allowed with"),
        (["run", "small.toml", "--seeds", "5"], "write it as 1..20"),
        (["run", "small.toml", "--seeds", "5..3"], "did you mean 3..5?"),
        (["run", "small.toml", "--seeds", "1..-3"], "'-3' is not a whole number"),
        (["run", "small.toml", "--jobs", "0"], "at least 1 job"),
        (["run", "missing.toml"], "missing.toml"),
        (["run", "small.toml", "--out", "small.toml"], "is not a directory"),
        (["providers", "s33"], "did you mean 's3'?"),
    ],
)
def test_bad_usage_exits_2_says_why_and_writes_nothing(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]


def test_every_problem_of_a_bad_config_is_told_and_nothing_is_written(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text('[simulation]\nduration_ms = -5\n[storage]\nprovider = "s4"\n')
    assert main(["run", "small.toml", "--out", "out"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("endive: small.toml:") for line in lines)
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]


def test_output_path_that_is_a_directory_is_bad_input(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIG.replace("seed = 7", 'output_path = "."'))
    assert main(["run", "small.toml"]) == 2
    assert "simulation.output_path: '.' is a directory" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_without_permission_exits_1_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert main(["run", "small.toml", "--out", str(locked / "out")]) == 1
    assert "no permission to write" in capsys.readouterr().err
    assert list(locked.iterdir()) == []


def test_a_place_where_nothing_can_be_made_exits_1_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Not even root can make a directory here.
    assert main(["run", "small.toml", "--out", "/proc/endive"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("endive: ")
    assert "/proc/endive" in error


@pytest.mark.parametrize("verb", ["run", "sweep", "providers", "doctor"])
def test_help_of_every_verb_shows_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"examples:\n  endive {verb}" in capsys.readouterr().out


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"endive {endive.__version__}\n"


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "{'numpy', 'pandas', 'pyarrow', 'simpy', 'rich', 'jsonschema'}"
    done = python(f"import sys, endive.main; print(sorted({heavy} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_a_run_with_json_needs_no_terminal_library() -> None:
    done = python(
        "import sys; from endive.main import main; main(['run', 'small.toml', '--json']);"
        "print('rich' in sys.modules)"
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "endive.main", "run", "small.toml", "--seeds", "1..3", "--json"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    run.stdout.close()
    assert run.stderr is not None
    with run.stderr:
        assert run.stderr.read() == ""
    assert run.wait() == 1


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_exits_130_and_leaves_no_results(
    config: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    # The run would take days; it has begun once its directory is complete.
    config.write_text(CONFIG.replace("1000", "1e12"))
    run = subprocess.Popen(
        [sys.executable, "-m", "endive.main", "run", "small.toml", "--out", "out"],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.glob("out/*/version.txt")):
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(ending)
    _, error = run.communicate()
    assert run.returncode == 130
    assert error.startswith("endive: interrupted")
    assert not list(tmp_path.rglob("*.parquet"))
