"""`endive sweep` on this machine: results land whole, nothing is lost or done twice, and a run that fails sinks nothing else."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from sweep_files import BASE, SWEEP, leftovers, stored_digests, written

import endive
from endive.experiment import code_version
from endive.main import main
from endive.pool import usable_processors
from endive.sweep import read_sweep, run_sweep

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(endive.__file__).parents[1])}
# Long enough that a sweep of it can be caught in the middle.
LONGER = BASE.replace("20000", "60000").replace("scale = 100.0", "scale = 40.0")


def endive_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "endive.main", *arguments]


def started(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        endive_command(*arguments),
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sweep_json(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> dict[str, Any]:
    assert main(["sweep", *arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of the longer sweep when nobody interferes."""
    place = tmp_path_factory.mktemp("undisturbed")
    run_sweep(read_sweep(written(place, base=LONGER)), place / "out", jobs=1)
    return stored_digests(place / "out")


def test_results_of_every_cell_and_seed_land_with_an_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    document = sweep_json(capsys, str(written(tmp_path)), "--out", str(out), "--jobs", "2")

    told = {
        f"{cell['directory']}/{seed}": digest
        for cell in document["cells"]
        for seed, digest in cell["digests"].items()
    }
    assert stored_digests(out) == told
    assert len(set(told.values())) == 8
    assert (document["runs"], document["skipped"], document["failures"]) == (8, 0, [])
    assert leftovers(out) == []
    index = json.loads(Path(document["index"]).read_text())
    assert [axis["name"] for axis in index["axes"]] == [
        "transaction.inter_arrival.scale",
        "catalog.num_tables",
    ]
    assert index["version"] == code_version()
    for cell in index["cells"]:
        assert (out / cell["directory"] / "cfg.toml").is_file()
        assert cell["directory"] == f"load-{cell['config_hash']}"


def test_what_is_finished_is_skipped_and_what_is_missing_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (str(written(tmp_path)), "--out", str(tmp_path / "out"), "--jobs", "1")
    first = sweep_json(capsys, *arguments)
    lost = sorted((tmp_path / "out").glob("*/2/results.parquet"))
    lost[0].unlink()
    # A file that is there but is not whole is no result either.
    lost[1].write_bytes(lost[1].read_bytes()[:-100])
    lost[2].with_name("attempts.parquet").unlink()

    second = sweep_json(capsys, *arguments)

    assert second == {**first, "skipped": 5}
    assert sweep_json(capsys, *arguments, "--force")["skipped"] == 0


