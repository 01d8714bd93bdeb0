"""A tree of real runs, analysed from end to end: what the page says is what the runs say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from endive.main import main
from endive.saturation_analysis import analyze

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SWEEP = """\
label = "tiny"
seeds = "1..2"

[config.simulation]
duration_ms = 40000

[config.storage]
provider = "s3x"

[config.transaction]
cost_table = "iceberg-review"
retry_preset = "iceberg"
runtime = { distribution = "fixed", value = 500 }

[grid]
"catalog.num_tables" = [1, 2]
"transaction.inter_arrival.scale" = [500.0, 125.0, 25.0]
"transaction.operation_types" = [{ fast_append = 0.9, validated_overwrite = 0.1 }]
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a tiny sweep."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.toml").write_text(SWEEP)
    assert (
        main(
            [
                "sweep",
                str(folder / "tiny.toml"),
                "--out",
                str(folder / "runs"),
                "--jobs",
                "1",
                "--json",
            ]
        )
        == 0
    )
    return folder / "runs"


def test_a_tree_is_analysed_from_end_to_end(
    spark: SparkSession, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    out = tmp_path / "report"
    assert main(["analyze", str(tree), "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    document: dict[str, Any] = json.loads(captured.out)
    assert captured.err == ""
    assert Path(document["page"]) == out / "index.html"
    assert "tiny" in (out / "index.html").read_text()

    (study,) = document["studies"]
    assert (study["name"], study["seeds"], len(study["experiments"])) == ("tiny", [1, 2], 6)
    answers = {answer["id"]: answer for answer in study["answers"]}
    assert set(answers) >= {
        "latency-throughput",
        "success-load",
        "time-parts",
        "load-tables",
        "retries",
        "snapshots-behind",
        "uncommittable",
    }
    assert {left["id"] for left in study["left_out"]} >= {"load-catalog-latency"}
    assert all(Path(path).stat().st_size for answer in answers.values() for path in answer["files"])

    # What is counted is what the files hold, nothing lost and nothing doubled.
    assert len(study["runs"]) == 12
    for run in study["runs"]:
        place = tree / run["experiment"] / str(run["seed"]) / "results.parquet"
        frame = pd.read_parquet(place, columns=["t_submit", "status"])
        found = frame[frame["t_submit"] >= run["window_start_ms"]]["status"].value_counts()
        for status in ("committed", "aborted", "in_flight"):
            assert run[status] == int(found.get(status, 0)), (run, status)


@pytest.mark.slow
def test_the_same_tree_gives_the_same_page(spark: SparkSession, tree: Path, tmp_path: Path) -> None:
    pages = [analyze(tree, tmp_path / name).page.read_bytes() for name in ("once", "again")]
    assert pages[0] == pages[1]
