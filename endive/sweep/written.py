"""Keys as a sweep file writes them: `a.b = 1`, `"a.b" = 1` and `[set.a]` with `b = 1` all mean the key a.b.

TOML gives the same nested tables for a table that is laid down whole, `a = { b = 1 }`, as for a key that reaches into one,
`a.b = 1`. The first replaces what stood at a, the second leaves its neighbours; which was meant, only the text tells: keys
have lines of their own, and what stands inside a value has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from endive.config.toml_lines import KeyPath


@dataclass(frozen=True, slots=True)
class Setting:
    """One key, what it is set to, and where."""

    key: str
    value: Any
    path: KeyPath
    """The way to it in the sweep file."""


def settings_in(
    table: Mapping[str, Any], path: KeyPath, lines: Mapping[KeyPath, int]
) -> Iterator[Setting]:
    """The settings below a table of the sweep file that stands at `path`."""
    for name, value in table.items():
        yield from _below(value, (*path, name), name, lines)


def _below(value: Any, path: KeyPath, key: str, lines: Mapping[KeyPath, int]) -> Iterator[Setting]:
    if isinstance(value, Mapping) and any((*path, name) in lines for name in value):
        for name, inner in value.items():
            yield from _below(inner, (*path, name), f"{key}.{name}", lines)
    else:
        yield Setting(key, value, path)
