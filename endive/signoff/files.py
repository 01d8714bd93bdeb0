"""The files that a version consists of, as far as results hang on them, and their digests.

A wheel has no tests and no reports beside it, so a record is made and checked in a checkout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from endive.errors import InputError, Problem

# What a group of files is called, and where they are, seen from the top of the checkout.
GROUPS: dict[str, tuple[str, ...]] = {
    "code": ("endive/**/*.py", "pyproject.toml", "constraints.txt"),
    "invariants": ("invariants/**/*.py",),
    "tests": ("tests/**/*.py",),
    "cost tables": ("endive/cost_tables/*.yaml",),
    "profiles": ("endive/providers/*.toml",),
    "calibration": ("endive/calibration/*.csv", "endive/calibration/*.toml"),
    "schemas": ("schemas/*.json",),
    "scenarios": ("scenarios/*.yaml",),
    "oracles": ("endive/oracle/measured/*.json",),
    "documents": ("endive/fidelity/*.yaml",),
    "kept reports": ("reports/kill_matrix.json",),
}


def checkout() -> Path:
    """The top of the checkout that this code runs from; raises InputError where there is none."""
    top = Path(__file__).resolve().parents[2]
    if not (top / "pyproject.toml").is_file() or not (top / "scenarios").is_dir():
        message = "a sign-off is about a checkout; run it from a clone of the repository"
        raise InputError([Problem(message, file=str(top))])
    return top


def digests(top: Path) -> dict[str, str]:
    """The SHA-256 of every file, by its path from the top."""
    return {path.relative_to(top).as_posix(): sha256(path) for path in _files(top)}


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def group_of(name: str) -> str:
    """Which group a file belongs to."""
    path = Path(name)
    for group, patterns in GROUPS.items():
        if any(_matches(path, pattern) for pattern in patterns):
            return group
    return "other"


def _matches(path: Path, pattern: str) -> bool:
    folder, _, name = pattern.rpartition("/")
    if folder.endswith("/**"):
        top = folder.removesuffix("/**")
        return path.as_posix().startswith(f"{top}/") and path.match(name)
    return path.parent.as_posix() == (folder or ".") and path.match(name)


def _files(top: Path) -> Iterator[Path]:
    found = {
        path
        for patterns in GROUPS.values()
        for pattern in patterns
        for path in top.glob(pattern)
        if path.is_file()
    }
    return iter(sorted(found))
