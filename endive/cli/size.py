"""`endive size`: which stores, catalogs and modes keep objectives under a load, with how much room, and what gives way first."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.errors import Problem
    from endive.sizing.answering import Answer
    from endive.sizing.measuring import Reading, Task
    from endive.sizing.searching import Apply

_EPILOG = """\
examples:
  endive size --rate 5 --tables 10 --slo "p99<2s" --slo "success>=99.9%"
  endive size --rate 50 --tables 10 --mix fast_append=0.9,merge_append=0.1 \\
      --maintenance "rewrite_files every 1h for 10min" \\
      --slo "p99<2s,success>=99.9%,maintenance.success>=95%" --provider s3x --out best.toml
  endive size --config base.toml --rate 20 --slo "p95<=800ms" --json > answer.json

objectives: p50, p95, p99, p99.9 < a duration (800ms, 2s, 10min, 1h): commit latency, from the end of the work on;
total.p99: from submission on; success >= a share; throughput >= a rate. A class or operation before a point
narrows it down: maintenance.success>=95%, fast_append.p95<1s. Without one it is about all open arrivals.

Exit codes: 0 something holds; 1 nothing does; 3 nothing does for sure, and something is open; 2 bad input.
docs/SIZING.md says what an answer means.
"""
_RETRY_PRESETS = ("iceberg", "none")
_TABLE_METADATA = ("separate", "inlined")


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "size",
        help="which store and catalog keep objectives under a load",
        description="Simulate a load on stores, catalogs and modes, and say which keep its objectives and how much more they take.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    load = parser.add_argument_group("the load")
    load.add_argument("--rate", metavar="N/s", help="open arrivals in all: 50, 50/s, 30/min")
    load.add_argument("--tables", type=_whole(1), metavar="N", help="how many tables (1)")
    load.add_argument(
        "--mix", metavar="OP=W,…", help="operations by weight (fast_append=0.9,merge_append=0.1)"
    )
    load.add_argument(
        "--runtime",
        metavar="TIME",
        help="work before the commit: 10s, 'exponential 10s', 'lognormal 10s sigma 1' (the last)",
    )
    load.add_argument(
        "--maintenance",
        action="append",
        default=[],
        metavar="JOB",
        help="'rewrite_files every 1h for 10min': every table; 'in all' and 'overlap 5%%' may follow",
    )
    load.add_argument("--partitions", type=_whole(1), metavar="N", help="partitions per table")
    load.add_argument("--retries", type=_whole(0), metavar="N", help="retries before giving up")
    load.add_argument(
        "--retry-preset",
        choices=_RETRY_PRESETS,
        help="how to retry (iceberg: 4 times, from 100 ms on)",
    )
    load.add_argument("--cost-table", metavar="NAME", help="what commits cost (iceberg-java)")
    load.add_argument(
        "--table-metadata",
        choices=_TABLE_METADATA,
        help="a metadata file with every commit, or metadata in the catalog (separate)",
    )
    load.add_argument(
        "--config", metavar="BASE.toml", help="a configuration to start from; options go over it"
    )
    parser.add_argument(
        "--slo", action="append", default=[], metavar="OBJECTIVE", help="what must be kept"
    )
    choice = parser.add_argument_group("the candidates")
    choice.add_argument(
        "--provider", type=_names, default=(), metavar="A,B", help="these stores only"
    )
    choice.add_argument(
        "--catalog", type=_names, default=(), metavar="A,B", help="of one-pointer, per-table, log"
    )
    choice.add_argument("--lists", type=_names, default=(), metavar="A,B", help="of rewrite, ml+")
    choice.add_argument(
        "--all", action="store_true", help="show all candidates, and what cannot be and why"
    )
    evidence = parser.add_argument_group("the evidence")
    evidence.add_argument(
        "--seeds", type=_whole(20), default=20, metavar="N", help="at least 20 (20)"
    )
    evidence.add_argument(
        "--seed", type=_whole(0), default=1, metavar="N", help="the first seed (1)"
    )
    evidence.add_argument(
        "--confidence", type=_confidence, default=0.95, metavar="P", help="of each candidate (0.95)"
    )
    evidence.add_argument(
        "--duration", metavar="TIME", help="simulated time of a run, in place of one worked out"
    )
    evidence.add_argument(
        "--margins",
        type=_whole(0),
        default=1,
        metavar="N",
        help="of how many to find the margin (1)",
    )
    evidence.add_argument(
        "--finalists",
        type=_whole(1),
        default=3,
        metavar="N",
        help="how many run for hours where objectives are about jobs (3)",
    )
    evidence.add_argument(
        "--jobs",
        type=_whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at the same time (as many as there are processors)",
    )
    parser.add_argument("--out", metavar="FILE.toml", help="write the recommended configuration")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Find the answer and show it."""
    from endive.sizing.answering import answer
    from endive.sizing.candidates import candidates
    from endive.sizing.request import Options, build_request
    from endive.sizing.searching import Evidence, Searcher

    duration_ms, problems = _check_rest(arguments)
    request = build_request(
        Options(
            slo=arguments.slo,
            rate=arguments.rate,
            tables=arguments.tables,
            mix=arguments.mix,
            runtime=arguments.runtime,
            maintenance=arguments.maintenance,
            partitions=arguments.partitions,
            retries=arguments.retries,
            retry_preset=arguments.retry_preset,
            cost_table=arguments.cost_table,
            table_metadata=arguments.table_metadata,
            config=arguments.config,
        ),
        problems,
    )
    chosen, left_out = candidates(request, arguments.provider, arguments.catalog, arguments.lists)
    evidence = Evidence(
        confidence=arguments.confidence,
        seeds=arguments.seeds,
        first_seed=arguments.seed,
        duration_ms=duration_ms,
    )
    with _progress() as bar, _counted(arguments.jobs, bar) as apply:
        searcher = Searcher(request, evidence, apply, bar.stage)
        found = answer(
            request,
            chosen,
            left_out,
            evidence,
            searcher,
            margins=arguments.margins,
            finalists=arguments.finalists,
        )
    if arguments.out is not None and found.recommended is not None:
        _write(arguments.out, found)
    if arguments.json:
        document = found.as_dict()
        document["written"] = arguments.out if found.recommended is not None else None
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        from endive.cli.render_size import print_answer

        print_answer(found, shows_all=arguments.all, written=arguments.out)
    return found.exit_code


