"""The report as a JSON document (`schemas/fidelity.schema.json`), and what the last one says of this one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from endive.errors import InputError, Problem
from endive.fidelity.model import Finding, Point, Row, Source, key_of
from endive.fidelity.report import Drift, Moved, Report, verdict_of_row
from endive.fidelity.transcription import transcription
from endive.fidelity.waivers import as_waiver
from endive.utils import whole_file

FORMAT = 1
_MOST_POINTS = 10
"""A page that shows every N of a random run shows nothing."""


def as_document(report: Report) -> dict[str, Any]:
    """Everything, in a form that is the same every time."""
    evidence: dict[str, dict[str, Any]] = {}
    rows = [_row(report, row, evidence) for row in report.rows]
    written = transcription()
    return {
        "format": FORMAT,
        "headline": report.headline,
        "exit_code": report.exit_code,
        "judged_on": report.today.isoformat(),
        "version": report.version,
        "document": {"title": written.document, "assumes": dict(written.assumes)},
        "inputs": dict(sorted(report.inputs.items())),
        "sources": [
            {
                "id": source.id,
                "kind": source.kind.value,
                "name": source.name,
                "title": source.title,
                "digest": source.digest,
                "is_judged": source.is_judged,
            }
            for source in report.sources
        ],
        "counts": dict(sorted(report.counts().items())),
        "rows": rows,
        "controls": [
            {
                "row": control.row,
                "aspect": control.aspect,
                "line": control.line,
                "review": control.review,
                "wanted": control.wanted,
                "found": control.found,
                "note": control.note,
                "is_reproduced": control.is_reproduced,
            }
            for control in report.controls
        ],
        "waivers": [
            {
                "number": waiver.number,
                "line": waiver.line,
                "rows": list(waiver.rows),
                "sources": list(waiver.sources),
                "where": list(waiver.where),
                "found": waiver.found,
                "reason": waiver.reason,
                "reference": waiver.reference,
                "expires": waiver.expires.isoformat(),
            }
            for waiver in report.waivers
        ],
        "misuses": [
            {"waiver": misuse.waiver.number, "kind": misuse.kind, "words": misuse.words}
            for misuse in report.settled.misuses
        ],
        "unwaived": [
            {
                "row": row.id,
                "source": finding.source,
                "where": finding.where,
                "waiver": as_waiver(row, finding),
            }
            for row, finding in report.unwaived()
        ],
        "means": _means(report),
        "evidence": evidence,
        "runs": [
            {
                "name": run.name,
                "role": run.role,
                "source": run.source,
                "seeds": list(run.seeds),
                "replay": run.replay,
            }
            for run in report.evidence.runs
        ],
        "excluded": dict(sorted(report.evidence.excluded.items())),
        "drift": None if report.drift is None else _drift(report.drift),
    }


def _row(report: Report, row: Row, evidence: dict[str, dict[str, Any]]) -> dict[str, Any]:
    word, _ = verdict_of_row(report, row)
    return {
        "id": row.id,
        "table": row.table,
        "title": row.title,
        "section": row.section,
        "line": row.line,
        "document": dict(row.document),
        "verdict": word,
        "findings": [_finding(report, row, finding, evidence) for finding in row.findings],
    }


def _finding(
    report: Report, row: Row, finding: Finding, evidence: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    waiver = report.waiver_of(row, finding)
    return {
        "source": finding.source,
        "where": finding.where,
        "verdict": finding.verdict.value,
        "claimed": finding.claimed,
        "found": finding.found,
        "note": finding.note,
        "judgement": finding.judgement,
        "size": finding.size,
        "unit": finding.unit,
        "waiver": None if waiver is None else waiver.number,
        "evidence": _kept(finding.points, evidence),
        "runs": list(finding.runs),
    }


def _kept(points: Mapping[str, Sequence[Point]], evidence: dict[str, dict[str, Any]]) -> str | None:
    """The name under which points are kept; the same points are kept once."""
    if not any(points.values()):
        return None
    kept = {counter: _points(of_counter) for counter, of_counter in points.items() if of_counter}
    text = json.dumps(kept, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    evidence.setdefault(name, kept)
    return name


def _points(points: Sequence[Point]) -> dict[str, Any]:
    """Some of the points, from the first to the last, and how many attempts there were in all."""
    shown = chosen_points(points)
    return {
        "attempts": sum(point.attempts for point in points),
        "different_n": len(points),
        "points": [
            {"n": point.n, "values": {str(value): count for value, count in point.values.items()}}
            for point in shown
        ],
    }


def chosen_points(points: Sequence[Point]) -> list[Point]:
    """As many points as one can look at: the first ones, and the last."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    return [*points[: _MOST_POINTS - 1], points[-1]]


