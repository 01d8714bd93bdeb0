"""`endive run --trace` and `endive trace`: a trace beside the results, shown in every form, refused if it is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from traces import NAMED

from endive.main import main
from endive.trace import Finished, Submitted, read_trace

CONFIG = NAMED["java"].replace("[simulation]", "[simulation]\nseed = 7")
LABELLED = CONFIG + '[experiment]\nlabel = "base"\n'
TRACE = "results.trace.parquet"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "busy.toml"
    file.write_text(CONFIG)
    return file


@pytest.fixture
def traced(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return run_json(capsys, "--trace")


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["run", "busy.toml", *arguments, "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    summary: dict[str, Any] = json.loads(printed.out)
    return summary


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(["trace", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(Path.cwd().iterdir())
    code = main(["trace", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert sorted(Path.cwd().iterdir()) == before
    return printed.err


# -- endive run --trace ----------------------------------------------------------------------------------------------


def test_a_trace_is_written_beside_the_results_and_named_in_the_summary(
    traced: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert traced["trace_path"] == TRACE
    trace = read_trace(TRACE)
    header = trace.header
    assert (header.seed, header.duration_ms, header.num_tables) == (7, 8000.0, 2)
    assert header.config["transaction"]["cost_table"] == header.cost_table["name"] == "iceberg-java"
    assert set(header.versions) == {"endive", "git", "python", "numpy", "simpy"}
    assert sum(isinstance(event, Submitted) for event in trace.events) == traced["launched"]
    outcomes = [event.status for event in trace.events if isinstance(event, Finished)]
    assert outcomes.count("committed") == traced["committed"]
    # The name follows that of the results.
    Path("busy.toml").write_text(
        CONFIG.replace("seed = 7", 'seed = 7\noutput_path = "a/b.parquet"')
    )
    assert run_json(capsys, "--trace")["trace_path"] == "a/b.trace.parquet"


def test_in_an_experiment_directory_every_seed_has_its_trace(
    capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    config.write_text(LABELLED)
    assert main(["run", "busy.toml", "--seeds", "1..3", "--jobs", "2", "--trace", "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        summary = json.loads(line)
        path = Path(summary["trace_path"])
        assert path == Path(summary["results_path"]).with_name("trace.parquet")
        assert read_trace(path).header.seed == summary["seed"]


@pytest.mark.parametrize("name", NAMED)
def test_tracing_changes_no_result(
    name: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(NAMED[name].replace("[simulation]", "[simulation]\nseed = 3"))
    plain = run_json(capsys, "--out", "plain")
    recorded = run_json(capsys, "--out", "traced", "--trace")
    for key in ("digest", "config_hash", "launched", "seq"):
        assert plain[key] == recorded[key]
    assert "trace_path" not in plain
    assert len(list(Path.cwd().rglob("*trace.parquet"))) == 1


@pytest.mark.parametrize("text", [CONFIG, LABELLED], ids=["file", "directory"])
def test_a_finished_run_without_trace_is_done_again_when_one_is_asked_for(
    text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    assert not run_json(capsys)["skipped"]
    first = run_json(capsys, "--trace")
    assert not first["skipped"]
    assert run_json(capsys, "--trace") == {**first, "skipped": True}
    # With the attempts it is yet another run; who asks for less takes it as it is.
    both = run_json(capsys, "--trace", "--attempts")
    assert not both["skipped"]
    assert run_json(capsys, "--trace")["skipped"]
    assert run_json(capsys)["skipped"]


@pytest.mark.parametrize("harm", ["gone", "cut off", "of another run"])
def test_a_trace_that_is_not_that_of_the_results_is_made_again(
    harm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(run_json(capsys, "--seed", "8", "--trace")["trace_path"]).read_bytes()
    first = run_json(capsys, "--trace")
    path = Path(first["trace_path"])
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2] if harm == "cut off" else other)
    again = run_json(capsys, "--trace")
    assert (again["skipped"], again["digest"]) == (False, first["digest"])
    assert read_trace(path).header.seed == 7


def test_a_person_is_told_where_the_trace_is_and_how_to_make_it_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "busy.toml", "--trace"]) == 0
    printed = capsys.readouterr().out
    assert "endive run busy.toml --seed 7 --trace --force" in printed
    assert f"trace    {TRACE}" in printed


# -- endive trace ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("traced")
def test_text_has_a_line_per_event_of_the_transactions_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = read_trace(TRACE).events
    assert show(capsys, TRACE).count("\n") == len(events)
    lines = show(capsys, TRACE, "--txn", "3", "1").splitlines()
    assert len(lines) == sum(event.txn_id in (1, 3) for event in events)
    assert {line.split()[2] for line in lines} == {"T1", "T3"}


@pytest.mark.usefixtures("traced")
def test_every_form_is_written_by_its_name_and_read_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = read_trace(TRACE)
    for name in ("a.ndjson", "a.ndjson.gz", "a.parquet"):
        assert name in show(capsys, TRACE, "--out", name)
        assert read_trace(name) == trace
    assert "https://ui.perfetto.dev" in show(capsys, TRACE, "--out", "deep/a.json")
    timeline = json.loads(Path("deep/a.json").read_text())
    assert timeline == json.loads(show(capsys, TRACE, "--format", "perfetto"))
    assert show(capsys, "a.ndjson", "--format", "ndjson") == Path("a.ndjson").read_text()
    show(capsys, TRACE, "--format", "perfetto", "--out", "any.name")
    assert json.loads(Path("any.name").read_text()) == timeline


@pytest.mark.usefixtures("traced")
def test_an_excerpt_can_be_looked_at_and_never_passes_for_a_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(capsys, TRACE, "--txn", "3", "--out", "e.ndjson")
    assert show(capsys, "e.ndjson") == show(capsys, TRACE, "--txn", "3")
    assert "an excerpt" in refusal(capsys, "e.ndjson", "--out", "whole.parquet")


def test_json_says_what_a_trace_holds(
    traced: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(show(capsys, TRACE, "--json"))
    assert (document["seed"], document["transactions"]) == (7, traced["launched"])
    assert sum(document["kinds"].values()) == document["events"]
    written = json.loads(show(capsys, TRACE, "--json", "--out", "a.json"))
    assert written == {**document, "out": "a.json", "format": "perfetto"}
    assert Path("a.json").is_file()


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.parquet"], "gone.parquet: no such file"),
        (["busy.toml"], "busy.toml: no trace by its name"),
        (["results.parquet"], "results.parquet: no trace: the file has no metadata"),
        ([TRACE, "--txn", "3", "987654"], "--txn: 987654 is not in the trace; there are 0 to"),
        ([TRACE, "--format", "parquet"], "give --out FILE.parquet"),
        ([TRACE, "--format", "ndjson", "--json"], "both want the terminal"),
        ([TRACE, "--out", "a.xyz"], "--out: cannot tell the format of 'a.xyz'"),
        ([TRACE, "--out", "a.json", "--format", "ndjson"], "'a.json' is no name for ndjson"),
        ([TRACE, "--txn", "x"], "'x' is not the number of a transaction"),
    ],
)
def test_bad_use_exits_2_and_writes_nothing(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(capsys, *arguments)


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert "examples:\n  endive trace" in show(capsys, "--help")
