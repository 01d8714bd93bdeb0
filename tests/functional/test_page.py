"""Pages and plots: nothing from a file becomes markup, nothing is fetched, rows open with a key, paper shows everything."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import browser, complaints, open_page
from hypothesis import given
from hypothesis import strategies as st
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from endive import page
from endive.plots import DARK, LIGHT, Look, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def paint(figure: Figure, look: Look) -> None:
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], [1, 4, 9], label="reads")
    axes.legend()


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"))))
def test_text_never_becomes_markup(text: str) -> None:
    made = page.join(
        page.element("td", text, title=text),
        page.paragraph(text),
        page.table([text], [[text]], caption=text),
        page.fold([text], page.block(text)),
    )
    plain = page.join(
        page.element("td", "x", title="x"),
        page.paragraph("x"),
        page.table(["x"], [["x"]], caption="x"),
        page.fold(["x"], page.block("x")),
    )
    assert Tags(made).tags == Tags(plain).tags
    assert Tags(made).text == text * 7


def test_markup_stays_what_it_is_and_joins_with_text() -> None:
    assert page.join(page.code("a<b"), " & c") == "<code>a&lt;b</code> &amp; c"


@pytest.mark.parametrize("cell", ["a|b", "a\nb", "`a`", "<b>", "\\|", "[a](b)", "*a*", "_a_"])
def test_a_cell_in_markdown_stays_one_cell(cell: str) -> None:
    lines = page.markdown_table(["head"], [[cell]]).splitlines()
    assert len(lines) == 3
    assert lines[2].replace("\\\\", "").replace("\\|", "").count("|") == 2
    assert "<" not in lines[2]


def test_the_same_numbers_give_the_same_picture() -> None:
    assert draw(paint) == draw(paint)


def test_a_picture_has_both_looks_and_both_formats(tmp_path: Path) -> None:
    plot = draw(paint)
    assert LIGHT.paper in plot.light_svg
    assert DARK.paper in plot.dark_svg
    svg, png = plot.save(tmp_path / "reads")
    assert svg.read_text() == plot.light_svg
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_page_works_in_a_browser_without_network_and_mouse(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    rows = [page.fold([page.verdict("pass"), HOSTILE, HOSTILE], page.block("endive run"), id="row")]
    page.write_page(file, HOSTILE, *rows, draw(paint).on_page(HOSTILE, HOSTILE))
    assert "http" not in file.read_text().replace("http-equiv", "")
    with browser() as window:
        open_page(window, file)
        row = window.find_element(By.ID, "row")
        assert not row.find_element(By.TAG_NAME, "pre").is_displayed()
        row.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
        assert row.find_element(By.TAG_NAME, "pre").is_displayed()
        # On paper every row is open, and afterwards it is as it was.
        row.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
        window.execute_script("dispatchEvent(new Event('beforeprint'))")
        assert row.find_element(By.TAG_NAME, "pre").is_displayed()
        window.execute_script("dispatchEvent(new Event('afterprint'))")
        assert not row.find_element(By.TAG_NAME, "pre").is_displayed()
        image = window.find_element(By.TAG_NAME, "img")
        assert image.size["width"] > 400
        assert window.title == HOSTILE
        assert complaints(window) == []
