"""§8.7 Uniform catalog interface: all catalogs are called alike, and by two names only."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from endive.judge.model import Invariant, Kind, Scope, Tally, Violation
from endive.judge.sources import trees_of

CALLS = ("read", "commit")


def catalogs_of(modules: Mapping[str, ModuleType]) -> list[type[Any]]:
    """The interface and everything that says it has it, in the modules given."""
    base = next((m.Catalog for m in modules.values() if hasattr(m, "Catalog")), None)
    if base is None:
        return []
    found = {
        value
        for module in modules.values()
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, base)
    }
    return [base, *sorted(found - {base}, key=lambda cls: cls.__qualname__)]


def catalogs_are_called_alike(
    modules: Mapping[str, ModuleType], tally: Tally
) -> Iterator[Violation]:
    """One signature for all, and transactions ask for nothing else."""
    base, *others = catalogs_of(modules) or [object]
    for cls in others:
        for name in CALLS:
            tally.look()
            wanted = inspect.signature(getattr(base, name))
            given = inspect.signature(getattr(cls, name))
            if [*map(str, wanted.parameters.values())] != [*map(str, given.parameters.values())]:
                story = f"{cls.__name__}.{name}{given} differs from Catalog.{name}{wanted}, so a caller must know which catalog it has (§8.7)"
                yield Violation(story)
    for name, module in modules.items():
        if not name.startswith("endive.transaction"):
            continue
        for place, tree in trees_of(module):
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "catalog":
                    tally.look()
                    if node.attr not in CALLS:
                        yield Violation(
                            f"{place}, line {node.lineno}: a transaction asks for catalog.{node.attr}; it may call read() and commit() only (§8.7)"
                        )


INVARIANTS = (
    Invariant(
        id="uniform-interface",
        clause="8.7",
        kind=Kind.ALWAYS,
        statement="read() and commit() have one signature in all catalogs, and transactions call nothing else.",
        check=catalogs_are_called_alike,
        scope=Scope.API,
    ),
)
