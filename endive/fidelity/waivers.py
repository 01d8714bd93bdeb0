"""Differences that somebody has accepted: which, why, on what authority, and until when.

A waiver names what was found, not only where: if the model begins to deviate in another way, it accepts nothing any more.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from endive.documents import Document, KeyPath, read_document
from endive.errors import InputError, Problem
from endive.fidelity.model import DIFFERENCES, Finding, Row, Verdict
from endive.resources import shared_dir
from endive.schema_words import in_words

SHIPPED = Path(__file__).with_name("waivers.yaml")
Place = tuple[str, str, str]
"""Row, source, situation."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One accepted difference, or the same one in several places."""

    number: int
    """Its place in the file, from 1."""
    rows: tuple[str, ...]
    sources: tuple[str, ...]
    where: tuple[str, ...]
    found: str
    reason: str
    reference: str
    expires: dt.date
    file: str
    line: int

    def places(self) -> Iterable[Place]:
        """Every place it is for."""
        return product(self.rows, self.sources, self.where)

    def accepts(self, row: Row, finding: Finding) -> bool:
        """Whether it is about this difference."""
        return (
            row.id in self.rows
            and finding.source in self.sources
            and finding.where in self.where
            and finding.found == self.found
        )


@dataclass(frozen=True, slots=True)
class Misuse:
    """What is wrong with a waiver."""

    waiver: Waiver
    kind: str
    """`expired` or `unused`."""
    words: str


@dataclass(frozen=True)
class Settled:
    """Which differences are accepted, and what is wrong with the waivers."""

    accepted: dict[Place, Waiver]
    misuses: tuple[Misuse, ...]


def settle(
    rows: Sequence[Row], waivers: Sequence[Waiver], today: dt.date, judged: Iterable[str]
) -> Settled:
    """Hold differences and waivers against each other. Sources that are not `judged` are nobody's business."""
    sources = set(judged)
    found = {
        (row.id, finding.source, finding.where): (row, finding)
        for row in rows
        for finding in row.findings
    }
    accepted: dict[Place, Waiver] = {}
    misuses = []
    for waiver in waivers:
        if waiver.expires < today:
            words = f"expired on {waiver.expires.isoformat()}; look again, and renew or remove it"
            misuses.append(Misuse(waiver, "expired", words))
        for place in waiver.places():
            if place[1] not in sources:
                continue
            row, finding = found.get(place, (None, None))
            if row is None or finding is None:
                # A column that as a whole was not to be had leaves its waivers alone.
                if not _is_absent(place, found.values()):
                    misuses.append(
                        Misuse(waiver, "unused", f"{_spelled(place)}: there is no such finding")
                    )
            elif finding.verdict in DIFFERENCES and waiver.accepts(row, finding):
                if waiver.expires >= today:
                    accepted[place] = waiver
            elif finding.verdict not in (Verdict.UNKNOWN, Verdict.NOT_RUN):
                misuses.append(Misuse(waiver, "unused", _why_unused(place, finding, waiver)))
    return Settled(accepted, tuple(misuses))


def _is_absent(place: Place, found: Iterable[tuple[Row, Finding]]) -> bool:
    row_id, source, _ = place
    of_source = [finding for row, finding in found if finding.source == source and row.id == row_id]
    return any(finding.verdict is Verdict.NOT_RUN for finding in of_source)


def _why_unused(place: Place, finding: Finding, waiver: Waiver) -> str:
    if finding.verdict in DIFFERENCES:
        return f"{_spelled(place)}: it accepts {waiver.found!r}, and what is found is {finding.found!r}"
    return f"{_spelled(place)}: there is no difference any more"


def _spelled(place: Place) -> str:
    return ", ".join(part for part in place if part)


def as_waiver(row: Row, finding: Finding) -> str:
    """The entry that would accept a difference, but for the reason, which somebody must give."""
    import json

    quoted = {
        name: json.dumps(value, ensure_ascii=False)
        for name, value in (
            ("row", row.id),
            ("source", finding.source),
            ("where", finding.where),
            ("found", finding.found),
        )
    }
    return (
        f"- rows: [{quoted['row']}]\n"
        f"  sources: [{quoted['source']}]\n"
        f"  where: [{quoted['where']}]\n"
        f"  found: {quoted['found']}\n"
        "  reason:\n  reference:\n  expires:\n"
    )


def load_waivers(path: str | Path = SHIPPED) -> tuple[Waiver, ...]:
    """The waivers of a file; raises `InputError` with everything that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError([Problem("not UTF-8 text; save it as UTF-8", file=str(path))]) from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError([Problem(f"cannot be read: {reason}", file=str(path))]) from None
    return parse_waivers(text, str(path))


def parse_waivers(text: str, file: str) -> tuple[Waiver, ...]:
    """The waivers of a text; `file` is named in messages."""
    document = read_document(text, file)
    problems = list(_violations(document))
    if problems:
        raise InputError(problems)
    waivers = []
    taken: dict[Place, int] = {}
    for index, entry in enumerate(document.value["waivers"]):
        here: KeyPath = ("waivers", index)
        try:
            expires = dt.date.fromisoformat(entry["expires"])
        except ValueError:
            message = f"{entry['expires']!r} is no day; write it as 2027-06-30"
            problems.append(document.problem((*here, "expires"), message))
            continue
        waiver = Waiver(
            number=index + 1,
            rows=tuple(entry["rows"]),
            sources=tuple(entry["sources"]),
            where=tuple(entry.get("where", [""])),
            found=entry["found"],
            reason=" ".join(entry["reason"].split()),
            reference=" ".join(entry["reference"].split()),
            expires=expires,
            file=file,
            line=document.lines.get(here, 1),
        )
        for place in waiver.places():
            if place in taken:
                message = f"{_spelled(place)} is accepted in line {taken[place]} already; keep one"
                problems.append(document.problem(here, message))
            taken[place] = waiver.line
        waivers.append(waiver)
    if problems:
        raise InputError(problems)
    return tuple(waivers)


@cache
def _schema() -> dict[str, Any]:
    import json

    path = shared_dir("schemas") / "waivers.schema.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def _violations(document: Document) -> Iterable[Problem]:
    from jsonschema import Draft7Validator

    for error in Draft7Validator(_schema()).iter_errors(document.value):
        path: KeyPath = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            known = list(error.schema["properties"])
            for name in error.instance:
                if name not in known:
                    there = f"unknown key; there are {', '.join(known)}"
                    yield document.problem((*path, name), there)
        elif error.validator == "required":
            name = next(n for n in error.validator_value if f"{n!r} is a" in error.message)
            yield document.problem((*path, name), "missing; add it")
        else:
            yield document.problem(path, in_words(error))
