"""`endive sweep`: run a grid of configurations with many seeds, on this machine or on Spark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from endive.cli.engines import add_engine_arguments, check_engine_arguments

if TYPE_CHECKING:
    from endive.sweep import SweepResult

_EPILOG = """\
examples:
  endive sweep load.toml
  endive sweep load.toml --jobs 4 --out experiments --json
  endive sweep load.toml --engine spark --master spark://head:7077 --conf spark.executor.memory=4g

Results go to <out>/<label>-<hash>/<seed>/, one directory per cell, and <out>/<label>.sweep.json
says which cell is where. What is finished is skipped, so a sweep that was killed goes on where it
was; processes that sweep into one directory at once share the work. docs/SWEEPS.md has the format.

exit codes: 0 all runs are there, 1 a run failed, 2 bad input (nothing ran)
"""

FAILED = 1


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "sweep",
        help="simulate a grid of configurations with many seeds",
        description="Simulate every cell of a grid with every seed, on local processes or on Spark.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("sweep", metavar="SWEEP.toml", help="axes, base configuration and seeds")
    parser.add_argument("--out", metavar="DIR", help="where experiment directories stand")
    add_engine_arguments(parser)
    parser.add_argument(
        "--force", action="store_true", help="run again what is finished or of another version"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run what is not finished yet; 1 if any run failed."""
    from endive.experiment import DEFAULT_ROOT
    from endive.sweep import read_sweep, run_sweep

    check_engine_arguments(arguments)
    sweep = read_sweep(arguments.sweep)
    with _progress(sweep.num_runs, arguments) as on_done:
        result = run_sweep(
            sweep,
            arguments.out or DEFAULT_ROOT,
            engine=arguments.engine,
            jobs=arguments.jobs,
            master=arguments.master,
            conf=dict(arguments.conf),
            force=arguments.force,
            on_done=on_done,
        )
    code = FAILED if result.failures else 0
    if arguments.json:
        print(json.dumps(describe(result, code), allow_nan=False))
    else:
        from endive.cli.render_sweep import print_sweep

        print_sweep(result)
    for failed in result.failures:
        cell = sweep.cells[failed.cell].name
        where = f"seed {failed.seed}" + (f" of the cell {cell}" if cell else "")
        print(f"endive: {where} failed: {failed.failure}; replay: {failed.replay}", file=sys.stderr)
    return code


def describe(result: SweepResult, code: int) -> dict[str, Any]:
    """What became of a sweep, for machines: the same however long it took and wherever it ran."""
    sweep = result.sweep
    return {
        "exit_code": code,
        "label": sweep.label,
        "out": str(result.out),
        "index": str(result.index),
        "runs": sweep.num_runs,
        "skipped": result.num_skipped,
        "cells": [
            {
                "directory": sweep.directory(cell),
                "config_hash": cell.config_hash,
                "settings": dict(cell.settings),
                "digests": {
                    str(outcome.seed): outcome.digest
                    for outcome in result.of_cell(number)
                    if outcome.digest is not None
                },
            }
            for number, cell in enumerate(sweep.cells)
        ],
        "failures": [
            {
                "directory": sweep.directory(sweep.cells[failed.cell]),
                "settings": dict(sweep.cells[failed.cell].settings),
                "seed": failed.seed,
                "message": failed.failure,
                "replay": failed.replay,
            }
            for failed in result.failures
        ],
    }


@contextmanager
def _progress(total: int, arguments: argparse.Namespace) -> Iterator[Callable[[int], object]]:
    if arguments.json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from endive.cli.progress import progress_of_sweep

    with progress_of_sweep(total) as on_done:
        yield on_done
