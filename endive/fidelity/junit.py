"""The report for CI servers: one suite per part, one case per row and column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from endive.fidelity.model import Finding, Row, Verdict
from endive.fidelity.report import Report, is_failing
from endive.fidelity.waivers import as_waiver
from endive.utils import whole_file

if TYPE_CHECKING:
    from junitparser import TestCase


def write_junit(report: Report, path: str | Path) -> None:
    """Write the file; it appears whole or not at all."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    document = JUnitXml("endive fidelity")
    judged = {source.id for source in report.sources if source.is_judged}
    suites: dict[str, TestSuite] = {}
    for row in report.rows:
        suite = suites.setdefault(row.table, TestSuite(row.table))
        for finding in row.findings:
            if finding.source in judged:
                suite.add_testcase(_case(report, row, finding))
    waivers, controls = TestSuite("waivers"), TestSuite("review reproduced")
    for waiver in report.waivers:
        case = TestCase(f"waiver {waiver.number}, line {waiver.line}", classname="waivers")
        wrong = [m.words for m in report.settled.misuses if m.waiver is waiver]
        case.result = [Failure(_clean(words)) for words in wrong]
        waivers.add_testcase(case)
    for control in report.controls:
        case = TestCase(_clean(control.aspect), classname="review reproduced")
        if not control.is_reproduced:
            message = f"the review says {control.wanted}, the report {control.found}"
            case.result = [Failure(_clean(message))]
        controls.add_testcase(case)
    for suite in (*suites.values(), waivers, controls):
        document.add_testsuite(suite)
    with whole_file(path) as beside:
        document.write(str(beside))


def _case(report: Report, row: Row, finding: Finding) -> TestCase:
    from junitparser import Failure, Skipped, TestCase

    where = f", {finding.where}" if finding.where else ""
    case = TestCase(_clean(f"{row.id}{where}"), classname=_clean(finding.source))
    if is_failing(report, row, finding):
        result = Failure(_clean(f"claimed {finding.claimed}; found {finding.found}"))
        result.text = _clean(f"{finding.note}\n\nto accept it:\n{as_waiver(row, finding)}")
        case.result = [result]
    elif finding.verdict not in (Verdict.MATCH, Verdict.DEVIATES, Verdict.NOT_MODELLED):
        case.result = [Skipped(_clean(f"{finding.verdict.value}: {finding.found}"))]
    return case


def _clean(text: str) -> str:
    """Text without what XML cannot hold."""
    return "".join(
        c
        for c in text
        if c in "\n\t"
        or (ord(c) >= 32 and c not in "\ufffe\uffff" and not 0xD800 <= ord(c) < 0xE000)
    )
