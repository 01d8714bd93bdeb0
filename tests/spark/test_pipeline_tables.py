"""The tables of real runs say what pandas says of the files in the tree, and nothing is collected that is not aggregated."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pipeline_frames import expected_run, groups_of
from pipeline_trees import make_experiment

from endive.errors import InputError
from endive.inference import mean_interval
from endive.pipeline import (
    SCHEMAS,
    Tables,
    build_tables,
    config_column,
    consolidate,
    load_tables,
    open_frames,
)
from endive.pipeline.schemas import IO_COUNTERS, METRICS
from endive.pipeline.tables import varied_keys
from endive.warmup import mser5

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS = ["experiment", "seed", "class_name", "operation_type"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    make_experiment(tree, [1, 2, 3], label="one")
    # One seed alone, of another kind of catalog, without attempts.
    make_experiment(tree, [7], label="log", attempts=False, catalog={"type": "append"})
    return tree


@pytest.fixture(scope="module")
def collected() -> list[str]:
    """The plans of whatever was brought to the driver."""
    return []


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tree: Path, collected: list[str]) -> Tables:
    from pyspark.sql.classic.dataframe import DataFrame

    with pytest.MonkeyPatch.context() as patch:
        for name in ("collect", "toArrow", "toPandas"):
            original = getattr(DataFrame, name)

            def noting(frame: Any, *, original: Any = original) -> Any:
                collected.append(frame._jdf.queryExecution().executedPlan().toString())
                return original(frame)

            patch.setattr(DataFrame, name, noting)
        consolidate(spark, tree)
        return build_tables(spark, tree)


@pytest.fixture(scope="module")
def rows(tree: Path) -> dict[tuple[str, int], pd.DataFrame]:
    """The rows of every run, as its file has them."""
    return {
        (path.parts[-3], int(path.parts[-2])): pd.read_parquet(path)
        for path in sorted(tree.glob("*/*/results.parquet"))
    }


def test_every_table_has_the_columns_and_types_it_promises(tables: Tables) -> None:
    kinds = {"long": "int64", "double": "float64", "boolean": "bool"}
    for name, schema in SCHEMAS.items():
        table = getattr(tables, name)
        assert list(table.columns[: len(schema.columns)]) == list(schema.columns)
        for column, kind in schema.columns.items():
            assert kind == "string" or str(table[column].dtype) == kinds[kind], (name, column)
        assert not table.duplicated(list(schema.keys)).any()
        in_order = table.sort_values(list(schema.keys), ignore_index=True)
        pd.testing.assert_frame_equal(table, in_order)


def test_warmups_are_those_of_the_rule_on_the_files(
    tables: Tables, rows: dict[tuple[str, int], pd.DataFrame]
) -> None:
    told = tables.warmup.set_index(["experiment", "seed"])
    assert set(told.index) == set(rows)
    for run, frame in rows.items():
        committed = frame[frame["status"] == "committed"].sort_values("t_submit")
        expected = mser5(committed["commit_latency"].to_numpy())
        assert told.loc[run, "truncated_batches"] == expected.truncated_batches
        assert told.loc[run, "steady"] == expected.is_steady
        if expected.truncated:
            first_ms = committed["t_submit"].iloc[expected.truncated]
            assert told.loc[run, "warmup_ms"] == first_ms
    # Else the window is never put to the test.
    assert (told["warmup_ms"] > 0).any()


def test_runs_say_what_the_files_say(
    tables: Tables, rows: dict[tuple[str, int], pd.DataFrame]
) -> None:
    told = tables.runs.set_index(_KEYS)
    starts = tables.warmup.set_index(["experiment", "seed"])["warmup_ms"]
    for run, frame in rows.items():
        for class_name, operation_type, chosen in groups_of(frame):
            row = told.loc[(*run, class_name, operation_type)]
            for name, value in expected_run(chosen, starts[run], 20_000.0).items():
                if name.endswith(("_p50_ms", "_p95_ms", "_p99_ms")):
                    assert row[name] == value or (math.isnan(value) and math.isnan(row[name]))
                else:
                    assert row[name] == pytest.approx(value, rel=1e-12, nan_ok=True), name


def test_cells_are_intervals_over_the_seeds_of_runs(tables: Tables) -> None:
    cells = tables.cells.set_index(["experiment", "class_name", "operation_type"])
    for key, runs in tables.runs.groupby(["experiment", "class_name", "operation_type"]):
        cell = cells.loc[key]
        assert cell["seeds"] == len(runs)
        assert cell["seeds_steady"] == runs["steady"].sum()
        for name in METRICS:
            values = runs[name].dropna().tolist()
            if not values:
                assert math.isnan(cell[name])
                continue
            expected = mean_interval(values, 0.95)
            assert cell[name] == pytest.approx(math.fsum(values) / len(values), rel=1e-12)
            assert cell[f"{name}_low"] == pytest.approx(expected.low, rel=1e-9, abs=1e-9)
            assert cell[f"{name}_high"] == pytest.approx(expected.high, rel=1e-9, abs=1e-9)


def test_cells_carry_the_keys_that_vary_and_no_others(tables: Tables) -> None:
    varied = {column for column in tables.cells if column.startswith("cfg_")}
    assert config_column("catalog.type") in varied
    assert config_column("catalog.log_entry_size") in varied
    assert config_column("storage.provider") not in varied
    by_label = dict(zip(tables.experiments["label"], tables.experiments["experiment"], strict=True))
    types = tables.cells.set_index("experiment")[config_column("catalog.type")]
    assert set(types.loc[by_label["log"]]) == {"append"}
    assert set(types.loc[by_label["one"]]) == {"cas"}
    assert tables.experiments["seeds"].tolist() == [1, 3]


def test_the_timeline_adds_up_to_the_run(
    tables: Tables, rows: dict[tuple[str, int], pd.DataFrame]
) -> None:
    total = tables.timeline[(tables.timeline[["class_name", "operation_type"]] == "*").all(axis=1)]
    for run, frame in rows.items():
        here = total[(total["experiment"] == run[0]) & (total["seed"] == run[1])]
        assert len(here) == 60
        assert here["offered"].sum() == len(frame)
        assert here["committed"].sum() == (frame["status"] == "committed").sum()
        assert here["aborted"].sum() == (frame["status"] == "aborted").sum()


def test_attempts_are_distributed_as_in_their_files(tables: Tables, tree: Path) -> None:
    frames = [pd.read_parquet(path) for path in sorted(tree.glob("one-*/*/attempts.parquet"))]
    original = pd.concat(frames).fillna({"conflict_class": "none"})
    keys = ["operation_type", "conflict_class", "outcome", "snapshots_behind", *IO_COUNTERS]
    expected = original.groupby(keys).size()
    found = tables.attempt_io.fillna({"conflict_class": "none"}).groupby(keys)["count"].sum()
    pd.testing.assert_series_equal(found, expected, check_names=False, check_index_type=False)
    assert set(tables.attempt_io["experiment"].str.split("-").str[0]) == {"one"}
    retries = tables.attempt_io[tables.attempt_io["kind"] == "retry"]
    assert retries["count"].sum() == (original["attempt"] > 0).sum()


def test_histograms_are_of_the_window(
    tables: Tables, rows: dict[tuple[str, int], pd.DataFrame], tree: Path
) -> None:
    starts = tables.warmup.set_index(["experiment", "seed"])["warmup_ms"]
    (one,) = {experiment for experiment, _ in rows if experiment.startswith("one")}
    retries, behind = [], []
    for run, frame in rows.items():
        if run[0] != one:
            continue
        inside = frame[frame["t_submit"] >= starts[run]]
        retries.append(inside[inside["status"] != "in_flight"]["n_retries"])
        attempts = pd.read_parquet(tree / one / str(run[1]) / "attempts.parquet")
        attempts = attempts[attempts["txn_id"].isin(inside["txn_id"])]
        behind.append(attempts[attempts["conflict_class"].notna()]["snapshots_behind"])
    for quantity, values in (("n_retries", retries), ("snapshots_behind", behind)):
        found = tables.histograms[
            (tables.histograms["experiment"] == one)
            & (tables.histograms["quantity"] == quantity)
            & (tables.histograms[["class_name", "operation_type"]] == "*").all(axis=1)
        ]
        expected = pd.concat(values).value_counts().sort_index()
        assert dict(zip(found["value"], found["count"], strict=True)) == expected.to_dict()


def test_nothing_is_collected_that_is_not_aggregated(tables: Tables, collected: list[str]) -> None:
    assert len(collected) >= 8
    scans = 0
    for plan in collected:
        lines = [line for line in plan.splitlines() if line.strip()]
        for place, line in enumerate(lines):
            if "FileScan" not in line:
                continue
            scans += 1
            assert _has_above(lines, place, "HashAggregate"), plan
    assert scans > 0


def _has_above(lines: list[str], place: int, word: str) -> bool:
    """Whether a node of a plan has one with this word on its way to the root."""

    def depth(line: str) -> int:
        found = re.search(r"[A-Za-z]", re.sub(r"\*\(\d+\) ", "", line))
        return found.start() if found else 0

    here = depth(lines[place])
    for line in reversed(lines[:place]):
        if depth(line) < here:
            here = depth(line)
            if word in line:
                return True
    return False


def test_tables_are_saved_and_loaded(tables: Tables, tmp_path: Path) -> None:
    written = tables.save(tmp_path / "tables")
    assert sorted(path.stem for path in written) == sorted(field.name for field in fields(Tables))
    again = load_tables(tmp_path / "tables")
    for field in fields(Tables):
        pd.testing.assert_frame_equal(
            getattr(again, field.name), getattr(tables, field.name), check_dtype=False
        )
    written[0].unlink()
    with pytest.raises(InputError, match=re.escape(str(written[0]))):
        load_tables(tmp_path / "tables")


@pytest.mark.parametrize("warmup", [-1.0, 20_000.0, math.nan, "mser"])
def test_a_warmup_that_is_none_is_refused(
    spark: SparkSession, tables: Tables, tree: Path, warmup: Any
) -> None:
    with pytest.raises(InputError, match="warmup: "):
        build_tables(spark, tree, warmup=warmup)


def test_keys_that_only_some_have_vary(spark: SparkSession, tables: Tables, tree: Path) -> None:
    with open_frames(spark, tree) as frames:
        varied = varied_keys(frames.manifest)
    assert "catalog.conflict_granularity" in varied
    assert "simulation.duration_ms" not in varied
