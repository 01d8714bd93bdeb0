"""What verifying came to, as one self-contained page: the verdict first, every scenario folded below it, no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from endive import __version__, page
from endive.page import Markup
from endive.scenario.deciding import Decision, Finding
from endive.scenario.reporting import exit_code, many, replay
from endive.scenario.verifying import Report

_COLUMNS = ("", "measured", "expected", "seen")
_STYLE = """
table { table-layout:fixed } th:first-child { width:5.2rem } th:nth-child(3) { width:22% } th:nth-child(4) { width:32% }
@media (max-width: 40rem) { th:first-child { width:4.4rem } }
"""


def write_page(reports: Sequence[Report], path: str | Path) -> None:
    """Write the page; it appears whole or not at all."""
    counts = Counter(report.finding for report in reports)
    code = exit_code(reports)
    verdict = {0: "All scenarios hold", 1: "Some scenarios fail", 3: "Some questions stay open"}[
        code
    ]
    colour = {0: "pass", 1: "fail", 3: "unknown"}[code]
    runs = sum(report.runs for report in reports)
    page.write_page(
        path,
        f"Endive: {verdict}",
        page.element("h1", verdict, class_=colour),
        page.paragraph(
            f"{many(len(reports), 'scenario')}: {counts[Finding.PASS]} pass, {counts[Finding.FAIL]} fail, "
            f"{counts[Finding.UNKNOWN]} unknown. {many(runs, 'run')}, Endive {__version__}."
        ),
        *map(_scenario, reports),
        style=_STYLE,
    )


def _scenario(report: Report) -> Markup:
    scenario, finding = report.scenario, report.finding.value
    return page.fold(
        (page.verdict(finding), scenario.title, scenario.name),
        *_details(report),
        is_open=report.finding is not Finding.PASS,
    )


def _details(report: Report) -> Iterator[Markup]:
    scenario = report.scenario
    counts = (len(scenario.variants), "variant"), (report.seeds, "seed"), (report.runs, "run")
    words = (", ".join(scenario.sections), *(many(count, word) for count, word in counts))
    yield page.paragraph(" · ".join(words), class_="dim")
    if scenario.about:
        yield page.paragraph(scenario.about)
    for decision in report.decisions:
        if decision.finding is not Finding.PASS:
            story = (*decision.stories, f"replay: {replay(report, decision)}")
            yield page.paragraph(page.verdict(decision.finding.value), " ", decision.what)
            yield page.block("\n".join(story))
    yield page.table(_COLUMNS, map(_row, report.decisions))
    judged = {id: count for id, count in report.exercised.items() if count}
    if judged:
        listed = ", ".join(f"{id} {count:,}" for id, count in sorted(judged.items()))
        yield page.paragraph(f"Invariants exercised: {listed}.", class_="dim")


def _row(decision: Decision) -> tuple[object, ...]:
    what = page.markup(decision.what)
    if decision.variant not in ("", "default") and decision.variant not in decision.what:
        what = page.join(what, " ", page.element("span", f"in {decision.variant}", class_="dim"))
    return page.verdict(decision.finding.value), what, decision.expected, decision.seen