def _check_rest(arguments: argparse.Namespace) -> tuple[float | None, list[Problem]]:
    """The duration, if there is one, and what is wrong with options that are not about the load."""
    from endive.errors import Problem
    from endive.sizing.units import Unclear, duration_ms
    from endive.utils import why_unwritable

    problems: list[Problem] = []
    found = None
    if arguments.duration is not None:
        try:
            found = duration_ms(arguments.duration)
        except Unclear as unclear:
            problems.append(Problem(str(unclear), "--duration"))
    if arguments.out is not None:
        reason = why_unwritable(arguments.out)
        if reason is not None:
            problems.append(Problem(reason, "--out"))
    return found, problems


def _write(path: str, found: Answer) -> None:
    """The recommended configuration, with what it was found to keep."""
    import tomli_w

    from endive.cli.render_size import in_a_nutshell
    from endive.utils import whole_file

    best = found.recommended
    assert best is not None
    document = {**best.assessment.document, "experiment": {"label": "sized"}}
    comment = "".join(f"# {line}\n" for line in in_a_nutshell(found, best))
    with whole_file(path) as beside:
        beside.write_text(f"{comment}\n{tomli_w.dumps(document)}", encoding="utf-8")


class _Bar:
    """Counts runs, stage by stage."""

    def __init__(self, update: Callable[..., object] | None = None) -> None:
        self._update = update
        self._stage, self._done, self._total = "", 0, 0

    def stage(self, name: str, runs: int) -> None:
        """So many more runs of a stage are under way."""
        self._stage, self._total = name, self._total + runs
        self._tell()

    def advance(self) -> None:
        """One more run is done."""
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._update is not None:
            self._update(completed=self._done, total=self._total, state=self._stage)


@contextmanager
def _progress() -> Iterator[_Bar]:
    """A bar on stderr for a person who watches; nothing for anybody else."""
    if not sys.stderr.isatty():
        yield _Bar()
        return
    from functools import partial

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.fields[state]}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        # Doubts and margins add runs as they come up.
        yield _Bar(partial(bars.update, bars.add_task("", total=None, state="starting")))


@contextmanager
def _counted(jobs: int, bar: _Bar) -> Iterator[Apply]:
    from endive.pool import applying

    with applying(jobs, bar.advance) as apply:

        def typed(function: Callable[[Task], Reading], tasks: Sequence[Task]) -> Iterator[Any]:
            return apply(function, tasks)

        yield typed


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if text.isascii() and text.isdecimal() and len(text) <= 15 and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at least {least}, not {text!r}"
        )

    return parse


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"must be from 0.5 up to, not including, 1, not {text!r}")
    return value
