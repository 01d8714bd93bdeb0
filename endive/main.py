"""The command line: parse, call one verb, turn what comes back into an exit code.

Exit codes: 0 all held, 1 something failed, 2 bad usage or bad input (nothing ran, nothing was
written), 3 inconclusive. Only argparse is imported here; a verb imports what it needs when it is
called, so that `endive --help` is instant.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from endive import __version__
from endive.cli import (
    analyze,
    calibrate,
    check,
    compare,
    cost_tables,
    doctor,
    fidelity,
    invariants,
    laws,
    model_card,
    mutants,
    oracle,
    providers,
    run,
    signoff,
    size,
    sweep,
    trace,
    verify,
    why,
)
from endive.errors import EndiveError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    # Somebody who ends the process politely gets the same tidy end as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int = arguments.execute(arguments)
        sys.stdout.flush()
        return code
    except EndiveError as error:
        _complain(str(error))
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("interrupted; finished runs are kept, the others left no results")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _abandon_stdout()
        return FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
        _abandon_stdout()
        return FAILED


def build_parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog="endive",
        description="Simulates optimistic commits of Apache Iceberg on object storage.",
        epilog="example: endive run experiment.toml --seed 42",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"endive {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in (
        run,
        sweep,
        analyze,
        verify,
        trace,
        check,
        why,
        compare,
        invariants,
        mutants,
        laws,
        calibrate,
        size,
        oracle,
        providers,
        cost_tables,
        signoff,
        model_card,
        fidelity,
        doctor,
    ):
        verb.add_parser(verbs)
    return parser


def _complain(message: str) -> None:
    for line in message.splitlines():
        print(f"endive: {line}", file=sys.stderr)


def _abandon_stdout() -> None:
    """Keep the interpreter from failing once more when it flushes what could not be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
