"""The published schema and the document of traces: both say what the vocabulary says, and real traces keep to it."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft7Validator
from trace_vocabulary import DOCUMENT, SCHEMA, descriptions_of, document_with_tables, schema, tables
from traces import NAMED, named_trace

from endive.trace import KINDS, Header
from endive.trace.files import ndjson_lines

UPDATE = "run: python tests/trace_vocabulary.py"
PUBLISHED = json.loads(SCHEMA.read_text("utf-8"))


def test_the_schema_is_up_to_date_with_the_vocabulary() -> None:
    Draft7Validator.check_schema(PUBLISHED)
    assert schema() == PUBLISHED, UPDATE


def test_the_document_is_up_to_date_with_the_vocabulary() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert document_with_tables(text) == text, UPDATE
    assert all(f"### `{kind}`" in tables() for kind in KINDS)


def test_every_field_of_every_event_is_in_the_schema_with_a_description() -> None:
    for kind, cls in {"header": Header, **KINDS}.items():
        properties = PUBLISHED["definitions"][kind]["properties"]
        assert set(cls._fields) <= set(properties)
        assert all(properties[name]["description"] for name in properties)
        assert all(descriptions_of(cls).values())


@pytest.mark.parametrize("name", NAMED)
def test_every_line_of_real_traces_is_valid(name: str) -> None:
    validators = {
        kind: Draft7Validator(definition) for kind, definition in PUBLISHED["definitions"].items()
    }
    records = [json.loads(line) for line in ndjson_lines(named_trace(name))]
    assert records[0]["kind"] == "header"
    for record in records:
        validators[record["kind"]].validate(record)
    whole = Draft7Validator(PUBLISHED)
    for record in {record["kind"]: record for record in records}.values():
        whole.validate(record)


def test_lines_that_are_none_are_invalid() -> None:
    whole = Draft7Validator(PUBLISHED)
    record = {"kind": "worked", "t_ms": 1.0, "txn_id": 0, "runtime_ms": 1.0}
    assert whole.is_valid(record)
    for wrong in ({"kind": "wrked"}, {"txn_id": "0"}, {"more": 1}, {"runtime_ms": None}):
        assert not whole.is_valid({**record, **wrong})
