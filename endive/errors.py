"""What can go wrong in Endive's hands, as opposed to a result that is merely bad news.

A violated expectation is a *result* (exit code 1). What is defined here is bad input or bad use (exit code 2): it is
reported with everything needed to mend it, all problems at once, and nothing is run or written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class EndiveError(Exception):
    """Base of every error that Endive reports in words instead of a traceback."""


class UnsupportedOperationError(EndiveError):
    """A storage operation that the store does not have (§1.1)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where it stands, what is wrong and how to mend it."""

    message: str
    key: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        if self.file and self.line and self.column:
            place += f":{self.column}"
        return ": ".join(part for part in (place, self.key, self.message) if part)


class InputError(EndiveError):
    """Bad input: every problem found in it, so that one reading mends them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
