"""Sweeps and judging on a local Spark: what comes out is what the local engine brings, and what fails is told in words."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from sweep_files import SWEEP, leftovers, stored_digests, written

from endive.experiment import SUMMARY_KEY, code_version
from endive.main import main
from endive.spark import SparkUnavailableError, TaskLost, on_workers
from endive.spark.shipping import ship
from endive.sweep import read_sweep, run_sweep
from endive.trace import CommitApplied
from endive.trace.files import read_trace, write_parquet
from endive.utils import get_git_sha

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_both_engines_give_the_same_digests_and_file_them_alike(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ("sweep", str(written(tmp_path)), "--out")
    here = run_json(capsys, *sweep, str(tmp_path / "here"), "--jobs", "1")
    there = run_json(capsys, *sweep, str(tmp_path / "there"), "--engine", "spark")

    assert there["cells"] == here["cells"]
    assert stored_digests(tmp_path / "there") == stored_digests(tmp_path / "here")
    names = [
        sorted(str(file.relative_to(out)) for file in out.rglob("*") if file.is_file())
        for out in (tmp_path / "here", tmp_path / "there")
    ]
    assert names[0] == names[1]
    # Who looks later cannot tell by which engine a run was made.
    assert run_json(capsys, *sweep, str(tmp_path / "there"), "--jobs", "1")["skipped"] == 8


def test_what_is_missing_is_done_and_the_version_is_that_of_this_code(
    spark: SparkSession, tmp_path: Path
) -> None:
    sweep = read_sweep(written(tmp_path, f"trace = true\n{SWEEP}".replace("1..2", "1..1")))
    out = tmp_path / "out"
    first = run_sweep(sweep, out, jobs=1)
    lost = sorted(out.rglob("results.parquet"))[:3]
    for file in lost:
        file.unlink()
    told: list[int] = []

    second = run_sweep(sweep, out, engine="spark", on_done=told.append)

    assert (second.digests(), second.num_skipped) == (first.digests(), 1)
    assert told == sorted(set(told))
    assert told[-1] == 4
    assert leftovers(out) == []
    for file in lost:
        summary = json.loads(pq.read_schema(file).metadata[SUMMARY_KEY.encode()])
        assert summary["version"] == code_version()
        versions = read_trace(file.with_name("trace.parquet")).header.versions
        assert versions["git"] == get_git_sha()


def test_a_run_that_cannot_be_filed_is_a_failing_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    cell = out / f"load-{read_sweep(file).cells[2].config_hash}"
    cell.mkdir(parents=True)
    (cell / "1").write_text("")

    arguments = ["sweep", str(file), "--out", str(out), "--engine", "spark", "--json"]
    assert main(arguments) == 1

    printed = capsys.readouterr()
    (failure,) = json.loads(printed.out)["failures"]
    assert f"replay: {failure['replay']}" in printed.err
    assert "Traceback" not in printed.err
    assert len(stored_digests(out)) == 7


def test_workers_run_the_code_that_was_sent(spark: SparkSession) -> None:
    folder = ship(spark)
    ask = "__import__('sys').modules['endive'].__file__"
    # Loaded by the first task of a worker, and then there for all that follow.
    list(on_workers(spark, "endive.sweep.tasks:in_words", [ValueError("x")] * 8))

    found = [result for _, result in on_workers(spark, "builtins:eval", [ask] * 8)]

    assert any(isinstance(file, str) and f"/{folder}/endive/__init__.py" in file for file in found)
    assert not any(isinstance(file, str) and folder not in file for file in found)


def test_a_task_that_fails_or_whose_process_dies_takes_no_other_along(spark: SparkSession) -> None:
    tasks = ["1 + 1", "[][3]", "__import__('os')._exit(1)", "'x' * 20_000_000", "2 + 2"]

    found = dict(on_workers(spark, "builtins:eval", tasks))

    assert (found["1 + 1"], found["2 + 2"]) == (2, 4)
    # Larger than one part.
    assert found["'x' * 20_000_000"] == "x" * 20_000_000
    assert found["[][3]"] == TaskLost("IndexError: list index out of range")
    died = found["__import__('os')._exit(1)"]
    assert isinstance(died, TaskLost)
    assert "Python worker exited unexpectedly" in died.message
    assert "\n" not in died.message


def test_workers_that_lack_a_package_are_told_once_and_in_words(spark: SparkSession) -> None:
    with pytest.raises(SparkUnavailableError, match="a worker cannot run Endive: No module named"):
        list(on_workers(spark, "endive.nowhere:function", [1, 2, 3]))


def test_a_caller_that_leaves_early_leaves_nothing_running(spark: SparkSession) -> None:
    # The first jobs are short. By the time they are through, a long one has the slots.
    results = on_workers(spark, "time:sleep", [0.0] * 6 + [300.0] * 20)
    assert [task for task, _ in itertools.islice(results, 6)] == [0.0] * 6
    results.close()
    # The slots are free again.
    assert [result for _, result in on_workers(spark, "builtins:eval", ["1"] * 4)] == [1] * 4


def test_workers_of_another_python_are_refused_in_words(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")
    with pytest.raises(SparkUnavailableError, match="workers run another Python"):
        list(on_workers(spark, "endive.sweep.tasks:in_words", [ValueError("x")]))


def test_judging_on_spark_says_what_judging_here_says(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, f"trace = true\n{SWEEP}".replace("1..2", "1..1"))
    out = tmp_path / "out"
    run_sweep(read_sweep(file), out, jobs=1)
    # One that is violated, among the others.
    spoiled = sorted(out.rglob("trace.parquet"))[1]
    trace = read_trace(spoiled)
    events = list(trace.events)
    at = next(i for i, event in enumerate(events) if isinstance(event, CommitApplied))
    events[at] = events[at]._replace(seq_after=99)
    write_parquet(trace._replace(events=tuple(events)), spoiled)

    here = run_json(capsys, "check", str(out), "--jobs", "2", code=1)
    there = run_json(capsys, "check", str(out), "--engine", "spark", code=1)

    assert there == here
    assert len(here["traces"]) == 4
    failed = [
        trace["path"]
        for trace in here["traces"]
        if any(verdict["outcome"] == "fail" for verdict in trace["verdicts"])
    ]
    assert failed == [str(spoiled)]


def test_a_file_that_is_no_trace_is_told_by_its_own_path(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.trace.parquet"
    bad.write_bytes(b"PAR1")
    gone = tmp_path / "gone.parquet"
    assert main(["check", str(bad), str(gone), "--engine", "spark"]) == 2
    here = capsys.readouterr()
    assert main(["check", str(bad), str(gone)]) == 2
    assert capsys.readouterr() == here
    assert here.out == ""
    assert str(bad) in here.err
    assert str(gone) in here.err
