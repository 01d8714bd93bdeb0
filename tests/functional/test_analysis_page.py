"""The page of an analysis: everything in one file, nothing from a file becomes markup, and a real browser opens it."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from analysis_tables import at_rate, outcome, study
from browser import browser, complaints, open_page
from selenium.webdriver.common.by import By

from endive.analysis.report import PAGE, QUESTIONS, Written, write_report
from endive.analysis.setups import Setup
from endive.analysis.study import Study
from endive.main import main

HOSTILE = "a'\"><script>alert(1)</script><img src=x onerror=alert(2)>|`*_"


class References(HTMLParser):
    """Everything that the elements of a page refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        refers = ("src", "href", "srcset", "data", "action", "poster", "background")
        self.found += [str(value) for name, value in attrs if name in refers]


def told(one: Setup, seed: int, class_name: str, operation: str) -> dict[str, float]:
    rate = one.load.per_s
    offered, committed = round(60 * rate), round(60 * min(rate, 4.0))
    return dict(
        outcome(committed, offered - committed, commit_latency_mean_ms=100.0 * max(1.0, rate / 4.0))
    )


def small_study(label: str, tables: tuple[int, ...]) -> Study:
    setups = [
        at_rate(rate, label=label, catalog__num_tables=count)
        for rate in (2.0, 4.0, 8.0)
        for count in tables
    ]
    counts = [(one.name, "n_retries", value, 10) for one in setups for value in (0, 1, 2)]
    bins = [(one.name, 1, 1000.0 * k, 1000.0, 4, 0) for one in setups for k in range(60)]
    return study(setups, told, histograms=counts, timeline=bins)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Written, ...]]:
    """The report of two studies, one of which has a name that nobody should trust."""
    out = tmp_path_factory.mktemp("report")
    studies = [small_study("tables", (1, 2)), small_study(HOSTILE, (1,))]
    return out, write_report(studies, out, HOSTILE)


def test_the_page_fetches_nothing(written: tuple[Path, tuple[Written, ...]]) -> None:
    text = (written[0] / PAGE).read_text()
    assert "default-src 'none'" in text
    found = References(text).found
    assert sum(target.startswith("data:image/svg+xml;base64,") for target in found) > 4
    assert all(target.startswith(("#", "data:image/svg+xml;base64,")) for target in found)
    assert "url(" not in text
    for picture in {target for target in found if target.startswith("data:")}:
        svg = base64.b64decode(picture.partition(",")[2]).decode()
        # Namespaces are names, not places.
        assert "<image" not in svg
        assert set(re.findall(r"xlink:href=\"(.)", svg)) <= {"#"}


def test_every_plot_has_its_files_and_its_table(written: tuple[Path, tuple[Written, ...]]) -> None:
    out, reports = written
    for report in reports:
        assert len(report.answers) == len(QUESTIONS)
        for files in report.files.values():
            assert [path.suffix for path in files] == [".svg", ".png", ".md"]
            assert all(path.is_relative_to(out) and path.stat().st_size for path in files)
    folders = {
        path.parent for report in reports for files in report.files.values() for path in files
    }
    assert len(folders) == 2


def test_no_part_of_a_file_is_left_behind(written: tuple[Path, tuple[Written, ...]]) -> None:
    assert not [path for path in written[0].rglob("*") if path.name.startswith(".")]


def test_the_report_for_programs_is_json_with_every_answer(
    written: tuple[Path, tuple[Written, ...]],
) -> None:
    documents = [json.loads(json.dumps(report.as_dict(), allow_nan=False)) for report in written[1]]
    for document in documents:
        assert len(document["answers"]) + len(document["left_out"]) == len(QUESTIONS)
        assert document["seeds"] == [1, 2, 3]
    assert documents[1]["name"] == HOSTILE


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 1200), (False, 420)])
def test_a_browser_shows_every_plot_and_complains_of_nothing(
    written: tuple[Path, tuple[Written, ...]], dark: bool, width: int
) -> None:
    out, reports = written
    with browser(dark=dark, width=width) as window:
        open_page(window, out / PAGE)
        images = window.find_elements(By.TAG_NAME, "img")
        assert len(images) == sum(len(report.files) for report in reports)
        # Nothing of the hostile name became an element of the page.
        assert window.execute_script("return document.querySelectorAll('script').length") == 1
        loaded = "return [...document.images].every((one) => one.complete && one.naturalWidth > 0)"
        assert window.execute_script(loaded)
        used = window.execute_script("return document.images[0].currentSrc")
        light = window.execute_script("return document.images[0].getAttribute('src')")
        assert (used == light) is not dark
        # Wide things scroll in themselves; the page never scrolls sideways.
        sideways = (
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert window.execute_script(sideways) <= 0
        fold = window.find_element(By.CSS_SELECTOR, "details")
        fold.find_element(By.TAG_NAME, "summary").click()
        assert fold.find_element(By.TAG_NAME, "table").is_displayed()
        # Every entry of the contents leads somewhere.
        targets = window.execute_script(
            "return [...document.querySelectorAll('nav a')].map((one) => "
            "document.getElementById(decodeURIComponent(one.hash.slice(1))) !== null)"
        )
        assert targets
        assert all(targets)
        assert complaints(window) == []


# -- bad input: exit code 2, nothing written ---------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["analyze", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_a_tree_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nowhere"
    assert str(missing) in refused(capsys, str(missing))
    assert not list(tmp_path.iterdir())


def test_a_tree_without_runs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no finished run" in refused(capsys, str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file", "label-0123ab"])
def test_a_place_that_cannot_be_written_to_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "file").write_text("mine")
    message = refused(capsys, str(tmp_path), "--out", str(tmp_path / place))
    assert "--out" in message
    assert str(tmp_path / place) in message
    assert (tmp_path / "file").read_text() == "mine"


def test_help_shows_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--help"]) == 0
    told = capsys.readouterr().out
    assert "endive analyze experiments" in told
    assert "exit codes" in told
