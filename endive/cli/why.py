"""`endive why`: who beat a transaction, attempt by attempt, and what that cost it, in words and as a picture."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.trace import Trace
    from endive.why import Telling

_EPILOG = """\
examples:
  endive why experiments/mix-1a2b3c/42            # whom to ask about: those who lost the most
  endive why experiments/mix-1a2b3c/42 17
  endive why results.trace.parquet 17 --out t17.html

RUN is a trace, a results file, or the directory of one seed. A run without a trace is made once more.
"""

_LISTED = 10
_SUFFIXES = (".html", ".svg", ".png")


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "why",
        help="who beat a transaction, and what that cost it",
        description="Tell who beat a transaction, attempt by attempt: every wasted read and millisecond.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "run", metavar="RUN", help="a trace, a results file or the directory of a seed"
    )
    parser.add_argument(
        "txn", nargs="?", metavar="TXN", type=_txn, help="the number of the transaction"
    )
    parser.add_argument("--all", action="store_true", help="every lost call, however many")
    parser.add_argument("--out", metavar="F", help="also the picture: a file .html, .svg or .png")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Explain one transaction, or list those that are worth asking about."""
    _check(arguments)
    from endive.why.sources import trace_of

    trace = trace_of(arguments.run)
    if arguments.txn is None:
        _list(trace, arguments)
    else:
        _explain(trace, arguments)
    return 0


def _explain(trace: Trace, arguments: argparse.Namespace) -> None:
    from endive.judge.replay import Replay
    from endive.why import explain

    telling = explain(Replay(trace), arguments.txn, arguments.run)
    if arguments.out is not None:
        _save(telling, arguments.out)
    if arguments.json:
        document: dict[str, Any] = {"run": arguments.run, **telling.as_dict()}
        print(json.dumps(document, allow_nan=False))
        return
    from endive.cli.render_why import lines

    for line in lines(telling, all_calls=arguments.all):
        print(line)
    if arguments.out is not None:
        print(f"\npicture: {arguments.out}")


def _list(trace: Trace, arguments: argparse.Namespace) -> None:
    from endive.why import most_costly

    tellings = most_costly(trace, _LISTED)
    if arguments.json:
        document = {
            "run": arguments.run,
            "transactions": [telling.as_dict() for telling in tellings],
        }
        print(json.dumps(document, allow_nan=False))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from endive.cli.render_why import table_rows

    table = Table(box=box.HORIZONTALS, title="What lost the most to rivals", title_justify="left")
    for name in ("txn", "operation", "came to", "lost calls", "needed", "lost", "mostly in"):
        table.add_column(
            name, justify="right" if name in ("txn", "lost calls", "needed", "lost") else "left"
        )
    for row in table_rows(tellings):
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    console.print(table)
    if tellings:
        console.print(f"endive why {arguments.run} {tellings[0].txn_id} tells the story of one")


def _save(telling: Telling, out: str) -> None:
    from endive import page
    from endive.cli.render_why import lines
    from endive.utils import whole_file
    from endive.why.picture import in_one_sentence, picture_of

    plot = picture_of(telling)
    if out.endswith(".html"):
        title = f"Why T{telling.txn_id} took as long as it did"
        story = "\n".join(lines(telling, all_calls=True))
        words = in_one_sentence(telling)
        page.write_page(
            out,
            title,
            page.element("h1", title),
            plot.on_page(words),
            page.block(story),
            style="pre { white-space:pre-wrap }",
        )
        return
    content = plot.light_svg.encode() if out.endswith(".svg") else plot.png
    with whole_file(out) as beside:
        beside.write_bytes(content)


def _check(arguments: argparse.Namespace) -> None:
    from endive.errors import InputError, Problem
    from endive.utils import why_unwritable

    if arguments.out is None:
        return
    if arguments.txn is None:
        raise InputError([Problem("a picture is of one transaction; give TXN too", "--out")])
    if not arguments.out.endswith(_SUFFIXES):
        message = f"{arguments.out!r} is no name for a picture; end it in {', '.join(_SUFFIXES)}"
        raise InputError([Problem(message, "--out")])
    reason = why_unwritable(arguments.out)
    if reason is not None:
        raise InputError([Problem(reason, file=arguments.out)])


def _txn(text: str) -> int:
    digits = text.removeprefix("T")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a transaction")
    return int(digits)
