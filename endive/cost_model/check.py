"""Checks a cost table against `schemas/cost_table.schema.json` and says what is wrong, all at once.

The schema is the one list of keys and values. The few keywords of draft-07 that it uses are walked
here, because the general validator takes longer to import than a table takes to read. `x-variables`
marks a count: an expression with these variables. `x-say` says in words what a value must be.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from endive.cost_model.expression import ExpressionError, parse_expression
from endive.documents import Document, KeyPath
from endive.errors import InputError, Problem
from endive.resources import shared_dir

Node = Mapping[str, Any]

_ABOUT = ("$schema", "$ref", "title", "description", "definitions", "x-variables", "x-say")
_OF_MAPPINGS = ("properties", "additionalProperties", "required", "minProperties", "oneOf")
_OF_VALUES = ("type", "enum", "minimum", "minLength", "items", "uniqueItems")
KEYWORDS = frozenset((*_ABOUT, *_OF_MAPPINGS, *_OF_VALUES))
"""The keywords that are understood; the schema has no others."""

_KINDS: Mapping[str, tuple[type, str]] = {
    "object": (dict, "a mapping"),
    "array": (list, "a list"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


@lru_cache(maxsize=1)
def load_schema() -> dict[str, Any]:
    """The schema as it stands in the file."""
    text = (shared_dir("schemas") / "cost_table.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def check_table(document: Document) -> None:
    """Raise `InputError` with everything that keeps a document from being a cost table."""
    problems = list(_violations(document, document.value, load_schema(), ()))
    # Whether the parts agree can only be told of parts that are right in themselves.
    problems = problems or list(_disagreements(document))
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line))


def _violations(document: Document, value: Any, node: Node, path: KeyPath) -> Iterator[Problem]:
    while "$ref" in node:
        node = load_schema()["definitions"][node["$ref"].rpartition("/")[2]]
    message = _judged(value, node)
    if message:
        yield document.problem(path, message)
    elif isinstance(value, dict):
        yield from _violations_of_mapping(document, value, node, path)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            here = (*path, index)
            if node.get("uniqueItems") and element in value[:index]:
                yield document.problem(here, f"{shown(element)} stands twice; keep one")
            else:
                yield from _violations(document, element, node["items"], here)


def _violations_of_mapping(
    document: Document, value: dict[str, Any], node: Node, path: KeyPath
) -> Iterator[Problem]:
    known = list(node["properties"])
    meant = set()
    for name, inner in value.items():
        here = (*path, name)
        if name in node["properties"]:
            yield from _violations(document, inner, node["properties"][name], here)
            continue
        close = [key for key in difflib.get_close_matches(name, known, n=1) if key not in value]
        meant.update(close)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
        yield document.problem(here, f"unknown key; {hint}")
    # What is missing may be only the consequence of a key that is misspelt.
    for name in node.get("required", ()):
        if name not in value and name not in meant:
            yield document.problem((*path, name), _missing(node["properties"][name]))
    choices = [all(name in value for name in one["required"]) for one in node.get("oneOf", ())]
    if choices and sum(choices) != 1 and not meant:
        yield document.problem(path, f"{shown_names(value)} given; {node['x-say']}")
    if len(value) < node.get("minProperties", 0) and not meant:
        yield document.problem(path, f"too little; {node['x-say']}")


def _missing(node: Node) -> str:
    while "$ref" in node:
        node = load_schema()["definitions"][node["$ref"].rpartition("/")[2]]
    what = node.get("x-say", node.get("description", ""))
    return f"missing; add it: {what}" if what else "missing; add it"


def _judged(value: Any, node: Node) -> str:
    """What is wrong with one value in itself, in words; nothing if it is right."""
    if "x-variables" in node:
        return _judged_count(value, tuple(node["x-variables"]))
    if "enum" in node:
        choices = node["enum"]
        if value in choices and isinstance(value, type(choices[0])):
            return ""
        close = difflib.get_close_matches(str(value), [str(choice) for choice in choices], n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        return f"{shown(value)} is not one of {', '.join(map(shown, choices))}{hint}"
    kind, words = _KINDS[node["type"]]
    # True and false are numbers to Python only.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        quotes = kind is str and isinstance(value, (int, float))
        return f"{shown(value)} is not {words}; {'put it in quotes' if quotes else f'give {words}'}"
    if "minimum" in node and value < node["minimum"]:
        return f"must be at least {node['minimum']}, not {value}"
    if "minLength" in node and not str(value).strip():
        return f"must not be empty; {node.get('x-say', 'give a text')}"
    return ""


def _judged_count(value: Any, variables: tuple[str, ...]) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return f"{shown(value)} is not a count; give a whole number or an expression"
    if isinstance(value, int) and value < 0:
        return f"must be at least 0, not {value}"
    try:
        parse_expression(value, variables)
    except ExpressionError as error:
        return str(error)
    return ""


def _disagreements(document: Document) -> Iterator[Problem]:
    """What is right in itself and does not fit together."""
    table = document.value
    settings, operations = table["settings"], table["operations"]
    real = settings["real_conflicts"]["is"]
    merges = settings["on_real_conflict"]["is"] == "merge"
    for index, operation in enumerate(real):
        if operation not in operations:
            yield document.problem(
                ("settings", "real_conflicts", "is", index),
                f"{operation!r} has no prices in this table; price it or take it out",
            )
    only_replaced = settings.get("real_against_replaced_only", {}).get("is", ())
    for index, operation in enumerate(only_replaced):
        if operation not in real:
            yield document.problem(
                ("settings", "real_against_replaced_only", "is", index),
                f"{operation!r} is not among real_conflicts; add it there or take it out here",
            )
    for name, prices in operations.items():
        needs, has = merges and name in real, "merge_on_real_conflict" in prices
        path: KeyPath = ("operations", name, "merge_on_real_conflict")
        if needs and not has:
            yield document.problem(
                path, "missing; real conflicts of this operation are merged, so say what it costs"
            )
        elif has and not needs:
            why = "its conflicts are never real" if merges else "on_real_conflict is abort"
            yield document.problem(path, f"is never paid, because {why}; take it out")
    path = ("settings", "conflicting_manifests")
    if merges and "conflicting_manifests" not in settings:
        yield document.problem(
            path, "missing; C of merge_on_real_conflict is drawn from it, add it"
        )
    elif not merges and "conflicting_manifests" in settings:
        yield document.problem(
            path, "is never read, because on_real_conflict is abort; take it out"
        )


def shown_names(value: Mapping[str, Any]) -> str:
    """The keys of a mapping in a sentence: `document and version are`."""
    names = list(value)
    return f"{' and '.join(names) or 'nothing'} {'are' if len(names) > 1 else 'is'}"


def shown(value: object) -> str:
    """A value as the file spells it, short enough for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