def test_sweeping_is_running_each_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    document = sweep_json(capsys, str(written(tmp_path)), "--out", str(out), "--jobs", "1")
    cell = document["cells"][2]
    config = str(out / cell["directory"] / "cfg.toml")

    assert main(["run", config, "--seed", "2", "--out", str(tmp_path / "again"), "--json"]) == 0

    summary = json.loads(capsys.readouterr().out)
    assert summary["digest"] == cell["digests"]["2"]
    assert Path(summary["results_path"]).parts[-3] == cell["directory"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_failing_run_sinks_nothing_else_and_is_replayed_as_printed(
    jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = (str(written(tmp_path)), "--out", str(out), "--jobs", jobs)
    cell = read_sweep(arguments[0]).cells[1]
    # A file stands where the directory of a seed should.
    (out / f"load-{cell.config_hash}").mkdir(parents=True)
    blocked = out / f"load-{cell.config_hash}" / "2"
    blocked.write_text("")

    assert main(["sweep", *arguments, "--json"]) == 1
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    (failure,) = document["failures"]
    assert failure["seed"] == 2
    assert failure["settings"] == dict(cell.settings)
    assert f"seed 2 of the cell {cell.name} failed: " in printed.err
    assert f"replay: {failure['replay']}" in printed.err
    assert len(stored_digests(out)) == 7

    blocked.unlink()
    words = shlex.split(failure["replay"])
    assert words[0] == "endive"
    assert main(words[1:]) == 0
    assert "endive:" not in capsys.readouterr().err
    assert sweep_json(capsys, *arguments)["skipped"] == 8


def test_bad_input_exits_2_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, SWEEP.replace("[1, 4]", "[0, 4]").replace("50.0", "-50.0"))
    before = sorted(tmp_path.rglob("*"))
    assert main(["sweep", str(file), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 2
    assert f"{file}:6: transaction.inter_arrival.scale" in printed.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "spark", "--jobs", "2"], "--jobs: is for --engine local"),
        (["--master", "local[2]"], "--master: is for --engine spark"),
        (["--conf", "a=b"], "--conf: is for --engine spark"),
        (["--engine", "spark", "--conf", "a"], "'a' is no setting; write it as KEY=VALUE"),
        (["--engine", "flink"], "invalid choice: 'flink'"),
    ],
)
def test_options_of_the_other_engine_are_refused(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["sweep", str(written(tmp_path)), "--out", str(out), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_results_of_another_version_are_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    for cell in read_sweep(file).cells[1:3]:
        (out / f"load-{cell.config_hash}").mkdir(parents=True)
        (out / f"load-{cell.config_hash}" / "version.txt").write_text("0123abc\n")
    assert main(["sweep", str(file), "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("were made by version 0123abc") == 2
    assert not list(out.rglob("*.parquet"))
    assert sweep_json(capsys, str(file), "--out", str(out), "--jobs", "1", "--force")["runs"] == 8


def test_people_see_cells_runs_and_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = str(written(tmp_path)), str(tmp_path / "out")
    assert main(["sweep", file, "--out", out, "--jobs", "1"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    for words in ("num_tables", "scale", "success", "4 cells × 2 seeds = 8 runs", out):
        assert words in told.out
    assert main(["sweep", file, "--out", out, "--jobs", "1"]) == 0
    assert "8 of them finished earlier" in capsys.readouterr().out


def test_traces_are_kept_where_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, f"trace = true\n{SWEEP}".replace("[50.0, 200.0]", "[400.0]"))
    out = tmp_path / "out"
    sweep_json(capsys, str(file), "--out", str(out), "--jobs", "1")
    traces = sorted(out.rglob("trace.parquet"))
    assert len(traces) == 4
    # A run without its trace is not what was asked for.
    traces[0].unlink()
    assert sweep_json(capsys, str(file), "--out", str(out), "--jobs", "1")["skipped"] == 3


def killed_after(moment_s: float, place: Path, *arguments: str) -> bool:
    """Start a sweep and kill it after so many seconds; False if it was through by then."""
    process = started(*arguments, cwd=place)
    try:
        process.wait(timeout=moment_s)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        return True
    finally:
        process.communicate()


def killed_once_it_has(results: int, place: Path, *arguments: str) -> None:
    """Start a sweep and kill it when so many of its runs have results."""
    process = started(*arguments, cwd=place)
    while len(list(place.glob("out/*/*/results.parquet"))) < results:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()


def check_goes_on(place: Path, undisturbed: dict[str, str], *arguments: str) -> None:
    """Whatever was killed has left nothing half-done, and starting again leaves what an undisturbed sweep leaves."""
    assert stored_digests(place / "out").items() <= undisturbed.items()

    done = started(*arguments, "--json", cwd=place)
    told, complaints = done.communicate()

    assert (done.returncode, complaints) == (0, "")
    assert json.loads(told)["failures"] == []
    assert stored_digests(place / "out") == undisturbed
    assert leftovers(place / "out") == []


def test_a_driver_that_is_killed_and_started_again_loses_nothing(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    written(tmp_path, base=LONGER)
    arguments = ("sweep", "sweep.toml", "--out", "out", "--jobs", "2")
    killed_once_it_has(3, tmp_path, *arguments)
    check_goes_on(tmp_path, undisturbed, *arguments)


@pytest.mark.slow
def test_a_driver_that_is_killed_at_many_moments_loses_nothing(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    written(tmp_path, base=LONGER)
    arguments = ("sweep", "sweep.toml", "--out", "out", "--jobs", "2")
    moments_s = np.random.RandomState(7).uniform(0.2, 5.0, size=20).tolist()
    caught = [killed_after(moment_s, tmp_path, *arguments) for moment_s in moments_s]
    assert any(caught)
    check_goes_on(tmp_path, undisturbed, *arguments)


def test_a_process_that_is_killed_takes_no_run_along(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    written(tmp_path, base=LONGER)
    sweep = started("sweep", "sweep.toml", "--out", "out", "--jobs", "2", "--json", cwd=tmp_path)
    out = tmp_path / "out"
    while not list(out.glob("*/1")):
        assert sweep.poll() is None
        time.sleep(0.01)
    workers = [
        child
        for child in psutil.Process(sweep.pid).children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]
    workers[0].send_signal(signal.SIGKILL)

    told, complaints = sweep.communicate()

    assert (sweep.returncode, complaints) == (0, "")
    assert json.loads(told)["failures"] == []
    assert stored_digests(out) == undisturbed
    assert leftovers(out) == []


def test_sweeps_into_one_directory_at_once_share_the_work(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    written(tmp_path, base=LONGER)
    arguments = ("sweep", "sweep.toml", "--out", "out", "--jobs", "1", "--json")
    both = [started(*arguments, cwd=tmp_path) for _ in range(2)]
    told = [process.communicate() for process in both]

    assert [process.returncode for process in both] == [0, 0], told
    documents = [json.loads(out) for out, _ in told]
    assert documents[0]["cells"] == documents[1]["cells"]
    # Every run was made by one of them and found by the other.
    assert sum(document["runs"] - document["skipped"] for document in documents) == 8
    assert stored_digests(tmp_path / "out") == undisturbed
    assert leftovers(tmp_path / "out") == []


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    written(tmp_path, base=LONGER.replace("60000", "1e12"))
    sweep = started("sweep", "sweep.toml", "--out", "out", "--jobs", "2", cwd=tmp_path)
    while not list(tmp_path.glob("out/*/version.txt")):
        assert sweep.poll() is None
        time.sleep(0.01)
    sweep.send_signal(signal.SIGINT)
    _, complaints = sweep.communicate()
    assert sweep.returncode == 130
    assert complaints.startswith("endive: interrupted; finished runs are kept")
    assert not list(tmp_path.rglob("*.parquet"))


def test_progress_counts_every_run_once(tmp_path: Path) -> None:
    told: list[int] = []
    result = run_sweep(read_sweep(written(tmp_path)), tmp_path / "out", jobs=1, on_done=told.append)
    assert told == list(range(1, 9))
    assert [outcome.seed for outcome in result.of_cell(3)] == [1, 2]
    assert usable_processors() >= 1
