"""The fidelity report on the terminal: the verdict, the rows in short, and what must be mended."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.fidelity.model import Kind
from endive.fidelity.report import Report, verdict_of_row
from endive.fidelity.waivers import as_waiver

_COLOURS = {"pass": "green", "fail": "red", "unknown": "yellow"}
_TITLES = {
    "retry_costs": "retry costs (§2.1)",
    "convoy_costs": "convoy costs (§3.4)",
    "aspects": "aspects (§5)",
    "libraries": "libraries against their cost tables",
}
_MOST_SHOWN = 20


def print_report(report: Report, out: Path) -> None:
    """Print all of it."""
    console = Console(highlight=False, soft_wrap=True)
    colour = {0: "green", 1: "red", 3: "yellow"}[report.exit_code]
    console.print(f"[bold {colour}]{escape(report.headline)}[/]")
    for source in report.sources:
        role = {Kind.CONTROL: "control: must be found wrong"}.get(source.kind, "")
        console.print(f"  {escape(source.id):26} {escape(source.title)}  [dim]{role}[/]")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("part")
    words = ("match", "accepted", "differs", "open", "not measured")
    for word in words:
        table.add_column(word, justify="right")
    for part, title in _TITLES.items():
        verdicts = [verdict_of_row(report, row)[0] for row in report.rows if row.table == part]
        if verdicts:
            table.add_row(title, *(str(verdicts.count(word) or "–") for word in words))
    console.print(table)
    _print_differences(console, report)
    reproduced = sum(control.is_reproduced for control in report.controls)
    if report.controls:
        total = len(report.controls)
        console.print(
            f"verdicts of the review on the old model come to again: {reproduced} of {total}"
        )
    for control in report.lost_controls():
        console.print(
            f"[red]lost[/] {escape(control.aspect)}: the review says {escape(control.wanted)}, "
            f"the report {escape(control.found)}"
        )
    for misuse in report.settled.misuses:
        waiver = misuse.waiver
        console.print(
            f"[red]{misuse.kind}[/] {escape(waiver.file)}:{waiver.line}: {escape(misuse.words)}"
        )
    if report.drift is not None:
        moved = len(report.drift.moved)
        console.print(f"since {escape(report.drift.since)}: {moved} moved")
        for one in report.drift.moved[:_MOST_SHOWN]:
            place = ", ".join(part for part in (one.row, one.source, one.where) if part)
            console.print(
                f"  {escape(place)}: {escape(one.was)} → {escape(one.now)} {escape(one.by)}"
            )
    console.print(f"report: {escape(str(out / 'index.html'))}")


def _print_differences(console: Console, report: Report) -> None:
    unwaived = report.unwaived()
    for row, finding in unwaived[:_MOST_SHOWN]:
        where = f" [{finding.where}]" if finding.where else ""
        console.print(
            f"[red]{finding.verdict.value}[/] {escape(row.id)} {escape(finding.source)}{escape(where)}: "
            f"claimed {escape(finding.claimed)}; found {escape(finding.found)}"
        )
    if len(unwaived) > _MOST_SHOWN:
        console.print(f"… and {len(unwaived) - _MOST_SHOWN} more; all of them are in the report")
    if unwaived:
        console.print("to accept the first, once somebody has given a reason:")
        console.print(escape(as_waiver(*unwaived[0])), style="dim")
    for row, finding in report.open_findings()[:_MOST_SHOWN]:
        console.print(
            f"[yellow]{finding.verdict.value}[/] {escape(row.id)} {escape(finding.source)}: {escape(finding.found)}"
        )
