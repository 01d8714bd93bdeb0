"""What `endive verify` refuses before anything runs, and how it ends when something goes wrong on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from scenario_files import EXACT, HEAD, RANDOM, SCRIPTED, expecting, written

from endive.main import main

# Latencies are drawn from the store, so a single run says nothing about their mean.
DRAWN = SCRIPTED.replace("catalog.read: 4, ", "")


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["verify", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize("option", ["--html", "--junit"])
def test_report_never_takes_the_place_of_a_scenario(
    tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, EXACT)
    before = path.read_text(encoding="utf-8")
    told = _refused(capsys, str(path), option, str(tmp_path / "." / path.name))
    assert "is a scenario; choose another place" in told
    assert path.read_text(encoding="utf-8") == before


def test_two_reports_need_two_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, EXACT)
    place = str(tmp_path / "report")
    assert "is the place of --junit" in _refused(
        capsys, str(path), "--junit", place, "--html", place
    )
    assert not os.path.lexists(place)


def test_place_that_cannot_be_written_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, EXACT)
    assert "--html: is a directory" in _refused(capsys, str(path), "--html", str(tmp_path))
    inside = str(path / "report.html")
    assert "is not a directory" in _refused(capsys, str(path), "--html", inside)


def test_scenario_that_checks_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, "judged_seeds: 0\nexpect: []\n")
    assert "nothing is expected, judged or kept" in _refused(capsys, str(path))


def test_mean_of_what_is_drawn_needs_several_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expectation = expecting("{metric: commit_latency_ms, below: 250}")
    path = written(tmp_path, HEAD, DRAWN, expectation)
    assert "one seed says nothing about a mean" in _refused(capsys, str(path))
    fixed = written(tmp_path, HEAD, SCRIPTED, expectation)
    assert main(["verify", str(fixed)]) == 0


@pytest.mark.parametrize(
    "line",
    [
        "{metric: commit_time_ms, at_most: 1000}",
        "{metric: latency_ms, aggregate: max, between: [0, 2000]}",
        "{metric: aborted, at_most: 1}",
        "{metric: count, between: [0, 1]}",
    ],
)
def test_what_no_run_could_exceed_is_refused(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, expecting(line))
    assert "this cannot fail" in _refused(capsys, str(path))


def test_one_file_by_two_names_runs_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, HEAD, SCRIPTED, EXACT)
    (tmp_path / "inner").mkdir()
    assert main(["verify", str(path), str(tmp_path / "inner" / ".." / path.name)]) == 0
    assert "1 selected, 1 run" in capsys.readouterr().out


def test_file_that_is_no_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert "is no regular file" in _refused(capsys, str(pipe))
    assert "holds no scenario" in _refused(capsys, str(tmp_path))


def test_story_is_about_a_transaction_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = SCRIPTED.replace("storage: {", "transaction: {retry: 0}\n  storage: {")
    # The rival of the same kind on the other table commits, and has the smaller number.
    other = "  - {at_ms: 0, operation: validated_overwrite, tables: [1], name: first}\n"
    crowd = crowd.replace("script:\n", f"script:\n{other}")
    path = written(tmp_path, HEAD, crowd, expecting("{metric: abort_time_ms, equals: 1}"))
    assert main(["verify", str(path)]) == 1
    story = capsys.readouterr().out
    assert " T1 " in story
    assert " T0 " not in story


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_parent_ends_at_once_and_takes_its_processes_along(
    tmp_path: Path, ending: signal.Signals
) -> None:
    for number in range(6):
        long = RANDOM.replace("150", "3000000")
        many = "seeds: {first: 40, limit: 40}\njudged_seeds: 0\n"
        expectation = expecting("{metric: success_rate, at_least: 0.5}")
        written(tmp_path, HEAD, long, many, expectation, name=f"{number}.yaml")
    command = [sys.executable, "-m", "endive.main", "verify", str(tmp_path), "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        parent = psutil.Process(process.pid)
        children: list[psutil.Process] = []
        # Two workers and whoever keeps track of them.
        while len(children) < 2:
            assert process.poll() is None
            children = parent.children(recursive=True)
            time.sleep(0.05)
        process.send_signal(ending)
        _out, told = process.communicate(timeout=60)
        gone, alive = psutil.wait_procs(children, timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert "Traceback" not in told
    assert len(gone) >= 2
    assert not alive
