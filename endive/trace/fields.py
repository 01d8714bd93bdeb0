"""What each field of an event holds, taken from the vocabulary itself: one answer for all kinds of files."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from endive.trace.events import COUNTS, KINDS, TIME_PARTS

# Fields whose lists have one number per name, and fields that take a few words only.
LENGTHS: Mapping[str, int] = {"counts": len(COUNTS), "parts_ms": len(TIME_PARTS)}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "classes": ("cross_table", "read_set", "disjoint_partitions", "overlap"),
    "reason": ("start", "attempt", "validate", "merge", "rebuild", "install", "list"),
    "status": ("committed", "aborted", "in_flight"),
    "artifact": (
        "catalog",
        "log",
        "checkpoint",
        "manifest_list",
        "manifest_file",
        "table_metadata",
    ),
    "action": ("read", "write", "append", "cas"),
}
_LONGEST_INT = 2**63
_SHOWN = 60
_ONE = {float: "a number", int: "a whole number", bool: "true or false", str: "a string"}
_MANY = {float: "numbers", int: "whole numbers", bool: "truth values", str: "strings"}


class FieldType(NamedTuple):
    """A number, truth value or string; a list of them (depth 1) or a list of lists (depth 2)."""

    base: type
    depth: int
    optional: bool
    length: int | None
    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        """What a value must be, in words."""
        words = "a " + "list of " * self.depth + _MANY[self.base] if self.depth else _ONE[self.base]
        words = words.replace("list of list of", "list of lists of")
        if self.length is not None:
            words = words.replace("a list of", f"a list of {self.length}")
        if self.choices:
            among = "each one of" if self.depth else "one of"
            words = f"{words}, {among} {', '.join(self.choices)}"
        return f"{words}, or null" if self.optional else words


class WrongValueError(Exception):
    """A value that its field cannot hold; says what it must be."""


@cache
def fields_of(kind: str) -> Mapping[str, FieldType]:
    """The fields of one kind of event, in order."""
    return _fields(KINDS[kind])


@cache
def all_fields() -> Mapping[str, FieldType]:
    """The fields of all kinds, in the order in which the vocabulary brings them up.

    A name means the same wherever it stands; only whether there may be nothing can differ.
    """
    found: dict[str, FieldType] = {}
    for kind in KINDS:
        for name, field in fields_of(kind).items():
            known = found.setdefault(name, field)
            if known._replace(optional=field.optional) != field:
                raise TypeError(f"{name} of {kind} is not what it is elsewhere")
            found[name] = known._replace(optional=known.optional or field.optional)
    return found


@cache
def decoders_of(kind: str) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """For each field of one kind, what turns a parsed value into one of the event, or refuses it."""
    return tuple((name, decoder(field)) for name, field in fields_of(kind).items())


def decoder(field: FieldType) -> Callable[[Any], Any]:
    """What turns a parsed value into one of this field: lists into tuples, whole numbers into floats."""
    inner = _SCALARS[field.base]
    if field.choices:
        inner = _among(field.choices)
    for _ in range(field.depth):
        inner = _each(inner)

    def decode(value: Any) -> Any:
        if value is None and field.optional:
            return None
        try:
            decoded = inner(value)
        except (TypeError, ValueError, OverflowError):
            raise WrongValueError(f"must be {field.words}, not {shown(value)}") from None
        if field.length is not None and len(decoded) != field.length:
            raise WrongValueError(
                f"must be {field.words}, not {len(decoded)} of them: {shown(value)}"
            )
        return decoded

    return decode


def shown(value: Any) -> str:
    """A value as messages show it; a long one is cut off."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _fields(cls: type[Any]) -> Mapping[str, FieldType]:
    hints = get_type_hints(cls)
    return {name: _field(name, hints[name]) for name in cls._fields}


def _field(name: str, hint: Any) -> FieldType:
    depth, optional = 0, False
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (option for option in get_args(hint) if option is not types.NoneType)
        optional = True
    while get_origin(hint) is tuple:
        hint, depth = get_args(hint)[0], depth + 1
    if hint not in _SCALARS:
        raise TypeError(f"{name}: files have no way to hold {hint}")
    return FieldType(hint, depth, optional, LENGTHS.get(name), CHOICES.get(name, ()))


def _float(value: Any) -> float:
    if type(value) is int:
        value = float(value)
    if type(value) is not float or not math.isfinite(value):
        raise TypeError
    return value


def _int(value: Any) -> int:
    if type(value) is not int or not -_LONGEST_INT <= value < _LONGEST_INT:
        raise TypeError
    return value


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _str(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


_SCALARS: Mapping[type, Callable[[Any], Any]] = {
    float: _float,
    int: _int,
    bool: _bool,
    str: _str,
}


def _among(choices: tuple[str, ...]) -> Callable[[Any], Any]:
    # The word of the vocabulary itself is handed out, so that all events share one string.
    words = {word: word for word in choices}

    def decode(value: Any) -> str:
        if type(value) is not str or value not in words:
            raise TypeError
        return words[value]

    return decode


def _each(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decode(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise TypeError
        return tuple([inner(element) for element in value])

    return decode
