"""`endive fidelity`: hold the model against the documents' tables and against real Iceberg libraries, row by row."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.fidelity.making import Request
    from endive.fidelity.waivers import Waiver

_OUT = "reports/fidelity"
_EPILOG = """\
examples:
  endive fidelity
  endive fidelity --cost-table iceberg-java --cost-table my_table.yaml
  endive fidelity --runs experiments --json
  endive fidelity --out /tmp/fidelity --waivers my_waivers.yaml --today 2027-01-31

It writes index.html, summary.md, fidelity.json and junit.xml to --out, and compares with the fidelity.json that stood there,
else with baseline.json, the report that is kept with the code.
Needs Java, for Spark. What each row says, and how to accept a difference: docs/FIDELITY_REPORT.md.

exit codes: 0 all held or is accepted, 1 a difference nobody has accepted, 2 bad input (nothing ran), 3 something was not shown
"""


BASELINE = "baseline.json"
"""What a kept report is called: `fidelity.json` is of the last run, whoever made it."""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "fidelity",
        help="compare the model with the documents' tables and with real Iceberg",
        description="Run the model under each cost table, and compare what its attempts read and wrote with the documents and with what was measured on real libraries.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--out", default=_OUT, metavar="DIR", help=f"where the report goes ({_OUT})"
    )
    parser.add_argument(
        "--cost-table",
        action="append",
        default=[],
        metavar="NAME",
        help="a column of the report: a name or a .yaml file; may be repeated (all but legacy)",
    )
    parser.add_argument(
        "--runs", metavar="DIR", help="a tree of runs, with attempts, instead of the standard runs"
    )
    parser.add_argument(
        "--waivers", metavar="FILE", help="accepted differences, instead of those that ship"
    )
    parser.add_argument(
        "--today", metavar="DAY", help="the day on which waivers must not have expired (today)"
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (local[*])")
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(2, os.cpu_count() or 1),
        metavar="N",
        help="runs at a time (2, or 1 on a single processor)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document, nothing else")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read and check everything, then run, then judge, then tell."""
    from endive.fidelity.document import as_document, load_last, render, write_document
    from endive.fidelity.junit import write_junit
    from endive.fidelity.making import columns_of, libraries_of, make, plan
    from endive.fidelity.markdown import write_summary
    from endive.fidelity.page import write_page

    request = _request(arguments)
    kept = request.out / "fidelity.json"
    # The last report here, or else the one that is kept with the code.
    earlier = kept if kept.is_file() else request.out / BASELINE
    before = load_last(earlier)
    columns = columns_of(request)
    libraries_of(request)
    planned = plan(request, columns)
    total = sum(len(one.experiment.seeds) for one in planned)
    with _progress(total) as (on_run, on_step):
        last = None if before is None else (str(earlier), before)
        report, context = make(request, columns, planned, last, on_run=on_run, on_step=on_step)
        document = as_document(report)
        on_step("pages")
        write_page(report, context, request.out / "index.html")
        write_summary(report, request.out / "summary.md")
        write_junit(report, request.out / "junit.xml")
        write_document(document, kept)
    if arguments.json:
        sys.stdout.write(render(document))
    else:
        from endive.cli.render_fidelity import print_report

        print_report(report, request.out)
    return report.exit_code


def _request(arguments: argparse.Namespace) -> Request:
    """What was asked for; everything wrong with it is told at once, and nothing has been written."""
    from endive.errors import InputError, Problem
    from endive.fidelity.making import Request
    from endive.fidelity.waivers import SHIPPED, load_waivers
    from endive.utils import why_unwritable

    problems = []
    today = dt.date.today()
    if arguments.today is not None:
        try:
            today = dt.date.fromisoformat(arguments.today)
        except ValueError:
            message = f"{arguments.today!r} is no day; write it as 2027-06-30"
            problems.append(Problem(message, key="--today"))
    if arguments.jobs < 1:
        problems.append(Problem(f"must be at least 1, not {arguments.jobs}", key="--jobs"))
    if arguments.runs is not None and not Path(arguments.runs).is_dir():
        message = f"{arguments.runs!r} is no directory; name the one that holds <label>-<hash>/"
        problems.append(Problem(message, key="--runs"))
    out = Path(arguments.out)
    if reason := why_unwritable(out / "fidelity.json"):
        problems.append(Problem(reason, key="--out"))
    file = Path(SHIPPED if arguments.waivers is None else arguments.waivers)
    waivers: tuple[Waiver, ...] = ()
    text = ""
    try:
        waivers, text = load_waivers(file), file.read_text(encoding="utf-8")
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return Request(
        out=out,
        tables=tuple(arguments.cost_table),
        runs=None if arguments.runs is None else Path(arguments.runs),
        waivers=waivers,
        waivers_text=text,
        today=today,
        jobs=arguments.jobs,
        master=arguments.master,
    )


_Progress = tuple[Callable[[], object], Callable[[str], object]]


@contextmanager
def _progress(total: int) -> Iterator[_Progress]:
    """A bar on stderr for a person who watches; nothing for anybody else."""
    if not sys.stderr.isatty():
        yield (lambda: None), (lambda _step: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    steps: Mapping[str, Any] = {"Spark": {"total": None}, "verdicts": {"total": None}}
    with bars:
        bar = bars.add_task("runs", total=total or None)
        yield (
            (lambda: bars.advance(bar)),
            (lambda step: bars.update(bar, description=step, **steps.get(step, {}))),
        )
