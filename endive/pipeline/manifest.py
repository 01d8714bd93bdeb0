"""What a version of consolidated data was made of: enough to tell what has changed since, and to read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from endive.pipeline.configs import Scalar
from endive.pipeline.files import RunFacts
from endive.pipeline.places import MANIFEST
from endive.pipeline.tree import FileState, RunFiles
from endive.utils import whole_file

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A part as it stands in a version."""

    experiment: str
    name: str
    runs: tuple[RunFacts, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version: its inputs, its parts, and the columns of its two datasets."""

    tree: str
    """The tree that was consolidated, as seen from the place of the data."""
    experiments: Mapping[str, Mapping[str, Any]]
    """Label, hash, version and configuration, by name."""
    types: Mapping[str, str]
    attempt_types: Mapping[str, str]
    parts: tuple[WrittenPart, ...]
    unfinished: tuple[str, ...]

    @property
    def runs(self) -> tuple[RunFacts, ...]:
        """Every run, in order of experiment and seed."""
        runs = [run for part in self.parts for run in part.runs]
        return tuple(sorted(runs, key=lambda run: (run.files.experiment, run.files.seed)))

    @property
    def has_attempts(self) -> bool:
        """Whether any run recorded its attempts."""
        return any(run.files.attempts is not None for run in self.runs)

    def config(self, experiment: str) -> Mapping[str, Scalar]:
        """The configuration of an experiment, by dotted key."""
        config: Mapping[str, Scalar] = self.experiments[experiment]["config"]
        return config

    def save(self, version: Path) -> None:
        """Write the manifest of a version; the last thing written into it."""
        document = {"format": _FORMAT, **asdict(self)}
        with whole_file(version / MANIFEST) as beside:
            beside.write_text(json.dumps(document, allow_nan=False), encoding="utf-8")


def load_manifest(version: Path) -> Manifest | None:
    """The manifest of a version; None if it is of another format, so that all has to be made anew."""
    try:
        document = json.loads((version / MANIFEST).read_text(encoding="utf-8"))
        if document.pop("format") != _FORMAT:
            return None
        parts = tuple(
            WrittenPart(part["experiment"], part["name"], tuple(map(_run, part["runs"])))
            for part in document.pop("parts")
        )
        unfinished = tuple(document.pop("unfinished"))
        return Manifest(parts=parts, unfinished=unfinished, **document)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _run(told: dict[str, Any]) -> RunFacts:
    files = told.pop("files")
    return RunFacts(
        RunFiles(
            files["experiment"],
            files["seed"],
            FileState(**files["results"]),
            FileState(**files["attempts"]) if files["attempts"] else None,
        ),
        **told,
    )
