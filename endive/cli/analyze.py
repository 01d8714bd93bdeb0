"""`endive analyze`: what an experiments tree says about saturation, in plots and on one page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from endive.cli.engines import spark_setting

_EPILOG = """\
examples:
  endive sweep studies/small/tables.toml --out experiments
  endive analyze experiments
  endive analyze experiments --out report --master 'local[2]' --json

Writes <out>/index.html, one page with everything on it, and for each study and question a plot
(.svg, .png) and a table of the numbers behind it (.md). Experiments of one label are one study.
docs/ANALYSIS.md says how to read them.

exit codes: 0 written, 2 bad input (nothing written)
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "analyze",
        help="plots and a page of what experiments say about saturation",
        description="Aggregate an experiments tree on Spark and answer: where is the knee, what commits, where does the time go, "
        "from which rate on does maintenance no longer commit?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "directory", metavar="DIR", help="the tree that holds <label>-<hash>/<seed>/results.parquet"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="where page and plots go (the folder analysis of the tree)"
    )
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs (local[*]: on this machine)"
    )
    parser.add_argument(
        "--conf",
        action="append",
        type=spark_setting,
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, any number of times",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Analyse the tree and say where everything is."""
    from endive.saturation_analysis import analyze

    with _progress() as on_step:
        found = analyze(
            arguments.directory,
            arguments.out,
            master=arguments.master,
            conf=dict(arguments.conf),
            on_step=on_step,
        )
    if arguments.json:
        print(json.dumps(found.as_dict(), ensure_ascii=False, allow_nan=False))
    else:
        from endive.cli.render_analyze import print_analysis

        print_analysis(found)
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What is being worked on, on stderr, for a person who watches; nothing for anybody else."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield status.update
