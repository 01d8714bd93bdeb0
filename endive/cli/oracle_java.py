"""`endive oracle iceberg-java`: the real Iceberg Java, counted attempt by attempt."""

from __future__ import annotations

import argparse
import json
import sys

_NOT_RUN = 3
_EPILOG = """\
examples:
  endive oracle iceberg-java
  endive oracle iceberg-java --jar iceberg-spark-runtime-4.1_2.13-1.11.0.jar --out mine.json

Every experiment is made anew and compared with what is kept, which takes less than a minute. Exit code 1: the library reads or writes
something else than what is kept; each count is named, old and new. Exit code 3: there is no jar, so nothing was run.

The jar is that of --jar, else that of the variable ENDIVE_ICEBERG_JAR, else that of the local Maven repository.
"""


def add_kind(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare it among the oracles."""
    parser = kinds.add_parser(
        "iceberg-java",
        help="count reads and writes of Iceberg Java, in PySpark's JVM",
        description="Count the files that Iceberg Java reads and writes: every operation, fresh and stale, retried, refused, exhausted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--jar", metavar="FILE.jar", help="the Iceberg runtime for PySpark's Spark")
    parser.add_argument("--out", metavar="FILE.json", help="write the measurement")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Measure, compare with what is kept, and tell; 3 if there is no jar."""
    from endive.cli.progress import progress_if_watched
    from endive.oracle.comparing import differences
    from endive.oracle.iceberg_java import LIBRARY, NAME, measure, steps
    from endive.oracle.java.jar import FETCH, JarMissingError, find_jar
    from endive.oracle.measurement import load_measured, save_measurement

    _check_place(arguments.out)
    try:
        jar = find_jar(arguments.jar)
    except JarMissingError as error:
        if arguments.json:
            print(json.dumps({"library": LIBRARY, "not_run": str(error), "fetch": FETCH}))
        else:
            print(f"not run: {error}", file=sys.stderr)
        return _NOT_RUN
    kept = load_measured(NAME)
    with progress_if_watched(steps()) as advance:
        measured = measure(jar, advance)
    changed = [str(each) for each in differences(kept, measured)]
    if arguments.out is not None:
        save_measurement(measured, arguments.out)
    if arguments.json:
        document = {**measured.as_dict(), "kept_version": kept.version, "changed": changed}
        print(json.dumps(document, ensure_ascii=False))
    else:
        from endive.cli.render_oracle import print_measurement

        print_measurement(measured, kept, changed)
    return 1 if changed else 0


def _check_place(out: str | None) -> None:
    """A measurement that cannot be written is not begun."""
    from endive.errors import InputError, Problem
    from endive.utils import why_unwritable

    if out is not None and (why := why_unwritable(out)):
        raise InputError([Problem(why, f"--out {out}")])
