"""Settings laid over a configuration by their dotted keys: of scenarios, of sweeps, of anybody who varies a base."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from endive.config.findings import dotted
from endive.config.prices import is_file
from endive.config.resolve import read_toml
from endive.config.toml_lines import KeyPath, key_lines
from endive.errors import EndiveError
from endive.schema_words import shown

_NUMBERS = re.compile(r"\[([0-9]+)\]")
_T = TypeVar("_T")


class OverrideError(EndiveError):
    """A key that leads nowhere in this configuration."""


@dataclass(frozen=True, slots=True)
class Base:
    """A configuration file that others vary, and where its keys stand."""

    values: dict[str, Any]
    file: str
    lines: Mapping[KeyPath, int]


def read_base(path: Path) -> Base:
    """Read a configuration that others vary; raises InputError if it is no TOML."""
    values, text = read_toml(path)
    table = values.get("transaction", {})
    if isinstance(table, dict) and is_file(str(table.get("cost_table", "spec-2.0"))):
        # The file names its cost table relative to itself, and whoever varies it lies elsewhere.
        table["cost_table"] = str((path.parent / table["cost_table"]).resolve())
    return Base(values, str(path), key_lines(text))


def lay(values: dict[str, Any], key: str, value: Any) -> None:
    """Set one dotted key; None removes it. Raises OverrideError where the way to it is blocked."""
    *way, last = locate(values, key)
    table: Any = values
    for part in way:
        table = table[part] if isinstance(part, int) else table.setdefault(part, {})
    if value is not None:
        table[last] = copy.deepcopy(value)
    elif isinstance(table, list):
        del table[int(last)]
    else:
        table.pop(last, None)


def locate(values: Mapping[str, Any], key: str) -> KeyPath:
    """The path that a dotted key means here; a table among several, like a class of load, goes by its name."""
    parts = key.split(".")
    path: list[str | int] = []
    here: Any = values
    while parts:
        if isinstance(here, list):
            index, length = _element(here, parts, path)
            path.append(index)
            here, parts = here[index], parts[length:]
        elif isinstance(here, Mapping):
            path.append(parts.pop(0))
            here = here.get(path[-1], {})
        else:
            raise OverrideError(f"{path[-1]!r} is {shown(here)} in the configuration, not a table")
    return tuple(path)


def _element(here: list[Any], parts: list[str], path: list[str | int]) -> tuple[int, int]:
    """The number of the element that is meant, and how many parts of the key its name takes."""
    names = [element.get("name") if isinstance(element, Mapping) else None for element in here]
    # A name may hold dots itself.
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in names:
            return names.index(name), length
    known = ", ".join(str(name) for name in names if name is not None)
    found = f"there are {known}" if known else "its elements have no names"
    raise OverrideError(f"nothing in {dotted(tuple(path))!r} is called {parts[0]!r}; {found}")


def path_of(key: str) -> KeyPath:
    """The path that messages write as this key: the inverse of `dotted`."""
    path: list[str | int] = []
    for part in key.split(".") if key else ():
        name, *numbers = _NUMBERS.split(part)
        if not all(number.isdecimal() for number in filter(None, numbers)):
            # A key that only looks as if it had numbers in it, such as `a[0]b`.
            name, numbers = part, []
        path.append(name)
        path += [int(number) for number in numbers if number]
    return tuple(path)


def origin_of(path: KeyPath, origins: Mapping[KeyPath, _T]) -> tuple[_T, KeyPath] | None:
    """Where the setting at a path, or what holds it, came from, and the rest of the way from there."""
    for length in range(len(path), 0, -1):
        found = origins.get(path[:length])
        if found is not None:
            return found, path[length:]
    return None
