"""The header of a trace file: what it is a trace of, as one JSON object that stands before all events."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from endive.errors import InputError, Problem
from endive.trace.events import Header
from endive.trace.fields import FieldType, WrongValueError, decoder, shown

FORMAT: int = Header._field_defaults["format"]
"""The newest format that can be read; older ones can be, too."""

_INT = decoder(FieldType(int, 0, False, None, ()))
_INTS = decoder(FieldType(int, 1, False, None, ()))
_FLOAT = decoder(FieldType(float, 0, False, None, ()))


class FileHeader(NamedTuple):
    """The header and what only its file needs to know."""

    header: Header
    events: int | None
    """How many events there are; tells a file that was cut off between two of them."""
    excerpt: tuple[int, ...] | None
    """The transactions shown, where the file holds not all of them."""


def header_document(header: Header, events: int, excerpt: Iterable[int] | None) -> dict[str, Any]:
    """The header as a JSON object."""
    document = header._asdict()
    # What kind of file this is, and whether it can be read at all, is told before anything else.
    document = {"format": document.pop("format"), **document, "events": events}
    return document if excerpt is None else {**document, "excerpt": list(excerpt)}


def parse_header(document: Any, file: str, *, line: int = 0, prefix: str = "") -> FileHeader:
    """The header that an object spells; raises InputError with everything that is wrong with it."""
    problems: list[Problem] = []

    def complain(name: str, message: str) -> None:
        problems.append(Problem(message, f"{prefix}{name}", file, line))

    if not isinstance(document, Mapping):
        raise InputError(
            [Problem(f"must be an object, not {shown(document)}", prefix.rstrip("."), file, line)]
        )
    version = document.get("format", FORMAT)
    if type(version) is int and version > FORMAT:
        complain(
            "format",
            f"{version} is newer than {FORMAT}, the newest that this Endive reads; update Endive",
        )
        raise InputError(problems)
    values: dict[str, Any] = {}
    for name, decode in _DECODERS.items():
        if name not in document:
            if name not in _MAY_BE_MISSING:
                complain(name, f"is missing; a trace begins with {', '.join(Header._fields)}")
            continue
        try:
            values[name] = decode(document[name])
        except WrongValueError as error:
            complain(name, str(error))
    for name in document:
        if name not in _DECODERS and name != "kind":
            close = difflib.get_close_matches(str(name), _DECODERS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "remove it"
            complain(str(name), f"unknown key; {hint}")
    if not problems:
        for name in ("partitions_per_table", "group_of"):
            count, tables = len(values[name]), values["num_tables"]
            if count != tables and not (name == "group_of" and count == 0):
                complain(name, f"has {count} numbers for {tables} tables; give one for each")
    if problems:
        raise InputError(problems)
    events, excerpt = values.pop("events", None), values.pop("excerpt", None)
    return FileHeader(Header(**values), events, excerpt)


def check_whole(found: FileHeader, events: int, file: str, *, excerpts: bool) -> None:
    """Refuse a file that ends too early, and an excerpt where the whole is needed."""
    if found.events is not None and found.events != events:
        message = (
            f"holds {events} events, its header promises {found.events}; it was cut off or put "
            "together, so make it again with endive run --trace"
        )
        raise InputError([Problem(message, "events", file)])
    if found.excerpt is not None and not excerpts:
        message = "an excerpt of some transactions cannot be judged; give the whole trace"
        raise InputError([Problem(message, "excerpt", file)])


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongValueError(f"must be an object, not {shown(value)}")
    return value


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise WrongValueError(f"must be an object of strings, not {shown(value)}")
    return value


def _at_least(least: int) -> Callable[[Any], int]:
    def decode(value: Any) -> int:
        number: int = _INT(value)
        if number < least:
            raise WrongValueError(f"must be a whole number of at least {least}, not {number}")
        return number

    return decode


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "seed": _at_least(0),
    "duration_ms": _FLOAT,
    "config": _object,
    "num_tables": _at_least(1),
    "partitions_per_table": _INTS,
    "group_of": _INTS,
    "cost_table": _object,
    "versions": _texts,
    "store": _object,
    "format": _at_least(1),
    "events": _at_least(0),
    "excerpt": _INTS,
}
_MAY_BE_MISSING = ("store", "format", "events", "excerpt")
