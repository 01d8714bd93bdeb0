"""Traces as Parquet: one row per event, one column per field of any kind, the header in the file's metadata.

A column is null where an event has no such field; `kind` tells. Rows stand in the order of the events.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from endive import __version__
from endive.errors import InputError, Problem
from endive.trace.collector import collector_paused
from endive.trace.columns import Block, Coded, Column, Listed, Sometimes, woven
from endive.trace.events import KINDS, Event, Header, Trace
from endive.trace.fields import FieldType, WrongValueError, all_fields, decoder, fields_of, shown
from endive.trace.headers import (
    FORMAT,
    FileHeader,
    check_whole,
    header_document,
    parse_header,
)
from endive.trace.pages import PageWriter
from endive.trace.recorder import Recorder
from endive.utils import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

HEADER_KEY = "endive.trace"
_ROWS_PER_GROUP = 1 << 17
# A record stands for about two events.
_RECORDS_PER_GROUP = 1 << 16
_ROWS_READ_AT_ONCE = 1 << 16
_MADE_BY = f"endive {__version__}"
# Format 1 did not tell what stores were used for.
_NEW_FIELDS = ("artifact", "action", "operations", "size_bytes", "batches", "took_ms")
_NAMES = tuple(KINDS)
_CODES = {cls: code for code, cls in enumerate(KINDS.values())}
_EXPECTED = "a trace has the columns that endive run --trace writes"


def write_parquet(
    trace: Trace,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
    excerpt: Iterable[int] | None = None,
) -> None:
    """Write a trace; the file appears whole or not at all. `metadata` goes into the file as it is."""
    with collector_paused(), _writing(path) as writer:
        for begin in range(0, len(trace.events), _ROWS_PER_GROUP):
            chunk = trace.events[begin : begin + _ROWS_PER_GROUP]
            _write_rows(writer, len(chunk), blocks_of(chunk))
        document = header_document(trace.header, len(trace.events), excerpt)
        writer.finish(_metadata(document, metadata), _MADE_BY)


def write_recorded(
    header: Header,
    recorder: Recorder,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
    records_per_group: int = _RECORDS_PER_GROUP,
) -> None:
    """Write what a run has told, without making events of what is packed; the file appears whole or not at all."""
    count = 0
    with collector_paused(), _writing(path) as writer:
        for piece in recorder.pieces(records_per_group):
            blocks = [
                block._replace(rows=piece.rows[block.rows]) for block in blocks_of(piece.events)
            ]
            _write_rows(writer, piece.total, [*blocks, *piece.blocks])
            count += piece.total
        writer.finish(_metadata(header_document(header, count, None), metadata), _MADE_BY)


def read_parquet(path: str | os.PathLike[str], *, excerpts: bool = False) -> Trace:
    """Read a trace; raises InputError with what is wrong with it, row by row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = str(path)
    events: list[Event] = []
    try:
        with collector_paused(), pq.ParquetFile(path) as file:
            found = _header(file.schema_arrow, name)
            absent = _check_columns(file.schema_arrow, name, found.header.format)
            for batch in file.iter_batches(_ROWS_READ_AT_ONCE):
                events += _events(_with_columns(batch, absent), len(events), name)
    except pa.ArrowException as error:
        raise InputError([_unreadable(name, error)]) from None
    except OSError as error:
        # Arrow reports damage within a file like a failure of the disk, but without a number.
        if error.errno is not None:
            raise
        raise InputError([_unreadable(name, error)]) from None
    check_whole(found, len(events), name, excerpts=excerpts)
    return Trace(found.header, tuple(events))


def _unreadable(name: str, error: Exception) -> Problem:
    reason = (str(error).splitlines() or ["damaged"])[0].rstrip(".")
    return Problem(f"not a whole Parquet file: {reason}; make it again", file=name)


# -- writing ---------------------------------------------------------------------------------------------------------


def _schema() -> pa.Schema:
    import pyarrow as pa

    kind = pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False)
    return pa.schema([kind, *(pa.field(name, _type(f)) for name, f in all_fields().items())])


def _type(field: FieldType) -> pa.DataType:
    import pyarrow as pa

    scalars = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}
    found = scalars[field.base]
    for _ in range(field.depth):
        found = pa.list_(pa.field("element", found))
    return found


@contextmanager
def _writing(path: str | os.PathLike[str]) -> Iterator[PageWriter]:
    with whole_file(path) as beside, open(beside, "wb") as file:
        yield PageWriter(file, "kind", all_fields())


