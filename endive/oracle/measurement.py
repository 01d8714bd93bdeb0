"""Measurements of a real Iceberg library as values, and the files in which they are kept (`schemas/oracle.schema.json`).

A measurement is a list of cells. A cell is one experiment: an operation, what others did meanwhile, how it ended, and what
each attempt read and wrote. The files in `endive/oracle/measured/` are written by `endive oracle` and compared with the
libraries again by tests.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from endive.documents import Document, KeyPath, dotted, read_document
from endive.errors import InputError, Problem
from endive.resources import package_dir, shared_dir
from endive.schema_words import in_words, shown
from endive.utils import whole_file

FORMAT = 1

Setting = str | int | bool


@dataclass(frozen=True, slots=True)
class AttemptCounts:
    """What one attempt read and wrote. A manifest list of the past counts like any other."""

    metadata_reads: int = 0
    metadata_writes: int = 0
    manifest_list_reads: int = 0
    manifest_list_writes: int = 0
    manifest_file_reads: int = 0
    manifest_file_writes: int = 0

    def plus(self, other: AttemptCounts) -> AttemptCounts:
        """What both did."""
        return AttemptCounts(*(getattr(self, name) + getattr(other, name) for name in COUNTERS))

    def as_dict(self) -> dict[str, int]:
        """The counters by name."""
        return {name: getattr(self, name) for name in COUNTERS}


COUNTERS = tuple(field.name for field in fields(AttemptCounts))
"""What is counted, in the order of `AttemptCounts`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One experiment and what came of it; `settings` holds whatever else sets it apart."""

    operation: str
    situation: str
    n: int
    partitions: str
    base_manifests: int
    settings: Mapping[str, Setting]
    outcome: str
    attempts: tuple[AttemptCounts, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What sets it apart from every other cell of its measurement."""
        settings = tuple(sorted(self.settings.items()))
        return (
            self.operation,
            self.situation,
            self.n,
            self.partitions,
            self.base_manifests,
            settings,
        )

    @property
    def label(self) -> str:
        """The cell in a line: `row_delta, retry, n = 5, disjoint, 3 manifests, isolation snapshot`."""
        parts = [self.operation, self.situation, f"n = {self.n}", self.partitions]
        parts.append(f"{self.base_manifests} manifests")
        parts += [
            f"{name.replace('_', ' ')} {spelled(value)}"
            for name, value in sorted(self.settings.items())
        ]
        return ", ".join(parts)

    @property
    def total(self) -> AttemptCounts:
        """What all attempts did together."""
        total = AttemptCounts()
        for attempt in self.attempts:
            total = total.plus(attempt)
        return total

    def as_dict(self) -> dict[str, Any]:
        """The cell as the file has it."""
        return {
            "operation": self.operation,
            "situation": self.situation,
            "n": self.n,
            "partitions": self.partitions,
            "base_manifests": self.base_manifests,
            "settings": dict(sorted(self.settings.items())),
            "outcome": self.outcome,
            "attempts": [attempt.as_dict() for attempt in self.attempts],
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that was counted on one version of one library."""

    library: str
    version: str
    artifact_sha256: str | None
    command: str
    environment: Mapping[str, str]
    cells: tuple[Cell, ...]

    def select(
        self,
        *,
        operation: str | None = None,
        situation: str | None = None,
        n: int | None = None,
        partitions: str | None = None,
        base_manifests: int | None = None,
        settings: Mapping[str, Setting] | None = None,
        outcome: str | None = None,
    ) -> tuple[Cell, ...]:
        """The cells that match all that is given; `settings` names those that must be so, others may be anything."""
        wanted = {
            "operation": operation,
            "situation": situation,
            "n": n,
            "partitions": partitions,
            "base_manifests": base_manifests,
            "outcome": outcome,
        }
        return tuple(
            cell
            for cell in self.cells
            if all(value is None or getattr(cell, name) == value for name, value in wanted.items())
            and all(cell.settings.get(name) == value for name, value in (settings or {}).items())
        )

    def one(self, **wanted: Any) -> Cell:
        """The only cell that `select` finds; a LookupError if there is none, or more than one."""
        found = self.select(**wanted)
        if len(found) != 1:
            what = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            names = "; ".join(cell.label for cell in found[:3]) or "none"
            raise LookupError(f"{len(found)} cells of {self.library} have {what}: {names}")
        return found[0]

    def as_dict(self) -> dict[str, Any]:
        """The measurement as the file has it."""
        return {
            "format": FORMAT,
            "library": self.library,
            "version": self.version,
            "artifact_sha256": self.artifact_sha256,
            "command": self.command,
            "environment": dict(sorted(self.environment.items())),
            "cells": [cell.as_dict() for cell in self.cells],
        }


def spelled(value: Setting) -> str:
    """A setting as a file spells it."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def measured_names() -> tuple[str, ...]:
    """The measurements that ship with Endive."""
    found = package_dir("oracle/measured").glob("*.json")
    return tuple(sorted(path.stem for path in found if _is_measurement(path)))


def _is_measurement(path: Path) -> bool:
    # Results of races are kept beside the measurements, in a format of their own.
    return '"cells"' in path.read_text(encoding="utf-8")


def measured_file(name: str) -> Path:
    """Where a shipped measurement is kept, whether it is there or not."""
    return package_dir("oracle/measured") / f"{name}.json"


def load_measured(name: str) -> Measurement:
    """A measurement that ships with Endive, by name: `pyiceberg`, `iceberg-java`."""
    names = measured_names()
    if name not in names:
        close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names) or 'none'}"
        raise InputError([Problem(f"nothing measured is called {name!r}; {hint}")])
    return load_measurement(measured_file(name))


