"""`endive cost-tables`: the list, one table, and what sets two of them apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endive.cost_model import load_cost_table
from endive.main import main

_NAMES = ["spec-2.0", "legacy", "iceberg-review", "iceberg-java", "pyiceberg"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cost-tables", *arguments]) == 0
    return capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shown(capsys, *arguments, "--json"))
    return document


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cost-tables", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_the_list_names_title_source_and_operations(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    for name in _NAMES:
        assert f"{name} · {load_cost_table(name).title}" in text
    assert "Endive Simulator Specification 2.0, §3.2–3.5" in text
    assert "overwrite_unvalidated, delete_partition" in text
    assert max(map(len, text.splitlines())) <= 80


def test_one_table_is_shown_in_words_with_settings_and_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(capsys, "iceberg-java")
    table, _, sources = text.partition("Sources")
    for words in (
        "validation io                 sequential",
        "refresh before first attempt  yes",
        "other table: rebuild          nothing",
        "other partitions: validate    N historical list reads",
        "(max(1, N) - N) list reads, 1 list write",
        "from 100 manifests on",
    ):
        assert words in table
    assert max(map(len, table.splitlines())) <= 80
    told_in_one_line = " ".join(sources.split())
    assert "Iceberg Java 1.11.0, endive oracle iceberg-java: retry, disjoint" in told_in_one_line


def test_merging_of_real_conflicts_is_shown_where_there_is_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "real conflict, merged" in shown(capsys, "legacy")
    assert "real conflict, merged" not in shown(capsys, "spec-2.0")


def test_json_has_every_price_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    document = told(capsys)
    assert list(document) == _NAMES
    assert told(capsys, "pyiceberg") == document["pyiceberg"]
    delta = document["pyiceberg"]["operations"]["row_delta"]
    assert delta["attempt"]["counts"] == {
        "manifest_list_reads": 4,
        "manifest_file_reads": 4,
        "manifest_file_writes": 2,
        "manifest_list_writes": 1,
    }
    assert delta["validate.overlap"]["counts"]["historical_ml_reads"] == "2 * N + 6 * R"
    assert document["pyiceberg"]["operations"]["merge_append"]["merging"]["min_count"] == 100
    assert document["legacy"]["settings"]["conflicting_manifests"]["is"] == 10
    for table in document.values():
        for operation in table["operations"].values():
            assert all(step["source"] for step in operation.values())


def test_a_difference_shows_only_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    difference = told(capsys, "--diff", "spec-2.0", "iceberg-java")
    assert set(difference["settings"]) == {
        "validate_from",
        "refresh_before_first_attempt",
        "validation_io",
        "real_conflicts",
        "real_against_replaced_only",
    }
    assert difference["operations"]["fast_append"] == {
        "rebuild.disjoint_partitions": {"a": "nothing", "b": "1 list read, 1 list write"},
        "rebuild.overlap": {
            "a": "1 list read, 1 file write, 1 list write",
            "b": "1 list read, 1 list write",
        },
    }
    assert difference["only_a"] == []
    assert difference["only_b"][:2] == ["row_delta", "rewrite_files"]
    text = shown(capsys, "--diff", "spec-2.0", "iceberg-java")
    assert "other partitions: rebuild  nothing" in text
    assert "Only iceberg-java prices row_delta" in text
    assert "metadata" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_table_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert "legacy and legacy cost the same." in shown(capsys, "--diff", "legacy", "legacy")
    difference = told(capsys, "--diff", "legacy", "legacy")
    assert not difference["settings"]
    assert not difference["operations"]


def test_a_file_of_ones_own_is_shown_compared_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    text = load_cost_table("spec-2.0").text.replace("name: spec-2.0", "name: mine")
    file.write_text(text.replace("historical_ml_reads: N", "historical_ml_reads: 2*N"), "utf-8")
    assert told(capsys, str(file))["name"] == "mine"
    assert told(capsys, "--diff", "spec-2.0", str(file))["operations"] == {
        "validated_overwrite": {
            "validate.overlap": {
                "a": "N historical list reads",
                "b": "(2 * N) historical list reads",
            }
        }
    }
    file.write_text(text.replace("historical_ml_reads: N", "historical_ml_reads: 2N"), "utf-8")
    line = text[: text.index("historical_ml_reads: N")].count("\n") + 1
    assert f"mine.yaml:{line}: operations.validated_overwrite" in refused(capsys, str(file))


def test_bad_use_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'pyiceberg'?" in refused(capsys, "pyceberg")
    assert "there are spec-2.0, legacy" in refused(capsys, "--diff", "legacy", "zzz")
    assert "not both" in refused(capsys, "legacy", "--diff", "legacy", "pyiceberg")
    assert "absent.yaml: cannot be read" in refused(capsys, "absent.yaml")
    assert "expected 2 arguments" in refused(capsys, "--diff", "legacy")


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert "endive cost-tables --diff spec-2.0 iceberg-java" in shown(capsys, "--help")


def test_the_file_of_a_table_is_a_table_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost-tables", "iceberg-java", "--yaml"]) == 0
    mine = tmp_path / "mine.yaml"
    mine.write_text(capsys.readouterr().out)
    assert main(["cost-tables", "--diff", "iceberg-java", str(mine), "--json"]) == 0
    difference = json.loads(capsys.readouterr().out)
    assert not any(difference[part] for part in ("settings", "operations") if part in difference)


@pytest.mark.parametrize("more", [[], ["iceberg-java", "--json"]])
def test_a_file_is_of_one_table(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost-tables", "--yaml", *more]) == 2
    assert "give its NAME alone" in capsys.readouterr().err
