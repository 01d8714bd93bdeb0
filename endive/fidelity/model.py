"""What the report is made of: rows, and for each row a finding per source and situation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What a finding says."""

    MATCH = "match"
    DEVIATES = "deviates"
    NOT_MODELLED = "not modelled"
    UNKNOWN = "unknown"
    """It applies, and no run showed it."""
    NOT_RUN = "not run"
    """The library has not been measured here."""
    NOT_MEASURED = "not measured"
    """The library's measurement does not look at this."""


DIFFERENCES = frozenset({Verdict.DEVIATES, Verdict.NOT_MODELLED})
"""What fails unless a waiver accepts it."""
OPEN = frozenset({Verdict.UNKNOWN, Verdict.NOT_RUN})
"""What leaves the report inconclusive."""


class Kind(StrEnum):
    """What a source is."""

    MODEL = "model"
    """The simulator under one cost table."""
    CONTROL = "control"
    """The simulator before the review: must be found wrong where the review found it wrong."""
    LIBRARY = "library"
    """A real library, measured."""


@dataclass(frozen=True, slots=True)
class Source:
    """One column of the report."""

    id: str
    """`model:spec-2.0`, `library:pyiceberg`."""
    kind: Kind
    name: str
    title: str
    digest: str
    """SHA-256 of the file it is made of; empty for a library that was not measured."""

    @property
    def is_judged(self) -> bool:
        """Whether a difference of it fails."""
        return self.kind is not Kind.CONTROL


@dataclass(frozen=True, slots=True)
class Point:
    """What was counted at one N: the exact distribution, and the runs in which it was seen."""

    n: int
    values: Mapping[int, int]
    """Each value, and how many attempts had it."""
    runs: tuple[str, ...] = ()

    @property
    def attempts(self) -> int:
        """How many attempts there were."""
        return sum(self.values.values())

    @property
    def mean(self) -> float:
        """The mean over attempts."""
        return sum(value * count for value, count in self.values.items()) / self.attempts


@dataclass(frozen=True, slots=True)
class Finding:
    """What one source does about one row, in one situation."""

    source: str
    where: str
    """The situation, such as `disjoint_partitions`; empty where there is but one."""
    verdict: Verdict
    claimed: str
    found: str
    note: str = ""
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """The evidence: for each counter the points."""
    runs: tuple[str, ...] = ()
    """The runs in which it was seen, by name."""
    judgement: str = ""
    """The verdict in the review's words, where the review has one."""
    size: float | None = None
    """How much it is, as one number, so that a change of it can be told."""
    unit: str = ""
    """What that number counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the report: a cell or row of a document, or a measurement of a library."""

    id: str
    table: str
    """Which part of the report it belongs to."""
    title: str
    section: str
    line: int
    """The line of the document, 0 where there is none."""
    document: Mapping[str, str]
    """What the document has, by its column."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A run, or several seeds of one: what it was for and how to see it again."""

    name: str
    role: str
    source: str
    config: str
    seeds: tuple[int, ...]
    replay: str


def key_of(row: Row, finding: Finding) -> tuple[str, str, str]:
    """What a waiver names."""
    return row.id, finding.source, finding.where


def spelled(counts: Mapping[str, Any], units: Mapping[str, tuple[str, str]]) -> str:
    """Counts as a phrase, `1 list read, N file reads`; nothing where all are 0."""
    parts = []
    for name, value in counts.items():
        if str(value) != "0":
            one, many = units[name]
            parts.append(f"{value} {one if str(value) == '1' else many}")
    return ", ".join(parts) or "nothing"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that a row as a whole deserves."""
    order = (
        Verdict.DEVIATES,
        Verdict.NOT_MODELLED,
        Verdict.UNKNOWN,
        Verdict.NOT_RUN,
        Verdict.MATCH,
        Verdict.NOT_MEASURED,
    )
    return min(verdicts, key=order.index) if verdicts else Verdict.UNKNOWN
