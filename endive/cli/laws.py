"""`endive laws`: hold the closed forms against runs of the simulator."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.laws.model import Reading
    from endive.laws.runner import Apply, Report, Task

FAILED = 1
INCONCLUSIVE = 3
_EPILOG = """\
examples:
  endive laws
  endive laws --only L3,L4
  endive laws --seed 7 --jobs 4
  endive laws --json > laws.json

Exit code 1: a law does not hold. 3: an interval is too wide to notice an error of 5 %.
Rows that are only reported break an assumption of their law on purpose (docs/LAWS.md).
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "laws",
        help="hold closed forms against runs of the simulator",
        description="Ten laws a correct simulator must meet: what each says, what runs show, and how sure that is.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--only", metavar="L3,L4", help="these laws only")
    parser.add_argument(
        "--seed",
        type=_whole(0),
        default=1,
        metavar="N",
        help="another number, other runs (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=_whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at the same time (default: as many as there are processors)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document in place of the table"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run what the laws ask for and show what they say of it."""
    from endive.laws.registry import LAWS, chosen_laws
    from endive.laws.runner import report

    laws = frozenset(law.id for law in LAWS)
    if arguments.only is not None:
        laws = chosen_laws(arguments.only.split(","))
    with _progress() as on_progress, _counted(arguments.jobs, on_progress) as apply:
        found = report(laws, arguments.seed, apply)
    if arguments.json:
        document = _document(found, laws)
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        from endive.cli.render_laws import print_report

        print_report(found)
    return FAILED if found.failed else INCONCLUSIVE if found.undecided else 0


def _document(found: Report, laws: frozenset[str]) -> dict[str, Any]:
    from endive.laws.model import CONFIDENCE, ERROR
    from endive.laws.registry import LAWS

    return {
        "holds": not found.failed and not found.undecided,
        "seed": found.seed,
        "confidence": CONFIDENCE,
        "error_noticed": ERROR,
        "laws": [
            {
                "id": law.id,
                "title": law.title,
                "statement": law.statement,
                "assumes": law.assumes,
                "source": law.source,
            }
            for law in LAWS
            if law.id in laws
        ],
        "rows": [row.as_dict() for row in found.rows],
    }


OnProgress = Callable[[int, int], None]
"""Called with how many runs are done, and how many there are as far as is known."""


@contextmanager
def _counted(jobs: int, on_progress: OnProgress) -> Iterator[Apply]:
    """Runs trials here or in other processes, and tells how many of how many are done."""
    from endive.pool import applying

    done = total = 0

    def advance() -> None:
        nonlocal done
        done += 1
        on_progress(done, total)

    with applying(jobs, advance, at_a_time=4) as apply:

        def counting(
            function: Callable[[Task], list[Reading]], tasks: Sequence[Task]
        ) -> Iterator[Any]:
            nonlocal total
            total += len(tasks)
            yield from apply(function, tasks)

        yield counting


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """A bar on stderr for a person who watches; nothing for anybody else."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bars = Progress(
        TextColumn("runs"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        bar = bars.add_task("", total=None)
        # Runs that are added while intervals are too wide make the total grow.
        yield lambda done, total: bars.update(bar, completed=done, total=total)


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}, not {text!r}"
            )
        return value

    return parse
