"""Parquet files of many columns that are mostly empty, written page by page.

A trace has a column for each field of any kind of event, and most kinds have few of them. PyArrow spends five nanoseconds on every
row of every column, whether there is something in it or not; with fifty columns that is as much as simulating the event took.
Here a row without a value costs a bit. Whatever reads Parquet reads these files: plain values or dictionaries, one data page
per column and row group, no extension of any sort (https://parquet.apache.org/docs/file-format).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from endive.trace.columns import Coded, Column, Listed, Part
from endive.trace.fields import FieldType
from endive.trace.thrift import Long, Struct, Value, serialised, varint

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"PAR1"
_VERSION = 2
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_TYPES: Mapping[type, int] = {bool: 0, int: 2, float: 5, str: 6}
_STRING = Struct({6: 0, 10: Struct({1: Struct()})})
_LIST = Struct({6: 3, 10: Struct({3: Struct()})})
_CODEC, _CODEC_NAME, _CODEC_LEVEL = 6, "zstd", 1


class _Leaf(NamedTuple):
    """How the values of a field are encoded, and the dictionary where they have one."""

    encoding: int
    values: bytes
    dictionary: bytes | None = None
    entries: int = 0


class PageWriter:
    """Writes row group after row group, then the footer. The first column is told to be in every row, the others may be in any."""

    def __init__(self, file: BinaryIO, always: str, fields: Mapping[str, FieldType]) -> None:
        """`always` is the name of the column of words that every row has."""
        import pyarrow as pa

        self._file = file
        self._codec = pa.Codec(_CODEC_NAME, compression_level=_CODEC_LEVEL)
        self._always, self._fields = always, fields
        self._rows, self._groups = 0, list[Value]()
        self._at = 0
        self._put(_MAGIC)

    def write_rows(self, count: int, always: Coded, parts: Mapping[str, Part]) -> None:
        """One row group of so many rows."""
        begin = self._at
        chunks: list[Value] = [
            self._chunk([self._always], str, _leaf(always, str), count, levels=b"")
        ]
        # Fields of the same events are missing from the same rows.
        known: dict[int, bytes] = {}
        for name, field in self._fields.items():
            path = [name, *("list", "element") * field.depth]
            part = parts.get(name)
            if part is None or not len(part.rows):
                levels = _repetition(None, field.depth, count) + _sized(
                    _run(0, count, _width(field.depth))
                )
                chunks.append(
                    self._chunk(path, field.base, _Leaf(_PLAIN, b""), count, levels=levels)
                )
                continue
            if field.depth:
                slots, levels = _list_levels(part, field.depth, count)
            else:
                slots = count
                if id(part.rows) not in known:
                    known[id(part.rows)] = _sized(_presence(part.rows, count))
                levels = known[id(part.rows)]
            column = part.column
            while isinstance(column, Listed):
                column = column.elements
            chunks.append(
                self._chunk(path, field.base, _leaf(column, field.base), slots, levels=levels)
            )
        self._rows += count
        self._groups.append(Struct({1: chunks, 2: Long(self._at - begin), 3: Long(count)}))

    def finish(self, metadata: Mapping[str, str], made_by: str) -> None:
        """Write the footer, and in it whatever else the file should carry."""
        footer = Struct(
            {
                1: _VERSION,
                2: self._schema(),
                3: Long(self._rows),
                4: self._groups,
                5: [Struct({1: key, 2: text}) for key, text in metadata.items()],
                6: made_by,
            }
        )
        written = serialised(footer)
        self._put(written + struct.pack("<I", len(written)) + _MAGIC)

    def _put(self, written: bytes | pa.Buffer) -> None:
        self._file.write(written)
        self._at += len(written)

    def _schema(self) -> list[Value]:
        elements: list[Value] = [Struct({4: "schema", 5: 1 + len(self._fields)})]
        elements.append(_element(self._always, str, _REQUIRED))
        for name, field in self._fields.items():
            for level in range(field.depth):
                own = "element" if level else name
                elements.append(Struct({3: _OPTIONAL, 4: own, 5: 1, **_LIST}))
                elements.append(Struct({3: _REPEATED, 4: "list", 5: 1}))
            elements.append(_element("element" if field.depth else name, field.base, _OPTIONAL))
        return elements

    def _chunk(
        self, path: list[str], base: type, leaf: _Leaf, slots: int, *, levels: bytes
    ) -> Struct:
        """Write the values of one column in one row group; returns what the footer says about them."""
        begin, raw_size, dictionary_at = self._at, 0, None
        if leaf.dictionary is not None:
            dictionary_at = begin
            about = Struct({1: leaf.entries, 2: _PLAIN})
            raw_size += self._page(_DICTIONARY_PAGE, 7, about, leaf.dictionary)
        data_at = self._at
        about = Struct({1: slots, 2: leaf.encoding, 3: _RLE, 4: _RLE})
        raw_size += self._page(_DATA_PAGE, 5, about, levels + leaf.values)
        encodings = sorted({_PLAIN, _RLE, leaf.encoding})
        found = Struct(
            {
                1: _TYPES[base],
                2: encodings,
                3: path,
                4: _CODEC,
                5: Long(slots),
                6: Long(raw_size),
                7: Long(self._at - begin),
                9: Long(data_at),
            }
        )
        if dictionary_at is not None:
            found[11] = Long(dictionary_at)
        return Struct({2: Long(begin), 3: found})

    def _page(self, kind: int, field: int, about: Struct, raw: bytes) -> int:
        """Write one page; returns how large it would be without compression."""
        packed = self._codec.compress(raw)
        header = serialised(Struct({1: kind, 2: len(raw), 3: len(packed), field: about}))
        self._put(header)
        self._put(packed)
        return len(header) + len(raw)


def _element(name: str, base: type, repetition: int) -> Struct:
    text = _STRING if base is str else {}
    return Struct({1: _TYPES[base], 3: repetition, 4: name, **text})


# -- levels: where there is a value, and where lists begin -----------------------------------------------------------


def _width(depth: int) -> int:
    """Bits of a definition level: nothing, and for each list an empty one or a value in it."""
    return (2 * depth + 1).bit_length()


def _presence(rows: NDArray[np.int64], count: int) -> bytes:
    if len(rows) == count:
        return _run(1, count, 1)
    has_it = np.zeros(count, np.uint8)
    has_it[rows] = 1
    return _bits(has_it, 1)


def _list_levels(part: Part, depth: int, count: int) -> tuple[int, bytes]:
    """How many values, empty lists and missing lists there are, and the levels of all of them."""
    definition, repetition, slots = _levels(part.column, 0)
    if len(definition) == len(part.rows):
        # Each list has one element or none, so that each row has one level.
        levels = np.zeros(count, np.uint8)
        levels[part.rows] = definition
        again = None
    else:
        slots_of_row = np.ones(count, np.int64)
        slots_of_row[part.rows] = slots
        has_it = np.zeros(count, np.bool_)
        has_it[part.rows] = True
        is_ours = np.repeat(has_it, slots_of_row)
        levels = np.zeros(len(is_ours), np.uint8)
        levels[is_ours] = definition
        again = np.zeros(len(is_ours), np.uint8)
        again[is_ours] = repetition
    definitions = _sized(_bits(levels, _width(depth)))
    return len(levels), _repetition(again, depth, len(levels)) + definitions


def _levels(
    column: Column, level: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]:
    """Definition and repetition of every slot, and how many slots each value of the column has."""
    if not isinstance(column, Listed):
        count = len(column)
        found = np.full(count, 2 * level + 1, np.uint8)
        return found, np.zeros(count, np.uint8), np.ones(count, np.int64)
    definition, repetition, inner = _levels(column.elements, level + 1)
    lengths = column.lengths
    if (lengths == 1).all():
        return definition, repetition, inner
    is_empty = lengths == 0
    ends = np.cumsum(lengths)
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(inner)])
    # Every element begins a value of its list again, save the first.
    repetition[places[:-1]] = level + 1
    repetition[places[(ends - lengths)[~is_empty]]] = 0
    slots = places[ends] - places[ends - lengths]
    if not is_empty.any():
        return definition, repetition, slots
    slots[is_empty] = 1
    is_real = np.repeat(~is_empty, slots)
    all_definition = np.full(len(is_real), 2 * level + 1, np.uint8)
    all_repetition = np.zeros(len(is_real), np.uint8)
    all_definition[is_real], all_repetition[is_real] = definition, repetition
    return all_definition, all_repetition, slots


def _repetition(levels: NDArray[np.uint8] | None, depth: int, slots: int) -> bytes:
    if not depth:
        return b""
    width = depth.bit_length()
    return _sized(_run(0, slots, width) if levels is None else _bits(levels, width))


def _sized(written: bytes) -> bytes:
    return struct.pack("<I", len(written)) + written


def _run(value: int, count: int, width: int) -> bytes:
    """The same level or code, `count` times."""
    return varint(count << 1) + value.to_bytes((width + 7) // 8, "little")


def _bits(levels: NDArray[np.uint8], width: int) -> bytes:
    """Levels of so many bits each, eight of them to a group."""
    groups = (len(levels) + 7) // 8
    head = varint(groups << 1 | 1)
    if width == 1:
        return head + np.packbits(levels, bitorder="little").tobytes()
    padded = np.zeros((groups, 8), np.uint8)
    padded.reshape(-1)[: len(levels)] = levels
    if width == 2:
        four = padded.reshape(-1, 4)
        packed = four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6
        return head + packed.tobytes()
    together = np.zeros(groups, "<u4")
    for place in range(8):
        together |= padded[:, place].astype("<u4") << np.uint32(width * place)
    return head + together.view(np.uint8).reshape(groups, 4)[:, :width].tobytes()


# -- values ----------------------------------------------------------------------------------------------------------


def _leaf(column: Column, base: type) -> _Leaf:
    if isinstance(column, Coded):
        return _with_dictionary(column.codes, _dictionary(column.values), len(column.values))
    assert not isinstance(column, Listed)
    if base is bool:
        return _Leaf(_PLAIN, np.packbits(column, bitorder="little").tobytes())
    if base is float:
        return _Leaf(_PLAIN, column.astype("<f8", copy=False).tobytes())
    if len(column):
        lowest, highest = int(column.min()), int(column.max())
        entries = highest - lowest + 1
        # Ids, versions and counts lie close together: two bytes tell which of them, where eight would spell it.
        if entries <= 256 or (entries <= 65_536 and 4 * entries <= len(column)):
            dictionary = (lowest + np.arange(entries, dtype="<i8")).tobytes()
            return _with_dictionary(column - lowest, dictionary, entries)
    return _Leaf(_PLAIN, column.astype("<i8", copy=False).tobytes())


def _with_dictionary(codes: NDArray[Any], dictionary: bytes, entries: int) -> _Leaf:
    if not len(codes):
        return _Leaf(_PLAIN, b"")
    if entries == 1:
        return _Leaf(_RLE_DICTIONARY, b"\1" + _run(0, len(codes), 1), dictionary, entries)
    width = 8 if entries <= 256 else 16 if entries <= 65_536 else 32
    groups = (len(codes) + 7) // 8
    padded = np.zeros(groups * 8, f"<u{width // 8}")
    padded[: len(codes)] = codes
    values = bytes([width]) + varint(groups << 1 | 1) + padded.tobytes()
    return _Leaf(_RLE_DICTIONARY, values, dictionary, entries)


def _dictionary(values: tuple[Any, ...]) -> bytes:
    if values and isinstance(values[0], int):
        return np.array(values, "<i8").tobytes()
    words = [str(value).encode() for value in values]
    return b"".join([struct.pack("<I", len(word)) + word for word in words])
