"""A tree becomes one dataset with every row of every run, whatever keys and columns each has, however often and by whomever."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pipeline_trees import make_experiment, rewrite

from endive.errors import InputError
from endive.pipeline import consolidate, open_frames
from endive.pipeline.parts import Part, packed, partition_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    make_experiment(tree, [1, 2], label="2026-01=a b%")
    make_experiment(
        tree, [1], label="append", attempts=False, catalog={"type": "append", "num_tables": 3}
    )
    return tree


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    # Nothing in the name of a place is special.
    tree = tmp_path / "50% [a*] {b}" / "tree"
    shutil.copytree(made, tree)
    return tree


def rows_of(directory: Path, dataset: str = "consolidated.parquet") -> pd.DataFrame:
    """What any other reader finds."""
    read: Any = pd.read_parquet(directory / dataset)
    return read.sort_values(["experiment", "seed", "txn_id"], ignore_index=True)


def test_every_row_is_there_with_its_run_and_configuration(spark: SparkSession, tree: Path) -> None:
    made = consolidate(spark, tree)
    assert (made.read, made.written) == (3, 2)
    found = rows_of(tree)
    for path in tree.glob("*/*/results.parquet"):
        experiment, seed = path.parts[-3], int(path.parts[-2])
        here = found[(found["experiment"] == experiment) & (found["seed"] == seed)]
        original = pq.read_table(path).to_pandas()
        told = here[original.columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(told, original, check_dtype=False)
        label, _, config_hash = experiment.rpartition("-")
        assert set(here["label"]) == {label}
        assert set(here["config_hash"]) == {config_hash}
        assert set(here["duration_ms"]) == {20_000.0}
        assert set(here["cfg_catalog__num_tables"]) == {3 if label == "append" else 2}
    # A key that only some experiments have is empty elsewhere.
    by_type = found.groupby("cfg_catalog__type", observed=True)["cfg_catalog__log_entry_size"]
    assert by_type.count().to_dict() == {"append": (found["label"] == "append").sum(), "cas": 0}

    attempts = rows_of(tree, "consolidated_attempts.parquet")
    (path,) = tree.glob("2026*/1/attempts.parquet")
    original = pq.read_table(path).to_pandas()
    here = attempts[attempts["seed"] == 1].sort_values(["txn_id", "attempt"], ignore_index=True)
    pd.testing.assert_frame_equal(here[original.columns], original, check_dtype=False)
    transactions = found[(found["label"] != "append") & (found["seed"] == 1)].set_index("txn_id")
    assert (here["t_submit"].to_numpy() == transactions.loc[here["txn_id"], "t_submit"]).all()
    assert (here["status"].to_numpy() == transactions.loc[here["txn_id"], "status"]).all()
    assert (here["kind"] == "first").tolist() == (here["attempt"] == 0).tolist()

    # Spark reads the same, and takes no label for a date.
    with open_frames(spark, tree) as frames:
        counts = frames.transactions.groupBy("experiment").count().collect()
        assert {row.experiment: row["count"] for row in counts} == (
            found.groupby("experiment", observed=True).size().to_dict()
        )


def test_what_has_not_changed_is_not_read_again(spark: SparkSession, tree: Path) -> None:
    out = tree.parent / "out"
    first = consolidate(spark, tree, out)
    again = consolidate(spark, tree, out)
    assert (again.read, again.written) == (0, 0)
    assert again.manifest == first.manifest
    before = rows_of(out)

    make_experiment(tree, [3], label="2026-01=a b%")
    more = consolidate(spark, tree, out)
    assert (more.read, more.written) == (1, 1)
    found = rows_of(out)
    pd.testing.assert_frame_equal(found[found["seed"] < 3].reset_index(drop=True), before)
    assert (found["seed"] == 3).any()

    # A run that is gone from the tree is gone from the data; the part it was in is written again.
    (directory,) = tree.glob("2026*/2")
    shutil.rmtree(directory)
    less = consolidate(spark, tree, out)
    assert (less.read, less.written) == (0, 1)
    assert set(rows_of(out)["seed"]) == {1, 3}


def test_older_results_without_a_column_are_read_with_nothing_in_it(
    spark: SparkSession, tree: Path
) -> None:
    from endive.pipeline.files import digest_of

    (path,) = tree.glob("append-*/1/results.parquet")
    rewrite(path, lambda table: table.drop_columns(["real_conflicts", "rework_ms"]))
    with pq.ParquetFile(path) as file:
        digest = digest_of(file)
    rewrite(path, told={"digest": digest})
    consolidate(spark, tree)
    found = rows_of(tree)
    has_column = found.groupby("label", observed=True)["real_conflicts"].count() > 0
    assert has_column.to_dict() == {"2026-01=a b%": True, "append": False}


def test_bad_files_leave_everything_as_it_was(spark: SparkSession, tree: Path) -> None:
    consolidate(spark, tree)
    before = rows_of(tree)
    damaged, foreign = sorted(tree.glob("2026*/*/results.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:1000])
    rewrite(foreign, summary=False)
    with pytest.raises(InputError) as told:
        consolidate(spark, tree)
    assert sorted(problem.file for problem in told.value.problems) == [str(damaged), str(foreign)]
    pd.testing.assert_frame_equal(rows_of(tree), before)
    assert not list(tree.glob(".consolidated/*.part"))


def test_bad_files_leave_no_trace_where_there_was_nothing(
    spark: SparkSession, tree: Path, tmp_path: Path
) -> None:
    next(tree.glob("2026*/1/results.parquet")).write_bytes(b"PAR1")
    out = tmp_path / "out"
    with pytest.raises(InputError):
        consolidate(spark, tree, out)
    assert not (out / "consolidated.parquet").exists()
    with pytest.raises(InputError, match="holds no consolidated data"), open_frames(spark, out):
        pass


def test_consolidating_at_the_same_time_loses_nothing(spark: SparkSession, tree: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: consolidate(spark, tree), range(3)))
    assert sorted(one.read for one in made) == [0, 0, 3]
    rows = sum(pq.read_metadata(path).num_rows for path in tree.glob("*/*/results.parquet"))
    assert len(rows_of(tree)) == rows


def test_data_of_another_tree_are_not_replaced(spark: SparkSession, tree: Path) -> None:
    out = tree.parent / "out"
    consolidate(spark, tree, out)
    other = tree.parent / "other"
    shutil.copytree(tree, other)
    with pytest.raises(InputError, match=r"holds the consolidation of '\.\./tree'"):
        consolidate(spark, other, out)


def test_runs_are_packed_into_parts_of_a_convenient_size(spark: SparkSession, tree: Path) -> None:
    runs = consolidate(spark, tree).manifest.runs
    whole = Part("x-000000", "x", "000000", "v", {}, runs)
    assert [len(part.runs) for part in packed([whole])] == [3]
    small = list(packed([whole], largest_rows=1))
    assert [part.runs for part in small] == [(run,) for run in runs]
    assert len({part.name for part in small}) == 3


def test_a_partition_is_named_as_hive_does() -> None:
    assert partition_directory("a b-00ff00") == "experiment=a b-00ff00"
    assert partition_directory("50%=x:y-00ff00") == "experiment=50%25%3Dx%3Ay-00ff00"
