"""The page `docs/configuration.md`, written from the schema so that it cannot fall behind.

python -m endive.config.reference > docs/configuration.md
"""

from __future__ import annotations

import json

from endive.config.schema import Node, condition_of, is_array_of_tables, node_at, nodes
from endive.config.toml_lines import KeyPath

_INTRODUCTION = """\
# Configuration

One TOML file describes one run. This page is written from `schemas/config.schema.json`, which is
also what editors can check a file against: change the schema, then run
`python -m endive.config.reference > docs/configuration.md`.

Everything is checked before anything runs, and all problems are told at once, each with its line,
key, value and fix. An unknown key is an error. So is a key that nothing would read: the last column
says under which setting a key is read, and elsewhere it is refused. Numbers may be written as `100`
or `100.0`; `nan` and `inf` are refused. Durations are in milliseconds, sizes in bytes.

`simulation.duration_ms` and `storage.provider` are required; everything else has a default or may
be left out.
"""
_LATENCY_INTRODUCTION = """
## `[storage.latency.<artifact>.<operation>]`

Each of these tables replaces one distribution of the provider's profile:

"""
_CLASS_NOTE = """
Without classes `[transaction]` is the only one: open, named `default`. With classes its
`inter_arrival` is refused, and so is whatever else no class takes from it. A table that a class
gives replaces that of `[transaction]` as a whole. Tables have the keys that those of the same name
have in `[transaction]`; `think_time` has those of `inter_arrival`, but no defaults.
"""
_HEAD = "\n| key | type | default | meaning | read when |\n|---|---|---|---|---|\n"


def render_reference() -> str:
    """The whole page."""
    page = _INTRODUCTION
    for table, node in nodes():
        if is_array_of_tables(node):
            page += _class_section(table)
        elif len(table) == 1 and not _is_mere_holder(node):
            page += f"\n## `[{table[0]}]`\n\n{node['description']}\n{_HEAD}"
            page += "".join(
                _row(path[1:], path) for path, _node in nodes(table) if path[1] != "latency"
            )
        if table == ("storage",):
            page += _latency()
    return page


def _class_section(table: KeyPath) -> str:
    """Classes of load: their keys, and for the keys of their tables the word that they are known already."""
    heading = ".".join(map(str, table))
    text = f"\n## `[[{heading}]]`\n\n{node_at(table)['description']}\n{_CLASS_NOTE}{_HEAD}"
    known = node_at(("transaction",))["properties"].keys() - {"inter_arrival"}
    for path, _node in nodes(table):
        if len(path) == len(table) + 1:
            default = "as in `[transaction]`" if path[-1] in known else None
            text += _row(path[-1:], path, default)
    return text


def _is_mere_holder(node: Node) -> bool:
    """Whether a table holds nothing but arrays of tables, which have sections of their own."""
    return all(is_array_of_tables(child) for child in node["properties"].values())


def _latency() -> str:
    text = _LATENCY_INTRODUCTION
    operation: KeyPath = ()
    for path, node in nodes(("storage", "latency")):
        if len(path) == 4:
            operation = path
            condition = _condition(path)
            text += f"- `{path[2]}.{path[3]}`: {node['description']}"
            text += f" Read when {condition}.\n" if condition else "\n"
    text += f"\nIts keys:\n{_HEAD}"
    return text + "".join(_row((name,), (*operation, name)) for name in _properties(operation))


def _row(shown: KeyPath, path: KeyPath, default: str | None = None) -> str:
    node, holder = node_at(path), node_at(path[:-1])
    if default is None:
        default = f"`{json.dumps(node['default'])}`" if "default" in node else ""
        if _is_table(node):
            default = " / ".join(str(value) for value in node.get("default", {}).values())
        if path[-1] in holder.get("items", holder).get("required", ()):
            default = "required"
    cells = (
        f"`{'.'.join(map(str, shown))}`",
        _type(node),
        default,
        node["description"],
        _conditions(path, len(path) - len(shown)),
    )
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _type(node: Node) -> str:
    if "enum" in node:
        return ", ".join(f"`{choice}`" for choice in node["enum"])
    if node["type"] == "array":
        return f"array of {_type(node['items'])}"
    names = {
        "number": "number",
        "integer": "whole number",
        "object": "table",
        "boolean": "`true`, `false`",
    }
    bounds = [
        f"{sign} {node[bound]}"
        for bound, sign in (("exclusiveMinimum", ">"), ("minimum", "≥"), ("maximum", "≤"))
        if bound in node
    ]
    if "maxLength" in node:
        bounds.append(f"1 to {node['maxLength']} characters")
    return " ".join([names.get(node["type"], "string"), ", ".join(bounds)]).strip()


def _conditions(path: KeyPath, above: int) -> str:
    """The settings under which a key is read, its own and those of the tables it stands in."""
    conditions = [_condition(path[:length]) for length in range(above + 1, len(path) + 1)]
    return ", ".join(condition for condition in conditions if condition)


def _condition(path: KeyPath) -> str:
    condition = condition_of(path)
    if condition is None:
        return ""
    is_sibling = condition.key[:-1] == path[:-1]
    key = ".".join(map(str, condition.key[-1:] if is_sibling else condition.key))
    spelled = (
        str(value).lower() if isinstance(value, bool) else value for value in condition.values
    )
    values = " or ".join(f"`{value}`" for value in spelled)
    return f"`{key}` is {values}" if values else f"`[{key}]` is given"


def _properties(path: KeyPath) -> list[str]:
    return list(node_at(path)["properties"])


def _is_table(node: Node) -> bool:
    return "properties" in node


if __name__ == "__main__":
    print(render_reference(), end="")
