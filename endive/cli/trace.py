"""`endive trace`: show a trace to a person, to Perfetto or to another program (docs/TRACE.md)."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.trace import Trace

_EPILOG = """\
examples:
  endive trace results.trace.parquet
  endive trace results.trace.parquet --txn 3 7
  endive trace results.trace.parquet --out timeline.json
  endive trace results.trace.parquet --format ndjson | head

A timeline is opened at https://ui.perfetto.dev. A trace is made by endive run --trace.
"""

FORMATS = ("text", "perfetto", "ndjson", "parquet")
# The longest suffix first, where one ends in another.
_BY_SUFFIX = {
    ".ndjson.gz": "ndjson",
    ".ndjson": "ndjson",
    ".parquet": "parquet",
    ".json": "perfetto",
    ".txt": "text",
}


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "trace",
        help="show what happened in a run, event by event",
        description="Show a trace: a line per event, a timeline for Perfetto, or another file.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a trace: .parquet, .ndjson or .ndjson.gz")
    parser.add_argument(
        "--format", choices=FORMATS, help="text, or what the name of --out says, if not given"
    )
    parser.add_argument("--out", metavar="F", help="write to this file instead of the terminal")
    parser.add_argument(
        "--txn", nargs="+", type=_txn_id, metavar="ID", help="only these transactions"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON document on what the trace holds"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read the trace, then write or print it in the form asked for."""
    form = _checked_form(arguments)
    from endive.trace.files import read_trace

    # An excerpt can be looked at, but written as a trace it would pass for a whole one.
    trace = read_trace(arguments.file, excerpts=form not in ("ndjson", "parquet"))
    chosen: list[int] | None = None
    if arguments.txn is not None:
        chosen = sorted(set(arguments.txn))
        _check_known(chosen, trace, arguments.file)
    if arguments.out is not None:
        _write(trace, form, arguments.out, chosen)
    if arguments.json:
        document = {"file": arguments.file, **describe_trace(trace)}
        if arguments.out is not None:
            document |= {"out": arguments.out, "format": form}
        print(json.dumps(document, allow_nan=False))
    elif arguments.out is None:
        sys.stdout.writelines(_lines(trace, form, chosen))
    else:
        _tell(trace, form, arguments.out)
    return 0


def describe_trace(trace: Trace) -> dict[str, Any]:
    """What a trace holds, as a JSON document."""
    from endive.trace import KINDS

    header = trace.header
    counts = Counter(map(type, trace.events))
    return {
        "format_version": header.format,
        "seed": header.seed,
        "duration_ms": header.duration_ms,
        "num_tables": header.num_tables,
        "cost_table": header.cost_table.get("name"),
        "versions": dict(header.versions),
        "transactions": counts[KINDS["submitted"]],
        "events": len(trace.events),
        "kinds": {name: counts[cls] for name, cls in KINDS.items()},
    }


def _checked_form(arguments: argparse.Namespace) -> str:
    """Which form is meant; raises InputError if the options contradict each other."""
    from endive.errors import InputError, Problem

    form: str | None = arguments.format
    by_name = None
    if arguments.out is not None:
        by_name = next((f for end, f in _BY_SUFFIX.items() if arguments.out.endswith(end)), None)
        if form is None and by_name is None:
            message = f"cannot tell the format of {arguments.out!r}; end it in {', '.join(_BY_SUFFIX)} or give --format"
            raise InputError([Problem(message, "--out")])
        # Traces are read by their names, so a trace under the name of something else is lost.
        if form in ("ndjson", "parquet") and by_name != form:
            endings = " or ".join(end for end, f in _BY_SUFFIX.items() if f == form)
            message = f"{arguments.out!r} is no name for {form}; end it in {endings}"
            raise InputError([Problem(message, "--out")])
    elif form == "parquet":
        raise InputError([Problem("parquet is not for terminals; give --out FILE.parquet")])
    elif form is not None and arguments.json:
        message = f"--json and --format {form} both want the terminal; give --out or drop one"
        raise InputError([Problem(message)])
    return form or by_name or "text"


def _check_known(chosen: list[int], trace: Trace, file: str) -> None:
    from endive.errors import InputError, Problem

    known = {event.txn_id for event in trace.events}
    missing = [txn_id for txn_id in chosen if txn_id not in known]
    if missing:
        least, most = (min(known), max(known)) if known else (0, 0)
        there = f"there are {least} to {most}" if known else "there are none"
        raise InputError(
            [Problem(f"{txn_id} is not in the trace; {there}", "--txn", file) for txn_id in missing]
        )


def _excerpt(trace: Trace, chosen: Iterable[int] | None) -> Trace:
    if chosen is None:
        return trace
    ids = frozenset(chosen)
    return trace._replace(events=tuple(event for event in trace.events if event.txn_id in ids))


def _lines(trace: Trace, form: str, chosen: list[int] | None) -> Iterator[str]:
    if form == "perfetto":
        from endive.trace.perfetto import perfetto_lines

        yield from perfetto_lines(trace, None if chosen is None else frozenset(chosen))
    elif form == "ndjson":
        from endive.trace.files import ndjson_lines

        yield from ndjson_lines(_excerpt(trace, chosen), excerpt=chosen)
    else:
        from endive.trace.text import text_lines

        for line in text_lines(_excerpt(trace, chosen).events):
            yield f"{line}\n"


def _write(trace: Trace, form: str, out: str, chosen: list[int] | None) -> None:
    from endive.trace.files import write_trace
    from endive.utils import whole_file

    if form in ("ndjson", "parquet"):
        write_trace(_excerpt(trace, chosen), out, excerpt=chosen)
        return
    with whole_file(out) as beside, beside.open("w", encoding="utf-8") as file:
        file.writelines(_lines(trace, form, chosen))


def _tell(trace: Trace, form: str, out: str) -> None:
    from endive.cli.words import count

    hint = "; open it at https://ui.perfetto.dev" if form == "perfetto" else ""
    print(f"{out}: {form} of a trace of {count(len(trace.events))} events{hint}")


def _txn_id(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a transaction")
    return int(text)
