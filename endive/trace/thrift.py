"""Thrift's compact protocol, as far as the footer and the page headers of a Parquet file need it: writing only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_LONG_LIST = 15


class Long(NamedTuple):
    """A whole number of 64 bits; a plain `int` has 32."""

    number: int


class Struct(dict[int, "Value"]):
    """Values by the numbers of their fields, in ascending order."""


Value = int | Long | str | bytes | Struct | Sequence["Value"]


def varint(number: int) -> bytes:
    """A whole number of at least 0, seven bits to the byte, the least first."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def serialised(struct: Struct) -> bytes:
    """A struct as bytes."""
    written, before = bytearray(), 0
    for field, value in struct.items():
        # All numbers of fields in Parquet are less than 15 apart, so the short form always does.
        written.append((field - before) << 4 | _type(value))
        written += _body(value)
        before = field
    written.append(0)
    return bytes(written)


def _type(value: Value) -> int:
    if isinstance(value, Long):
        return _I64
    if isinstance(value, int):
        return _I32
    if isinstance(value, (str, bytes)):
        return _BINARY
    return _STRUCT if isinstance(value, Struct) else _LIST


def _body(value: Value) -> bytes:
    if isinstance(value, Long):
        return _zigzag(value.number)
    if isinstance(value, int):
        return _zigzag(value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(len(value)) + value
    if isinstance(value, Struct):
        return serialised(value)
    # A list says what it holds; of an empty one nobody asks.
    count = len(value)
    kind = _type(value[0]) if count else _STRUCT
    head = (
        bytes([count << 4 | kind]) if count < _LONG_LIST else bytes([0xF0 | kind]) + varint(count)
    )
    return head + b"".join(map(_body, value))


def _zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)
