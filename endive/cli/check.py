"""`endive check`: hold traces against every invariant that applies to them."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.cli.engines import add_engine_arguments, check_engine_arguments

if TYPE_CHECKING:
    from endive.errors import Problem
    from endive.judge.corpus import Judged, Sentence
    from endive.judge.model import Verdict

_EPILOG = """\
examples:
  endive run experiment.toml --seed 42 --trace
  endive check experiments/experiment-1a2b3c/42/trace.parquet
  endive check experiments --jobs 4 --json
  endive check experiments --corpus --engine spark --master spark://head:7077

exit codes: 0 all held, 1 something is violated, 2 no trace, 3 a check broke on a trace
"""

FAILED = 1
INCONCLUSIVE = 3
# More traces than this are told together, and singly only where something is wrong.
_MOST_SINGLY = 8
# Starting another process takes as long as judging this much.
_BYTES_PER_PROCESS = 2**20


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
        "traces",
        nargs="+",
        metavar="TRACE",
        help="a trace: .parquet, .ndjson or .ndjson.gz; or a directory with traces in it",
    )
    parser.add_argument(
        "--corpus",
        action="store_true",
        help="also demand that what must happen sometimes happened in one of these runs",
    )
    add_engine_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Judge each trace; one that cannot be read stops everything before anything is said."""
    from endive.cli.progress import progress_if_watched
    from endive.errors import InputError
    from endive.judge.corpus import find_traces
    from endive.judge.engine import combine

    check_engine_arguments(arguments)
    paths = find_traces(arguments.traces)
    judged: list[Judged] = []
    problems: list[Problem] = []
    with (
        progress_if_watched(0 if arguments.json else len(paths)) as on_done,
        closing(_results(paths, arguments)) as results,
    ):
        for result in results:
            if isinstance(result, tuple):
                problems.extend(result)
            else:
                judged.append(result.judged())
            on_done()
    if problems:
        raise InputError(sorted(problems, key=lambda problem: paths.index(problem.file)))
    place = {path: at for at, path in enumerate(paths)}
    judged.sort(key=lambda each: place[each.path])
    together = combine(each.verdicts for each in judged)
    verdicts = [verdict for each in judged for verdict in each.verdicts]
    code = exit_code([*verdicts, *(together if arguments.corpus else ())])
    if arguments.json:
        print(json.dumps(describe(judged, together, code), allow_nan=False))
    else:
        _print(judged, together, is_corpus=arguments.corpus)
    return code


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """A violation is a result; a check that broke leaves the matter open.

    What was never exercised in one run is shown and no more: whether it had to be, a corpus decides.
    """
    from endive.judge.model import Outcome

    outcomes = {verdict.outcome for verdict in verdicts}
    if Outcome.FAIL in outcomes:
        return FAILED
    return INCONCLUSIVE if Outcome.ERROR in outcomes else 0


def describe(judged: Sequence[Judged], together: Sequence[Verdict], code: int) -> dict[str, Any]:
    """All verdicts as a JSON document."""
    return {
        "exit_code": code,
        "traces": [
            {
                "path": each.path,
                "seed": each.seed,
                "cost_table": each.cost_table,
                "verdicts": [verdict.as_dict() for verdict in each.verdicts],
            }
            for each in judged
        ],
        "corpus": [verdict.as_dict() for verdict in together],
    }


def _print(judged: Sequence[Judged], together: Sequence[Verdict], *, is_corpus: bool) -> None:
    from endive.cli.render_verdicts import print_corpus, print_verdicts
    from endive.judge.model import Outcome

    bad = (Outcome.FAIL, Outcome.ERROR)
    many = len(judged) > _MOST_SINGLY
    for each in judged:
        if not many or any(verdict.outcome in bad for verdict in each.verdicts):
            print_verdicts(each.path, each.seed, each.verdicts)
    if many or is_corpus:
        print_corpus([each.verdicts for each in judged], together)


def _results(
    paths: Sequence[str], arguments: argparse.Namespace
) -> Generator[Sentence | tuple[Problem, ...], None, None]:
    """What is said about each trace, in any order."""
    from endive.judge.corpus import TraceFile, judge_file

    if arguments.engine == "spark":
        yield from _on_spark(paths, arguments)
        return
    from endive.pool import applying, usable_processors

    jobs = arguments.jobs or min(usable_processors(), 1 + _bytes_of(paths) // _BYTES_PER_PROCESS)
    jobs = min(len(paths), jobs)
    with applying(jobs) as apply:
        yield from apply(judge_file, [TraceFile(path) for path in paths])


def _on_spark(
    paths: Sequence[str], arguments: argparse.Namespace
) -> Generator[Sentence | tuple[Problem, ...], None, None]:
    from endive.judge.corpus import TraceFile, judge_file
    from endive.spark import TaskLost, on_workers, spark_session

    readable = [path for path in paths if Path(path).is_file() and os.access(path, os.R_OK)]
    for path in paths:
        if path not in readable:
            # Nothing to send; here it is known why.
            yield judge_file(TraceFile(path))

    # Workers may see no file of this machine.
    files = (TraceFile(path, Path(path).read_bytes()) for path in readable)
    with (
        spark_session("endive check", master=arguments.master, conf=dict(arguments.conf)) as spark,
        closing(on_workers(spark, "endive.judge.corpus:judge_file", files)) as results,
    ):
        for file, result in results:
            if isinstance(result, TaskLost):
                raise OSError(f"{file.path}: {result.message}")
            yield result


def _bytes_of(paths: Sequence[str]) -> int:
    return sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
