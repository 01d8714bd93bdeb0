"""Trace files: whole, exact to the last bit, and refused with a reason where they are not what they should be."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from differential.options import grid_options, mixed_options
from differential.strategies import Config, grid_configs, mixed_configs, seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traces import NAMED, named_trace, trace_of

from endive.errors import InputError
from endive.trace import (
    KINDS,
    CatalogRead,
    CommitApplied,
    Finished,
    Header,
    Submitted,
    Trace,
    Worked,
    read_trace,
    write_ndjson,
    write_parquet,
    write_trace,
)
from endive.trace.fields import all_fields
from endive.trace.parquet import HEADER_KEY

SUFFIXES = (".parquet", ".ndjson", ".ndjson.gz")
HEADER = Header(1, 10.0, {}, 1, (1,), (), {}, {"endive": "0"})


def exactly(left: Trace, right: Trace) -> bool:
    """Equal in every bit and every type: -0.0 is not 0.0, 1 is not True, () is not None."""
    return repr(left) == repr(right)


def complaint(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_trace(path)
    return str(caught.value)


# -- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", NAMED)
def test_a_trace_comes_back_to_the_last_bit(name: str, suffix: str, tmp_path: Path) -> None:
    trace = named_trace(name)
    write_trace(trace, tmp_path / f"t{suffix}")
    assert exactly(read_trace(tmp_path / f"t{suffix}"), trace)
    assert [file.name for file in tmp_path.iterdir()] == [f"t{suffix}"]


def test_the_named_traces_have_every_kind_of_event() -> None:
    kinds = {type(event) for name in NAMED for event in named_trace(name).events}
    assert kinds == set(KINDS.values())


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    config=st.one_of(grid_configs(), mixed_configs(), grid_options(), mixed_options()), seed=seeds
)
def test_traces_of_generated_runs_come_back(
    tmp_path_factory: pytest.TempPathFactory, config: Config, seed: int
) -> None:
    trace = trace_of(config, seed)
    place = tmp_path_factory.mktemp("traces")
    for suffix in SUFFIXES:
        write_trace(trace, place / f"t{suffix}")
        assert exactly(read_trace(place / f"t{suffix}"), trace)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_and_an_empty_list_are_told_apart(suffix: str, tmp_path: Path) -> None:
    tricky = 0.1 + 0.2
    events = (
        Submitted(-0.0, 0, "ä\n\"'", "x", (), (), None, 5e-324),
        Submitted(1.0, 1, "", "x", (0,), (0, 1), (), tricky),
        Submitted(1.0, 2, "", "x", (0,), (0, 1), ((), (3, 2**62)), 1e300),
        CatalogRead(1.0, 2, 1.0, 0.0, 0, (), ((),), ()),
        CommitApplied(2.0, -3, 0, 1, (0,), (1,), None, False, (1,)),
        Finished(tricky, 2, "aborted", None, 0, 0.0, 0.0, (tricky,) * 9, (0,) * 8),
        Finished(tricky, 3, "aborted", "", 0, 0.0, 0.0, (-0.0,) * 9, (2**63 - 1,) * 8),
    )
    trace = Trace(HEADER, events)
    write_trace(trace, tmp_path / f"t{suffix}")
    assert exactly(read_trace(tmp_path / f"t{suffix}"), trace)


def test_order_is_kept_over_row_groups(tmp_path: Path) -> None:
    one = named_trace("plain").events
    trace = Trace(HEADER, one * (200_000 // len(one)))
    write_parquet(trace, tmp_path / "t.parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups > 1
    assert read_trace(tmp_path / "t.parquet").events == trace.events


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_traces_make_equal_files(suffix: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_trace(named_trace("log"), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_parquet_has_a_column_per_field_and_the_header_first(tmp_path: Path) -> None:
    write_parquet(named_trace("plain"), tmp_path / "t.parquet", metadata={"mine": "too"})
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.names == ["kind", *all_fields()]
    assert json.loads(schema.metadata[HEADER_KEY.encode()])["seed"] == 7
    assert schema.metadata[b"mine"] == b"too"


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    for name in ("t.ndjson", "t.parquet"):
        path = tmp_path / name
        write_trace(named_trace("plain"), path)
        before = path.read_bytes()
        beyond = Trace(HEADER, (Worked(1.0, 2**63, math.nan),))
        with pytest.raises((ValueError, OverflowError)):
            write_trace(beyond, path)
        assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


# -- bad files: NDJSON -----------------------------------------------------------------------------------------------


def ndjson(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    path = tmp_path / "t.ndjson"
    write_ndjson(Trace(HEADER, named_trace("plain").events[:20]), path)
    return path, [json.loads(line) for line in path.read_text().splitlines()]


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        record[key] = value

    return change


@pytest.mark.parametrize(
    ("line", "change", "said"),
    [
        (2, _set("kind", "submited"), "kind: no event is called 'submited'; did you mean 'submitted'?"),
        (2, _set("kind", 7), "kind: no event is called 7; there are submitted,"),
        (2, _set("kind", "header"), "kind: a second header"),
        (2, lambda r: r.pop("runtime_ms"), "runtime_ms: is missing; an event 'submitted' has it"),
        (2, _set("runtimems", 1), "runtimems: unknown key; did you mean 'runtime_ms'?"),
        (2, _set("txn_id", 1.5), "txn_id: must be a whole number, not 1.5"),
        (2, _set("txn_id", True), "txn_id: must be a whole number, not true"),
        (2, _set("txn_id", 2**63), "txn_id: must be a whole number, not 9223372036854775808"),
        (2, _set("runtime_ms", "5"), "runtime_ms: must be a number, not '5'"),
        (2, _set("runtime_ms", 10**400), "runtime_ms: must be a number, not 1000"),
        (2, _set("class_name", None), "class_name: must be a string, not null"),
        (2, _set("tables_written", [0, "1"]), "tables_written: must be a list of whole numbers, not [0, '1']"),
        (2, _set("partitions", [1]), "partitions: must be a list of lists of whole numbers, or null, not [1]"),
        (1, _set("format", 3), "format: 3 is newer than 2, the newest that this Endive reads; update Endive"),
        (1, _set("kind", "worked"), "kind: is 'worked'; a trace begins with a line of kind 'header'"),
        (1, _set("seed", -1), "seed: must be a whole number of at least 0, not -1"),
        (1, _set("versions", {"a": 1}), "versions: must be an object of strings"),
        (1, _set("config", []), "config: must be an object, not []"),
        (1, lambda r: r.pop("cost_table"), "cost_table: is missing"),
        (1, _set("sede", 3), "sede: unknown key; did you mean 'seed'?"),
        (1, _set("group_of", [0, 0]), "group_of: has 2 numbers for 1 tables"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_with_key_value_and_remedy(
    line: int, change: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path
) -> None:
    path, records = ndjson(tmp_path)
    change(records[line - 1])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert complaint(path).startswith(f"{path}:{line}: {said}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ": empty; a trace begins"),
        (b"\n", ":1: not JSON"),
        (b"[1]\n", ":1: must be an object, not [1]"),
        (b"\xff\xfe\n", ":1: byte 0xff is not UTF-8"),
        (b"[" * 100_000, ":1: not JSON"),
        (b'{"kind": "header"}\n', ":1: seed: is missing"),
        (b'{"kind": "header", "seed": NaN}\n', ":1: not JSON: NaN is not a JSON value"),
        (b"PAR1 no, not really", ":1: not JSON"),
    ],
)
def test_what_is_no_trace_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(content)
    assert complaint(path).startswith(f"{path}{said}")


def test_every_bad_line_is_told_at_once_up_to_a_point(tmp_path: Path) -> None:
    path, records = ndjson(tmp_path)
    for record in records[1:4]:
        record["t_ms"] = "now"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert [line.split(":")[1] for line in complaint(path).splitlines()] == ["2", "3", "4"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_off_anywhere_is_refused(suffix: str, tmp_path: Path) -> None:
    whole, path = tmp_path / f"whole{suffix}", tmp_path / f"t{suffix}"
    write_trace(Trace(HEADER, named_trace("log").events[:300]), whole)
    content = whole.read_bytes()
    for end in range(0, len(content) - 1, max(1, len(content) // 60)):
        path.write_bytes(content[:end])
        assert complaint(path).startswith(f"{path}")


def test_a_file_cut_off_between_two_lines_is_refused(tmp_path: Path) -> None:
    path, _ = ndjson(tmp_path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    assert "events: holds 17 events, its header promises 20" in complaint(path)


def test_damaged_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson.gz"
    path.write_bytes(b"no gzip at all")
    assert "damaged or cut off" in complaint(path)
    write_ndjson(named_trace("plain"), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    assert str(path) in complaint(path)
    path.write_bytes(gzip.compress(b"{}\n"))
    assert complaint(path).startswith(f"{path}:1: kind: is null")


# -- bad files: Parquet ----------------------------------------------------------------------------------------------


def table(tmp_path: Path) -> tuple[Path, pa.Table]:
    path = tmp_path / "t.parquet"
    write_parquet(Trace(HEADER, named_trace("plain").events[:40]), path)
    return path, pq.read_table(path)


def rewritten(found: pa.Table, name: str, change: Callable[[list[Any]], Any]) -> pa.Table:
    values = found.column(name).to_pylist()
    change(values)
    column_type = pa.string() if name == "kind" else found.schema.field(name).type
    place = found.schema.get_field_index(name)
    field = pa.field(name, column_type)
    return found.set_column(place, field, pa.array(values, column_type))


def row_of(found: pa.Table, kind: str) -> int:
    return int(found.column("kind").to_pylist().index(kind))


@pytest.mark.parametrize(
    ("kind", "column", "value", "said"),
    [
        ("submitted", "kind", "submited", "no event is called 'submited'"),
        ("submitted", "kind", None, "no event is called null"),
        ("submitted", "t_ms", None, "must be a number, not null"),
        ("submitted", "t_ms", math.nan, "must be a number, not nan"),
        ("submitted", "t_ms", math.inf, "must be a number, not inf"),
        ("submitted", "tables_written", [None], "must be a list of whole numbers, not [None]"),
        ("submitted", "tables_written", None, "must be a list of whole numbers, not null"),
        ("finished", "status", "gone", "must be a string, one of committed, aborted, in_flight, not 'gone'"),
        ("finished", "counts", [1], "must be a list of 8 whole numbers, not 1 of them: [1]"),
        ("finished", "parts_ms", [math.nan] * 9, "must be a list of 9 numbers, not [nan"),
        ("submitted", "won", True, "is true, but an event 'submitted' has no such field; make it null"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_with_column_value_and_remedy(
    kind: str, column: str, value: Any, said: str, tmp_path: Path
) -> None:
    path, found = table(tmp_path)
    row = row_of(found, kind)

    def change(values: list[Any]) -> None:
        values[row] = value

    pq.write_table(rewritten(found, column, change), path)
    assert complaint(path).startswith(f"{path}: row {row + 1}: {column}: {said}")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda t: t.drop_columns(["status"]), "status: column is missing"),
        (lambda t: t.append_column("more", pa.nulls(len(t))), "more: unknown column"),
        (
            lambda t: t.set_column(1, "t_ms", t.column("t_ms").cast(pa.string())),
            "t_ms: column of type string; it must be double",
        ),
        (lambda t: t.replace_schema_metadata({}), "no trace: the file has no metadata"),
        (lambda t: t.replace_schema_metadata({HEADER_KEY: "{"}), "endive.trace: not JSON"),
        (
            lambda t: t.replace_schema_metadata({HEADER_KEY: "[]"}),
            "endive.trace: must be an object",
        ),
        (
            lambda t: t.replace_schema_metadata({HEADER_KEY: '{"format": 99}'}),
            "endive.trace.format: 99 is newer than 2",
        ),
        (lambda t: t.slice(0, 3), "events: holds 3 events, its header promises 40"),
    ],
)
def test_a_parquet_file_that_is_no_trace_is_refused(
    harm: Callable[[pa.Table], pa.Table], said: str, tmp_path: Path
) -> None:
    path, found = table(tmp_path)
    pq.write_table(harm(found), path)
    assert complaint(path).startswith(f"{path}: {said}")


def test_strings_may_be_packed_and_lists_named_otherwise(tmp_path: Path) -> None:
    path, found = table(tmp_path)
    trace = read_trace(path)
    plain = rewritten(found, "kind", lambda _: None)
    plain = plain.set_column(
        plain.schema.get_field_index("versions"),
        "versions",
        plain.column("versions").cast(pa.list_(pa.field("item", pa.int64()))),
    )
    packed = plain.column("operation").combine_chunks().dictionary_encode()
    pq.write_table(
        plain.set_column(plain.schema.get_field_index("operation"), "operation", packed), path
    )
    assert exactly(read_trace(path), trace)


# -- names -----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_opened_is_told_without_a_traceback(tmp_path: Path) -> None:
    assert complaint(tmp_path / "gone.parquet").endswith("no such file; check the path")
    (tmp_path / "dir.ndjson").mkdir()
    assert "is a directory" in complaint(tmp_path / "dir.ndjson")
    assert "no trace by its name" in complaint(tmp_path / "t.csv")


def test_an_excerpt_is_read_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    write_ndjson(Trace(HEADER, ()), path, excerpt=[3])
    assert "an excerpt of some transactions cannot be judged" in complaint(path)
    assert read_trace(path, excerpts=True) == Trace(HEADER, ())
