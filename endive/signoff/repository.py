"""What git says of a checkout: which commit it is at, and whether anything differs from it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from endive.errors import InputError, Problem

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Checkout:
    """The state of a checkout."""

    commit: str
    committed: str
    """The day of the commit, as YYYY-MM-DD."""
    changed: tuple[str, ...]
    """Files that differ from the commit, and files that git does not know and does not ignore."""

    @property
    def changes_in_words(self) -> str:
        """The first few changes."""
        rest = len(self.changed) - _SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        return ", ".join(self.changed[:_SHOWN]) + more


def look(top: Path) -> Checkout:
    """Ask git; raises InputError where there is nothing to ask."""
    try:
        commit = _git(top, "rev-parse", "HEAD").strip()
        day = _git(top, "log", "-1", "--format=%cs").strip()
        status = _git(top, "status", "--porcelain=v1", "--untracked-files=normal", "-z")
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", "") or str(error)
        message = f"git cannot tell what version this is: {str(told).strip()}"
        raise InputError([Problem(message, file=str(top))]) from None
    changed = tuple(entry[3:] for entry in status.split("\0") if len(entry) > 3)
    return Checkout(commit, day, changed)


def _git(top: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(top), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
