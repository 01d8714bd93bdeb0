"""Measurements of the real libraries as evidence: what is kept, and a part of it measured once more.

PyIceberg is measured cell by cell. Iceberg Java is one piece: its JVM is what takes long, so all of it is measured or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from endive.oracle.measurement import Cell, Measurement, load_measured
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict, digest_of

_PYICEBERG, _JAVA = "pyiceberg", "iceberg-java"


class Oracles:
    """Tells what real libraries read and write."""

    kind = "oracle"

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every kept cell of PyIceberg, and Iceberg Java as a whole."""
        kept = load_measured(_PYICEBERG)
        for cell in kept.cells:
            yield _cell(cell, kept.version)
        yield _whole(load_measured(_JAVA))

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some cells, measured now on the library that is installed."""
        wanted = {name for name in names if name != _JAVA}
        if wanted:
            yield from _pyiceberg(wanted)
        if _JAVA in names:
            yield _java()


def _pyiceberg(wanted: set[str]) -> Iterator[Evidence]:
    from endive.oracle.pyiceberg import Experiment, experiments, measure

    # Cells stand in the order of the experiments that they come from.
    kept = load_measured(_PYICEBERG)
    chosen: list[Experiment] = [
        experiment
        for experiment, cell in zip(experiments(), kept.cells, strict=True)
        if _name(cell) in wanted
    ]
    measured = measure(chosen=lambda experiment: experiment in chosen)
    for cell in measured.cells:
        yield _cell(cell, measured.version)


def _java() -> Evidence:
    from endive.oracle.iceberg_java import measure
    from endive.oracle.java.jar import JarMissingError, find_jar

    try:
        return _whole(measure(find_jar()))
    except JarMissingError as error:
        return Evidence(f"oracle/{_JAVA}", Verdict.NOT_RUN, {}, str(error))


def _cell(cell: Cell, version: str) -> Evidence:
    detail = {
        "version": version,
        "outcome": cell.outcome,
        "attempts": [attempt.as_dict() for attempt in cell.attempts],
    }
    return Evidence(f"oracle/{_name(cell)}", Verdict.PASS, detail)


def _name(cell: Cell) -> str:
    return f"{_PYICEBERG}: {cell.label}"


def _whole(measured: Measurement) -> Evidence:
    cells = [cell.as_dict() for cell in measured.cells]
    detail = {
        "version": measured.version,
        "artifact_sha256": measured.artifact_sha256,
        "cells": len(cells),
        "counts": digest_of(cells),
    }
    return Evidence(f"oracle/{_JAVA}", Verdict.PASS, detail)
