"""Mutants of the cost tables: every number one too high and one too low, every setting turned round.

What kills them reads no table: `transcription.yaml` holds every cell again, copied from the documents. Two cells agree if
they count the same for all values of the variables, however they are spelled.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from endive.cost_model import COUNTS, parse_expression
from endive.cost_model.table import cost_table_names
from endive.documents import read_document
from endive.resources import package_dir

KILLER = "transcription"
_FILE = Path(__file__).with_name("transcription.yaml")
_STEPS = ("attempt", "merge_on_real_conflict")
_BY_CLASS = ("validate", "rebuild")
_CHOICES = {
    "validate_from": ("start", "last_seen"),
    "validation_io": ("parallel", "sequential"),
    "on_real_conflict": ("abort", "merge"),
    "metadata_writes": ("every_attempt", "successful_attempt"),
}
_NOTHING = 0
Document = Mapping[str, Any]
Cells = dict[str, Any]
"""What a table says, by dotted name: counts of prices as they are spelled, settings as they are."""


@dataclass(frozen=True, slots=True)
class TableMutant:
    """A table with one cell changed."""

    id: str
    table: str
    cell: str
    was: Any
    becomes: Any
    document: Document


@cache
def table_document(name: str) -> Document:
    """A shipped table as its file has it."""
    path = package_dir("cost_tables") / f"{name}.yaml"
    found: Document = read_document(path.read_text(encoding="utf-8"), path.name).value
    return found


@cache
def transcription() -> Mapping[str, Any]:
    """The documents' numbers."""
    text = _FILE.read_text(encoding="utf-8")
    found: Mapping[str, Any] = read_document(text, _FILE.name).value
    return found


def cells_of(document: Document) -> Cells:
    """Every cell of a table that says anything."""
    cells: Cells = {"version": document["version"]}
    for name, entry in document["settings"].items():
        cells[f"settings.{name}"] = entry["is"]
    for operation, entry in document["operations"].items():
        for step, price in _prices(entry):
            for count in COUNTS:
                if count in price:
                    cells[f"{operation}.{step}.{count}"] = price[count]
        if "merging" in entry:
            cells[f"{operation}.merging.min_count"] = entry["merging"]["min_count"]
    return cells


def _prices(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for step in _STEPS:
        if step in entry:
            yield step, entry[step]
    for step in _BY_CLASS:
        for conflict_class, price in entry.get(step, {}).items():
            yield f"{step}.{conflict_class}", price


def transcribed_cells(name: str) -> Cells:
    """Every cell that the documents have for a table."""
    table = transcription()[name]
    cells: Cells = {"version": table["version"]}
    for setting, entry in table["settings"].items():
        cells[f"settings.{setting}"] = entry["is"]
    for operation, entry in table.get("merging", {}).items():
        cells[f"{operation}.merging.min_count"] = entry["min_count"]
    for row in table["rows"]:
        for operation, step, count in product(row["for"], row["pays"], COUNTS):
            if count in row:
                cell = f"{operation}.{step}.{count}"
                if cell in cells:
                    raise ValueError(f"{_FILE.name}: {name}: {cell} is transcribed twice")
                cells[cell] = row[count]
    return cells


def differences(document: Document, name: str) -> list[str]:
    """What a table says differently from the documents, cell by cell."""
    found, wanted = cells_of(document), transcribed_cells(name)
    told = []
    for cell in dict.fromkeys((*wanted, *found)):
        here, there = found.get(cell, _NOTHING), wanted.get(cell, _NOTHING)
        if not _agree(cell, here, there):
            told.append(f"{name}: {cell} is {here}, and the documents say {there}")
    return told


def _agree(cell: str, here: Any, there: Any) -> bool:
    if cell.rpartition(".")[2] not in COUNTS:
        # Of a list the order says nothing.
        if isinstance(here, list) and isinstance(there, list):
            return sorted(here) == sorted(there)
        return type(here) is type(there) and bool(here == there)
    return _values(here) == _values(there)


@cache
def _values(count: str | int) -> tuple[int, ...]:
    """What a count comes to, for small values of all variables; R is never above N."""
    evaluate = parse_expression(count).evaluate
    grid = product(range(5), range(5), (0, 1, 4), (0, 3), (1, 4))
    return tuple(evaluate(n, r, k, t, c) for n, r, k, t, c in grid if r <= n)


def table_mutants(names: tuple[str, ...] | None = None) -> Iterator[TableMutant]:
    """Every cell of every table, changed by one or turned round."""
    for name in names or cost_table_names():
        document = table_document(name)
        for cell, was in cells_of(document).items():
            for becomes in _changes(cell, was):
                mutant = f"table:{name}:{cell}:{_spelled(becomes)}"
                yield TableMutant(
                    mutant, name, cell, was, becomes, _with_cell(document, cell, becomes)
                )


def _spelled(value: Any) -> str:
    return "+".join(value) if isinstance(value, list) else str(value).replace(" ", "")


def _changes(cell: str, was: Any) -> Iterator[Any]:
    if isinstance(was, bool):
        yield not was
    elif isinstance(was, int):
        yield was + 1
        if was > 0:
            yield was - 1
    elif isinstance(was, list):
        for left_out in was:
            yield [name for name in was if name != left_out]
        if "fast_append" not in was:
            yield [*was, "fast_append"]
    elif cell.startswith("settings."):
        yield from (other for other in _CHOICES[cell.removeprefix("settings.")] if other != was)
    else:
        yield f"{was} + 1"
        yield f"max(0, {was} - 1)"
        for constant in re.finditer(r"\d+", was):
            for other in (int(constant[0]) + 1, int(constant[0]) - 1):
                if other >= 0:
                    yield f"{was[: constant.start()]}{other}{was[constant.end() :]}"


def _with_cell(document: Document, cell: str, value: Any) -> Document:
    changed: dict[str, Any] = copy.deepcopy(dict(document))
    first, *rest = cell.split(".")
    if cell == "version":
        changed["version"] = value
    elif first == "settings":
        changed["settings"][rest[0]]["is"] = value
    else:
        place = changed["operations"][first]
        for part in rest[:-1]:
            place = place[part]
        place[rest[-1]] = value
    return changed


def is_live(mutant: TableMutant) -> bool:
    """Whether the changed cell means anything else than before."""
    return not _agree(mutant.cell, mutant.becomes, mutant.was)
