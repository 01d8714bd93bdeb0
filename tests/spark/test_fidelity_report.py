"""The whole report with Spark: what Spark computes is what was recorded, and the verb writes everything it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fidelity_evidence import shipped_evidence
from junitparser import JUnitXml

from endive.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE = "iceberg-review"


def _told(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document


def test_the_verb_writes_its_report_and_finds_what_spark_computed_in_the_runs(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "fidelity",
        "--out",
        str(tmp_path),
        "--cost-table",
        _TABLE,
        "--today",
        "2026-11-18",
        "--json",
    ]
    code = main([*asked, "--jobs", "1"])
    told = capsys.readouterr()
    document = _told(told.out)
    assert code == document["exit_code"]
    assert document["unwaived"] == []
    assert document["misuses"] == []
    assert all(control["is_reproduced"] for control in document["controls"])
    assert told.err == ""
    assert _told((tmp_path / "fidelity.json").read_text(encoding="utf-8")) == document
    assert (tmp_path / "index.html").stat().st_size > 100_000
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("# ")
    assert len(list(JUnitXml.fromfile(str(tmp_path / "junit.xml")))) >= 3

    # Means and counts are those of the same runs, made and added up without Spark.
    own = {
        (mean.operation, mean.kind, mean.conflict_class): mean
        for mean in _merged(shipped_evidence(_TABLE).means)
    }
    seen = [mean for mean in document["means"] if mean["source"] == f"model:{_TABLE}"]
    assert len(seen) == len(own)
    for mean in seen:
        mine = own[mean["operation"], mean["kind"], mean["class"]]
        assert mean["attempts"] == mine.attempts
        assert mean["mean"] == pytest.approx(dict(mine.means), abs=1e-5)

    # The same again, on the runs that are there now: nothing moves, and what was not run is unknown.
    runs = str(tmp_path / "experiments")
    again = [*asked[:1], "--out", str(tmp_path / "given"), *asked[3:], "--runs", runs]
    code = main(again)
    given = _told(capsys.readouterr().out)
    assert code == given["exit_code"]
    assert given["controls"] == []
    of = {row["id"]: row for row in given["rows"]}
    costs = [
        f["verdict"]
        for f in of["retry_costs.merge.merge_append"]["findings"]
        if f["source"].startswith("model")
    ]
    assert costs == ["match", "match"]
    backoff = of["aspects.backoff"]["findings"][0]
    assert backoff["verdict"] == "unknown"


def _merged(means: Any) -> list[Any]:
    from dataclasses import replace

    merged: dict[tuple[str, str, str], Any] = {}
    for mean in means:
        key = mean.operation, mean.kind, mean.conflict_class
        if key not in merged:
            merged[key] = mean
            continue
        before = merged[key]
        total = before.attempts + mean.attempts
        sums = {
            name: (before.means[name] * before.attempts + mean.means[name] * mean.attempts) / total
            for name in mean.means
        }
        merged[key] = replace(before, attempts=total, means=sums)
    return list(merged.values())


@pytest.mark.slow
def test_with_all_tables_and_the_waivers_that_ship_nothing_fails(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["fidelity", "--out", str(tmp_path), "--today", "2026-11-18", "--json"])
    document = _told(capsys.readouterr().out)
    assert document["unwaived"] == []
    assert document["misuses"] == []
    assert code in (0, 3)
