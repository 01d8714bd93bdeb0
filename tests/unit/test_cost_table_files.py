"""Files that are no cost table: each problem with file, line, key, value and fix, and all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from endive.cost_model import CLASSES, COUNTS, OPERATIONS, cost_table_names, load_cost_table_file
from endive.cost_model.check import KEYWORDS, load_schema
from endive.cost_model.table import SETTINGS
from endive.documents import read_document
from endive.errors import InputError
from endive.resources import package_dir

GOOD = """\
name: mine
version: 1
title: A table of my own
summary: Says little.
source: {document: Notes, section: "1"}
settings:
  validate_from: {is: last_seen, source: Notes}
  refresh_before_first_attempt: {is: false, source: Notes}
  validation_io: {is: parallel, source: Notes}
  on_real_conflict: {is: abort, source: Notes}
  metadata_reads_per_retry: {is: 1, source: Notes}
  metadata_writes: {is: every_attempt, source: Notes}
  real_conflicts: {is: [validated_overwrite], source: Notes}
operations:
  validated_overwrite:
    attempt: {manifest_list_reads: 1, source: Notes}
    validate:
      overlap: {historical_ml_reads: N, source: Notes}
    rebuild:
      overlap: {manifest_list_writes: 1, source: Notes}
"""


def problems(text: str, tmp_path: Path) -> list[str]:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_cost_table_file(file)
    return [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD, encoding="utf-8")
    table = load_cost_table_file(file)
    assert (table.name, table.source) == ("mine", "Notes, 1")
    overwrite = table.operations["validated_overwrite"]
    assert overwrite.validate["overlap"].cost(6, 0, 0, 0).historical_ml_reads == 6
    assert overwrite.validate["read_set"].is_free


# What is replaced, by what, and what is then said. `True`: the schema alone, as an editor uses it, sees it too.
_BAD: list[tuple[str, str, str, bool]] = [
    ("title:", "titel:", "mine.yaml:3: titel: unknown key; did you mean 'title'?", True),
    ("validate:", "validat:", "mine.yaml:17: operations.validated_overwrite.validat: unknown key; did you mean 'validate'?", True),
    ("  validated_overwrite:\n", "  validated_overwrites:\n", "mine.yaml:15: operations.validated_overwrites: unknown key; did you mean 'validated_overwrite'?", True),
    ("overlap: {historical", "overlaps: {historical", "mine.yaml:18: operations.validated_overwrite.validate.overlaps: unknown key; did you mean 'overlap'?", True),
    ("overlap: {manifest_list_writes", "read_set: {manifest_list_writes", "mine.yaml:20: operations.validated_overwrite.rebuild.read_set: unknown key; there are cross_table, disjoint_partitions, overlap", True),
    ("historical_ml_reads: N", "historical_ml_read: N", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_read: unknown key; did you mean 'historical_ml_reads'?", True),
    ("historical_ml_reads: N", "historical_ml_reads: N +", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: 'N +', position 4: expected a number, a variable or '(', found the end", False),
    ("historical_ml_reads: N", "historical_ml_reads: C", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: 'C', position 1: C is not known here; there are N, R, K, T", False),
    ("historical_ml_reads: N", "historical_ml_reads: -2", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: must be at least 0, not -2", True),
    ("historical_ml_reads: N", "historical_ml_reads: 1.5", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: 1.5 is not a count; give a whole number or an expression", True),
    ("historical_ml_reads: N", "historical_ml_reads: true", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: true is not a count; give a whole number or an expression", True),
    ("historical_ml_reads: N", "historical_ml_reads: null", "mine.yaml:18: operations.validated_overwrite.validate.overlap.historical_ml_reads: nothing is not a count; give a whole number or an expression", True),
    ("historical_ml_reads: N, source: Notes", "historical_ml_reads: N", "mine.yaml:18: operations.validated_overwrite.validate.overlap.source: missing; add it: name a document and section, a library and version, or say 'assumed: why'", True),
    ("historical_ml_reads: N, source: Notes", "historical_ml_reads: N, source: ''", "mine.yaml:18: operations.validated_overwrite.validate.overlap.source: must not be empty; name a document and section, a library and version, or say 'assumed: why'", True),
    ("historical_ml_reads: N, source: Notes", "source: Notes", "mine.yaml:18: operations.validated_overwrite.validate.overlap: too little; give at least one count, 0 if it is free, and its source", True),
    ("    attempt: {manifest_list_reads: 1, source: Notes}\n", "", "mine.yaml:15: operations.validated_overwrite.attempt: missing; add it: give at least one count, 0 if it is free, and its source", True),
    ("version: 1", "version: 0", "mine.yaml:2: version: must be at least 1, not 0", True),
    ("version: 1", "version: one", "mine.yaml:2: version: 'one' is not a whole number; give a whole number", True),
    ("version: 1", "version: true", "mine.yaml:2: version: true is not a whole number; give a whole number", True),
    ("name: mine", "name: 2.0", "mine.yaml:1: name: 2.0 is not a text; put it in quotes", True),
    ('section: "1"', 'version: "1"', "mine.yaml:5: source: document and version are given; give document and section, or library and version", True),
    ("is: last_seen", "is: last-seen", "mine.yaml:7: settings.validate_from.is: 'last-seen' is not one of 'last_seen', 'start'; did you mean 'last_seen'?", True),
    ("is: false", "is: no", "mine.yaml:8: settings.refresh_before_first_attempt.is: 'no' is not true or false; give true or false", True),
    ("is: 1,", "is: -1,", "mine.yaml:11: settings.metadata_reads_per_retry.is: must be at least 0, not -1", True),
    ("{is: parallel, source: Notes}", "parallel", "mine.yaml:9: settings.validation_io: 'parallel' is not a mapping; give a mapping", True),
    ("[validated_overwrite]", "[overwrite]", "mine.yaml:13: settings.real_conflicts.is[0]: 'overwrite' is not one of", True),
    ("[validated_overwrite]", "[validated_overwrite, validated_overwrite]", "mine.yaml:13: settings.real_conflicts.is[1]: 'validated_overwrite' stands twice; keep one", True),
    ("[validated_overwrite]", "[row_delta]", "mine.yaml:13: settings.real_conflicts.is[0]: 'row_delta' has no prices in this table; price it or take it out", False),
    ("is: abort", "is: merge", "mine.yaml:6: settings.conflicting_manifests: missing; C of merge_on_real_conflict is drawn from it, add it", False),
    ("    validate:\n", "    merge_on_real_conflict: {manifest_file_reads: C, source: Notes}\n    validate:\n", "mine.yaml:17: operations.validated_overwrite.merge_on_real_conflict: is never paid, because on_real_conflict is abort; take it out", False),
    ("operations:\n", "  conflicting_manifests: {is: 3, source: Notes}\noperations:\n", "mine.yaml:14: settings.conflicting_manifests: is never read, because on_real_conflict is abort; take it out", False),
    ("    validate:\n", "    merging: {min_count: 0, source: Notes}\n    validate:\n", "mine.yaml:17: operations.validated_overwrite.merging.min_count: must be at least 1, not 0", True),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said", "schema_sees_it"), _BAD)
def test_a_bad_value_is_told_with_its_place_and_the_way_out(
    old: str, new: str, said: str, schema_sees_it: bool, tmp_path: Path
) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    assert said in "\n".join(problems(text, tmp_path))
    value = read_document(text, "mine.yaml").value
    assert (not Draft7Validator(load_schema()).is_valid(value)) == schema_sees_it


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = GOOD
    for old, new in [("title:", "titel:"), ("is: abort", "is: stop"), ("reads: N", "reads: N/2")]:
        text = text.replace(old, new)
    lines = problems(text, tmp_path)
    assert [line.split(":")[1] for line in lines] == ["3", "10", "18"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.yaml:1: nothing is not a mapping; give a mapping"),
        ("just words", "mine.yaml:1: 'just words' is not a mapping"),
        ("- a\n- b\n", "mine.yaml:1: a list is not a mapping"),
        ("name: [a\n", "mine.yaml:2: not YAML:"),
        ("name: a\n\tversion: 1\n", "mine.yaml:2: not YAML:"),
        ("a: 1\n---\nb: 2\n", "mine.yaml:2: not YAML:"),
        ("name: a\nversion: 1\nname: b\n", "mine.yaml:3: name: stands twice, first in line 1; keep one"),
        ("name: &n a\ntitle: *n\n", "title: an alias; write the value out"),
        ("name: &n {inner: *n}\n", "name.inner: an alias; write the value out"),
        ("? [a, b]\n: 1\n", "mine.yaml:1: a key must be a plain name"),
        ("name: a\x00b\n", "mine.yaml: not YAML:"),
        ("[" * 5_000, "mine.yaml: not YAML: nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_not_even_a_document_is_told_too(text: str, said: str, tmp_path: Path) -> None:
    assert said in "\n".join(problems(text, tmp_path))


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.yaml: cannot be read: No such file"):
        load_cost_table_file(tmp_path / "absent.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    with pytest.raises(InputError, match=r"latin\.yaml: not UTF-8 text"):
        load_cost_table_file(tmp_path / "latin.yaml")


def test_the_schema_uses_only_what_is_checked_here_and_is_valid_draft_07() -> None:
    schema = load_schema()
    Draft7Validator.check_schema(schema)

    def keywords(node: Any) -> set[str]:
        found = set(node)
        for name in ("properties", "definitions"):
            for child in node.get(name, {}).values():
                found |= keywords(child)
        return found | keywords(node["items"]) if "items" in node else found

    assert keywords(schema) <= KEYWORDS


def test_the_schema_has_the_vocabulary_of_the_model() -> None:
    schema = load_schema()
    operation = schema["definitions"]["operation"]["properties"]
    assert tuple(schema["properties"]["operations"]["properties"]) == OPERATIONS
    assert tuple(schema["properties"]["settings"]["properties"]) == SETTINGS
    assert set(operation["validate"]["properties"]) == set(CLASSES)
    assert set(operation["rebuild"]["properties"]) == set(CLASSES) - {"read_set"}
    for price in ("price", "merge_price"):
        assert tuple(schema["definitions"][price]["properties"]) == (*COUNTS, "source")


@pytest.mark.parametrize("name", cost_table_names())
def test_shipped_tables_satisfy_the_schema_as_others_read_it(name: str) -> None:
    text = (package_dir("cost_tables") / f"{name}.yaml").read_text(encoding="utf-8")
    Draft7Validator(load_schema()).validate(read_document(text, name).value)


def test_no_table_is_shipped_without_a_name_in_the_list() -> None:
    files = {file.stem for file in package_dir("cost_tables").glob("*.yaml")}
    assert files == set(cost_table_names())
