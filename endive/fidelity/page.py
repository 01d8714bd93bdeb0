"""The report as one page for people: the verdict first, then plots and tables; every row opens to its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from endive import __version__
from endive import page as html
from endive.fidelity.charts import draw_costs, draw_io
from endive.fidelity.context import Context
from endive.fidelity.document import chosen_points
from endive.fidelity.markdown import PARTS, in_words
from endive.fidelity.model import DIFFERENCES, Finding, Kind, Row, Run, Source, Verdict
from endive.fidelity.report import Report, is_failing, verdict_of_row
from endive.fidelity.transcription import transcription
from endive.fidelity.waivers import as_waiver
from endive.page import Markup

_STYLE = """
summary { grid-template-columns:6.6rem minmax(14rem, 1fr) minmax(10rem, 1.4fr) }
.chips { display:flex; flex-wrap:wrap; gap:.15rem .9rem; font-size:.82rem } .chips span { white-space:nowrap }
.big { font-size:1.05rem } .lead { display:flex; flex-wrap:wrap; gap:.4rem 1.4rem; padding:0; list-style:none; margin:.6rem 0 }
.lead b { font-variant-numeric:tabular-nums } nav ul { display:flex; flex-wrap:wrap; gap:.3rem 1.2rem; padding:0; list-style:none }
.choose { margin:.6rem 0; display:flex; gap:.5rem; align-items:center } body.only details.match { display:none }
td, code { overflow-wrap:break-word } td:first-child { min-width:7rem } #columns + .wide code { white-space:nowrap }
@media (max-width: 40rem) { summary { grid-template-columns:5.2rem 1fr } .chips { grid-column:1 / -1 } }
@media print { .choose, nav { display:none } details { break-inside:avoid-page } .fine { display:none } }
"""
_SCRIPT = """
const only = document.getElementById('only');
if (only) { only.addEventListener('change', () => document.body.classList.toggle('only', only.checked)); }
const reveal = () => { const one = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (one && one.tagName === 'DETAILS') { one.open = true; one.scrollIntoView(); } };
addEventListener('hashchange', reveal); reveal();
"""
_MOST_COMMANDS = 3
_BREAK = Markup("<br>")


def write_page(report: Report, context: Context, path: Path) -> None:
    """Write the page; it appears whole or not at all."""
    title = f"Fidelity: {report.headline}"
    html.write_page(path, title, *_body(report, context), style=_STYLE, script=_SCRIPT)


def _body(report: Report, context: Context) -> Iterator[Markup]:
    colour = {0: "pass", 1: "fail", 3: "unknown"}[report.exit_code]
    yield html.element("h1", report.headline, class_=colour)
    yield html.paragraph(
        "Every row of the tables of the ",
        html.element("i", transcription().document),
        ", the simulator under each cost table, and what was measured on real Iceberg libraries, side by side.",
        class_="big",
    )
    yield _counts(report)
    yield html.paragraph(
        f"Endive {__version__}, {report.version}; judged on {report.today.isoformat()}.",
        class_="dim",
    )
    yield _contents(report)
    yield from _to_mend(report)
    yield from _columns(report)
    yield from _plots(context)
    yield from _control(report)
    yield from _tables(report)
    yield from _drift(report)
    yield from _waivers(report)
    yield from _means(report)
    yield from _runs(report)
    yield from _assumed(report)


def _counts(report: Report) -> Markup:
    counts = report.counts()
    order = ("match", "accepted", *(v.value for v in Verdict if v is not Verdict.MATCH))
    items = [
        html.element("li", html.element("b", counts[word]), f" {word}")
        for word in order
        if counts.get(word)
    ]
    return html.element("ul", *items, class_="lead")


def _contents(report: Report) -> Markup:
    parts = {
        "columns": "Columns",
        "plots": "Plots",
        "control": "The review come to again",
        **{
            part: title
            for part, title in PARTS.items()
            if any(r.table == part for r in report.rows)
        },
        "drift": "Since the last report",
        "waivers": "Accepted differences",
        "means": "Means",
        "runs": "Runs",
    }
    links = [
        html.element("li", html.element("a", title, href=f"#{part}"))
        for part, title in parts.items()
    ]
    return html.element("nav", html.element("ul", *links), aria_label="contents")


def _heading(id: str, title: str) -> Markup:
    return html.element("h2", title, id=id)


def _to_mend(report: Report) -> Iterator[Markup]:
    unwaived = report.unwaived()
    if unwaived:
        yield html.element("h2", "Differences that nobody has accepted")
        told: dict[tuple[str, str, str], tuple[Row, list[str]]] = {}
        for row, finding in unwaived:
            place = (
                f"{finding.source}, {in_words(finding.where)}" if finding.where else finding.source
            )
            key = row.id, finding.claimed, finding.found
            told.setdefault(key, (row, []))[1].append(place)
        yield html.table(
            ("row", "column and situation", "claimed", "found"),
            [
                (_link(row), html.join(*places, by=_BREAK), claimed, found)
                for (_, claimed, found), (row, places) in told.items()
            ],
        )
    if report.settled.misuses:
        yield html.element("h2", "Waivers out of order")
        yield html.table(
            ("waiver", "file and line", "what", "why"),
            [
                (m.waiver.number, f"{Path(m.waiver.file).name}:{m.waiver.line}", m.kind, m.words)
                for m in report.settled.misuses
            ],
        )
    if report.open_findings():
        yield html.element("h2", "Not shown")
        by_what: dict[tuple[str, str, str], list[Row]] = {}
        for row, finding in report.open_findings():
            rows = by_what.setdefault((finding.source, finding.verdict.value, finding.found), [])
            if row not in rows:
                rows.append(row)
        for (source, verdict, found), rows in by_what.items():
            links = html.element("ul", *(html.element("li", _link(row)) for row in rows))
            count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
            summary = (html.verdict(verdict, "unknown"), f"{source}: {found}", count)
            yield html.fold(summary, links)


def _link(row: Row) -> Markup:
    return html.element("a", _shortened(row.title, 80), href=f"#{row.id}")


def _columns(report: Report) -> Iterator[Markup]:
    yield _heading("columns", "Columns")
    kinds = {
        Kind.MODEL: "simulated under this cost table",
        Kind.CONTROL: "control: the model that was reviewed, must be found wrong where the review found it wrong",
        Kind.LIBRARY: "real library",
    }
    yield html.table(
        ("column", "what it is", "title", "SHA-256 of its file"),
        [
            (
                source.id,
                kinds[source.kind],
                source.title,
                html.code(source.digest[:16] or "not run"),
            )
            for source in report.sources
        ],
    )


def _plots(context: Context) -> Iterator[Markup]:
    yield _heading("plots", "Plots")
    yield draw_io(context).on_page(
        "Six line plots of I/O operations of one retry against the number of snapshots behind, for fast append, merge append and "
        "validated overwrite, with rivals in other partitions and in the same: the document, the model under each cost table, and "
        "measured libraries. The numbers are in the rows below.",
        "Everything that one retry reads and writes, metadata writes apart, against N. A line that is not there was not run or has no such operation.",
    )
    yield draw_costs(context).on_page(
        "Four line plots of the cost of one retry in milliseconds against the number of snapshots behind, for the four patterns of "
        "section 3.4. The numbers are in the rows below.",
        "What a retry of each pattern of §3.4 costs at the unit latencies, rivals in the same partition, one operation after the other.",
    )


def _control(report: Report) -> Iterator[Markup]:
    yield _heading("control", "The review's verdicts, come to again on the model it reviewed")
    if not report.controls:
        yield html.paragraph(
            "The model that was reviewed was not run as a control here.", class_="dim"
        )
        return
    yield html.paragraph(
        "A report that finds nothing wrong with a wrong model would be worth nothing. This is what it says of the old one."
    )
    yield html.table(
        ("", "aspect", "line", "the review", "this report", "evidence"),
        [
            (
                html.verdict("same", "pass") if c.is_reproduced else html.verdict("lost", "fail"),
                html.element("a", c.aspect, href=f"#{c.row}"),
                c.line,
                c.review.replace("*", ""),
                c.found,
                c.note,
            )
            for c in report.controls
        ],
        numbers=(2,),
    )


def _tables(report: Report) -> Iterator[Markup]:
    yield html.element(
        "p",
        html.element(
            "label",
            html.element("input", type="checkbox", id="only"),
            " only rows in which something differs",
        ),
        class_="choose",
    )
    runs = {run.name: run for run in report.evidence.runs}
    for part, title in PARTS.items():
        rows = [row for row in report.rows if row.table == part]
        if not rows:
            continue
        yield _heading(part, title)
        for row in rows:
            yield _row(report, row, runs)


def _row(report: Report, row: Row, runs: dict[str, Run]) -> Markup:
    word, colour = verdict_of_row(report, row)
    document = "; ".join(f"{column}: {_plain(cell)}" for column, cell in row.document.items())
    title = html.join(
        row.title,
        _BREAK,
        html.element("span", _shortened(document), class_="dim"),
    )
    summary = (html.verdict(word, colour), html.element("span", title), _chips(report, row))
    content = [_provenance(row), _findings(report, row)]
    content += _evidence(report, row)
    content += _replays(row, runs)
    failing = [finding for finding in row.findings if is_failing(report, row, finding)]
    if failing:
        content += [
            html.paragraph("To accept the first difference, once somebody has given a reason:"),
            html.block(as_waiver(row, failing[0])),
        ]
    fold = html.fold(summary, *content, id=row.id)
    kind = "match" if word in ("match", "not measured") else "differs"
    return Markup(fold.replace("<details", f'<details class="{kind}"', 1))


def _plain(cell: str) -> str:
    return cell.replace("**", "").replace("`", "")


def _shortened(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _chips(report: Report, row: Row) -> Markup:
    chips = []
    for source in _sources_of(report, row):
        findings = [finding for finding in row.findings if finding.source == source.id]
        mark, colour = _mark(report, row, findings)
        name = source.name if source.kind is not Kind.LIBRARY else f"{source.name}, measured"
        chips.append(html.element("span", html.element("span", mark, class_=colour), f" {name}"))
    return html.element("span", *chips, class_="chips")


def _sources_of(report: Report, row: Row) -> list[Source]:
    ids = {finding.source for finding in row.findings}
    return [source for source in report.sources if source.id in ids]


def _mark(report: Report, row: Row, findings: Sequence[Finding]) -> tuple[str, str]:
    """A sign for a column: as the document, otherwise, and whether that is accepted."""
    if any(is_failing(report, row, finding) for finding in findings):
        return "✗", "fail"
    verdicts = {finding.verdict for finding in findings}
    if verdicts & DIFFERENCES:
        return "≠", "dim"
    if verdicts <= {Verdict.MATCH}:
        return "✓", "pass"
    if Verdict.MATCH in verdicts and verdicts <= {Verdict.MATCH, Verdict.NOT_MEASURED}:
        return "✓", "pass"
    return ("–", "dim") if verdicts <= {Verdict.NOT_MEASURED} else ("?", "unknown")


def _provenance(row: Row) -> Markup:
    if row.line:
        where = f"{transcription().document}, {row.section}, line {row.line}"
    else:
        where = row.section
    return html.paragraph(where, " · ", html.code(row.id), class_="dim")


def _findings(report: Report, row: Row) -> Markup:
    lines = []
    for finding in row.findings:
        waiver = report.waiver_of(row, finding)
        is_judged = any(s.id == finding.source and s.is_judged for s in report.sources)
        word = html.verdict(finding.verdict.value, _colour(report, row, finding))
        note: list[object] = [finding.note]
        if waiver is not None:
            accepted = html.element("a", f"waiver {waiver.number}", href=f"#waiver-{waiver.number}")
            note = [
                finding.note,
                ". " if finding.note else "",
                "Accepted: ",
                waiver.reason,
                " (",
                accepted,
                ")",
            ]
        elif finding.verdict in DIFFERENCES and not is_judged:
            note.append(" Control: not judged.")
        lines.append(
            (
                finding.source,
                in_words(finding.where),
                word,
                finding.claimed,
                finding.found,
                html.join(*note),
            )
        )
    return html.table(("column", "situation", "verdict", "claimed", "found", "evidence"), lines)


def _colour(report: Report, row: Row, finding: Finding) -> str:
    if is_failing(report, row, finding):
        return "fail"
    if finding.verdict is Verdict.MATCH or report.waiver_of(row, finding) is not None:
        return "pass"
    return "dim" if finding.verdict in DIFFERENCES else "unknown"


def _evidence(report: Report, row: Row) -> list[Markup]:
    lines = []
    for finding in row.findings:
        for counter, points in finding.points.items():
            if not any(value for point in points for value in point.values):
                continue
            shown = ", ".join(
                f"{point.n}→{' or '.join(f'{value}' for value in point.values)}"
                for point in chosen_points(points)
            )
            more = (
                "" if len(chosen_points(points)) == len(points) else f" ({len(points)} different N)"
            )
            attempts = sum(point.attempts for point in points)
            lines.append(
                (
                    finding.source,
                    in_words(finding.where),
                    counter.replace("_", " "),
                    shown + more,
                    f"{attempts:,}",
                )
            )
    if not lines:
        return []
    head = ("column", "situation", "counted", "N → count, exact", "attempts")
    return [
        html.table(head, lines, caption="What was counted; what is not listed was 0.", numbers=(4,))
    ]


def _replays(row: Row, runs: dict[str, Run]) -> list[Markup]:
    names = list(
        dict.fromkeys(name for finding in row.findings for name in finding.runs if name in runs)
    )
    if not names:
        return []
    # The scripted runs say most in the fewest rows.
    names.sort(key=lambda name: runs[name].role != "costs")
    commands = "\n".join(runs[name].replay for name in names[:_MOST_COMMANDS])
    links = [html.element("a", name, href=f"#{name}") for name in names[_MOST_COMMANDS:]]
    more = (
        [html.paragraph("Seen in these runs, too: ", html.join(*links, by=", "), class_="dim fine")]
        if links
        else []
    )
    return [html.paragraph("To see the runs again:", class_="dim"), html.block(commands), *more]


def _drift(report: Report) -> Iterator[Markup]:
    yield _heading("drift", "Since the last report")
    drift = report.drift
    if drift is None:
        yield html.paragraph("There is no report before this one.", class_="dim")
        return
    yield html.paragraph(f"The last report: {drift.since}.")
    if drift.changed:
        yield html.element("ul", *(html.element("li", words) for words in drift.changed))
    if not drift.moved:
        yield html.paragraph("Nothing has moved.")
        return
    yield html.table(
        ("row", "column", "situation", "was", "now", "by", "because"),
        [
            (
                moved.row,
                moved.source,
                in_words(moved.where),
                moved.was,
                moved.now,
                moved.by,
                "; ".join(moved.because),
            )
            for moved in drift.moved
        ],
    )


def _waivers(report: Report) -> Iterator[Markup]:
    yield _heading("waivers", "Accepted differences")
    if not report.waivers:
        yield html.paragraph("None.", class_="dim")
        return
    for waiver in report.waivers:
        used = [place for place, one in report.settled.accepted.items() if one is waiver]
        summary = (
            f"waiver {waiver.number}",
            html.element("span", waiver.reason),
            f"until {waiver.expires.isoformat()}",
        )
        yield html.fold(
            summary,
            html.paragraph("On the authority of: ", waiver.reference),
            html.paragraph("Accepts only this: ", html.code(waiver.found)),
            html.table(
                ("row", "column", "situation"),
                [
                    (html.element("a", row, href=f"#{row}"), source, in_words(where))
                    for row, source, where in used
                ],
            ),
            id=f"waiver-{waiver.number}",
        )


def _means(report: Report) -> Iterator[Markup]:
    yield _heading("means", "Mean I/O per attempt and per retry")
    yield html.paragraph(
        "Over all runs of a cost table, as Spark computed it; the exact distributions are in the rows and in the JSON document.",
        class_="dim",
    )
    counters = {
        "metadata_reads": "metadata read",
        "manifest_list_reads": "lists read",
        "historical_ml_reads": "of the past",
        "manifest_file_reads": "files read",
        "manifest_file_writes": "files written",
        "manifest_list_writes": "lists written",
        "metadata_writes": "metadata written",
    }
    for source in report.sources:
        means = sorted(
            (mean for mean in report.evidence.means if mean.source == source.id),
            key=lambda mean: (mean.operation, mean.kind, mean.conflict_class),
        )
        if not means:
            continue
        lines = [
            (
                mean.operation,
                mean.kind,
                in_words(mean.conflict_class) or "–",
                f"{mean.attempts:,}",
                *(f"{mean.means[counter]:.4g}" for counter in counters),
            )
            for mean in means
        ]
        head = ("operation", "attempt", "found", "attempts", *counters.values())
        yield html.fold(
            (source.name, source.title, f"{len(lines)} situations"),
            html.table(head, lines, numbers=range(3, 4 + len(counters))),
        )


def _runs(report: Report) -> Iterator[Markup]:
    yield _heading("runs", "Runs")
    for run in report.evidence.runs:
        seeds = ", ".join(map(str, run.seeds[:10])) + (" …" if len(run.seeds) > 10 else "")
        content = [html.block(run.replay)]
        if run.name in report.evidence.excluded:
            content.append(html.paragraph("Not counted: ", report.evidence.excluded[run.name]))
        yield html.fold((run.role, run.name, f"{run.source}, seeds {seeds}"), *content, id=run.name)


def _assumed(report: Report) -> Iterator[Markup]:
    yield html.element("h2", "What the document leaves open")
    yield html.element(
        "ul", *(html.element("li", words) for words in transcription().assumes.values())
    )
