"""YAML with line numbers: values as plain Python, and where each of them stands.

Only what a cost table needs is taken: mappings, sequences and scalars. Aliases are refused, so that
every figure stands where it is read, and so is a key that stands twice.
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

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem of the value at `path`, or of what should hold it if it is not there."""
        line = 1
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                line = self.lines[path[:length]]
                break
        return Problem(message, dotted(path), self.file, line)


def dotted(path: KeyPath) -> str:
    """A path as it is written in messages: `settings.real_conflicts.is[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_document(text: str, file: str) -> Document:
    """Parse a YAML text; raises `InputError` with all that is wrong with its form."""
    # Slow to import, and not needed to simulate with a table that has been read.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root: Any = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        what = error.problem or error.context or "not YAML"
        raise InputError(
            [Problem(f"not YAML: {what}; mend the syntax", file=file, line=line)]
        ) from None
    except (YAMLError, RecursionError) as error:
        nested = isinstance(error, RecursionError)
        what = "nested too deeply" if nested else " ".join(str(error).split())
        raise InputError([Problem(f"not YAML: {what}", file=file)]) from None
    reader = _Reader(file)
    document = Document(file, None if root is None else reader.value(root, ()), reader.lines)
    if reader.problems:
        raise InputError(reader.problems)
    return document


class _Reader:
    def __init__(self, file: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._file = file
        self._seen: set[int] = set()

    def value(self, node: Any, path: KeyPath) -> Any:
        # An alias is the very node that its anchor named. Visiting none twice also bounds the work.
        if node.id != "scalar" or node.anchor is not None:
            if id(node) in self._seen:
                self._complain(path, node, "an alias; write the value out")
                return None
            self._seen.add(id(node))
        self.lines.setdefault(path, node.start_mark.line + 1)
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
            values[name] = self.value(value_node, here)
        return values

    def _complain(self, path: KeyPath, node: Any, message: str) -> None:
        line = node.start_mark.line + 1
        self.problems.append(Problem(message, dotted(path), self._file, line))


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
