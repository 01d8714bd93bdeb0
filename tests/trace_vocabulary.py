"""The vocabulary of traces in words: what schemas/trace.schema.json and docs/TRACE.md say is made from it.

`python tests/trace_vocabulary.py` brings both up to date after a change of endive/trace/events.py.
"""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Any

from endive.trace import COUNTS, KINDS, TIME_PARTS, Header, events
from endive.trace.fields import FieldType, fields_of

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "schemas" / "trace.schema.json"
DOCUMENT = ROOT / "docs" / "TRACE.md"
BEGIN, END = "<!-- vocabulary: begin -->", "<!-- vocabulary: end -->"

# What the vocabulary does not say at the field, because its name does, or because it is said once for all.
COMMON = {
    "t_ms": "When it happened, in milliseconds since the start of the run.",
    "txn_id": "The transaction; -1 or less for a commit from elsewhere.",
    "class_name": "The class of the workload it belongs to.",
    "operation": "What kind of transaction it is, such as `fast_append`.",
    "tables_read": "The tables it reads, those it writes among them; ascending.",
    "tables_written": "The tables it writes, ascending.",
    "partitions": "The written partitions of each of the tables; null where they are not tracked.",
    "runtime_ms": "How long its own work takes.",
    "t_called_ms": "When the read was called for.",
    "read_ms": "How long the whole read took.",
    "seq": "The catalog's sequence number then.",
    "versions": "The versions of the written tables.",
    "attempt": "The commit call this belongs to, counted from 0 over the whole transaction.",
    "is_real": "Whether the same data is meant, not merely the same table.",
    "paid_ms": "How long it took.",
    "expected_seq": "The sequence number of the snapshot that the commit builds on.",
    "seq_before": "The sequence number before the commit.",
    "seq_after": "The sequence number after it.",
    "tables": "The tables that were written.",
    "replaces_data": "Whether the commit takes the place of data that was there.",
    "success": "Whether it is committed.",
    "commit_ms": "How long the call took.",
    "offset": "Where the writer expected the end to be.",
    "length": "How long it is now.",
    "landed": "Whether it got there at all.",
    "applied": "Whether it was found valid and changed the catalog.",
    "sealed": "Whether nothing more fits until it is written anew.",
    "won": "Whether this writer was the one.",
    "table": "The table whose list it is.",
    "retry": "The number of the retry, from 1.",
    "backoff_ms": "How long the wait was.",
    "restarts": "How many restarts there have been, this one among them.",
    "abort_reason": "Why it was aborted; null if it was not.",
    "retries": "How many commit calls followed the first.",
    "total_ms": "From submission to the end.",
    "commit_latency_ms": "From the end of the work to the end.",
    "seed": "The seed of the run.",
    "duration_ms": "How long the run was, in simulated milliseconds.",
    "num_tables": "How many tables the catalog has.",
    "partitions_per_table": "How many partitions each table has.",
    "format": "The version of this format.",
}
_FILE_KEYS: dict[str, dict[str, Any]] = {
    "events": {"description": "How many events follow.", "type": "integer", "minimum": 0},
    "excerpt": {
        "description": "The transactions shown, where these are not all.",
        "type": "array",
        "items": {"type": "integer"},
    },
}
_JSON = {float: "number", int: "integer", bool: "boolean", str: "string"}


def summary_of(cls: type) -> str:
    """What an event says."""
    return " ".join((inspect.getdoc(cls) or "").split())


def descriptions_of(cls: type) -> dict[str, str]:
    """What each field says: in the words of the vocabulary, else in those common to all."""
    tree = ast.parse(inspect.getsource(events))
    (node,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == cls.__name__)
    said: dict[str, str] = {}
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            said[name] = COMMON.get(name, "")
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                said[name] = " ".join(str(after.value.value).split())
    return said


def schema() -> dict[str, Any]:
    """The schema of one line of a trace."""
    definitions = {"header": _header_schema()}
    for kind, cls in KINDS.items():
        said = descriptions_of(cls)
        fields = {n: _field_schema(f, said[n]) for n, f in fields_of(kind).items()}
        definitions[kind] = _object(kind, summary_of(cls), fields, list(fields))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Endive trace",
        "description": "One line of a trace in NDJSON: first a header, then one line per event, in the order in which they were emitted.",
        "oneOf": [{"$ref": f"#/definitions/{name}"} for name in definitions],
        "definitions": definitions,
    }


def _object(kind: str, summary: str, fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "description": summary,
        "type": "object",
        "additionalProperties": False,
        "required": ["kind", *required],
        "properties": {"kind": {"description": "What this line is.", "const": kind}, **fields},
    }


def _field_schema(field: FieldType, description: str) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": _JSON[field.base]}
    if field.choices:
        inner["enum"] = list(field.choices)
    for _ in range(field.depth):
        inner = {"type": "array", "items": inner}
    if field.length is not None:
        inner |= {"minItems": field.length, "maxItems": field.length}
    if field.optional:
        inner["type"] = [inner["type"], "null"]
    return {"description": description, **inner}


def _header_schema() -> dict[str, Any]:
    ints = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    shapes: dict[str, dict[str, Any]] = {
        "seed": {"type": "integer", "minimum": 0},
        "duration_ms": {"type": "number"},
        "config": {"type": "object"},
        "num_tables": {"type": "integer", "minimum": 1},
        "partitions_per_table": ints,
        "group_of": ints,
        "cost_table": {"type": "object"},
        "versions": {"type": "object", "additionalProperties": {"type": "string"}},
        "store": {"type": "object"},
        "format": {"type": "integer", "minimum": 1, "maximum": 2},
    }
    said = descriptions_of(Header)
    fields = {name: {"description": said[name], **shapes[name]} for name in Header._fields}
    required = [name for name in Header._fields if name not in ("store", "format")]
    return _object("header", summary_of(Header), {**fields, **_FILE_KEYS}, required)


def tables() -> str:
    """The tables of the document: one per event."""
    parts = []
    for kind, cls in KINDS.items():
        said = descriptions_of(cls)
        rows = "\n".join(
            f"| `{name}` | {_type_words(field)} | {said[name]} |"
            for name, field in fields_of(kind).items()
        )
        parts.append(
            f"### `{kind}`\n\n{summary_of(cls)}\n\n| Field | Holds | Meaning |\n|---|---|---|\n{rows}\n"
        )
    names = {"`COUNTS`": COUNTS, "`TIME_PARTS`": TIME_PARTS}
    for title, words in names.items():
        parts.append(f"{title}, in order: {', '.join(f'`{word}`' for word in words)}.\n")
    return "\n".join(parts)


def _type_words(field: FieldType) -> str:
    return field._replace(choices=()).words


def document_with_tables(text: str) -> str:
    """The document with its tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}{END}{after}"


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    DOCUMENT.write_text(document_with_tables(DOCUMENT.read_text("utf-8")), encoding="utf-8")