def _metadata(document: Mapping[str, Any], metadata: Mapping[str, str] | None) -> dict[str, str]:
    said = {HEADER_KEY: json.dumps(document, allow_nan=False), **(metadata or {})}
    # What Arrow knows of a column and Parquet does not, such as that kinds are few; where it finds this, it looks at no other metadata.
    arrow = b64encode(_schema().with_metadata(said).serialize())
    return {**said, "ARROW:schema": arrow.decode()}


def _write_rows(writer: PageWriter, count: int, blocks: Sequence[Block]) -> None:
    codes = np.empty(count, np.uint8)
    for block in blocks:
        codes[block.rows] = _CODES[block.kind]
    writer.write_rows(count, Coded(codes, _NAMES), woven(blocks, count))


def blocks_of(events: Sequence[Event]) -> list[Block]:
    """The columns of some events, kind by kind."""
    codes = np.fromiter(map(_CODES.__getitem__, map(type, events)), np.int8, len(events))
    by_kind: list[list[Any]] = [[] for _ in _NAMES]
    appends = {cls: by_kind[code].append for cls, code in _CODES.items()}
    for event in events:
        appends[type(event)](event)
    blocks = []
    for code, own in enumerate(by_kind):
        if own:
            columns = [
                _given([event[place] for event in own], field)
                for place, field in enumerate(fields_of(_NAMES[code]).values())
            ]
            blocks.append(Block(KINDS[_NAMES[code]], np.flatnonzero(codes == code), columns))
    return blocks


def _given(values: Sequence[Any], field: FieldType) -> Column | Sometimes:
    import pyarrow as pa

    array = pa.array(values, _type(field))
    if not array.null_count:
        return _column(array)
    is_given = array.is_valid().to_numpy(zero_copy_only=False)
    return Sometimes(is_given, _column(array.drop_null()))


def _column(array: pa.Array) -> Column:
    import pyarrow.types as kinds

    if kinds.is_list(array.type):
        return Listed(np.diff(array.offsets.to_numpy()), _column(array.flatten()))
    if kinds.is_string(array.type):
        packed = array.dictionary_encode()
        return Coded(packed.indices.to_numpy(), tuple(packed.dictionary.to_pylist()))
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


# -- reading ---------------------------------------------------------------------------------------------------------


def _header(schema: pa.Schema, file: str) -> FileHeader:
    text = (schema.metadata or {}).get(HEADER_KEY.encode())
    if text is None:
        message = (
            f"no trace: the file has no metadata {HEADER_KEY!r}; endive run --trace writes one"
        )
        raise InputError([Problem(message, file=file)])
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"not JSON: {error}; make the file again"
        raise InputError([Problem(message, HEADER_KEY, file)]) from None
    return parse_header(document, file, prefix=f"{HEADER_KEY}.")


def _check_columns(found: pa.Schema, file: str, version: int) -> list[pa.Field]:
    """Refuse what is no trace; says which columns an older format did not have yet."""
    import pyarrow as pa

    expected = {field.name: field.type for field in _schema()}
    problems, absent = [], []
    for name, expected_type in expected.items():
        places = found.get_all_field_indices(name)
        if not places and version < FORMAT and name in _NEW_FIELDS:
            absent.append(pa.field(name, expected_type))
            continue
        if len(places) != 1:
            how = "is missing" if not places else "stands more than once"
            problems.append(Problem(f"column {how}; {_EXPECTED}", name, file))
            continue
        column_type = found.field(places[0]).type
        if not _alike(column_type, expected_type):
            plain = pa.string() if name == "kind" else expected_type
            message = f"column of type {column_type}; it must be {plain}"
            problems.append(Problem(message, name, file))
    for name in found.names:
        if name not in expected:
            problems.append(Problem(f"unknown column; {_EXPECTED}", name, file))
    if problems:
        raise InputError(problems)
    return absent


def _with_columns(batch: pa.RecordBatch, absent: Sequence[pa.Field]) -> pa.RecordBatch:
    """The same rows with columns of nothing for what their format did not know."""
    import pyarrow as pa

    if not absent:
        return batch
    nothing = [pa.nulls(len(batch), field.type) for field in absent]
    schema = pa.schema([*batch.schema, *absent])
    return pa.RecordBatch.from_arrays([*batch.columns, *nothing], schema=schema)


