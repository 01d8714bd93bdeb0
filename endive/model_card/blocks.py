"""A page as a list of blocks, so that Markdown and HTML say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from endive import page
from endive.page import Markup, markdown_table

_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the page's own."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences; words between back-quotes are code."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    """The columns that are numbers."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]


Block = Heading | Paragraph | Points | Grid | Commands


def grid(
    head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()
) -> Grid:
    """A table of anything that can be told."""
    return Grid(tuple(head), tuple(tuple(map(str, row)) for row in rows), tuple(numbers))


def markdown(blocks: Iterable[Block]) -> str:
    """The page as Markdown."""
    return "\n".join(map(_markdown, blocks))


def html(blocks: Sequence[Block]) -> list[Markup]:
    """The page's body as HTML."""
    return [_html(block) for block in blocks]


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}\n"
    if isinstance(block, Paragraph):
        return f"{block.text}\n"
    if isinstance(block, Points):
        return "".join(f"- {item}\n" for item in block.items)
    if isinstance(block, Commands):
        return "```sh\n" + "".join(f"{line}\n" for line in block.lines) + "```\n"
    return markdown_table(block.head, block.rows)


def _html(block: Block) -> Markup:
    if isinstance(block, Heading):
        return page.element(f"h{block.level}", block.text)
    if isinstance(block, Paragraph):
        return page.paragraph(_sentence(block.text))
    if isinstance(block, Points):
        return page.element("ul", *(page.element("li", _sentence(item)) for item in block.items))
    if isinstance(block, Commands):
        return page.block("\n".join(block.lines))
    return page.table(block.head, block.rows, numbers=block.numbers)


def _sentence(text: str) -> Markup:
    parts = _CODE.split(text)
    # Every other part stood between back-quotes.
    return page.join(*(page.code(part) if place % 2 else part for place, part in enumerate(parts)))


def as_dict(block: Block) -> dict[str, Any]:
    """A block as a JSON object."""
    return {"kind": type(block).__name__.lower(), **asdict(block)}
