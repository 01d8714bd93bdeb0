"""What the report writes: a document by its schema, a page and a summary in which nothing from a file becomes markup."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser import browser, complaints, open_page
from fidelity_evidence import changed_table, context_of, evidence_of, shipped_evidence
from jsonschema import Draft7Validator
from junitparser import Failure, JUnitXml

from endive.cost_model import load_cost_table
from endive.errors import InputError
from endive.fidelity.context import Context
from endive.fidelity.document import as_document, compare_with, load_last, write_document
from endive.fidelity.judging import judge
from endive.fidelity.junit import write_junit
from endive.fidelity.markdown import LARGEST_BYTES, render
from endive.fidelity.page import write_page
from endive.fidelity.report import Report, make_report
from endive.resources import shared_dir

_TODAY = dt.date(2026, 11, 18)
_DIGEST = "a" * 64
_ROLES = frozenset({"costs", "far behind", "behind at start"})


@cache
def _context() -> Context:
    pairs = [
        (load_cost_table(name), shipped_evidence(name, _ROLES))
        for name in ("iceberg-review", "legacy")
    ]
    return context_of(pairs, control="legacy", libraries=("pyiceberg",))


def _report(context: Context | None = None, **inputs: str) -> Report:
    context = context or _context()
    return make_report(
        judge(context),
        context.sources,
        context.evidence,
        (),
        inputs={"cost table iceberg-review": _DIGEST, **inputs},
        version="v1",
        today=_TODAY,
    )


def _schema() -> dict[str, Any]:
    text = (shared_dir("schemas") / "fidelity.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _hostile() -> Context:
    name = "<script>document.title='owned'</script>|`$x$`"
    changes = {
        "title: Simulator Fidelity Report, review of Iceberg's source": f"title: {json.dumps(name)}"
    }
    table = replace(changed_table("iceberg-review", changes), name=name)
    evidence = evidence_of(load_cost_table("iceberg-review"), "iceberg-review", _ROLES)
    moved = replace(
        evidence,
        attempts=tuple(replace(one, source=f"model:{name}") for one in evidence.attempts),
        runs=tuple(replace(run, source=f"model:{name}", replay=name) for run in evidence.runs),
    )
    return context_of([(table, moved)])


def test_the_document_is_as_its_schema_says_and_the_same_every_time(tmp_path: Path) -> None:
    Draft7Validator.check_schema(_schema())
    document = as_document(_report())
    assert [error.message for error in Draft7Validator(_schema()).iter_errors(document)] == []
    write_document(document, tmp_path / "a.json")
    write_document(as_document(_report()), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert load_last(tmp_path / "a.json") == document


def test_a_report_with_drift_is_as_the_schema_says_too() -> None:
    report = _report()
    last = as_document(report)
    report = replace(report, drift=compare_with(report, last, "fidelity.json"))
    assert report.drift is not None
    assert report.drift.moved == ()
    document = as_document(report)
    assert [error.message for error in Draft7Validator(_schema()).iter_errors(document)] == []


def _find(document: dict[str, Any], row: str, source: str) -> dict[str, Any]:
    of_row = next(one for one in document["rows"] if one["id"] == row)
    finding: dict[str, Any] = next(f for f in of_row["findings"] if f["source"] == source)
    return finding


def test_what_moved_is_told_with_how_much_and_the_input_that_did_it() -> None:
    report = _report()
    last = as_document(report)
    row, source = "convoy_costs.fast_append.cost", "model:iceberg-review"
    finding = _find(last, row, source)
    finding["found"], finding["size"] = "190 ms", finding["size"] + 30
    last["inputs"]["cost table iceberg-review"] = "b" * 64
    drift = compare_with(report, last, "fidelity.json")
    (moved,) = drift.moved
    assert (moved.row, moved.source, moved.where) == (row, source, finding["where"])
    assert moved.was.endswith("190 ms")
    assert moved.by == "190 → 160 (-30) ms at N = 20"
    (reason,) = moved.because
    assert reason.startswith("cost table iceberg-review changed from bbbb")


def test_what_moved_without_a_changed_input_was_moved_by_the_code() -> None:
    report = _report()
    last = as_document(report)
    _find(last, "aspects.occ", "model:iceberg-review")["found"] = "something else"
    last["version"] = "v0"
    (moved,) = compare_with(report, last, "fidelity.json").moved
    assert moved.because == ("no input changed: the code did, from v0 to v1",)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "rows": 3}'])
def test_a_file_that_is_no_report_is_refused_in_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "fidelity.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be compared with"):
        load_last(path)
    assert load_last(tmp_path / "none.json") is None


def test_the_summary_stays_below_what_is_taken_and_is_cut_at_a_line() -> None:
    report = _report()
    assert len(render(report).encode()) < LARGEST_BYTES
    first, *rest = report.rows
    long = replace(first.findings[0], found="found ü " * 30_000)
    report = replace(report, rows=(*rest, *(replace(first, findings=(long,)) for _ in range(9))))
    text = render(report)
    assert len(text.encode()) <= LARGEST_BYTES
    assert text.endswith("all of it.*\n")


def test_junit_has_a_case_for_every_finding_and_a_failure_for_every_difference(
    tmp_path: Path,
) -> None:
    report = _report()
    write_junit(report, tmp_path / "junit.xml")
    cases = [case for suite in JUnitXml.fromfile(str(tmp_path / "junit.xml")) for case in suite]
    failures = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
    assert len(cases) == len(list(report.findings())) + len(report.controls)
    assert len(failures) == len(report.unwaived()) + len(report.lost_controls())


def test_names_from_files_stay_text_in_the_page_the_summary_and_junit(tmp_path: Path) -> None:
    context = _hostile()
    report = _report(context)
    write_page(report, context, tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>document" not in page
    assert "&lt;script&gt;document" in page
    summary = render(report)
    assert "<script>" not in summary
    write_junit(report, tmp_path / "junit.xml")
    assert len(list(JUnitXml.fromfile(str(tmp_path / "junit.xml"))))
    with browser() as window:
        open_page(window, tmp_path / "index.html")
        assert "owned" not in window.title.replace("owned'", "")


def test_in_a_real_browser_rows_open_to_their_evidence_with_keys_alone(tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    context = _context()
    path = tmp_path / "index.html"
    write_page(_report(context), context, path)
    assert path.stat().st_size < 8 * 2**20
    with browser() as window:
        open_page(window, path)
        # The verdict comes first.
        heading = window.find_element("css selector", "h1")
        assert "difference" in heading.text
        row = window.find_element("id", "retry_costs.validate_history.fast_append")
        assert row.get_attribute("open") is None
        row.find_element("tag name", "summary").send_keys(Keys.ENTER)
        assert row.get_attribute("open") is not None
        assert "endive run" in row.text
        assert "N historical list reads" in row.text
        window.find_element("id", "only").click()
        assert not row.is_displayed() or row.get_attribute("class") == "differs"
        assert len(window.find_elements("css selector", "figure img")) == 2
        assert complaints(window) == []
        pictures = (
            "return [...document.querySelectorAll('img')].every((one) => one.naturalWidth > 100)"
        )
        assert window.execute_script(pictures)
