"""`endive model-card`: what the model is for, why it can be believed, how far, and where it is known to be wrong."""

from __future__ import annotations

import argparse
import json

_EPILOG = """\
examples:
  endive model-card                          # as Markdown, on the terminal
  endive model-card --out docs/MODEL_FIDELITY.md
  endive model-card --out card.html
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "model-card",
        help="what the model is for, and how far it can be believed",
        description="Write the model card: purpose, validity, data, deviations and errata, from the code and the kept reports.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--out", metavar="F", help="write to this file: .md or .html")
    parser.add_argument(
        "--json", action="store_true", help="one JSON document: the blocks of the page"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Put the card together and write it."""
    from endive import page
    from endive.errors import InputError, Problem
    from endive.model_card.blocks import as_dict, html, markdown
    from endive.model_card.content import TITLE, card
    from endive.signoff.files import checkout
    from endive.utils import whole_file, why_unwritable

    out: str | None = arguments.out
    if out is not None:
        reason = why_unwritable(out)
        if not out.endswith((".md", ".html")):
            reason = f"{out!r} is no name for a card; end it in .md or .html"
        if reason is not None:
            raise InputError([Problem(reason, "--out")])
    blocks = card(checkout())
    if out is not None and out.endswith(".html"):
        page.write_page(out, TITLE, *html(blocks))
    elif out is not None:
        with whole_file(out) as beside:
            beside.write_text(markdown(blocks), encoding="utf-8")
    if arguments.json:
        print(json.dumps({"out": out, "blocks": [as_dict(block) for block in blocks]}))
    elif out is None:
        print(markdown(blocks), end="")
    else:
        print(f"card: {out}")
    return 0
