"""Pages for people: one self-contained HTML file each, readable in light and dark, on paper and without a mouse.

Whatever is not `Markup` is escaped, so that text from a file can never become part of the page's own. Nothing on a page is fetched
from anywhere: styles, scripts and pictures stand in it, and its content policy says so to the browser.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from endive.utils import whole_file

_STYLE = """
:root { color-scheme: light dark; --bg:#fff; --fg:#1a1a1a; --dim:#5c5c5c; --line:#d8d8d8; --soft:#f5f5f3;
  --pass:#1a6e3c; --fail:#b3261e; --unknown:#8a5a00; --link:#0b57a4; }
@media (prefers-color-scheme: dark) { :root { --bg:#16181a; --fg:#e8e8e6; --dim:#a0a0a0; --line:#3a3d40; --soft:#1f2224;
  --pass:#6fcf97; --fail:#ff8a80; --unknown:#ffc266; --link:#8ab4f8; } }
* { box-sizing:border-box } body { background:var(--bg); color:var(--fg); font:16px/1.5 system-ui, sans-serif; margin:0 auto;
  padding:2rem 1rem 4rem; max-width:72rem } h1 { font-size:1.6rem; margin:0 0 .3rem } h2 { font-size:1.25rem; margin:2.2rem 0 .4rem }
h3 { font-size:1.05rem; margin:1.4rem 0 .3rem } p { max-width:48rem } a { color:var(--link) } .dim { color:var(--dim) }
.pass { color:var(--pass) } .fail { color:var(--fail) } .unknown { color:var(--unknown) }
:focus-visible { outline:2px solid currentColor; outline-offset:3px }
details { border-top:1px solid var(--line); padding:.55rem 0 } summary { cursor:pointer; display:grid; gap:.2rem 1rem;
  grid-template-columns:minmax(5.2rem, max-content) 1fr auto } summary b { font-weight:600 }
.wide { overflow-x:auto } table { border-collapse:collapse; width:100%; margin:.6rem 0; font-size:.92rem }
caption { text-align:left; color:var(--dim); padding:.3rem 0 } th, td { text-align:left; vertical-align:top;
  padding:.3rem .8rem .3rem 0; border-bottom:1px solid var(--line) } td { overflow-wrap:break-word }
th.number, td.number { text-align:right; font-variant-numeric:tabular-nums; overflow-wrap:normal; white-space:nowrap }
pre { background:var(--soft); padding:.7rem; overflow-x:auto; font-size:.82rem; margin:.3rem 0 }
code { font-size:.9em; overflow-wrap:anywhere } figure { margin:1rem 0 } figure img { max-width:100%; height:auto }
figcaption { color:var(--dim); font-size:.92rem; max-width:48rem }
@media (max-width: 40rem) { summary { grid-template-columns:5.2rem 1fr } summary .dim { grid-column:2 } table { font-size:.82rem } }
@media print { body { max-width:none; padding:0 } pre { white-space:pre-wrap } figure, tr { break-inside:avoid }
  h2, h3 { break-after:avoid } .wide { overflow:visible } }
"""
# What has been folded away would be missing on paper.
_SCRIPT = """
addEventListener('beforeprint', () => document.querySelectorAll('details:not([open])').forEach(
  (one) => { one.open = true; one.dataset.closed = '' }));
addEventListener('afterprint', () => document.querySelectorAll('details[data-closed]').forEach(
  (one) => { one.open = false; delete one.dataset.closed }));
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Markup(str):
    """Text that is part of the page as it is; everything else is escaped."""

    __slots__ = ()


def markup(value: object) -> Markup:
    """Anything as a part of a page."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def join(*parts: object, by: str = "") -> Markup:
    """Several parts, one behind the other."""
    return Markup(markup(by).join(markup(part) for part in parts))


def element(name: str, *content: object, **attributes: object) -> Markup:
    """An element with its content; `class_` is the attribute class, `True` an attribute without a value."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        words.append(attribute if value is True else f'{attribute}="{escape(str(value))}"')
    return Markup(f"<{' '.join(words)}>{join(*content)}</{name}>")


def paragraph(*content: object, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *content, class_=class_)


def code(text: object) -> Markup:
    """A few words of code within a sentence."""
    return element("code", text)


def block(text: object) -> Markup:
    """Lines as they are, such as a command; can be reached and scrolled with the keyboard."""
    return element("pre", text, tabindex="0")


def verdict(word: str, colour: str | None = None) -> Markup:
    """A verdict in its colour: `pass`, `fail` or `unknown`, which is the word itself unless said otherwise."""
    return element("b", word, class_=colour or word)


def table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object | None = None,
    numbers: Iterable[int] = (),
) -> Markup:
    """A table that can be scrolled sideways where the page is narrow; the columns `numbers` are set to the right."""
    right = set(numbers)

    def cell(tag: str, place: int, content: object) -> Markup:
        scope = "col" if tag == "th" else None
        return element(tag, content, class_="number" if place in right else None, scope=scope)

    heading = element("tr", *(cell("th", place, word) for place, word in enumerate(head)))
    lines = [
        element("tr", *(cell("td", place, value) for place, value in enumerate(row)))
        for row in rows
    ]
    title = element("caption", caption) if caption is not None else ""
    whole = element("table", title, element("thead", heading), element("tbody", *lines))
    return element("div", whole, class_="wide", tabindex="0")


def fold(
    summary: Sequence[object], *content: object, is_open: bool = False, id: str | None = None
) -> Markup:
    """A row that opens on a click or a key: its summary in up to three parts, and what is behind it."""
    third = 2
    parts = [
        part
        if isinstance(part, Markup)
        else element("span", part, class_="dim" if place == third else None)
        for place, part in enumerate(summary)
    ]
    return element("details", element("summary", *parts), *content, open=is_open, id=id)


def picture(light_svg: str, dark_svg: str, *, words: str, caption: object | None = None) -> Markup:
    """A drawing in two colourings, as one image; `words` say what it shows to those who cannot see it."""
    image = join(
        Markup(f'<source media="(prefers-color-scheme: dark)" srcset="{_data(dark_svg)}">'),
        Markup(f'<img alt="{escape(words)}" src="{_data(light_svg)}">'),
    )
    title = element("figcaption", caption) if caption is not None else ""
    return element("figure", element("picture", image), title)


def document(title: str, *body: object, style: str = "", script: str = "") -> str:
    """The whole page. `style` and `script` are added to those that every page has."""
    head = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body>",
    ]
    return "".join((*head, join(*body), f"<script>{_SCRIPT}{script}</script></body></html>\n"))


def write_page(
    path: str | Path, title: str, *body: object, style: str = "", script: str = ""
) -> None:
    """Write a page; it appears whole or not at all."""
    with whole_file(path) as beside:
        beside.write_text(document(title, *body, style=style, script=script), encoding="utf-8")


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; what a cell holds cannot end the cell, nor become markup of its own."""
    lines = [_markdown_row(head), "|" + "---|" * len(head)]
    lines += [_markdown_row(row) for row in rows]
    return "\n".join(lines) + "\n"


_IN_MARKDOWN: Mapping[str, str] = {
    "\\": "\\\\",
    "|": "\\|",
    "`": "\\`",
    "*": "\\*",
    "_": "\\_",
    "[": "\\[",
    "<": "&lt;",
    ">": "&gt;",
    "\n": " ",
    "\r": " ",
}


def _markdown_row(cells: Sequence[object]) -> str:
    escaped = ("".join(_IN_MARKDOWN.get(letter, letter) for letter in str(cell)) for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _data(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