def _alike(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether two types hold the same, however their strings are packed and their elements called."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(left):
        left = left.value_type
    if kinds.is_dictionary(right):
        right = right.value_type
    if kinds.is_list(left) and kinds.is_list(right):
        return _alike(left.value_type, right.value_type)
    return bool(left == right)


def _events(batch: pa.RecordBatch, before: int, file: str) -> Iterator[Event]:
    """The events of some rows; so many others stand `before` them in the file."""
    import pyarrow as pa

    kinds, codes = _words(batch.column("kind"))
    rows_of: dict[str, NDArray[np.int64]] = {}
    for code, kind in enumerate(kinds):
        rows = np.flatnonzero(codes == code)
        if kind not in KINDS:
            message = f"no event is called {shown(kind)}; there are {', '.join(KINDS)}"
            raise _wrong_row(file, before + int(rows[0]), "kind", message)
        rows_of[kind] = rows
    filled = dict.fromkeys(all_fields(), 0)
    made: list[Iterator[Event]] = []
    for kind, rows in rows_of.items():
        indices = pa.array(rows)
        columns = []
        for name, field in fields_of(kind).items():
            own = _plain(batch.column(name)).take(indices)
            filled[name] += len(own) - own.null_count
            if not _is_sound(own, field):
                raise _first_wrong(own, field, name, before + rows, file)
            columns.append(_values(own, field))
        made.append(map(KINDS[kind]._make, zip(*columns, strict=True)))
    for name, count in filled.items():
        if len(batch) - batch.column(name).null_count != count:
            raise _misplaced(batch.column(name), name, rows_of, before, file)
    return (next(made[code]) for code in codes.tolist())


def _plain(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _words(array: pa.Array) -> tuple[list[Any], NDArray[np.int64]]:
    """The different strings of a column, nothing among them, and which of them stands where."""
    packed = _plain(array).dictionary_encode(null_encoding="encode")
    return packed.dictionary.to_pylist(), packed.indices.to_numpy().astype(np.int64)


def _is_sound(array: pa.Array, field: FieldType) -> bool:
    """Whether a column holds what its field can hold, beyond its type."""
    import pyarrow.compute as pc

    if array.null_count and not field.optional:
        return False
    if (
        field.length is not None
        and pc.any(pc.not_equal(pc.list_value_length(array), field.length)).as_py()
    ):
        return False
    for _ in range(field.depth):
        array = array.flatten()
        if array.null_count:
            return False
    if field.base is float:
        return pc.all(pc.is_finite(array)).as_py() is not False
    return not field.choices or set(array.unique().to_pylist()) - {None} <= set(field.choices)


def _values(array: pa.Array, field: FieldType) -> list[Any]:
    """A sound column as Python values, lists as tuples."""
    flat, shape = array, []
    for _ in range(field.depth):
        shape.append((flat.offsets.to_numpy(), flat))
        flat = flat.values
    values: list[Any]
    if field.base is str:
        # Equal strings are one object, however many events have them.
        words, codes = _words(flat)
        values = [words[code] for code in codes.tolist()]
    else:
        values = flat.to_numpy(zero_copy_only=False).tolist()
    for offsets, lists in reversed(shape):
        together, places = tuple(values), offsets.tolist()
        values = [together[a:b] for a, b in pairwise(places)]
        if lists.null_count:
            for row in np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False)).tolist():
                values[row] = None
    return values


def _first_wrong(
    array: pa.Array, field: FieldType, name: str, rows: NDArray[np.int64], file: str
) -> InputError:
    decode = decoder(field)
    for row, value in zip(rows.tolist(), array.to_pylist(), strict=True):
        try:
            decode(value)
        except WrongValueError as error:
            return _wrong_row(file, row, name, str(error))
    raise AssertionError(f"{name} is sound after all")


def _misplaced(
    column: pa.Array,
    name: str,
    rows_of: Mapping[str, NDArray[np.int64]],
    before: int,
    file: str,
) -> InputError:
    given = column.is_valid().to_numpy(zero_copy_only=False)
    rows_with = {
        kind: rows[given[rows]] for kind, rows in rows_of.items() if name not in fields_of(kind)
    }
    kind, row = min(
        ((kind, int(rows[0])) for kind, rows in rows_with.items() if len(rows)),
        key=lambda found: found[1],
    )
    value = shown(column[row].as_py())
    message = f"is {value}, but an event {kind!r} has no such field; make it null"
    return _wrong_row(file, before + row, name, message)


def _wrong_row(file: str, row: int, name: str, message: str) -> InputError:
    # Rows are counted from 1, like lines.
    return InputError([Problem(message, f"row {row + 1}: {name}", file)])