def _means(report: Report) -> list[dict[str, Any]]:
    means = sorted(
        report.evidence.means, key=lambda m: (m.source, m.operation, m.kind, m.conflict_class)
    )
    return [
        {
            "source": mean.source,
            "operation": mean.operation,
            "kind": mean.kind,
            "class": mean.conflict_class,
            "attempts": mean.attempts,
            "mean": {name: round(value, 6) for name, value in mean.means.items()},
            "most": dict(mean.most),
        }
        for mean in means
    ]


def _drift(drift: Drift) -> dict[str, Any]:
    return {
        "since": drift.since,
        "changed": list(drift.changed),
        "moved": [
            {
                "row": moved.row,
                "source": moved.source,
                "where": moved.where,
                "was": moved.was,
                "now": moved.now,
                "by": moved.by,
                "because": list(moved.because),
            }
            for moved in drift.moved
        ],
    }


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Write the document; it appears whole or not at all."""
    with whole_file(path) as beside:
        beside.write_text(render(document), encoding="utf-8")


def render(document: Mapping[str, Any]) -> str:
    """The text of the document."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load_last(path: Path) -> dict[str, Any] | None:
    """The last kept report; None if there is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([_unreadable(path, str(error))]) from None
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise InputError([_unreadable(path, f"its format is {document['format']!r}")])
        rows, inputs, version = document["rows"], document["inputs"], document["version"]
        list(_readings(rows))
        dict(inputs)
        str(version)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError([_unreadable(path, "it is no fidelity report")]) from None
    last: dict[str, Any] = document
    return last


def _unreadable(path: Path, reason: str) -> Problem:
    return Problem(
        f"cannot be compared with: {reason}; move it away, or choose another --out", file=str(path)
    )


_Reading = tuple[str, str, float | None, str]


def _readings(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[tuple[str, str, str], _Reading]]:
    for row in rows:
        for finding in row["findings"]:
            place = row["id"], finding["source"], finding["where"]
            yield (
                place,
                (
                    finding["verdict"],
                    finding["found"],
                    finding.get("size"),
                    finding.get("unit", ""),
                ),
            )


def compare_with(report: Report, last: Mapping[str, Any], place: str) -> Drift:
    """What has moved since the last report, and which input is behind it."""
    before = dict(_readings(last["rows"]))
    now = {
        key_of(row, finding): (finding.verdict.value, finding.found, finding.size, finding.unit)
        for row in report.rows
        for finding in row.findings
    }
    changed = _changed(last["inputs"], report.inputs)
    sources = {source.id: source for source in report.sources}
    asked = {place[1] for place in before} & set(sources)
    moved = []
    for place_of in dict.fromkeys((*before, *now)):
        was, is_now = before.get(place_of), now.get(place_of)
        # A column that was not asked for, then or now, has not moved.
        if was == is_now or (was is None and place_of[1] not in asked and before):
            continue
        if is_now is None and place_of[1] not in sources:
            continue
        moved.append(
            Moved(
                row=place_of[0],
                source=place_of[1],
                where=place_of[2],
                was=_said(was),
                now=_said(is_now),
                by=_by(was, is_now),
                because=_because(place_of[1], sources, changed, last["version"], report.version),
            )
        )
    since = f"{place}, made by {last['version']}"
    return Drift(since, tuple(changed.values()), tuple(moved))


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    changed = {}
    for name in sorted({*before, *now}):
        was, is_now = before.get(name), now.get(name)
        if was is None or is_now is None:
            changed[name] = f"{name} is {'new' if was is None else 'gone'}"
        elif was != is_now:
            changed[name] = f"{name} changed from {was[:12]} to {is_now[:12]}"
    return changed


def _because(
    source_id: str,
    sources: Mapping[str, Source],
    changed: Mapping[str, str],
    version_before: str,
    version_now: str,
) -> tuple[str, ...]:
    """The changed inputs that a finding of this source rests on; if there are none, the code."""
    source = sources.get(source_id)
    name = source.name if source is not None else source_id.partition(":")[2]
    rests_on = (f"cost table {name}", f"measurement {name}", "transcription", "profile ")
    reasons = tuple(
        words
        for input_name, words in changed.items()
        if any(
            input_name == one or (one.endswith(" ") and input_name.startswith(one))
            for one in rests_on
        )
    )
    if reasons:
        return reasons
    if version_before != version_now:
        return (f"no input changed: the code did, from {version_before} to {version_now}",)
    return ("no input changed and the version is the same",)


def _said(reading: _Reading | None) -> str:
    return "nothing" if reading is None else f"{reading[0]}: {reading[1]}"


def _by(was: _Reading | None, now: _Reading | None) -> str:
    """By how much a finding moved, where it has a size."""
    if was is None or now is None or was[2] is None or now[2] is None or was[3] != now[3]:
        return ""
    return f"{was[2]:g} → {now[2]:g} ({now[2] - was[2]:+g}) {now[3]}"
