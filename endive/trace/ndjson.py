"""Traces as NDJSON (schemas/trace.schema.json): a header line, then one line per event."""

from __future__ import annotations

import contextlib
import difflib
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from endive.errors import InputError, Problem
from endive.trace.collector import collector_paused
from endive.trace.events import KINDS, Event, Trace
from endive.trace.fields import WrongValueError, decoders_of, shown
from endive.trace.headers import check_whole, header_document, parse_header
from endive.utils import whole_file

HEADER_KIND = "header"
# Enough to see what is wrong with a file; a file that is wrong throughout would never end.
_MAX_PROBLEMS = 20
# Fast rather than small: at the highest level it takes five times as long for a tenth less.
_GZIP_LEVEL = 3
_CHUNK = 10_000
_NAMES = {cls: name for name, cls in KINDS.items()}


def ndjson_lines(trace: Trace, *, excerpt: Iterable[int] | None = None) -> Iterator[str]:
    """The lines of a trace, each with its line end."""
    encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    document = header_document(trace.header, len(trace.events), excerpt)
    yield encode({"kind": HEADER_KIND, **document}) + "\n"
    keys = {cls: ("kind", *cls._fields) for cls in KINDS.values()}
    for event in trace.events:
        cls = type(event)
        yield encode(dict(zip(keys[cls], (_NAMES[cls], *event), strict=True))) + "\n"


def write_ndjson(
    trace: Trace, path: str | os.PathLike[str], *, excerpt: Iterable[int] | None = None
) -> None:
    """Write a trace as NDJSON, compressed if the name ends in .gz; the file appears whole or not at all."""
    with whole_file(path) as beside, _opened_to_write(beside, str(path)) as file:
        chunk: list[str] = []
        for line in ndjson_lines(trace, excerpt=excerpt):
            chunk.append(line)
            if len(chunk) == _CHUNK:
                file.write("".join(chunk).encode())
                chunk.clear()
        file.write("".join(chunk).encode())


def read_ndjson(path: str | os.PathLike[str], *, excerpts: bool = False) -> Trace:
    """Read a trace; raises InputError with what is wrong with it, line by line."""
    name = str(path)
    problems: list[Problem] = []
    events: list[Event] = []
    with collector_paused(), _opened_to_read(path) as file:
        lines = _lines(file, name)
        number, first = next(lines, (0, b""))
        if not number:
            raise InputError([Problem(f"empty; {_EXPECTED}", file=name)])
        found = parse_header(_header(first, name), name, line=1)
        for number, line in lines:
            try:
                events.append(_event(line))
            except WrongValueError as error:
                key, message = error.args if len(error.args) == 2 else ("", str(error))
                problems.append(Problem(message, key, name, number))
                if len(problems) == _MAX_PROBLEMS:
                    break
    if problems:
        raise InputError(problems)
    check_whole(found, len(events), name, excerpts=excerpts)
    return Trace(found.header, tuple(events))


_EXPECTED = "a trace begins with a line of kind 'header', as endive run --trace writes it"


def _header(line: bytes, file: str) -> dict[str, Any]:
    try:
        record = _parsed(line)
    except WrongValueError as error:
        raise InputError([Problem(f"{error}; {_EXPECTED}", file=file, line=1)]) from None
    if record.get("kind") != HEADER_KIND:
        message = f"is {shown(record.get('kind'))}; {_EXPECTED}"
        raise InputError([Problem(message, "kind", file, 1)])
    return record


def _event(line: bytes) -> Event:
    record = _parsed(line)
    kind = record.get("kind")
    if type(kind) is not str or kind not in KINDS:
        raise WrongValueError("kind", _unknown_kind(kind))
    cls, decoders = KINDS[kind], decoders_of(kind)
    values = []
    for name, decode in decoders:
        try:
            values.append(decode(record[name]))
        except KeyError:
            raise WrongValueError(name, f"is missing; an event {kind!r} has it") from None
        except WrongValueError as error:
            raise WrongValueError(name, str(error)) from None
    if len(record) != len(values) + 1:
        _refuse_unknown_key(record, kind)
    event: Event = cls._make(values)
    return event


def _refuse_unknown_key(record: dict[str, Any], kind: str) -> NoReturn:
    known = [name for name, _ in decoders_of(kind)]
    (name, *_) = (name for name in record if name not in known and name != "kind")
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"an event {kind!r} has {', '.join(known)}"
    raise WrongValueError(name, f"unknown key; {hint}")


def _unknown_kind(kind: Any) -> str:
    if kind == HEADER_KIND:
        return "a second header; one trace per file"
    close = difflib.get_close_matches(str(kind), KINDS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(KINDS)}"
    return f"no event is called {shown(kind)}; {hint}"


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record = _decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise WrongValueError(f"byte 0x{line[error.start]:02x} is not UTF-8") from None
    except json.JSONDecodeError as error:
        cut_off = "" if line.endswith(b"\n") else "; the file seems to be cut off here"
        raise WrongValueError(f"not JSON: {error.msg} (column {error.colno}){cut_off}") from None
    except (ValueError, RecursionError) as error:
        raise WrongValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise WrongValueError(f"must be an object, not {shown(record)}")
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_decode: Callable[[str], Any] = json.JSONDecoder(parse_constant=_no_constant).decode


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        for line in file:
            number += 1
            yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"the compressed file is damaged or cut off: {error}; make it again"
        raise InputError([Problem(message, file=name, line=number + 1)]) from None


def _opened_to_read(path: str | os.PathLike[str]) -> IO[bytes]:
    if str(path).endswith(".gz"):
        return io.BufferedReader(gzip.open(path, "rb"))
    return Path(path).open("rb")


@contextlib.contextmanager
def _opened_to_write(beside: Path, name: str) -> Iterator[IO[bytes]]:
    with beside.open("wb") as raw:
        if not name.endswith(".gz"):
            yield raw
            return
        # No name and no time in it, so that equal traces make equal files.
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
