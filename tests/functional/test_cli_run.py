"""`endive run`: what it prints agrees with what it writes, for one seed and for many."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from endive.main import main

CONFIG = """
[simulation]
duration_ms = 20000
seed = 7
[storage]
provider = "s3x"
[catalog]
num_tables = 2
[transaction]
retry = 3
runtime = { mean = 400, sigma = 0.5 }
inter_arrival = { scale = 60.0 }
real_conflict_probability = 0.5
[transaction.operation_types]
fast_append = 0.5
merge_append = 0.3
validated_overwrite = 0.2
"""
WITHOUT_SEED = CONFIG.replace("seed = 7", "")
REQUIRED_KEYS = {
    "seed",
    "config_hash",
    "duration_ms",
    "launched",
    "committed",
    "aborted",
    "in_flight",
    "seq",
    "total_retries",
    "validation_exceptions",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "commits_per_s",
    "success_rate",
    "censored_share",
    "offered_per_s",
    "cpu_s",
    "peak_rss_mib",
    "results_path",
    "digest",
    "label",
    "skipped",
    "version",
    "operations",
}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.toml"
    file.write_text(CONFIG)
    return file


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    code = main(["run", *arguments, "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return [json.loads(line, parse_constant=pytest.fail) for line in printed.out.splitlines()]


def test_json_is_one_line_with_all_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    (summary,) = run_json(capsys, "small.toml")
    assert summary.keys() >= REQUIRED_KEYS
    assert (summary["seed"], summary["skipped"], summary["label"]) == (7, False, None)
    assert summary["results_path"] == "results.parquet"


def test_counters_are_the_sums_of_the_parquet_columns(capsys: pytest.CaptureFixture[str]) -> None:
    (summary,) = run_json(capsys, "small.toml")
    table = pq.read_table(summary["results_path"])
    status = table["status"].to_pylist()
    assert summary["launched"] == table.num_rows > 0
    for word in ("committed", "aborted", "in_flight"):
        assert summary[word] == status.count(word)
    for column in (
        "manifest_list_reads",
        "manifest_list_writes",
        "manifest_file_reads",
        "manifest_file_writes",
        "historical_ml_reads",
        "manifest_list_appends",
    ):
        assert summary[column] == pc.sum(table[column]).as_py()
    assert summary["total_retries"] == pc.sum(table["n_retries"]).as_py() > 0
    reasons = table["abort_reason"].to_pylist()
    assert summary["validation_exceptions"] == reasons.count("validation_exception") > 0
    assert summary["commits_per_s"] == pytest.approx(summary["committed"] / 20.0)
    assert summary["offered_per_s"] == pytest.approx(summary["launched"] / 20.0)
    finished = summary["committed"] + summary["aborted"]
    assert summary["success_rate"] == pytest.approx(summary["committed"] / finished)
    assert summary["censored_share"] == pytest.approx(summary["in_flight"] / summary["launched"])


def test_operations_add_up_to_the_totals(capsys: pytest.CaptureFixture[str]) -> None:
    (summary,) = run_json(capsys, "small.toml")
    operations = summary["operations"]
    assert list(operations) == ["fast_append", "merge_append", "validated_overwrite"]
    for total, part in (("launched", "count"), ("committed",) * 2, ("aborted",) * 2):
        assert summary[total] == sum(operation[part] for operation in operations.values())
    for operation in operations.values():
        assert math.fsum(operation["time_share"].values()) == pytest.approx(1.0)
        quantiles = operation["latency_ms"]
        assert quantiles["p50"] <= quantiles["p95"] <= quantiles["p99"]
    assert operations["fast_append"]["time_share"]["conflict_io"] == 0.0


def test_a_run_in_which_nothing_arrives_has_nulls_and_no_nan(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(
        '[simulation]\nduration_ms = 10\n[storage]\nprovider = "s3"\n'
        '[transaction]\ninter_arrival = { distribution = "fixed", value = 1000.0 }\n'
    )
    (summary,) = run_json(capsys, "small.toml")
    assert summary["launched"] == 0
    assert summary["success_rate"] is None
    assert summary["censored_share"] is None
    assert summary["operations"] == {}
    assert main(["run", "small.toml"]) == 0
    assert "No transaction arrived" in capsys.readouterr().out


def test_a_seed_that_was_drawn_is_printed_and_replays(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(WITHOUT_SEED)
    (drawn,) = run_json(capsys, "small.toml")
    (again,) = run_json(capsys, "small.toml", "--seed", str(drawn["seed"]), "--force")
    assert not again["skipped"]
    assert again["digest"] == drawn["digest"]


def test_seed_on_the_command_line_wins(capsys: pytest.CaptureFixture[str]) -> None:
    (seven,) = run_json(capsys, "small.toml")
    (eight,) = run_json(capsys, "small.toml", "--seed", "8")
    assert eight["seed"] == 8
    assert eight["digest"] != seven["digest"]
    assert eight["config_hash"] == seven["config_hash"]


def test_parallel_seeds_equal_single_runs_and_come_in_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    together = run_json(capsys, "small.toml", "--seeds", "3..6", "--jobs", "2")
    assert [summary["seed"] for summary in together] == [3, 4, 5, 6]
    for summary in together:
        directory = f"small-{summary['config_hash']}"
        expected = Path("experiments", directory, str(summary["seed"]), "results.parquet")
        assert summary["results_path"] == str(expected)
        (single,) = run_json(capsys, "small.toml", "--seed", str(summary["seed"]))
        assert single["digest"] == summary["digest"]


def test_one_failing_seed_does_not_sink_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (first,) = run_json(capsys, "small.toml", "--seed", "1", "--out", "out")
    # A file stands where the directory of seed 2 should be.
    experiment = Path(first["results_path"]).parents[1]
    (experiment / "2").write_text("in the way")
    for jobs in ("1", "2"):
        code = main(
            ["run", "small.toml", "--seeds", "1..3", "--jobs", jobs, "--out", "out", "--json"]
        )
        printed = capsys.readouterr()
        assert code == 1
        assert [json.loads(line)["seed"] for line in printed.out.splitlines()] == [1, 3]
        assert "endive: seed 2 failed: " in printed.err
        assert "replay: endive run small.toml --seed 2 --out out" in printed.err


def test_human_report_names_operations_results_digest_and_replay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "small.toml"]) == 0
    report = capsys.readouterr().out
    (summary,) = run_json(capsys, "small.toml")
    for words in (
        "s3x, one pointer",
        "seed 7",
        "20 s simulated",
        "validated overwrite",
        "where time went",
        "results.parquet",
        summary["digest"][:12],
        "endive run small.toml --seed 7 --force",
    ):
        assert words in report
    assert max(len(line.rstrip()) for line in report.splitlines()) <= 80


def test_human_report_of_several_seeds_has_a_line_each_and_a_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "small.toml", "--seeds", "1..3"]) == 0
    report = capsys.readouterr().out
    assert "seeds 1..3" in report
    assert "3 runs: mean" in report
    assert [line.split()[0] for line in report.splitlines()[3:6]] == ["1", "2", "3"]
