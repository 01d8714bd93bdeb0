"""What is written page by page is read back by Arrow, at every width that codes and dictionaries can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.trace import CommitCalled
from endive.trace.columns import (
    Block,
    Coded,
    Column,
    Listed,
    Part,
    constant,
    lists_of,
    one_each,
    woven,
)
from endive.trace.fields import FieldType
from endive.trace.pages import PageWriter
from endive.trace.thrift import Long, Struct, serialised, varint

NUMBER, WORD, TRUTH = (FieldType(base, 0, True, None, ()) for base in (int, str, bool))
LISTS = FieldType(int, 2, True, None, ())


def read_back(path: Path, *groups: tuple[int, dict[str, Part]], **fields: FieldType) -> Any:
    """A file of these row groups, as Arrow reads it."""
    with path.open("wb") as file:
        writer = PageWriter(file, "kind", fields)
        for count, parts in groups:
            writer.write_rows(count, constant("row", count), parts)
        writer.finish({"mine": "too"}, "a test")
    table = pq.read_table(path)
    assert table.schema.metadata == {b"mine": b"too"}
    assert table.column("kind").to_pylist() == ["row"] * sum(count for count, _ in groups)
    return table


def everywhere(column: Column) -> Part:
    return Part(np.arange(len(column)), column)


@pytest.mark.parametrize("entries", [1, 2, 255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("repeats", [1, 5])
def test_numbers_and_words_come_back_however_many_differ(
    entries: int, repeats: int, tmp_path: Path
) -> None:
    codes = np.random.default_rng(entries).permutation(np.tile(np.arange(entries), repeats))
    numbers, words = codes - 300, tuple(f"word {code}" for code in range(entries))
    parts = {"number": everywhere(numbers), "word": everywhere(Coded(codes, words))}
    table = read_back(tmp_path / "t.parquet", (len(codes), parts), number=NUMBER, word=WORD)
    assert table.column("number").to_pylist() == numbers.tolist()
    assert table.column("word").to_pylist() == [words[code] for code in codes]


@pytest.mark.parametrize("extreme", [-(2**63), 2**63 - 1])
def test_the_largest_numbers_come_back(extreme: int, tmp_path: Path) -> None:
    for values in ([extreme] * 40, [extreme, 0, -1], [-(2**63), 2**63 - 1]):
        parts = {"number": everywhere(np.array(values))}
        table = read_back(tmp_path / "t.parquet", (len(values), parts), number=NUMBER)
        assert table.column("number").to_pylist() == values


_rows = st.lists(
    st.tuples(
        st.none() | st.integers(-3, 300),
        st.none() | st.booleans(),
        st.none() | st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3),
    ),
    min_size=1,
    max_size=40,
)


@given(groups=st.lists(_rows, min_size=0, max_size=3))
def test_nothing_and_lists_of_any_shape_come_back(
    groups: list[list[tuple[Any, ...]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    written = []
    for rows in groups:
        columns = []
        for place in range(3):
            given_rows = [row for row, values in enumerate(rows) if values[place] is not None]
            values = [rows[row][place] for row in given_rows]
            column: Column = (
                np.array(values, np.int64 if place == 0 else np.bool_)
                if place < 2
                else Listed(
                    np.array([len(each) for each in values], np.int64),
                    lists_of([inner for each in values for inner in each]),
                )
            )
            columns.append(Part(np.array(given_rows, np.int64), column))
        written.append((len(rows), dict(zip(("number", "truth", "lists"), columns, strict=True))))
    path = tmp_path_factory.mktemp("pages") / "t.parquet"
    table = read_back(path, *written, number=NUMBER, truth=TRUTH, lists=LISTS)
    found = zip(
        *(table.column(name).to_pylist() for name in ("number", "truth", "lists")), strict=True
    )
    assert list(found) == [row for rows in groups for row in rows]


def test_thrift_is_written_as_its_specification_has_it() -> None:
    assert [varint(number).hex() for number in (0, 1, 127, 128, 300)] == [
        "00",
        "01",
        "7f",
        "8001",
        "ac02",
    ]
    assert serialised(Struct({1: 1, 4: -1, 5: Long(64)})) == bytes(
        [0x15, 2, 0x35, 1, 0x16, 0x80, 1, 0]
    )
    assert serialised(Struct({2: "ab"})) == b"\x28\x02ab\x00"
    assert serialised(Struct({1: [Struct(), Struct()]})) == b"\x19\x2c\x00\x00\x00"
    assert serialised(Struct({1: [5] * 15})) == b"\x19\xf5\x0f" + b"\x0a" * 15 + b"\x00"
    assert serialised(Struct({1: []})) == b"\x19\x0c\x00"


def test_lists_of_one_and_of_several_are_woven_in_order() -> None:
    def block(rows: list[int], versions: Column) -> Block:
        plain = np.zeros(len(rows))
        return Block(CommitCalled, np.array(rows), (plain, plain, plain, plain, versions))

    several = block([1, 3], lists_of([(7, 8, 9), ()]))
    found = woven([block([0, 4], one_each(np.array([1, 2]))), several], 6)["versions"]
    assert found.rows.tolist() == [0, 1, 3, 4]
    assert isinstance(found.column, Listed)
    assert found.column.lengths.tolist() == [1, 3, 0, 1]
    assert isinstance(found.column.elements, np.ndarray)
    assert found.column.elements.tolist() == [1, 7, 8, 9, 2]
