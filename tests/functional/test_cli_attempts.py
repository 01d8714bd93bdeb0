"""`endive run --attempts` (docs/MODEL.md, section 15): a row per commit attempt, which adds up to the results."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import endive
from endive.main import main
from endive.summary import COUNTERS

# Overwrites and appends that contend for two tables, with objects of metadata, restarts, waits and a sudden end.
CONFIG = """
[simulation]
duration_ms = 20000
seed = 7
[storage]
provider = "s3x"
[catalog]
num_tables = 2
table_metadata_inlined = false
[transaction]
cost_table = "iceberg-java"
retry = 3
runtime = { mean = 400, sigma = 0.5 }
inter_arrival = { scale = 200.0 }
real_conflict_probability = 0.3
on_validation_exception = "restart"
max_restarts = 2
retry_backoff = { enabled = true }
[transaction.operation_types]
fast_append = 0.5
merge_append = 0.2
validated_overwrite = 0.3
"""
PLAIN = CONFIG.replace('cost_table = "iceberg-java"\n', "")
LOG = PLAIN.replace("num_tables = 2\n", 'num_tables = 2\ntype = "append"\ncompaction_max_entries = 5\n').replace(
    "[transaction]\n",
    '[transaction]\nmanifest_list_mode = "append"\nmanifest_list_append = "offset"\nmanifest_list_seal_threshold = 200\n',
)  # fmt: skip
LABELLED = CONFIG + '[experiment]\nlabel = "base"\n'
COUNTS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
)
TIMES = (
    "catalog_read_ms",
    "start_io_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "rework_ms",
)
# The counters of the Append Simulation Design, by its names.
DOCUMENT_COUNTERS = {
    "append_physical_success", "append_logical_success", "append_logical_conflict", "append_physical_failure",
    "append_compactions_triggered", "append_compactions_completed",
    "manifest_append_physical_success", "manifest_append_physical_failure", "manifest_append_sealed_rewrite",
    "false_conflicts", "real_conflicts",
}  # fmt: skip


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "busy.toml"
    file.write_text(CONFIG)
    return file


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["run", "busy.toml", *arguments, "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    summary: dict[str, Any] = json.loads(printed.out)
    return summary


def rows(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


# -- where they go -------------------------------------------------------------------------------------------------


def test_attempts_are_written_beside_the_results_and_named_in_the_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = run_json(capsys, "--attempts")
    assert summary["attempts_path"] == "results.attempts.parquet"
    assert pq.read_table(summary["attempts_path"]).num_rows > summary["launched"]
    # The name follows that of the results.
    other = CONFIG.replace("seed = 7", 'seed = 7\noutput_path = "deep/er/mine.parquet"')
    Path("busy.toml").write_text(other)
    assert run_json(capsys, "--attempts")["attempts_path"] == "deep/er/mine.attempts.parquet"


def test_in_an_experiment_directory_every_seed_has_its_attempts(
    capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    config.write_text(LABELLED)
    code = main(["run", "busy.toml", "--seeds", "1..3", "--jobs", "2", "--attempts", "--json"])
    assert code == 0
    for line in capsys.readouterr().out.splitlines():
        summary = json.loads(line)
        results = Path(summary["results_path"])
        assert Path(summary["attempts_path"]) == results.with_name("attempts.parquet")
        ids = {row["txn_id"] for row in rows(summary["attempts_path"])}
        assert ids <= set(range(summary["launched"]))


def test_without_the_option_there_is_no_table_and_no_path(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "attempts_path" not in run_json(capsys)
    assert not list(Path.cwd().rglob("*attempts*"))


def test_a_full_disk_leaves_neither_attempts_nor_results() -> None:
    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    done = subprocess.run(
        [sys.executable, "-m", "endive.main", "run", "busy.toml", "--attempts", "--out", "out"],
        preexec_fn=small_files_only,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(endive.__file__).parents[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not list(Path("out").rglob("*.parquet*"))


# -- what they say -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CONFIG, PLAIN, LOG], ids=["iceberg-java", "spec-2.0", "log"])
def test_the_attempts_of_a_transaction_add_up_to_its_row(
    text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    summary = run_json(capsys, "--attempts")
    attempts: dict[int, list[dict[str, Any]]] = {}
    for row in rows(summary["attempts_path"]):
        attempts.setdefault(row["txn_id"], []).append(row)
    results = rows(summary["results_path"])
    # What the sums are tried on: restarts, waits, failures and transactions cut off.
    assert min(summary[name] for name in ("restarts", "total_retries", "in_flight")) > 0
    for result in results:
        mine = attempts.get(result["txn_id"], [])
        if not mine:
            # Cut off before its work was done, it has not come to an attempt.
            assert (result["status"], result["commit_latency"]) == ("in_flight", 0.0)
            continue
        assert [row["attempt"] for row in mine] == list(range(len(mine)))
        # A transaction cut off in the work of a restart has paid for a read that belongs to no attempt yet.
        last = mine[-1]
        if result["status"] == "in_flight" and last["outcome"] == "aborted":
            assert result["restarts"] == last["restart"] + 1
            continue
        for name in COUNTS:
            assert sum(row[name] for row in mine) == result[name]
        for name in TIMES:
            assert sum(row[name] for row in mine) == pytest.approx(result[name], abs=1e-6)
        calls = [row for row in mine if row["t_commit_call"] >= 0.0]
        assert max(0, len(calls) - 1) == result["n_retries"]
        assert {row["operation_type"] for row in mine} == {result["operation_type"]}
        wanted = {"committed": {"committed"}, "aborted": {"failed", "aborted"}, "in_flight": {"in_flight"}}  # fmt: skip
        assert last["outcome"] in wanted[result["status"]]
        assert max(row["restart"] for row in mine) == result["restarts"]
    assert set(attempts) <= {result["txn_id"] for result in results}


def test_recording_attempts_changes_no_result(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (CONFIG, PLAIN, LOG):
        config.write_text(text)
        plain = run_json(capsys, "--out", "plain")
        recorded = run_json(capsys, "--out", "recorded", "--attempts")
        assert plain["digest"] == recorded["digest"]
        assert plain["config_hash"] == recorded["config_hash"]
        for name in COUNTERS:
            assert plain[name] == recorded[name]


# -- finished runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CONFIG, LABELLED], ids=["file", "directory"])
def test_a_finished_run_without_attempts_is_done_again_when_they_are_asked_for(
    text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    assert not run_json(capsys)["skipped"]
    first = run_json(capsys, "--attempts")
    assert not first["skipped"]
    again = run_json(capsys, "--attempts")
    assert again == {**first, "skipped": True}
    # Who does not ask for them takes the run as it is.
    without = {name: value for name, value in again.items() if name != "attempts_path"}
    assert run_json(capsys) == without


@pytest.mark.parametrize("harm", ["gone", "cut off", "of another run"])
def test_attempts_that_are_not_those_of_the_results_are_made_again(
    harm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(run_json(capsys, "--seed", "8", "--attempts")["attempts_path"]).read_bytes()
    first = run_json(capsys, "--attempts")
    path = Path(first["attempts_path"])
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2] if harm == "cut off" else other)
    again = run_json(capsys, "--attempts")
    assert not again["skipped"]
    assert again["digest"] == first["digest"]
    assert rows(again["attempts_path"])[0]["txn_id"] == 0


def test_the_replay_line_asks_for_attempts_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "busy.toml", "--attempts"]) == 0
    assert "endive run busy.toml --seed 7 --attempts --force" in capsys.readouterr().out


# -- counters and rates --------------------------------------------------------------------------------------------


def test_every_counter_of_the_documents_is_in_the_summary_by_name(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(LOG)
    summary = run_json(capsys)
    assert set(COUNTERS) >= DOCUMENT_COUNTERS
    assert all(type(summary[name]) is int for name in COUNTERS)
    # This run has some of each, so none of them is a name without a count.
    assert {name for name in DOCUMENT_COUNTERS if summary[name] == 0} == set()
    judged = summary["append_logical_success"] + summary["append_logical_conflict"]
    assert summary["append_physical_success"] == judged
    assert summary["append_logical_success"] == summary["seq"]


def test_offered_and_achieved_rates_are_told_in_all_and_per_class(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = 'kind = "open"\ninter_arrival = {{ scale = {0} }}\n'
    classes = "".join(
        f'[[workload.class]]\nname = "{name}"\n{load.format(scale)}'
        for name, scale in (("hot", 100.0), ("cold", 900.0))
    )
    config.write_text(CONFIG.replace("inter_arrival = { scale = 200.0 }\n", "") + classes)
    summary = run_json(capsys)
    per_class = summary["classes"]
    assert sorted(per_class) == ["cold", "hot"]
    for rate, total, part in (
        ("offered_per_s", "launched", "count"),
        ("commits_per_s", "committed", "committed"),
    ):
        assert summary[rate] == summary[total] / 20.0
        assert all(each[rate] == each[part] / 20.0 for each in per_class.values())
        assert sum(each[rate] for each in per_class.values()) == pytest.approx(summary[rate])
    assert per_class["hot"]["offered_per_s"] > 4 * per_class["cold"]["offered_per_s"]


def test_the_report_for_people_shows_both_rates(capsys: pytest.CaptureFixture[str]) -> None:
    summary = run_json(capsys)
    assert main(["run", "busy.toml"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rate ")]
    words = line.split()
    assert words[2:4] == ["commits/s", "of"]
    assert words[5] == "offered/s,"
    assert float(words[1]) == pytest.approx(summary["commits_per_s"], rel=0.01)
    assert float(words[4]) == pytest.approx(summary["offered_per_s"], rel=0.01)
