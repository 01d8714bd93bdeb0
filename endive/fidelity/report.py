"""The report as a value: what was judged, what is accepted, whether the control was caught, and what has moved since the last one."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from endive.fidelity.evidence import Evidence
from endive.fidelity.model import DIFFERENCES, OPEN, Finding, Kind, Row, Source, Verdict, key_of
from endive.fidelity.transcription import transcription
from endive.fidelity.waivers import Settled, Waiver, settle

PASSED, FAILED, INCONCLUSIVE = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Control:
    """One verdict of the review, and whether the report comes to it again on the model that was reviewed."""

    row: str
    aspect: str
    line: int
    review: str
    """The review's verdict as the document has it."""
    wanted: str
    found: str
    note: str

    @property
    def is_reproduced(self) -> bool:
        """Whether both say the same."""
        return self.wanted == self.found


@dataclass(frozen=True, slots=True)
class Moved:
    """A finding that is not what it was in the last report."""

    row: str
    source: str
    where: str
    was: str
    now: str
    by: str
    because: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    """What has moved since the last report, and which inputs have changed."""

    since: str
    """The last report: its file and the version that made it."""
    changed: tuple[str, ...]
    moved: tuple[Moved, ...]


@dataclass(frozen=True)
class Report:
    """Everything that is told."""

    rows: tuple[Row, ...]
    sources: tuple[Source, ...]
    evidence: Evidence
    waivers: tuple[Waiver, ...]
    settled: Settled
    controls: tuple[Control, ...]
    inputs: Mapping[str, str]
    """SHA-256 of everything that went in, by name."""
    version: str
    today: dt.date
    drift: Drift | None = None

    def findings(self) -> Iterator[tuple[Row, Finding]]:
        """Every finding of a source that is judged."""
        judged = {source.id for source in self.sources if source.is_judged}
        for row in self.rows:
            for finding in row.findings:
                if finding.source in judged:
                    yield row, finding

    def waiver_of(self, row: Row, finding: Finding) -> Waiver | None:
        """The waiver that accepts a finding, if there is one."""
        return self.settled.accepted.get(key_of(row, finding))

    def unwaived(self) -> list[tuple[Row, Finding]]:
        """Differences that nobody has accepted."""
        return [
            (row, finding)
            for row, finding in self.findings()
            if finding.verdict in DIFFERENCES and self.waiver_of(row, finding) is None
        ]

    def open_findings(self) -> list[tuple[Row, Finding]]:
        """What applies and was not shown."""
        return [(row, finding) for row, finding in self.findings() if finding.verdict in OPEN]

    def lost_controls(self) -> list[Control]:
        """Verdicts of the review that the report does not come to any more."""
        return [control for control in self.controls if not control.is_reproduced]

    def counts(self) -> Mapping[str, int]:
        """How many findings there are of each kind, accepted differences apart."""
        counts: Counter[str] = Counter()
        for row, finding in self.findings():
            is_accepted = self.waiver_of(row, finding) is not None
            counts["accepted" if is_accepted else finding.verdict.value] += 1
        return counts

    @property
    def exit_code(self) -> int:
        """0 all held, 1 something failed, 3 something that applies was not shown."""
        if self.unwaived() or self.settled.misuses or self.lost_controls():
            return FAILED
        return INCONCLUSIVE if self.open_findings() else PASSED

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        if self.exit_code == PASSED:
            return "Documents, model and libraries agree, or differ where that is accepted"
        if self.exit_code == INCONCLUSIVE:
            return "Nothing fails, and something was not shown"
        reasons = []
        if differences := len(self.unwaived()):
            reasons.append(_many(differences, "difference") + " that nobody has accepted")
        if misuses := len(self.settled.misuses):
            reasons.append(_many(misuses, "waiver") + " out of order")
        if lost := len(self.lost_controls()):
            reasons.append(_many(lost, "verdict") + " of the review not come to again")
        text = "; ".join(reasons)
        return text[0].upper() + text[1:]


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def make_report(
    rows: Sequence[Row],
    sources: Sequence[Source],
    evidence: Evidence,
    waivers: Sequence[Waiver],
    *,
    inputs: Mapping[str, str],
    version: str,
    today: dt.date,
) -> Report:
    """Settle what was judged."""
    judged = [source.id for source in sources if source.is_judged]
    return Report(
        rows=tuple(rows),
        sources=tuple(sources),
        evidence=evidence,
        waivers=tuple(waivers),
        settled=settle(rows, waivers, today, judged),
        controls=tuple(_controls(rows, sources)),
        inputs=inputs,
        version=version,
        today=today,
    )


def _controls(rows: Sequence[Row], sources: Sequence[Source]) -> Iterator[Control]:
    """The review's verdicts on the model it reviewed, come to again or not."""
    control = next((source for source in sources if source.kind is Kind.CONTROL), None)
    if control is None:
        return
    by_id = {row.id: row for row in rows}
    for document_row in transcription().tables["aspects"].rows:
        row = by_id[f"aspects.{document_row.id}"]
        findings = [f for f in row.findings if f.source == control.id and f.judgement]
        words = sorted({finding.judgement for finding in findings})
        yield Control(
            row=row.id,
            aspect=row.title,
            line=row.line,
            review=document_row.cells[-1],
            wanted=document_row.review,
            found=", ".join(words) or "nothing",
            note=findings[0].note or findings[0].found if findings else "",
        )


def is_failing(report: Report, row: Row, finding: Finding) -> bool:
    """Whether a finding is one that fails the report."""
    judged = any(source.id == finding.source and source.is_judged for source in report.sources)
    return judged and finding.verdict in DIFFERENCES and report.waiver_of(row, finding) is None


def verdict_of_row(report: Report, row: Row) -> tuple[str, str]:
    """What a row comes to as a whole: a word, and the colour `pass`, `fail` or `unknown`."""
    judged = {source.id for source in report.sources if source.is_judged}
    findings = [finding for finding in row.findings if finding.source in judged]
    if any(is_failing(report, row, finding) for finding in findings):
        return "differs", "fail"
    if any(finding.verdict in OPEN for finding in findings):
        return "open", "unknown"
    if any(finding.verdict in DIFFERENCES for finding in findings):
        return "accepted", "pass"
    if all(finding.verdict is Verdict.NOT_MEASURED for finding in findings):
        return "not measured", "unknown"
    return "match", "pass"
