"""Why a transaction lost: rivals in order, and a bill that adds up to the last millisecond."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from differential.options import mixed_options
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import NAMED, named_trace, trace_of

from endive.judge.replay import Replay
from endive.main import main
from endive.trace import COUNTS, Trace
from endive.why import Telling, explain, most_costly
from endive.why.finding import OTHER_TABLE, SAME_PARTITIONS, SAME_TABLE

LATENCIES = {
    "catalog": {"read": 4.0, "cas": 10.0},
    "manifest_list": {"read": 3.0, "write": 7.0},
    "manifest_file": {"read": 5.0, "write": 11.0},
}
OVERWRITE = {
    "at_ms": 0,
    "operation": "validated_overwrite",
    "tables": [0],
    "partitions": [[0]],
    "runtime_ms": 100,
    "name": "overwrite",
}


def rival(at_ms: float, table: int, partition: int) -> dict[str, Any]:
    place = {"tables": [table], "partitions": [[partition]], "name": "rivals"}
    return {"at_ms": at_ms, "operation": "background", **place}


def scripted(*lines: dict[str, Any], **transaction: Any) -> Trace:
    latency = {
        group: {name: {"distribution": "fixed", "value": ms} for name, ms in operations.items()}
        for group, operations in LATENCIES.items()
    }
    catalog = {"type": "cas", "num_tables": 2, "partitions": {"num_partitions": 2}}
    raw = {
        "simulation": {"duration_ms": 1000.0},
        "storage": {"provider": "instant", "latency": latency},
        "catalog": catalog,
        "transaction": transaction,
        "workload": {"script": list(lines)},
    }
    return trace_of(raw, 1)


def only(trace: Trace) -> Telling:
    return explain(Replay(trace), 0)


def test_the_bill_of_one_lost_race_is_what_can_be_worked_out_by_hand() -> None:
    telling = only(scripted(OVERWRITE, rival(50, 0, 0), rival(60, 1, 0), rival(70, 0, 1)))
    # Read 4, work 100, own manifests 3 + 11 + 7, and the call that succeeded 10.
    assert telling.needed_ms == pytest.approx(135.0)
    # The lost call 10, the read after it 4, three lists of history at once 3, and manifests once more 21.
    assert telling.lost_by_kind() == pytest.approx(
        {
            "manifests again": 21.0,
            "commit calls": 10.0,
            "catalog reads": 4.0,
            "reading history": 3.0,
        }
    )
    assert telling.total_ms == pytest.approx(173.0)
    lost = dict(zip(COUNTS, telling.lost_counts(), strict=True))
    # Three historical lists and the current one, for a commit that needed one.
    assert (lost["manifest_list_reads"], lost["historical_ml_reads"]) == (4, 3)
    assert (lost["manifest_file_writes"], lost["manifest_list_writes"]) == (1, 1)


def test_rivals_are_told_in_order_and_by_where_they_wrote() -> None:
    (loss,) = only(scripted(OVERWRITE, rival(50, 0, 0), rival(60, 1, 0), rival(70, 0, 1))).losses
    assert (loss.attempt, loss.expected_seq, loss.called_ms) == (0, 0, pytest.approx(125.0))
    told = [(each.t_ms, each.seq, each.relation) for each in loss.rivals]
    assert told == [
        (50.0, 1, SAME_PARTITIONS),
        (60.0, 2, OTHER_TABLE),
        (70.0, 3, SAME_TABLE),
    ]


def test_a_commit_after_the_effect_of_a_call_did_not_beat_it() -> None:
    # The call is made at 125 and takes effect at 130.
    (loss,) = only(scripted(OVERWRITE, rival(50, 0, 0), rival(131, 0, 0))).losses
    assert [each.t_ms for each in loss.rivals] == [50.0]


def test_a_commit_before_the_snapshot_did_not_beat_it() -> None:
    late = {**OVERWRITE, "at_ms": 100}
    assert only(scripted(rival(50, 0, 0), late)).txn_id == 0
    tellings = [explain(Replay(scripted(rival(50, 0, 0), late)), 0)]
    assert [telling.losses for telling in tellings] == [()]


def test_calls_lost_to_other_tables_alone_are_counted() -> None:
    elsewhere = only(scripted(OVERWRITE, rival(50, 1, 0)))
    both = only(scripted(OVERWRITE, rival(50, 1, 0), rival(60, 0, 0)))
    assert (elsewhere.lost_to_other_tables(), both.lost_to_other_tables()) == (1, 0)


def test_a_real_conflict_ends_the_story() -> None:
    telling = only(scripted(OVERWRITE, rival(50, 0, 0), real_conflict_probability=1.0))
    (loss,) = telling.losses
    assert loss.is_real
    assert telling.abort_reason == "validation_exception"
    assert loss.cost_ms == pytest.approx(10.0 + 4.0 + 3.0)


@pytest.mark.parametrize("name", NAMED)
def test_every_millisecond_is_either_needed_or_lost(name: str) -> None:
    _adds_up(named_trace(name))


@given(mixed_options(), st.integers(0, 2**16))
@settings(max_examples=40)
def test_every_millisecond_is_either_needed_or_lost_under_any_options(
    config: dict[str, Any], seed: int
) -> None:
    _adds_up(trace_of(config, seed))


def _adds_up(trace: Trace) -> None:
    replay = Replay(trace)
    for txn_id, life in replay.lives.items():
        telling = explain(replay, txn_id)
        assert telling.needed_ms + telling.lost_ms == pytest.approx(telling.total_ms, abs=1e-6)
        failed = sum(
            each.returned is not None and not each.returned.success for each in life.rounds
        )
        assert len(telling.losses) == failed
        if not telling.losses and not life.restarts:
            # Who never lost a call can only have paid for catching up before the first.
            assert set(telling.lost_by_kind()) <= {"reading history", "merging after a conflict"}
        for loss in telling.losses:
            seqs = [each.seq for each in loss.rivals]
            assert seqs == sorted(seqs)
            assert all(each.seq > loss.expected_seq for each in loss.rivals)


def test_every_refusal_by_a_pointer_has_somebody_who_was_faster() -> None:
    tellings = most_costly(named_trace("plain"), 20)
    losses = [loss for telling in tellings for loss in telling.losses]
    assert losses
    assert all(loss.rivals for loss in losses)


def test_the_most_costly_come_first() -> None:
    lost = [telling.lost_ms for telling in most_costly(named_trace("plain"), 5)]
    assert lost == sorted(lost, reverse=True)
    assert len(lost) == 5


# -- the verb --------------------------------------------------------------------------------------------------------

CONFIG = """
[simulation]
duration_ms = 20000
[storage]
provider = "s3x"
[transaction]
runtime = { distribution = "fixed", value = 500 }
inter_arrival = { distribution = "exponential", scale = 100 }
[transaction.operation_types]
fast_append = 0.5
validated_overwrite = 0.5
"""


@pytest.fixture
def seed_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "busy.toml").write_text(CONFIG)
    assert main(["run", "busy.toml", "--seed", "3", "--out", "out", "--json"]) == 0
    (directory,) = (tmp_path / "out").glob("busy-*/3")
    return directory


def _json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_without_a_trace_is_made_once_more(
    seed_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = _json(["why", str(seed_directory)], capsys)["transactions"]
    told = _json(["why", str(seed_directory / "results.parquet"), str(listed[0]["txn_id"])], capsys)
    assert {**told, "run": ""} == {**listed[0], "run": ""}
    assert told["losses"][0]["rivals"]


def test_the_story_names_the_first_rival_and_the_bill(
    seed_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = _json(["why", str(seed_directory)], capsys)["transactions"][0]
    assert main(["why", str(seed_directory), f"T{worst['txn_id']}", "--all"]) == 0
    story = capsys.readouterr().out
    first = worst["losses"][0]["rivals"][0]
    assert f"beaten by T{first['txn_id']} ({first['operation']} to its partitions)" in story
    assert story.count(": lost") == len(worst["losses"])
    relations = Counter(r["relation"] for loss in worst["losses"] for r in loss["rivals"])
    assert f"{relations.total()} commits beat it" in story


@pytest.mark.parametrize("name", ["t.html", "t.svg", "t.png"])
def test_the_picture_is_written_whole(seed_directory: Path, name: str) -> None:
    assert main(["why", str(seed_directory), "5", "--out", name]) == 0
    assert Path(name).stat().st_size > 5000
    assert not list(Path().glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.parquet", "1"], "no such file"),
        (["out", "1"], "give the directory of one seed"),
        (["SEED", "999999"], "no transaction 999999 in the trace; there are 0 to"),
        (["SEED", "x"], "'x' is not the number of a transaction"),
        (["SEED", "1", "--out", "t.gif"], "end it in .html, .svg, .png"),
        (["SEED", "--out", "t.svg"], "a picture is of one transaction"),
    ],
)
def test_bad_use_is_told(
    arguments: list[str], words: str, seed_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [str(seed_directory) if word == "SEED" else word for word in arguments]
    assert main(["why", *told]) == 2
    assert words in capsys.readouterr().err
    assert not list(Path().glob("t.*"))


def test_a_configuration_that_has_changed_since_is_not_run_for_another(
    seed_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = seed_directory.parent / "cfg.toml"
    file.write_text(file.read_text().replace("500", "600"))
    assert main(["why", str(seed_directory), "1"]) == 2
    assert "whose hash is another" in capsys.readouterr().err
