"""Traces for people: the timeline keeps to the format of Chrome's tracing and nests; every event has its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from traces import NAMED, named_trace

from endive.trace import CommitApplied, Finished, Trace
from endive.trace.perfetto import CATALOG_PID, perfetto_lines, perfetto_records
from endive.trace.text import counts_in_words, text_lines

Record = dict[str, Any]


def timeline(trace: Trace) -> list[Record]:
    document = json.loads("".join(perfetto_lines(trace)))
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    records: list[Record] = document["traceEvents"]
    assert records == list(perfetto_records(trace))
    return records


def tracks(records: list[Record]) -> dict[tuple[int, int], list[Record]]:
    found: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        if record["ph"] == "X":
            found.setdefault((record["pid"], record["tid"]), []).append(record)
    return found


@pytest.mark.parametrize("name", NAMED)
def test_every_record_is_as_the_format_wants_it(name: str) -> None:
    for record in timeline(named_trace(name)):
        assert record["ph"] in "MXi"
        assert type(record["name"]) is str
        assert type(record["pid"]) is int
        assert type(record["tid"]) is int
        assert isinstance(record["args"], dict)
        if record["ph"] == "M":
            named, sorted_by = ("process_name", "thread_name"), "sort_index"
            assert record["name"] in (*named, f"thread_{sorted_by}", f"process_{sorted_by}")
            wanted = str if record["name"] in named else int
            assert [type(value) for value in record["args"].values()] == [wanted]
            continue
        assert type(record["ts"]) is int
        assert record["ts"] >= 0
        if record["ph"] == "X":
            assert type(record["dur"]) is int
            assert record["dur"] >= 0
        else:
            assert record["s"] == "t"


@pytest.mark.parametrize("name", NAMED)
def test_every_track_and_process_has_a_name(name: str) -> None:
    records = timeline(named_trace(name))
    processes = [r["pid"] for r in records if r["name"] == "process_name"]
    threads = [(r["pid"], r["tid"]) for r in records if r["name"] == "thread_name"]
    assert len(set(processes)) == len(processes)
    assert len(set(threads)) == len(threads)
    shown = {(r["pid"], r["tid"]) for r in records if r["ph"] != "M"}
    assert shown <= set(threads)
    assert {pid for pid, _ in shown} <= set(processes)


@pytest.mark.parametrize("name", NAMED)
def test_a_track_has_the_number_of_its_transaction_and_no_viewer_takes_it_for_another_thing(
    name: str,
) -> None:
    records = [r for r in timeline(named_trace(name)) if r["name"] == "thread_name"]
    processes = {r["pid"] for r in timeline(named_trace(name))}
    for record in records:
        assert record["tid"] > 0
        # That would be the main thread of its process.
        assert record["tid"] != record["pid"]
        title = record["args"]["name"].split(" ")[0]
        if record["pid"] != CATALOG_PID and title != "T0":
            assert title == f"T{record['tid']}"
            assert record["tid"] not in processes - {CATALOG_PID}


@pytest.mark.parametrize("name", NAMED)
def test_slices_of_a_track_nest_three_deep_and_fill_the_transaction(name: str) -> None:
    for slices in tracks(timeline(named_trace(name))).values():
        whole, *inner = slices
        open_ends: list[int] = [whole["ts"] + whole["dur"]]
        depths = {0}
        cursor = whole["ts"]
        for record in inner:
            begin, end = record["ts"], record["ts"] + record["dur"]
            # A slice of no length where another ends belongs to whatever goes on.
            while len(open_ends) > 1 and begin >= open_ends[-1]:
                open_ends.pop()
            assert begin >= cursor
            assert end <= open_ends[-1]
            cursor = begin
            open_ends.append(end)
            depths.add(len(open_ends) - 1)
        assert max(depths) <= 2
        # Every microsecond of the whole is in some slice within it.
        covered = whole["ts"]
        for record in inner:
            assert record["ts"] <= covered
            covered = max(covered, record["ts"] + record["dur"])
        assert covered == whole["ts"] + whole["dur"]


@pytest.mark.parametrize("name", ["plain", "log", "java", "classes"])
def test_slices_say_what_the_events_say(name: str) -> None:
    trace = named_trace(name)
    finished = {e.txn_id: e for e in trace.events if isinstance(e, Finished)}
    found = tracks(timeline(trace))
    assert len(found) == len(finished)
    names = {"catalog_read_ms": "catalog read", "catalog_commit_ms": "commit", "backoff_ms": "backoff"}  # fmt: skip
    for slices in found.values():
        end = finished[int(slices[0]["name"].split(" ")[0].removeprefix("T"))]
        whole = slices[0]
        assert whole["args"]["status"] == end.status
        assert whole["dur"] == pytest.approx(end.total_ms * 1000.0, abs=2)
        calls = sum(record["name"] == "commit" for record in slices)
        assert sum(record["name"].startswith("attempt") for record in slices) >= calls
        for part, title in names.items():
            spent_us = sum(record["dur"] for record in slices if record["name"] == title)
            assert spent_us == pytest.approx(whole["args"].get(part, 0.0) * 1000.0, abs=20)


def test_every_applied_commit_is_an_instant_of_the_catalog() -> None:
    trace = named_trace("classes")
    commits = [e for e in trace.events if isinstance(e, CommitApplied)]
    assert any(event.txn_id < 0 for event in commits)
    instants = [r for r in timeline(trace) if r["pid"] == CATALOG_PID and r["ph"] == "i"]
    assert [r["args"]["seq"] for r in instants] == [event.seq_after for event in commits]
    assert [r["ts"] for r in instants] == [round(event.t_ms * 1000.0) for event in commits]
    # Of a few transactions, too, all commits are shown.
    few = [r for r in perfetto_records(trace, {3}) if r["ph"] != "M"]
    assert {r["tid"] for r in few if r["pid"] != CATALOG_PID} == {3}
    assert [r for r in few if r["pid"] == CATALOG_PID] == instants


@pytest.mark.parametrize("name", NAMED)
def test_an_incomplete_trace_still_makes_a_timeline(name: str) -> None:
    trace = named_trace(name)
    for part in (trace.events[1::2], trace.events[5:-5], trace.events[::-1]):
        json.loads("".join(perfetto_lines(trace._replace(events=part))))


@pytest.mark.parametrize("name", NAMED)
def test_every_event_has_one_line_with_its_time_and_transaction(name: str) -> None:
    trace = named_trace(name)
    lines = list(text_lines(trace.events))
    assert len(lines) == len(trace.events)
    for line, event in zip(lines, trace.events, strict=True):
        assert "\n" not in line
        assert line.split()[0] == f"{event.t_ms:.3f}"
        assert line.split()[2] == ("elsewhere" if event.txn_id < 0 else f"T{event.txn_id}")


def test_counts_read_like_a_sentence() -> None:
    assert counts_in_words((0,) * 8) == "nothing"
    assert counts_in_words((1, 3, 2, 0, 1, 0, 0, 0)) == (
        "1 metadata read, 3 manifest list reads (2 of them historical), 1 manifest file write"
    )
