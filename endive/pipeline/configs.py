"""Configurations as columns: flat, typed, and one schema for all experiments whatever keys each of them has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from endive.errors import Problem
from endive.pipeline.columns import config_column

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = bool | int | float | str
ScalarType = Literal["boolean", "long", "double", "string"]

_TYPE_OF: dict[type, ScalarType] = {bool: "boolean", int: "long", float: "double", str: "string"}
_LARGEST_LONG = 2**63


def flat_config(values: Mapping[str, Any]) -> dict[str, Scalar]:
    """Dotted keys and their values; what is a list is told as JSON."""
    return dict(_leaves(values, ()))


def _leaves(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Scalar]]:
    for name, value in values.items():
        here = (*path, name)
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        elif isinstance(value, Scalar) and not _is_too_large(value):
            yield ".".join(here), value
        else:
            yield ".".join(here), json.dumps(value, sort_keys=True, default=str)


def _is_too_large(value: Scalar) -> bool:
    return type(value) is int and not -_LARGEST_LONG <= value < _LARGEST_LONG


def config_types(
    configs: Mapping[str, Mapping[str, Scalar]], files: Mapping[str, str]
) -> tuple[dict[str, ScalarType], list[Problem]]:
    """The type of every key that any experiment has: whole numbers widen to decimal ones, nothing else goes together.

    `configs` and `files` are by experiment.
    """
    types: dict[str, ScalarType] = {}
    first: dict[str, str] = {}
    problems = []
    for experiment, config in configs.items():
        for key, value in config.items():
            given = _TYPE_OF[type(value)]
            known = types.setdefault(key, given)
            first.setdefault(key, experiment)
            if known == given:
                continue
            if {known, given} == {"long", "double"}:
                types[key] = "double"
                continue
            other = configs[first[key]][key]
            message = (
                f"is {value!r} here and {other!r} in {files[first[key]]}: one column cannot hold both; "
                "consolidate the two experiments apart"
            )
            problems.append(Problem(message, key=key, file=files[experiment]))
    return dict(sorted(types.items())), problems


def config_fields(types: Mapping[str, ScalarType]) -> list[pa.Field]:
    """The columns of the keys, in Arrow's types."""
    import pyarrow as pa

    kinds = {
        "boolean": pa.bool_(),
        "long": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
    }
    return [pa.field(config_column(key), kinds[kind]) for key, kind in types.items()]
