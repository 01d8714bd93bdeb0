"""Measurements as files: what is written is read again, what is wrong is told, and what changed is named."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from endive.cost_model import OPERATIONS
from endive.errors import InputError
from endive.oracle.comparing import differences
from endive.oracle.measurement import (
    AttemptCounts,
    Cell,
    Measurement,
    load_measured,
    load_measurement,
    load_schema,
    parse_measurement,
    render_measurement,
    save_measurement,
)

FRESH = Cell(
    "fast_append", "fresh", 0, "disjoint", 3, {}, "committed", (AttemptCounts(1, 1, 1, 1, 0, 1),)
)
RETRY = Cell(
    "row_delta",
    "retry",
    5,
    "same",
    3,
    {"isolation": "snapshot", "merging": True},
    "committed",
    (AttemptCounts(1, 0, 1, 1, 2, 3), AttemptCounts(2, 1, 10, 1, 10, 3)),
)
MEASUREMENT = Measurement(
    "PyIceberg", "0.12.0", None, "endive oracle pyiceberg", {"python": "3.12"}, (FRESH, RETRY)
)


def told(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """What is said of a measurement after a change to its document."""
    document = copy.deepcopy(MEASUREMENT.as_dict())
    change(document)
    with pytest.raises(InputError) as caught:
        parse_measurement(json.dumps(document, indent=1), "m.json")
    return [str(problem) for problem in caught.value.problems]


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    save_measurement(MEASUREMENT, tmp_path / "m.json")
    assert load_measurement(tmp_path / "m.json") == MEASUREMENT
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_each_cell_has_a_line_of_its_own() -> None:
    lines = render_measurement(MEASUREMENT).splitlines()
    assert sum('"operation"' in line for line in lines) == len(MEASUREMENT.cells)
    assert len(lines) < 20


def test_a_measurement_travels_between_processes() -> None:
    assert pickle.loads(pickle.dumps(MEASUREMENT)) == MEASUREMENT


def test_operations_are_those_of_cost_tables() -> None:
    listed = load_schema()["definitions"]["cell"]["properties"]["operation"]["enum"]
    assert tuple(listed) == OPERATIONS


def test_every_mistake_is_told_with_its_line_and_its_fix() -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["librari"] = document.pop("library")
        document["artifact_sha256"] = 7
        document["cells"][0]["operation"] = "fast_apend"
        document["cells"][1]["n"] = -5
        document["cells"][1]["settings"]["merging"] = None
        del document["cells"][1]["attempts"][1]["metadata_reads"]

    problems = told(spoil)
    assert len(problems) == 7
    assert all(problem.startswith("m.json:") for problem in problems)
    text = "\n".join(problems)
    assert "library: missing; add it" in text
    assert "unknown key; did you mean 'library'?" in text
    assert "artifact_sha256: 7 is none of these: string or null; give one of them" in text
    assert "cells[0].operation: 'fast_apend' is not one of" in text
    assert "did you mean 'fast_append'?" in text
    assert "cells[1].n: must be at least 0, not -5" in text
    assert "cells[1].attempts[1].metadata_reads: missing; add it" in text


def test_a_cell_that_stands_twice_is_refused() -> None:
    problems = told(lambda document: document["cells"].append(document["cells"][0]))
    assert len(problems) == 1
    assert "cells[2]: is cells[0] again (fast_append, fresh" in problems[0]


def test_a_hash_that_is_none_is_refused() -> None:
    problems = told(lambda document: document.update(artifact_sha256="ABC"))
    assert problems == [
        "m.json:5: artifact_sha256: must be 64 hexadecimal digits in lower case, not 'ABC'"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "m.json:1: not JSON: Expecting property name"),
        ("[]", "an array is not a table; give a table"),
        ("{}", "cells: missing; add it"),
        ("[" * 100_000, "not JSON: nested too deeply"),
    ],
)
def test_a_file_that_is_no_measurement_is_told_so(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_measurement(text, "m.json")
    assert words in str(caught.value)


def test_an_unknown_name_and_a_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing measured is called 'duckdb'"):
        load_measured("duckdb")
    with pytest.raises(InputError, match=r"none\.json: cannot be read: No such file"):
        load_measurement(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with pytest.raises(InputError, match="not UTF-8 text; save it as UTF-8"):
        load_measurement(tmp_path / "latin.json")


def test_cells_are_found_by_what_sets_them_apart() -> None:
    assert MEASUREMENT.select(situation="retry") == (RETRY,)
    assert MEASUREMENT.select(settings={"isolation": "serializable"}) == ()
    assert MEASUREMENT.one(operation="row_delta", n=5, settings={"merging": True}) == RETRY
    with pytest.raises(LookupError, match="2 cells of PyIceberg have base_manifests=3"):
        MEASUREMENT.one(base_manifests=3)
    with pytest.raises(LookupError, match="0 cells of PyIceberg have n=7: none"):
        MEASUREMENT.one(n=7)


def test_totals_are_summed_over_attempts() -> None:
    assert RETRY.total == AttemptCounts(3, 1, 11, 2, 12, 6)


def test_a_measurement_does_not_differ_from_itself() -> None:
    assert differences(MEASUREMENT, MEASUREMENT) == ()


def test_a_count_that_changed_is_named_with_old_and_new_and_both_versions() -> None:
    moved = replace(RETRY, attempts=(RETRY.attempts[0], AttemptCounts(2, 1, 12, 1, 10, 3)))
    newer = replace(MEASUREMENT, version="0.13.0", cells=(FRESH, moved))
    (difference,) = differences(MEASUREMENT, newer)
    assert str(difference) == (
        "row_delta, retry, n = 5, same, 3 manifests, isolation snapshot, merging true: "
        "attempt 1, manifest_list_reads: 10 → 12 (PyIceberg 0.12.0 → PyIceberg 0.13.0)"
    )


def test_outcomes_attempts_and_cells_that_changed_are_named() -> None:
    aborted = replace(RETRY, outcome="validation_exception", attempts=RETRY.attempts[:1])
    another = replace(FRESH, situation="stale", n=1)
    found = [
        (each.what, each.old, each.new)
        for each in differences(MEASUREMENT, replace(MEASUREMENT, cells=(aborted, another)))
    ]
    assert found == [
        ("cell", "measured", "not measured"),
        ("outcome", "committed", "validation_exception"),
        ("attempts", "2", "1"),
        ("cell", "not measured", "measured"),
    ]
