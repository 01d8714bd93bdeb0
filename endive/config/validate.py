"""Checks a configuration against the schema and says in words what is wrong and how to mend it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from endive.config.findings import Findings, dotted
from endive.config.schema import load_schema, node_at, schema_keys
from endive.config.toml_lines import KeyPath
from endive.schema_words import in_words, shown

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def check_numbers(value: Any, findings: Findings, path: KeyPath = ()) -> None:
    """Refuse NaN, infinities and numbers too large to compute with, wherever they stand."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            check_numbers(inner, findings, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_numbers(inner, findings, (*path, index))
    elif isinstance(value, float) and not math.isfinite(value):
        findings.add(path, f"{value} is not a finite number; give a finite one")
    elif isinstance(value, int) and value.bit_length() > 1000:
        findings.add(path, f"{shown(value)} is too large; give a smaller one")


def check_schema(config: Mapping[str, Any], findings: Findings) -> None:
    """Record every violation of the schema."""
    # Needed once per run and slow to import: `endive --help` does without.
    from jsonschema import Draft7Validator

    errors = list(Draft7Validator(load_schema()).iter_errors(config))
    # What is missing comes last: it may be only the consequence of a key that is misspelt.
    errors.sort(key=lambda error: _STAGES.get(error.validator, 0))
    meant: set[KeyPath] = set()
    for error in errors:
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            for name in _unknown_names(error):
                meant.add(_unknown_key(path, name, findings))
        elif error.validator == "required":
            for name in error.validator_value:
                missing = (*path, name)
                if name not in error.instance and missing not in meant:
                    findings.add(missing, _missing(missing))
        elif findings.is_sound(path):
            findings.add(path, in_words(error))


_STAGES = {"required": 1, "oneOf": 2}


def _unknown_names(error: ValidationError) -> list[str]:
    return [name for name in error.instance if name not in error.schema["properties"]]


def _unknown_key(table: KeyPath, name: str, findings: Findings) -> KeyPath:
    """Record a key that nothing reads; returns the path that was probably meant."""
    known = list(node_at(table)["properties"])
    close = difflib.get_close_matches(name.lower(), known, n=1)
    namesakes = [key for key in schema_keys() if key.split(".")[-1] == name]
    # A class of load repeats keys of [transaction]: the simpler place is meant, if there is one.
    elsewhere = [key for key in namesakes if not key.startswith("workload.")] or namesakes
    if close:
        hint, meant = f"did you mean '{close[0]}'?", (*table, close[0])
    elif len(elsewhere) == 1:
        hint, meant = f"did you mean '{elsewhere[0]}'?", tuple(elsewhere[0].split("."))
    else:
        where = f"[{dotted(table)}]" if table else "a configuration"
        hint, meant = f"{where} has {', '.join(known)}", (*table, name)
    findings.add((*table, name), f"unknown key; {hint}")
    return meant


def _missing(path: KeyPath) -> str:
    node = node_at(path)
    if "examples" in node:
        example = node["examples"][0]
        return f"missing; add it, for example {path[-1]} = {_spelled(example)}"
    choices = f", one of {', '.join(node['enum'])}" if "enum" in node else ""
    return f"missing; add it{choices}"


def _spelled(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else shown(value)
