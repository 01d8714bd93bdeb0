"""The index of a sweep, `<out>/<label>.sweep.json`: which cell stands in which directory. For people and programs; no results need it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from endive.sweep.model import Sweep
from endive.utils import whole_file

FORMAT = 1


def describe(sweep: Sweep) -> dict[str, Any]:
    """Axes, cells and seeds as a JSON document."""
    return {
        "format": FORMAT,
        "label": sweep.label,
        "axes": [
            {"name": axis.name, "keys": list(axis.keys), "values": list(axis.values)}
            for axis in sweep.axes
        ],
        "seeds": list(sweep.seeds),
        "attempts": sweep.records_attempts,
        "trace": sweep.records_trace,
        "cells": [
            {
                "directory": sweep.directory(cell),
                "config_hash": cell.config_hash,
                "settings": dict(cell.settings),
            }
            for cell in sweep.cells
        ],
    }


def write_index(sweep: Sweep, out: Path, version: str) -> Path:
    """Write the index whole; returns its path."""
    path = out / f"{sweep.label}.sweep.json"
    document = {**describe(sweep), "version": version}
    with whole_file(path) as beside:
        beside.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path
