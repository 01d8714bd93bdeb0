"""A configuration file with some settings replaced, as somebody does it on the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endive.config.prices import is_file
from endive.config.resolve import ResolvedConfig, read_toml, resolve_config
from endive.errors import InputError, Problem


def load_with(path: str | Path, settings: Sequence[str]) -> ResolvedConfig:
    """Read a file and lay settings over it, each `dotted.key=value` with the value as TOML spells it.

    A word that is no TOML is taken as a string, so that a shell needs no quotes of quotes.
    """
    raw, text = read_toml(path)
    table = raw.get("transaction", {})
    if isinstance(table, dict) and is_file(str(table.get("cost_table", "spec-2.0"))):
        # The file names its cost table relative to itself.
        table["cost_table"] = str((Path(path).parent / str(table["cost_table"])).resolve())
    problems: list[Problem] = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key.strip() and equals):
            problems.append(Problem("write it as KEY=VALUE", f"--set {setting}"))
            continue
        problem = _lay(raw, key.strip(), _value(value.strip()))
        if problem:
            problems.append(Problem(problem, f"--set {setting}", str(path)))
    if problems:
        raise InputError(problems)
    return resolve_config(raw, file=str(path), text=text)


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if list(parsed) == ["value"] else text


def _lay(values: dict[str, Any], key: str, value: Any) -> str | None:
    """Replace one setting; says what speaks against it."""
    *tables, last = key.split(".")
    table: Any = values
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            return f"{name!r} is no table in the configuration"
    table[last] = value
    return None
