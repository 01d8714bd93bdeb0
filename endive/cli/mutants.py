"""`endive mutants`: put every named fault into the code, and see who notices."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endive.mutants.matrix import Matrix

MATRIX_FILE = "reports/kill_matrix.json"
_EPILOG = """\
examples:
  endive mutants
  endive mutants --jobs 4 --quiet-check 500
  endive mutants --only n-plus-one 'ml-plus-*' 'table:spec-2.0:*'
  endive mutants --list
  endive mutants --json > matrix.json

Exit code 1: a fault that nobody noticed, a mutant that changes nothing, or an alarm where nothing is wrong.
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "mutants",
        help="put faults into the code and the cost tables, and see who notices",
        description="Every named fault must be noticed by the invariants named for it; harmless changes by none.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only", nargs="+", metavar="ID", help="these mutants only; a pattern may have * in it"
    )
    parser.add_argument(
        "--list", action="store_true", help="show all mutants of the code, and run none"
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="one JSON document: to FILE, or to the terminal in place of the table",
    )
    parser.add_argument(
        "--matrix",
        default=None,
        metavar="FILE",
        help=f"where the kill matrix goes (default: {MATRIX_FILE}, if all mutants are run)",
    )
    parser.add_argument(
        "--quiet-check",
        type=_count,
        default=None,
        metavar="N",
        help="generated configurations in which the judge must keep silent (default: 40; with --only none)",
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=1, metavar="N", help="processes at the same time (default: 1)"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run the mutants and show what became of them."""
    from endive.cli.progress import progress_if_watched
    from endive.mutants.matrix import all_ids, build_matrix, chosen_ids, quiet_runs
    from endive.pool import applying

    if arguments.list:
        return _list(arguments.json)
    is_whole = arguments.only is None
    ids = all_ids() if is_whole else chosen_ids(arguments.only)
    quiet = arguments.quiet_check
    runs = quiet_runs(40 if quiet is None else quiet) if is_whole or quiet is not None else []
    with (
        progress_if_watched(len(ids) + len(runs)) as advance,
        applying(arguments.jobs, advance, at_a_time=8) as apply,
    ):
        matrix = build_matrix(ids, runs, apply)
    document = json.dumps(matrix.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    place = arguments.matrix or (MATRIX_FILE if is_whole else None)
    for file in (place, None if arguments.json == "-" else arguments.json):
        if file is not None:
            _write(file, document)
    if arguments.json == "-":
        sys.stdout.write(document)
    else:
        _show(matrix, place)
    return 0 if matrix.holds else 1


def _show(matrix: Matrix, place: str | None) -> None:
    from endive.cli.render_mutants import print_matrix

    print_matrix(matrix, place)


def _list(as_json: str | None) -> int:
    from endive.mutants.registry import MUTANTS

    entries = [
        {
            "id": mutant.id,
            "title": mutant.title,
            "source": mutant.source,
            "killed_by": list(mutant.killed_by),
            "witness": mutant.witness.name,
            "express_lane": mutant.witness.express_lane,
            "benign": mutant.benign,
        }
        for mutant in MUTANTS
    ]
    document = json.dumps(entries, ensure_ascii=False) + "\n"
    if as_json == "-":
        sys.stdout.write(document)
    elif as_json is not None:
        _write(as_json, document)
    else:
        from endive.cli.render_mutants import print_list

        print_list(MUTANTS)
    return 0


def _write(file: str, document: str) -> None:
    from endive.utils import whole_file

    with whole_file(file) as beside:
        beside.write_text(document, encoding="utf-8")


def _jobs(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return value


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return value
