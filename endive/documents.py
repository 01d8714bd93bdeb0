"""YAML with line numbers: values as plain Python, and where each of them stands.

Only what cost tables and scenarios need is taken: mappings, sequences and scalars. Aliases are
refused, so that every figure stands where it is read, and so is a key that stands twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from endive.errors import InputError, Problem

KeyPath = tuple[str | int, ...]
"""The way to a value: names of keys, numbers of elements."""

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Document:
    """What a YAML text says, and the line of every value in it."""

    file: str
    value: Any
    lines: dict[KeyPath, int]
    columns: dict[KeyPath, int]
    tells_columns: bool = False
    """Whether problems name the column, too."""

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem of the value at `path`, or of what should hold it if it is not there."""
        line, column = 1, 1
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                line, column = self.lines[path[:length]], self.columns[path[:length]]
                break
        return Problem(message, dotted(path), self.file, line, column if self.tells_columns else 0)


def dotted(path: KeyPath) -> str:
    """A path as it is written in messages: `settings.real_conflicts.is[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_document(text: str, file: str, *, tells_columns: bool = False) -> Document:
    """Parse a YAML text; raises `InputError` with all that is wrong with its form."""
    # Slow to import, and not needed to simulate with a table that has been read.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root: Any = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        column = mark.column + 1 if mark is not None and tells_columns else 0
        what = error.problem or error.context or "not YAML"
        raise InputError(
            [Problem(f"not YAML: {what}; mend the syntax", file=file, line=line, column=column)]
        ) from None
    except (YAMLError, RecursionError) as error:
        nested = isinstance(error, RecursionError)
        what = "nested too deeply" if nested else " ".join(str(error).split())
        raise InputError([Problem(f"not YAML: {what}", file=file)]) from None
    reader = _Reader(file, tells_columns)
    value = None if root is None else reader.value(root, ())
    document = Document(file, value, reader.lines, reader.columns, tells_columns)
    if reader.problems:
        raise InputError(reader.problems)
    return document


class _Reader:
    def __init__(self, file: str, tells_columns: bool) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.columns: dict[KeyPath, int] = {}
        self._tells_columns = tells_columns
        self.problems: list[Problem] = []
        self._file = file
        self._seen: set[int] = set()

    def value(self, node: Any, path: KeyPath) -> Any:
        # An alias is the very node that its anchor named. Visiting none twice also bounds the work.
        if node.id != "scalar" or node.anchor is not None:
            if id(node) in self._seen:
                # The node stands at its anchor; the alias stands at the key, or in the list, that has it.
                here = path if path in self.lines else path[:-1]
                self.problems.append(
                    Document(
                        self._file, None, self.lines, self.columns, self._tells_columns
                    ).problem(here, "an alias; write the value out")
                )
                return None
            self._seen.add(id(node))
        self.lines.setdefault(path, node.start_mark.line + 1)
        self.columns.setdefault(path, node.start_mark.column + 1)
        if node.id == "mapping":
            return self._mapping(node, path)
        if node.id == "sequence":
            return [self.value(inner, (*path, index)) for index, inner in enumerate(node.value)]
        return _scalar(str(node.tag), node.value)

    def _mapping(self, node: Any, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                self._complain(path, key_node, "a key must be a plain name")
                continue
            name = str(key_node.value)
            here = (*path, name)
            if name in values:
                first = self.lines[here]
                self._complain(here, key_node, f"stands twice, first in line {first}; keep one")
                continue
            self.lines[here] = key_node.start_mark.line + 1
            self.columns[here] = key_node.start_mark.column + 1
            values[name] = self.value(value_node, here)
        return values

    def _complain(self, path: KeyPath, node: Any, message: str) -> None:
        mark = node.start_mark
        column = mark.column + 1 if self._tells_columns else 0
        self.problems.append(Problem(message, dotted(path), self._file, mark.line + 1, column))


def _scalar(tag: str, text: str) -> Any:
    kind = tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "float":
        try:
            return float(text)
        except ValueError:
            return text
    return text
