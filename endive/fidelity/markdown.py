"""The report as Markdown, for the summary of a CI job: the verdict, what must be mended, then every row in a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from endive.fidelity.model import Finding, Kind, Row, Source, Verdict
from endive.fidelity.report import Report, is_failing, verdict_of_row
from endive.fidelity.waivers import as_waiver
from endive.page import markdown_table
from endive.utils import whole_file

LARGEST_BYTES = 2**20
"""What GitHub takes as a step summary."""

PARTS = {
    "retry_costs": "Summary of Retry Costs by Operation Type (§2.1)",
    "convoy_costs": "Corrected Convoy Cost by Scenario (§3.4)",
    "aspects": "The eleven aspects of the summary (§5)",
    "libraries": "Real libraries and the cost tables that stand for them",
}
_MARKS = {"pass": "✓", "fail": "✗", "unknown": "?"}
_CUT = "\n*Cut here; the page and the JSON document have all of it.*\n"


def write_summary(report: Report, path: Path) -> None:
    """Write the file; it appears whole or not at all."""
    with whole_file(path) as beside:
        beside.write_text(render(report), encoding="utf-8")


def render(report: Report) -> str:
    """The text, never larger than what is taken."""
    text = "\n".join(_parts(report)) + "\n"
    data = text.encode()
    if len(data) <= LARGEST_BYTES:
        return text
    room = LARGEST_BYTES - len(_CUT.encode())
    kept = data[:room].decode(errors="ignore")
    # Up to the end of a line, so that no table breaks off in a cell.
    return kept[: kept.rfind("\n") + 1] + _CUT


def _parts(report: Report) -> Iterator[str]:
    mark = {0: "✓", 1: "✗", 3: "?"}[report.exit_code]
    yield f"# {mark} Fidelity: {report.headline}\n"
    counts = report.counts()
    yield ", ".join(f"{counts[word]} {word}" for word in sorted(counts)) + ".\n"
    yield from _to_mend(report)
    yield from _control(report)
    yield from _drift(report)
    for part, title in PARTS.items():
        rows = [row for row in report.rows if row.table == part]
        if rows:
            yield f"## {title}\n"
            yield _table(report, rows)


def _to_mend(report: Report) -> Iterator[str]:
    unwaived = report.unwaived()
    if unwaived:
        yield "## Differences that nobody has accepted\n"
        head = ("row", "column", "situation", "claimed", "found")
        rows = [
            (row.id, finding.source, finding.where, finding.claimed, finding.found)
            for row, finding in unwaived
        ]
        yield markdown_table(head, rows)
        yield "To accept one, once somebody has given a reason:\n"
        yield "\n".join(f"    {line}" for line in as_waiver(*unwaived[0]).splitlines()) + "\n"
    if report.settled.misuses:
        yield "## Waivers out of order\n"
        misuses = report.settled.misuses
        rows_of_misuses = [(m.waiver.number, m.waiver.line, m.kind, m.words) for m in misuses]
        yield markdown_table(("waiver", "line", "what", "why"), rows_of_misuses)
    if report.open_findings():
        yield "## Not shown\n"
        open_rows = [
            (row.id, finding.source, finding.where, f"{finding.verdict.value}: {finding.found}")
            for row, finding in report.open_findings()
        ]
        yield markdown_table(("row", "column", "situation", "what"), open_rows)


def _control(report: Report) -> Iterator[str]:
    if not report.controls:
        return
    yield "## The review's verdicts on the model it reviewed, come to again\n"
    rows = [
        ("✓" if c.is_reproduced else "✗", c.aspect, c.review.replace("*", ""), c.found, c.note)
        for c in report.controls
    ]
    yield markdown_table(("", "aspect", "review", "report", "evidence"), rows)


def _drift(report: Report) -> Iterator[str]:
    if report.drift is None:
        return
    yield "## Since the last report\n"
    if not report.drift.moved:
        yield "Nothing has moved.\n"
        return
    rows = [
        (
            moved.row,
            moved.source,
            moved.where,
            moved.was,
            moved.now,
            moved.by,
            "; ".join(moved.because),
        )
        for moved in report.drift.moved
    ]
    yield markdown_table(("row", "column", "situation", "was", "now", "by", "because"), rows)


def _table(report: Report, rows: list[Row]) -> str:
    of_libraries = rows[0].table == "libraries"
    columns = [
        source for source in report.sources if not of_libraries or source.kind is not Kind.LIBRARY
    ]
    head = ["", "row", "measured" if of_libraries else "document", *(s.name for s in columns)]
    if of_libraries:
        head = ["", "row", "measured", "model"]
    return markdown_table(head, [_line(report, row, columns, of_libraries) for row in rows])


def _line(report: Report, row: Row, columns: list[Source], of_libraries: bool) -> list[str]:
    _, colour = verdict_of_row(report, row)
    document = "; ".join(row.document.values()).replace("*", "").replace("`", "")
    if of_libraries:
        return [_MARKS[colour], row.title, document, in_short(report, row, row.findings)]
    cells = [
        in_short(report, row, [f for f in row.findings if f.source == source.id])
        for source in columns
    ]
    return [_MARKS[colour], row.title, document, *cells]


def in_short(report: Report, row: Row, findings: list[Finding] | tuple[Finding, ...]) -> str:
    """What a column found in a row, situations that found the same told once."""
    told: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        told.setdefault((_word(report, row, finding), finding.found), []).append(finding.where)
    alone = len(told) == 1
    parts = []
    for (word, found), where in told.items():
        places = "" if alone or not any(where) else f"{' and '.join(map(in_words, where))}: "
        parts.append(f"{places}{found} ({word})")
    return "; ".join(parts)


def in_words(where: str) -> str:
    """A situation as people say it."""
    return {"disjoint_partitions": "other partitions", "overlap": "same partition"}.get(
        where, where
    )


def _word(report: Report, row: Row, finding: Finding) -> str:
    if is_failing(report, row, finding):
        return "differs" if finding.verdict is Verdict.DEVIATES else finding.verdict.value
    if report.waiver_of(row, finding) is not None:
        return "accepted"
    return finding.verdict.value
