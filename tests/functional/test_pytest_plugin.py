"""`pytest DIR` collects scenarios: a test each, words instead of tracebacks, and no file of anybody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scenario_files import EXACT, HEAD, SCRIPTED, expecting, written

ROOT = Path(__file__).resolve().parents[2]


def _pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    plugin = () if _is_installed() else ("-p", "endive.scenario.pytest_plugin")
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider",
            "-p", "no:xdist", *arguments, str(directory),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )  # fmt: skip


def _is_installed() -> bool:
    """Whether pytest finds the plugin by itself; naming it twice is a mistake."""
    from importlib.metadata import entry_points

    return any(each.name == "endive" for each in entry_points(group="pytest11"))


def test_scenarios_are_collected_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path, HEAD, SCRIPTED, EXACT, name="well.yaml")
    written(tmp_path, HEAD, SCRIPTED, EXACT, name="short.yml")
    written(tmp_path, "scenario:\n  name: default\n", name="molecule.yml")
    written(tmp_path, "on: push\njobs: {}\n", name="workflow.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"scenario: \xe9\n")
    done = _pytest(tmp_path, "--collect-only", "-q")
    collected = [line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line]
    assert sorted(collected) == ["short.yml::scenario", "well.yaml::scenario"]
    assert "2 tests collected" in done.stdout
    done = _pytest(tmp_path, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_failure_is_told_in_words(tmp_path: Path) -> None:
    line = "{metric: retries, named: overwrite, equals: 2}"
    path = written(tmp_path, HEAD, SCRIPTED, "judged_seeds: 0\n", expecting(line))
    done = _pytest(tmp_path)
    assert done.returncode == 1
    assert "fail: retries (mean) of 'overwrite': expected 2; seen 1 with seed 1" in done.stdout
    assert f"replay: endive verify {path} --seed 1" in done.stdout
    assert "scenario meeting" in done.stdout
    assert "Traceback" not in done.stdout
    assert "pytest_plugin.py" not in done.stdout


def test_open_question_is_no_pass(tmp_path: Path) -> None:
    line = "{metric: abort_time_ms, named: overwrite, above: 2}"
    written(tmp_path, HEAD, SCRIPTED, "judged_seeds: 0\n", expecting(line))
    done = _pytest(tmp_path)
    assert done.returncode == 1
    assert "unknown: abort_time_ms" in done.stdout


def test_bad_scenario_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, "sedes: 1\n", EXACT)
    done = _pytest(tmp_path)
    assert done.returncode == 1
    assert f"{path}:12:1: sedes: unknown key; did you mean 'seeds'?" in done.stdout
    assert "Traceback" not in done.stdout
