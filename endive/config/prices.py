"""Which cost table a configuration means: one that ships with Endive, or a file of the user's own."""

from __future__ import annotations

import difflib
from pathlib import Path

from endive.cost_model import CostTable, cost_table_names, load_cost_table, load_cost_table_file
from endive.errors import InputError, Problem

_SUFFIXES = (".yaml", ".yml")


def find_cost_table(name: str, file: str) -> CostTable:
    """The table of this name, or of this path as seen from the configuration `file`."""
    if name in cost_table_names():
        return load_cost_table(name)
    if name.endswith(_SUFFIXES):
        path = Path(file).parent / name
        if not path.is_file():
            message = f"there is no file {str(path)!r}; give its path as seen from this file"
            raise InputError([Problem(message)])
        return load_cost_table_file(path)
    close = difflib.get_close_matches(name.lower(), cost_table_names(), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(cost_table_names())}"
    raise InputError(
        [Problem(f"no cost table is called {name!r}; {hint}, or give the path of a .yaml file")]
    )


def is_file(name: str) -> bool:
    """Whether a table is named by its path."""
    return name not in cost_table_names()
