"""Where each key of a TOML text stands: `tomllib` gives values without lines, messages need both.

The text has been parsed already, so this scanner may trust it to be well-formed and only has to
find keys: it steps over values, and over everything in them that looks like a key. Keys of inline
tables and elements of arrays stand, for a reader, at the line of the key that holds them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

KeyPath = tuple[str | int, ...]
"""The way to a value: names of tables and keys, numbers of array elements."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
# Longest delimiters first: a multi-line string begins like an empty one-line string.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\])*"|' r"'[^']*'", re.DOTALL
)
_SCALAR = re.compile(r"[^\s,\[\]{}#\"']+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every table and key of a well-formed TOML text, by path."""
    return _Scanner(text).scan()


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a path or, where that has none of its own, of what it stands in; 0 if nowhere."""
    for length in range(len(path), 0, -1):
        found = lines.get(path[:length])
        if found is not None:
            return found
    return 0


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # Lines are counted on the way, so that a long text is read once.
        self._line, self._counted_to = 1, 0
        self._lines: dict[KeyPath, int] = {}
        self._elements: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            line = self._line_here()
            if self._text[self._at] == "[":
                table = self._header(line)
            else:
                self._note((*table, *self._dotted_key()), len(table), line)
                self._at += 1  # the equals sign
                self._value()
            self._skip(_BLANK)
        return self._lines

    def _header(self, line: int) -> KeyPath:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        names = self._dotted_key()
        self._at += 2 if is_array else 1
        path: KeyPath = ()
        for depth, name in enumerate(names):
            path = (*path, name)
            if is_array and depth == len(names) - 1:
                self._elements[path] = self._elements.get(path, 0) + 1
            self._lines.setdefault(path, line)
            # A header below an array of tables means the element that was opened last.
            if path in self._elements:
                path = (*path, self._elements[path] - 1)
        self._lines[path] = line
        return path

    def _note(self, path: KeyPath, table_length: int, line: int) -> None:
        for length in range(table_length + 1, len(path)):
            self._lines.setdefault(path[:length], line)
        self._lines[path] = line

    def _dotted_key(self) -> tuple[str, ...]:
        names = [self._simple_key()]
        while self._text.startswith(".", self._at):
            self._at += 1
            names.append(self._simple_key())
        return tuple(names)

    def _simple_key(self) -> str:
        self._skip(_SPACE)
        bare = _BARE.match(self._text, self._at)
        if bare:
            self._at, name = bare.end(), bare.group()
        else:
            # A quoted key is written like a string; let the real parser undo its escapes.
            quoted = self._skip(_STRING)
            name = str(tomllib.loads(f"key = {quoted}")["key"]) if quoted else ""
        self._skip(_SPACE)
        return name

    def _value(self) -> None:
        depth = 0
        while True:
            self._skip(_BLANK if depth else _SPACE)
            mark = self._text[self._at : self._at + 1]
            if mark in ("[", "{"):
                depth += 1
                self._at += 1
            elif mark in ("]", "}"):
                depth -= 1
                self._at += 1
            elif mark in ('"', "'"):
                if not self._skip(_STRING):
                    return
            elif depth and mark in (",", "="):
                self._at += 1
            elif not self._skip(_SCALAR):
                return
            elif not depth:
                # A space may part a date from its time: the rest of the line is the value's too.
                continue
            if not depth and mark in ("]", "}", '"', "'"):
                return

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if not found:
            return ""
        self._at = found.end()
        return found.group()

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._line
