"""`endive check`: hold traces against every invariant that applies to them."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.judge.model import Verdict
    from endive.trace import Trace

_EPILOG = """\
examples:
  endive run experiment.toml --seed 42 --trace
  endive check experiments/experiment-1a2b3c/42/trace.parquet
  endive check *.trace.parquet --json

exit codes: 0 all held, 1 something is violated, 2 no trace, 3 a check broke on a trace
"""

FAILED = 1
INCONCLUSIVE = 3


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "check",
        help="hold traces against the invariants",
        description="Judge traces, whoever made them: replay each and hold it against every invariant that applies.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "traces", nargs="+", metavar="TRACE", help="a trace: .parquet, .ndjson or .ndjson.gz"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Judge each trace; one that cannot be read stops everything before anything is said."""
    from endive.errors import InputError, Problem
    from endive.judge.engine import judge
    from endive.trace.files import read_trace

    judged: list[tuple[str, Trace, list[Verdict]]] = []
    problems: list[Problem] = []
    for path in arguments.traces:
        try:
            trace = read_trace(path)
        except InputError as error:
            problems.extend(error.problems)
            continue
        if not problems:
            # What has been judged needs its events no longer, and they are most of the memory.
            verdicts = judge(trace)
            judged.append((path, trace._replace(events=()), verdicts))
    if problems:
        raise InputError(problems)
    verdicts = [verdict for _path, _trace, each in judged for verdict in each]
    code = exit_code(verdicts)
    if arguments.json:
        print(json.dumps(describe(judged, code), allow_nan=False))
    else:
        from endive.cli.render_verdicts import print_verdicts

        for path, trace, each in judged:
            print_verdicts(path, trace.header, each)
    return code


def exit_code(verdicts: list[Verdict]) -> int:
    """A violation is a result; a check that broke leaves the matter open.

    What was never exercised in one run is shown and no more: whether it had to be, a corpus decides.
    """
    from endive.judge.model import Outcome

    outcomes = {verdict.outcome for verdict in verdicts}
    if Outcome.FAIL in outcomes:
        return FAILED
    return INCONCLUSIVE if Outcome.ERROR in outcomes else 0


def describe(judged: list[tuple[str, Trace, list[Verdict]]], code: int) -> dict[str, Any]:
    """All verdicts as a JSON document."""
    return {
        "exit_code": code,
        "traces": [
            {
                "path": str(path),
                "seed": trace.header.seed,
                "cost_table": trace.header.cost_table.get("name"),
                "verdicts": [verdict.as_dict() for verdict in verdicts],
            }
            for path, trace, verdicts in judged
        ],
    }