def load_measurement(path: str | Path) -> Measurement:
    """A measurement from a file; raises `InputError` with everything that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError([Problem("not UTF-8 text; save it as UTF-8", file=str(path))]) from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError([Problem(f"cannot be read: {reason}", file=str(path))]) from None
    return parse_measurement(text, str(path))


def parse_measurement(text: str, file: str) -> Measurement:
    """A measurement from its text; `file` is named in messages."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise InputError([Problem("not JSON: nested too deeply", file=file)]) from None
    except json.JSONDecodeError as error:
        problem = Problem(f"not JSON: {error.msg}; mend the syntax", file=file, line=error.lineno)
        raise InputError([problem]) from None
    found = list(_violations(value)) or list(_twins(value))
    if found:
        place = _placing(text, file)
        problems = [place(path, message) for path, message in found]
        raise InputError(sorted(problems, key=lambda problem: problem.line))
    return Measurement(
        library=value["library"],
        version=value["version"],
        artifact_sha256=value["artifact_sha256"],
        command=value["command"],
        environment=dict(value["environment"]),
        cells=tuple(map(_cell, value["cells"])),
    )


def save_measurement(measurement: Measurement, path: str | Path) -> None:
    """Write a measurement, a line for each cell, so that a change shows as the line that changed."""
    with whole_file(path) as beside:
        beside.write_text(render_measurement(measurement), encoding="utf-8")


def render_measurement(measurement: Measurement) -> str:
    """The text of the file."""
    document = measurement.as_dict()
    cells = document.pop("cells")
    head = json.dumps(document, ensure_ascii=False, indent=2).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(cell, ensure_ascii=False)}" for cell in cells)
    return f'{head},\n  "cells": [\n{lines}\n  ]\n}}\n'


@lru_cache(maxsize=1)
def load_schema() -> dict[str, Any]:
    """The schema as it stands in the file."""
    text = (shared_dir("schemas") / "oracle.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _cell(value: Mapping[str, Any]) -> Cell:
    return Cell(
        operation=value["operation"],
        situation=value["situation"],
        n=int(value["n"]),
        partitions=value["partitions"],
        base_manifests=int(value["base_manifests"]),
        settings=dict(value["settings"]),
        outcome=value["outcome"],
        attempts=tuple(
            AttemptCounts(*(int(attempt[name]) for name in COUNTERS))
            for attempt in value["attempts"]
        ),
    )


_Finding = tuple[KeyPath, str]


def _violations(value: Any) -> Iterator[_Finding]:
    from jsonschema import Draft7Validator

    for error in Draft7Validator(load_schema()).iter_errors(value):
        path: KeyPath = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            known = list(error.schema["properties"])
            for name in error.instance:
                if name not in known:
                    close = difflib.get_close_matches(name, known, n=1)
                    there = f"there are {', '.join(known)}"
                    hint = f"did you mean '{close[0]}'?" if close else there
                    yield (*path, name), f"unknown key; {hint}"
        elif error.validator == "required":
            # The validator reports each missing name by itself.
            name = next(n for n in error.validator_value if f"{n!r} is a" in error.message)
            yield (*path, name), "missing; add it"
        elif error.validator == "type" and isinstance(error.validator_value, list):
            kinds = " or ".join(error.validator_value)
            yield path, f"{shown(error.instance)} is none of these: {kinds}; give one of them"
        else:
            yield path, in_words(error)


def _twins(value: Mapping[str, Any]) -> Iterator[_Finding]:
    """Cells of which nobody could say which one is meant."""
    first: dict[tuple[object, ...], int] = {}
    for index, each in enumerate(value["cells"]):
        cell = _cell(each)
        before = first.setdefault(cell.key, index)
        if before != index:
            yield ("cells", index), f"is cells[{before}] again ({cell.label}); keep one of them"


def _placing(text: str, file: str) -> Callable[[KeyPath, str], Problem]:
    """Says where in the text something stands. JSON is YAML, and that reader knows lines; it is slow, so only now."""
    try:
        document: Document = read_document(text, file)
    except InputError:
        return lambda path, message: Problem(message, dotted(path), file)
    return document.problem
