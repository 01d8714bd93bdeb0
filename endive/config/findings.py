"""What is wrong with one configuration, gathered as it is found, and where it stands."""

from __future__ import annotations

from typing import Any

from endive.config.toml_lines import KeyPath, key_lines, line_of
from endive.errors import InputError, Problem


class Findings:
    """Collects problems, and knows what is already in doubt, so that one mistake is told once."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = key_lines(text) if text else {}
        self._problems: list[Problem] = []
        self._doubted: set[KeyPath] = set()

    def add(self, path: KeyPath, message: str) -> None:
        """Record a problem of the value at `path`."""
        self.doubt(path)
        line = line_of(self._lines, path)
        problem = Problem(message, dotted(path), self._file, line)
        if problem not in self._problems:
            self._problems.append(problem)

    def adopt(self, path: KeyPath, problem: Problem) -> None:
        """Record a problem of a file that the value at `path` names, or of that value itself."""
        if not problem.file:
            self.add(path, problem.message)
            return
        self.doubt(path)
        self._problems.append(problem)

    def doubt(self, path: KeyPath) -> None:
        """Mark a value that cannot be relied on, because of a problem recorded elsewhere."""
        self._doubted.add(path)

    def is_sound(self, *paths: KeyPath) -> bool:
        """Whether nothing is known against these values, what they hold and what holds them."""
        return not any(_one_holds_other(path, bad) for path in paths for bad in self._doubted)

    def prune(self, values: dict[str, Any]) -> None:
        """Take everything in doubt out of `values`, so that the rest can be judged on its own."""
        for path in sorted(self._doubted, key=len, reverse=True):
            holder: Any = None
            last: str | int = ""
            table: Any = values
            for name in path:
                if isinstance(table, dict):
                    holder, last = table, name
                    table = table.get(name)
                elif isinstance(table, list) and isinstance(name, int) and name < len(table):
                    # Tables in an array are judged one by one; an array with a bad element is bad as a whole.
                    table = table[name]
                else:
                    break
            else:
                if holder is not None:
                    holder.pop(last, None)

    def raise_if_any(self) -> None:
        """Raise one error with all problems, in the order in which they stand in the file."""
        if self._problems:
            raise InputError(sorted(self._problems, key=lambda problem: problem.line or 0))


def dotted(path: KeyPath) -> str:
    """A path as it is written in messages: `catalog.partitions.per_table[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def _one_holds_other(one: KeyPath, other: KeyPath) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]
