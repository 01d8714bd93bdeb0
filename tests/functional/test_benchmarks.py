"""The benchmarks: their verdicts on made-up figures, and one real measurement from end to end. No timing is judged here."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import cases
from benchmarks.__main__ import BENCHMARKS, Benchmark, main
from benchmarks.engines import endive_run, naive_run
from benchmarks.measure import Contender, Options, best_in_turns, in_child
from benchmarks.parquet import measure_speed
from benchmarks.simulations import DisagreementError
from benchmarks.verdict import Row, Sense, Target, exit_code

ROOT = Path(__file__).resolve().parents[2]
ROW_FIELDS = {
    "benchmark",
    "measure",
    "value",
    "unit",
    "sense",
    "target",
    "aim",
    "verdict",
    "figures",
}


def made_up(value: float, *, full_size: bool = True) -> Row:
    return Row("made-up", "speed", value, "×", Target("≥", 15.0, aim=30.0), full_size)


@pytest.mark.parametrize(
    ("sense", "bound", "value", "verdict"),
    [
        ("≥", 15.0, 15.0, "held"),
        ("≥", 15.0, 14.99, "missed"),
        ("≤", 0.9, 0.9, "held"),
        ("≤", 0.9, 0.91, "missed"),
        ("<", 0.5, 0.49, "held"),
        ("<", 0.5, 0.5, "missed"),
        ("≥", 15.0, math.nan, "missed"),
        ("<", 15.0, math.nan, "missed"),
    ],
)
def test_a_target_is_held_or_missed(sense: Sense, bound: float, value: float, verdict: str) -> None:
    assert Row("made-up", "speed", value, "×", Target(sense, bound)).verdict == verdict


def test_one_missed_target_among_many_gives_exit_1() -> None:
    assert exit_code([made_up(20.0), made_up(40.0)]) == 0
    assert exit_code([made_up(20.0), made_up(10.0), made_up(40.0)]) == 1


def test_the_aim_has_no_consequence() -> None:
    assert exit_code([made_up(16.0)]) == 0


def test_what_was_cut_down_is_not_judged() -> None:
    row = made_up(1.0, full_size=False)
    assert row.verdict == "not judged"
    assert exit_code([row]) == 0


@pytest.mark.parametrize(("value", "code", "verdict"), [(20.0, 0, "held"), (10.0, 1, "missed")])
def test_the_command_exits_with_the_verdict_and_shows_it(
    value: float, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmarks = {"made-up": lambda _: [made_up(value)]}
    assert main([], benchmarks=benchmarks) == code
    table = capsys.readouterr().out
    assert verdict in table
    assert "≥ 15 (aim 30)" in table
    assert main(["--json"], benchmarks=benchmarks) == code
    document = json.loads(capsys.readouterr().out)
    assert document["all_held"] is (code == 0)
    assert [row["verdict"] for row in document["rows"]] == [verdict]


def test_only_what_is_asked_for_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[str, Options]] = []

    def noting(name: str) -> Benchmark:
        def benchmark(options: Options) -> list[Row]:
            asked.append((name, options))
            return [made_up(20.0)]

        return benchmark

    benchmarks = {name: noting(name) for name in ("a", "b", "c")}
    assert main(["--only", "c", "a", "--repeat", "3"], benchmarks=benchmarks) == 0
    assert asked == [("a", Options(3)), ("c", Options(3))]
    asked.clear()
    assert main(["--quick"], benchmarks=benchmarks) == 0
    assert asked == [(name, Options(1, quick=True)) for name in ("a", "b", "c")]
    capsys.readouterr()


@pytest.mark.parametrize("arguments", [["--only", "flight"], ["--repeat", "0"], ["--repeat", "x"]])
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_engines_that_disagree_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    def disagree(_: Options) -> list[Row]:
        raise DisagreementError("launched 3 and 4")

    assert main(["--json"], benchmarks={"made-up": disagree}) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "made-up: launched 3 and 4" in printed.err


def test_contenders_take_turns_as_often_as_they_take_part() -> None:
    turns: list[str] = []
    best_s = best_in_turns(
        {
            "fast": Contender(lambda: turns.append("fast"), 3),
            "slow": Contender(lambda: turns.append("slow"), 1),
        }
    )
    assert turns == ["fast", "slow", "fast", "fast"]
    assert all(0.0 <= seconds < math.inf for seconds in best_s.values())


def test_a_tiny_benchmark_from_the_command_line_is_one_json_object() -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "tiny", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    assert done.stderr == ""
    assert done.returncode == (0 if document["all_held"] else 1)
    assert document["quick"] is True
    assert document["repeat"] == 1
    (row,) = document["rows"]
    assert set(row) == ROW_FIELDS
    assert row["benchmark"] == "tiny"
    assert row["value"] == row["figures"]["best_s"] > 0.0
    assert (row["sense"], row["target"], row["unit"]) == ("<", 1.5, "s")


def test_the_large_catalog_is_measured_in_a_process_of_its_own() -> None:
    config = {"simulation": {"duration_ms": 1000.0}, "storage": {"provider": "instant"}}
    figures = in_child("simulate", {"config": config})
    assert set(figures) == {"cpu_s", "peak_rss_mib"}
    assert figures["peak_rss_mib"] > 1.0


def test_both_ways_of_writing_rows_yield_the_same_table() -> None:
    # The measurement itself refuses to compare files that differ.
    assert set(measure_speed(25_000, repeat=1)) == {"endive_s", "dataclasses_s"}


@pytest.mark.parametrize("name", ["spec_example", "fast_append_hour", "contention"])
def test_both_engines_do_the_same_work_in_what_is_compared(name: str) -> None:
    config = getattr(cases, name)(0.02)
    assert endive_run(config)() == naive_run(config)()


def test_the_names_of_the_benchmarks_are_told_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert ", ".join(BENCHMARKS) in told
    assert set(BENCHMARKS) >= {
        "spec",
        "fast-hour",
        "contention",
        "large",
        "help",
        "tiny",
        "parquet",
    }
