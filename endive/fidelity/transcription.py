"""The documents' tables as they were transcribed: what each cell says, in which line, and what it claims in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from endive.documents import read_document

FILE = Path(__file__).with_name("documents.yaml")
TABLES = ("retry_costs", "convoy_costs", "aspects")


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One row of a table of the document."""

    id: str
    line: int
    cells: tuple[str, ...]
    says: Mapping[str, Any]
    operation: str = ""
    review: str = ""


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table of the document."""

    id: str
    title: str
    section: str
    head: DocumentRow
    operations: tuple[str, ...]
    rows: tuple[DocumentRow, ...]

    def row(self, id: str) -> DocumentRow:
        """A row by its id."""
        return next(row for row in self.rows if row.id == id)


@dataclass(frozen=True, slots=True)
class Transcription:
    """All of it."""

    document: str
    seed: str
    assumes: Mapping[str, str]
    tables: Mapping[str, DocumentTable]

    def lines(self) -> Iterator[DocumentRow]:
        """Every line that was transcribed, heads included."""
        for table in self.tables.values():
            yield table.head
            yield from table.rows


@cache
def transcription() -> Transcription:
    """The transcription that ships with Endive."""
    value = read_document(FILE.read_text(encoding="utf-8"), str(FILE)).value
    return Transcription(
        document=value["document"],
        seed=value["seed"],
        assumes=value["assumes"],
        tables={name: _table(name, value[name]) for name in TABLES},
    )


def _table(id: str, value: Mapping[str, Any]) -> DocumentTable:
    return DocumentTable(
        id=id,
        title=value["title"],
        section=value["section"],
        head=_row({"id": "head", **value["head"]}),
        operations=tuple(value.get("operations", ())),
        rows=tuple(_row(row) for row in value["rows"]),
    )


def _row(value: Mapping[str, Any]) -> DocumentRow:
    return DocumentRow(
        id=value["id"],
        line=value["line"],
        cells=tuple(value["text"]),
        says=value.get("says", {}),
        operation=value.get("operation", ""),
        review=value.get("review", ""),
    )
