"""The schema (§7.2), `schemas/config.schema.json`: the one source of types, bounds and defaults.

Keywords of our own say what draft-07 cannot. `x-read-when` names the setting under which a key is
read at all: elsewhere it is refused, and its default is not filled in. `x-default-when` names the
setting under which there is a default, and `x-default-unless` the sibling that makes it
unnecessary. `x-pattern` says in words what a pattern asks for.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from endive.config.toml_lines import KeyPath
from endive.resources import shared_dir

Node = Mapping[str, Any]
"""The part of the schema that describes one value."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A setting: `key` has one of `values` or, if there are none, is given at all."""

    key: KeyPath
    values: tuple[str, ...]

    def is_met(self, config: Mapping[str, Any]) -> bool:
        """Whether the setting holds in a configuration."""
        value = effective(config, self.key)
        return value in self.values if self.values else value is not None


@lru_cache(maxsize=1)
def load_schema() -> dict[str, Any]:
    """The schema as it stands in the file."""
    text = (shared_dir("schemas") / "config.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@lru_cache(maxsize=1)
def expanded_schema() -> Node:
    """The schema with every reference replaced by what it refers to."""
    schema = load_schema()
    root = _expanded(schema, schema)
    del root["definitions"]
    return root


def _expanded(node: Node, schema: Node) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for part in node.get("allOf", ()):
        whole |= _expanded(_referred(part["$ref"], schema), schema)
    # What stands beside a reference is about this one use of it, so it wins.
    whole |= {name: value for name, value in node.items() if name != "allOf"}
    if "properties" in whole:
        whole["properties"] = {
            name: _expanded(child, schema) for name, child in whole["properties"].items()
        }
    if "items" in whole:
        whole["items"] = _expanded(whole["items"], schema)
    return whole


def _referred(reference: str, schema: Node) -> Node:
    node = schema
    for name in reference.removeprefix("#/").split("/"):
        node = node[name]
    return node


def node_at(path: KeyPath) -> Node:
    """The part of the schema that describes the value at a path."""
    node = expanded_schema()
    for part in path:
        if isinstance(part, int):
            node = node["items"]
        else:
            # Without a number, what stands in an array of tables is meant in any of them.
            node = (node["items"] if is_array_of_tables(node) else node)["properties"][part]
    return node


def is_array_of_tables(node: Node) -> bool:
    """Whether a node describes tables that may be given several times."""
    return "properties" in node.get("items", {})


def nodes(path: KeyPath = ()) -> Iterator[tuple[KeyPath, Node]]:
    """Every table and key below a path, tables before what they hold; those of an array of tables once."""
    node = node_at(path)
    for name, child in (node["items"] if is_array_of_tables(node) else node)["properties"].items():
        here = (*path, name)
        yield here, child
        if "properties" in child or is_array_of_tables(child):
            yield from nodes(here)


def nodes_for(given: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Node]]:
    """Every table and key; those of an array of tables for each of its tables that has them."""
    arrays: list[KeyPath] = []
    for path, node in nodes():
        if any(path[: len(array)] == array for array in arrays):
            continue
        yield path, node
        if is_array_of_tables(node):
            arrays.append(path)
            for index in range(len(value_at(given, path) or ())):
                for inner, inner_node in nodes((*path, index)):
                    if value_at(given, inner) is not None:
                        yield inner, inner_node


def schema_keys() -> tuple[str, ...]:
    """Every key that a configuration may have, dotted; tables are not keys."""
    return tuple(
        ".".join(map(str, path))
        for path, node in nodes()
        if node.get("type") != "object" and not is_array_of_tables(node)
    )


def condition_of(path: KeyPath) -> Condition | None:
    """The setting under which the key at a path is read, if it is not always."""
    return _condition(path, "x-read-when")


def _condition(path: KeyPath, keyword: str) -> Condition | None:
    for name, values in node_at(path).get(keyword, {}).items():
        key = tuple(name.split(".")) if "." in name else (*path[:-1], name)
        return Condition(key, () if values == "present" else tuple(values))
    return None


def value_at(config: Mapping[str, Any], path: KeyPath) -> Any:
    """The value at a path, or None."""
    value: Any = config
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


def effective(config: Mapping[str, Any], path: KeyPath) -> Any:
    """The value at a path or, where it is not given, the default."""
    value = value_at(config, path)
    return node_at(path).get("default") if value is None else value


def fill_defaults(config: dict[str, Any]) -> None:
    """Give every key that is read and has a default its value."""
    _fill((), config, config)


def _fill(path: KeyPath, table: dict[str, Any], config: dict[str, Any]) -> None:
    for name, node in node_at(path)["properties"].items():
        here = (*path, name)
        condition = condition_of(here)
        if condition is not None and not condition.is_met(config):
            continue
        if name not in table and "default" in node:
            only_when = _condition(here, "x-default-when")
            has_default = only_when is None or only_when.is_met(config)
            if has_default and node.get("x-default-unless") not in table:
                table[name] = copy.deepcopy(node["default"])
        elif "properties" in node:
            _fill(here, table.setdefault(name, {}), config)
            # A table that says nothing is no table: an empty header must not change the hash.
            if not table[name]:
                del table[name]
        elif is_array_of_tables(node):
            for index, element in enumerate(table.get(name, ())):
                _fill((*here, index), element, config)


def normalised(value: Any, path: KeyPath = ()) -> Any:
    """A valid value with each number in the type that the schema gives it, so that 100 is 100.0."""
    if isinstance(value, Mapping):
        return {name: normalised(inner, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [normalised(inner, (*path, index)) for index, inner in enumerate(value)]
    kind = node_at(path).get("type")
    if kind == "number":
        # Adding zero turns -0.0, which prints differently, into 0.0.
        return float(value) + 0.0
    return int(value) if kind == "integer" else value
