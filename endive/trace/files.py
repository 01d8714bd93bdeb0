"""Trace files: written whole, read back to the last bit (docs/TRACE.md). The name says which kind of file it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from endive.errors import InputError, Problem
from endive.trace.events import Trace
from endive.trace.ndjson import ndjson_lines, read_ndjson, write_ndjson
from endive.trace.parquet import read_parquet, write_parquet, write_recorded

__all__ = [
    "NDJSON_SUFFIXES",
    "ndjson_lines",
    "read_trace",
    "write_ndjson",
    "write_parquet",
    "write_recorded",
    "write_trace",
]

NDJSON_SUFFIXES = (".ndjson", ".ndjson.gz")
PARQUET_SUFFIX = ".parquet"


def read_trace(path: str | os.PathLike[str], *, excerpts: bool = False) -> Trace:
    """Read a whole trace; raises InputError with all that is wrong with the file.

    An excerpt is read only where that is asked for: most of what holds of a run does not hold of a part of it.
    """
    name = str(path)
    is_ndjson = name.endswith(NDJSON_SUFFIXES)
    if not is_ndjson and not name.endswith(PARQUET_SUFFIX):
        message = "no trace by its name; traces end in .parquet, .ndjson or .ndjson.gz"
        raise InputError([Problem(message, file=name)])
    place = Path(path)
    if not place.exists():
        raise InputError([Problem("no such file; check the path", file=name)])
    if place.is_dir():
        raise InputError([Problem("is a directory; give the trace in it", file=name)])
    try:
        return (read_ndjson if is_ndjson else read_parquet)(path, excerpts=excerpts)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(f"cannot be read: {reason}", file=name)]) from None


def write_trace(
    trace: Trace, path: str | os.PathLike[str], *, excerpt: Iterable[int] | None = None
) -> None:
    """Write a trace as the kind of file that its name says."""
    write = write_parquet if str(path).endswith(PARQUET_SUFFIX) else write_ndjson
    write(trace, path, excerpt=excerpt)
