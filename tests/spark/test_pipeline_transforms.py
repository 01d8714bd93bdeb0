"""Each transform says what numpy and pandas say of the same rows, and its plan reads and aggregates no more than it must."""

from __future__ import annotations

import contextlib
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pipeline_frames import (
    TRANSACTION_TYPES,
    expected_run,
    groups_of,
    made_up_runs,
    to_spark,
)

from endive.inference import mean_interval
from endive.pipeline import attempts, intervals, outcomes, percentiles, timeline, windows
from endive.pipeline.columns import KIND, RUN
from endive.pipeline.schemas import (
    ATTEMPT_IO,
    IO_COUNTERS,
    IO_TIMES,
    LATENCIES,
    QUANTILES,
)
from endive.pipeline.tables import collected
from endive.warmup import mser5

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DURATION_MS = 10_000.0
RUNS = {("busy-00000a", 1): 900, ("busy-00000a", 2): 400, ("idle-00000b", 1): 3}
EMPTY = ("none-00000c", 5)
"""A run in which nothing was submitted."""
PERCENTILES = ("_p50_ms", "_p95_ms", "_p99_ms")
STARTS = {("busy-00000a", 1): 2_500.0, ("busy-00000a", 2): 0.0, ("idle-00000b", 1): 100.0}


def warmups(spark: SparkSession, starts: dict[tuple[str, int], float]) -> DataFrame:
    rows = [(*run, start, False, DURATION_MS) for run, start in starts.items()]
    types = "experiment string, seed bigint, warmup_ms double, steady boolean, duration_ms double"
    return spark.createDataFrame(rows, types)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return made_up_runs(RUNS, duration_ms=DURATION_MS)


@pytest.fixture(scope="module")
def transactions(spark: SparkSession, rows: pd.DataFrame) -> DataFrame:
    return to_spark(spark, rows, TRANSACTION_TYPES)


@pytest.fixture(scope="module")
def measured(spark: SparkSession, transactions: DataFrame) -> pd.DataFrame:
    """Outcomes and percentiles of the made-up runs, side by side."""
    return measure(spark, transactions, {**STARTS, EMPTY: 0.0})


def measure(
    spark: SparkSession, transactions: DataFrame, starts: dict[tuple[str, int], float]
) -> pd.DataFrame:
    starting = warmups(spark, starts)
    windowed = windows.in_window(transactions, starting)
    told = collected(outcomes.run_outcomes(outcomes.outcome_sums(windowed), starting))
    values = percentiles.measured(windowed, LATENCIES)
    wanted = percentiles.wanted_bins(percentiles.bin_counts(values), QUANTILES).persist()
    found = percentiles.values_in(values, wanted)
    exact = collected(percentiles.percentiles(found, wanted, LATENCIES, QUANTILES))
    wanted.unpersist()
    keys = [*RUN, *KIND]
    wide = exact.pivot(index=keys, columns="metric", values="value").reset_index()
    return told.merge(wide, on=keys, how="left")


def differences(
    measured: pd.DataFrame, rows: pd.DataFrame, starts: dict[tuple[str, int], float]
) -> set[str]:
    """The columns in which the pipeline and numpy differ, over all runs, classes and operations."""
    found = measured.set_index([*RUN, *KIND])
    differing = set()
    for (experiment, seed), start_ms in starts.items():
        run = rows[(rows["experiment"] == experiment) & (rows["seed"] == seed)]
        for class_name, operation_type, chosen in groups_of(run):
            row = found.loc[(experiment, seed, class_name, operation_type)]
            for name, value in expected_run(chosen, start_ms, DURATION_MS).items():
                # Percentiles and counts are the same numbers; sums were added in another order.
                exact = isinstance(value, int) or name.endswith(PERCENTILES)
                same = (
                    (math.isnan(value) and math.isnan(row[name]))
                    or row[name] == value
                    or (not exact and row[name] == pytest.approx(value, rel=1e-12))
                )
                if not same:
                    differing.add(name)
    return differing


def test_runs_are_told_as_numpy_tells_them(measured: pd.DataFrame, rows: pd.DataFrame) -> None:
    assert differences(measured, rows, STARTS) == set()


def test_a_window_off_by_one_transaction_would_be_seen(
    measured: pd.DataFrame, rows: pd.DataFrame
) -> None:
    run = rows[(rows["experiment"] == "busy-00000a") & (rows["seed"] == 1)]
    inside = run[run["t_submit"] >= STARTS["busy-00000a", 1]]["t_submit"]
    later = {**STARTS, ("busy-00000a", 1): math.nextafter(inside.min(), math.inf)}
    assert "offered" in differences(measured, rows, later)


def test_percentiles_of_more_than_the_committed_would_be_seen(
    measured: pd.DataFrame, rows: pd.DataFrame
) -> None:
    all_finished = rows.assign(status=rows["status"].replace("aborted", "committed"))
    assert {"latency_p50_ms", "latency_p95_ms", "commit_latency_p50_ms"} <= differences(
        measured, all_finished, STARTS
    )


def test_what_was_submitted_has_committed_aborted_or_is_in_flight(measured: pd.DataFrame) -> None:
    parts = measured["committed"] + measured["aborted"] + measured["in_flight"]
    assert (measured["offered"] == parts).all()
    assert measured["in_flight"].sum() > 0


def test_totals_are_the_sums_of_their_parts(measured: pd.DataFrame) -> None:
    for column in (
        "offered",
        "committed",
        "aborted",
        "in_flight",
        "offered_per_s",
        "offered_share",
    ):
        for axis in KIND:
            other = [*RUN, *(name for name in KIND if name != axis)]
            total = measured[measured[axis] == "*"].set_index(other)[column]
            parts = measured[measured[axis] != "*"].groupby(other)[column].sum()
            compared = total.loc[parts.index]
            assert compared.to_numpy() == pytest.approx(parts.to_numpy(), rel=1e-12)


def test_windows_that_share_an_edge_share_no_transaction(
    spark: SparkSession, transactions: DataFrame, rows: pd.DataFrame
) -> None:
    from pyspark.sql import functions as F

    edge_ms = float(rows[rows["seed"] == 1]["t_submit"].iloc[0])
    late = windows.in_window(transactions, warmups(spark, dict.fromkeys(RUNS, edge_ms)))
    counts = late.agg(F.count("*"), F.min("t_submit")).first()
    assert counts is not None
    assert counts[0] + int((rows["t_submit"] < edge_ms).sum()) == len(rows)
    assert counts[1] == edge_ms


def test_a_run_without_a_transaction_has_a_row_of_nothing(measured: pd.DataFrame) -> None:
    none = measured[measured["experiment"] == EMPTY[0]]
    assert none[[*KIND, "offered", "achieved_per_s"]].to_numpy().tolist() == [["*", "*", 0, 0.0]]
    assert none["success_rate"].isna().all()
    assert none["latency_p99_ms"].isna().all()


def test_what_only_another_seed_has_is_told_as_nothing(spark: SparkSession) -> None:
    rows = made_up_runs({("x-00000a", 1): 40, ("x-00000a", 2): 40}, duration_ms=DURATION_MS)
    rows.loc[rows["seed"] == 2, "class_name"] = "ingest"
    starting = warmups(spark, {("x-00000a", 1): 0.0, ("x-00000a", 2): 0.0})
    sums = outcomes.outcome_sums(to_spark(spark, rows, TRANSACTION_TYPES))
    told = collected(outcomes.run_outcomes(sums, starting))
    upkeep = told[(told["class_name"] == "upkeep") & (told["operation_type"] == "*")]
    assert sorted(upkeep["seed"]) == [1, 2]
    assert upkeep.set_index("seed").loc[2, "offered"] == 0
    assert upkeep.set_index("seed").loc[2, "offered_share"] == 0.0


def test_a_few_transactions_told_by_hand(spark: SparkSession) -> None:
    def row(
        txn_id: int, status: str, submit: float, latency: float, retries: int
    ) -> dict[str, Any]:
        parts = dict.fromkeys(TRANSACTION_TYPES, 0.0)
        return {
            **parts,
            "experiment": "hand-000000",
            "seed": 1,
            "txn_id": txn_id,
            "class_name": "default",
            "operation_type": "fast_append",
            "status": status,
            "t_submit": submit,
            "commit_latency": latency,
            "total_latency": 100.0 + latency,
            "t_runtime": 100.0,
            "n_retries": retries,
            "backoff_ms": 4.0 * retries,
            "duration_ms": DURATION_MS,
        }

    rows = [
        row(0, "committed", 100.0, 9_000.0, 9),  # before the window
        row(1, "committed", 2_000.0, 10.0, 0),  # on its edge
        row(2, "committed", 3_000.0, 20.0, 1),
        row(3, "aborted", 4_000.0, 500.0, 3),
        row(4, "committed", 5_000.0, 60.0, 2),
        row(5, "in_flight", 9_000.0, 5.0, 7),
    ]
    frame = to_spark(spark, pd.DataFrame(rows), TRANSACTION_TYPES)
    told = measure(spark, frame, {("hand-000000", 1): 2_000.0})
    assert len(told) == 4  # (class, *) × (operation, *)
    for _, found in told.iterrows():
        assert {
            name: found[name]
            for name in (
                "window_start_ms",
                "window_end_ms",
                "offered",
                "committed",
                "aborted",
                "in_flight",
                "offered_per_s",
                "achieved_per_s",
                "success_rate",
                "censored_share",
                "retries_mean",
                "part_backoff_ms",
                "part_runtime_ms",
                "commit_latency_mean_ms",
                "commit_latency_p50_ms",
                "latency_p50_ms",
            )
        } == {
            "window_start_ms": 2_000.0,
            "window_end_ms": 10_000.0,
            "offered": 5,
            "committed": 3,
            "aborted": 1,
            "in_flight": 1,
            "offered_per_s": 5 / 8,
            "achieved_per_s": 3 / 8,
            "success_rate": 0.75,
            "censored_share": 0.2,
            "retries_mean": 1.5,
            "part_backoff_ms": 6.0,
            "part_runtime_ms": 100.0,
            "commit_latency_mean_ms": 30.0,
            "commit_latency_p50_ms": 20.0,
            "latency_p50_ms": 120.0,
        }
        # Rank 1.9 of 10, 20, 60.
        assert found["commit_latency_p95_ms"] == np.quantile([10.0, 20.0, 60.0], 0.95)
        assert found["commit_latency_p95_ms"] == pytest.approx(56.0)


def test_warmups_are_those_of_the_rule(spark: SparkSession) -> None:
    rng = np.random.RandomState(11)
    series = {
        ("warm-00000a", 1): np.r_[np.full(60, 900.0), np.zeros(740)] + rng.normal(100, 5, 800),
        ("warm-00000a", 2): rng.normal(100, 5, 333),
        ("warm-00000b", 1): np.arange(500.0),
        ("warm-00000b", 2): np.arange(7.0),
    }
    frames = []
    for (experiment, seed), latencies in series.items():
        run = made_up_runs({(experiment, seed): 2 * len(latencies)}, duration_ms=DURATION_MS)
        run = run.sort_values("txn_id")
        # Every other one commits; the others must not count, whatever they took.
        run["status"] = ["committed", "in_flight"] * len(latencies)
        run.loc[run["status"] == "committed", "commit_latency"] = latencies
        run.loc[run["status"] == "in_flight", "commit_latency"] = 1e6
        frames.append(run.sample(frac=1.0, random_state=np.random.RandomState(1)))
    rows = pd.concat(frames)
    runs = spark.createDataFrame(
        [(*run, DURATION_MS) for run in [*series, EMPTY]],
        "experiment string, seed bigint, duration_ms double",
    )
    batches = windows.committed_batches(to_spark(spark, rows, TRANSACTION_TYPES))
    found = collected(windows.mser5_warmups(batches, runs)).set_index(list(RUN))
    for run, latencies in series.items():
        expected, told = mser5(latencies), found.loc[run]
        here = (rows["experiment"] == run[0]) & (rows["seed"] == run[1])
        submitted = np.sort(rows[here & (rows["status"] == "committed")]["t_submit"])
        start_ms = submitted[expected.truncated] if expected.truncated else 0.0
        assert (told["commits"], told["batches"]) == (len(latencies), len(latencies) // 5)
        assert told["truncated_batches"] == expected.truncated_batches
        assert told["least_at_batch"] == expected.least_at
        assert told["steady"] == expected.is_steady
        assert told["warmup_ms"] == start_ms
        assert told["standard_error"] == pytest.approx(expected.standard_error, nan_ok=True)
    assert found.loc[("warm-00000a", 1), "truncated_batches"] == 12
    assert not found.loc[("warm-00000b", 1), "steady"]
    nothing = found.loc[EMPTY]
    assert (nothing["commits"], nothing["steady"], nothing["warmup_ms"]) == (0, False, 0.0)


def test_the_timeline_counts_events_where_they_happen(
    spark: SparkSession, transactions: DataFrame, rows: pd.DataFrame
) -> None:
    runs = spark.createDataFrame(
        [(*run, DURATION_MS) for run in [*RUNS, EMPTY]],
        "experiment string, seed bigint, duration_ms double",
    )
    told = collected(timeline.timeline(timeline.event_counts(transactions, 8), runs, 8))
    keyed = told.sort_values("bin_start_ms").set_index([*RUN, *KIND])
    edges = np.linspace(0.0, DURATION_MS, 9)
    for run in RUNS:
        here = rows[(rows["experiment"] == run[0]) & (rows["seed"] == run[1])]
        for class_name, operation_type, chosen in groups_of(here):
            bins = keyed.loc[(*run, class_name, operation_type)]
            assert bins["bin_start_ms"].tolist() == edges[:-1].tolist()
            for event, status, column in (
                ("offered", None, "t_submit"),
                ("committed", "committed", "t_commit"),
                ("aborted", "aborted", "t_abort"),
            ):
                at_ms = chosen[chosen["status"] == status] if status else chosen
                expected = np.histogram(at_ms[column], edges)[0]
                assert bins[event].tolist() == expected.tolist()
    empty = keyed.loc[(*EMPTY, "*", "*")]
    assert (len(empty), empty["offered"].sum()) == (8, 0)


def test_intervals_over_seeds_are_those_of_inference(spark: SparkSession) -> None:
    rng = np.random.RandomState(5)
    samples = {
        "spread": rng.lognormal(8.0, 2.0, 20).tolist(),
        "two": [1.0, 2.0],
        "one": [3.5],
        "alike": [0.1] * 7,
        "large": (1e9 + rng.normal(0.0, 1.0, 12)).tolist(),
    }
    rows = [
        ("x-00000a", seed, "*", "*", metric, value)
        for metric, values in samples.items()
        for seed, value in enumerate(values)
    ]
    frame = spark.createDataFrame(
        rows,
        "experiment string, seed bigint, class_name string, operation_type string, metric string, value double",
    )
    found = collected(intervals.seed_intervals(frame, 20)).set_index("metric")
    for metric, values in samples.items():
        expected = mean_interval(values, intervals.CONFIDENCE)
        told = found.loc[metric]
        assert told["seeds"] == len(values)
        assert told["mean"] == pytest.approx(math.fsum(values) / len(values), rel=1e-12)
        assert told["low"] == pytest.approx(expected.low, rel=1e-9)
        assert told["high"] == pytest.approx(expected.high, rel=1e-9)
    assert (found.loc["one", "low"], found.loc["one", "high"]) == (-math.inf, math.inf)
    assert found.loc["alike", "low"] == found.loc["alike", "high"]


def made_up_attempts() -> pd.DataFrame:
    rng = np.random.RandomState(9)
    count = 400
    is_retry = rng.random_sample(count) < 0.5
    classes = rng.choice(["overlap", "cross_table"], count)
    return pd.DataFrame(
        {
            "experiment": rng.choice(["x-00000a", "y-00000b"], count),
            "seed": rng.choice([1, 2], count),
            "class_name": rng.choice(["ingest", "upkeep"], count),
            "operation_type": rng.choice(["fast_append", "merge_append"], count),
            "kind": np.where(is_retry, "retry", "first"),
            "conflict_class": np.where(is_retry, classes, None),
            "outcome": rng.choice(["committed", "failed", "in_flight"], count),
            "snapshots_behind": np.where(is_retry, rng.randint(1, 4, count), 0),
            **{name: rng.randint(0, 2, count) for name in IO_COUNTERS},
            **{name: rng.exponential(5.0, count) for name in IO_TIMES},
        }
    )


def test_attempts_are_told_as_pandas_tells_them(spark: SparkSession) -> None:
    rows = made_up_attempts()
    types = {
        name: "bigint"
        if name in (*IO_COUNTERS, "seed", "snapshots_behind")
        else "double"
        if name in IO_TIMES
        else "string"
        for name in rows.columns
    }
    frame = to_spark(spark, rows, types)
    sums = attempts.attempt_sums(frame).persist()
    found = collected(attempts.attempt_io(sums)).fillna({"conflict_class": "none"})
    named = rows.fillna({"conflict_class": "none"})
    expected = named.groupby(list(ATTEMPT_IO.keys), as_index=False).size()
    joined = expected.merge(found, on=list(ATTEMPT_IO.keys), how="outer", validate="one_to_one")
    assert (joined["size"] == joined["count"]).all()

    costs = collected(attempts.attempt_costs(sums)).fillna({"conflict_class": "none"})
    sums.unpersist()
    keyed = costs.set_index(["experiment", *KIND, "kind", "conflict_class"])
    whole = named[named["outcome"] != "in_flight"]
    for experiment in ("x-00000a", "y-00000b"):
        for class_name, operation_type, chosen in groups_of(
            whole[whole["experiment"] == experiment]
        ):
            for (kind, conflict), group in chosen.groupby(["kind", "conflict_class"]):
                told = keyed.loc[(experiment, class_name, operation_type, kind, conflict)]
                assert told["attempts"] == len(group)
                assert told["share"] == pytest.approx(len(group) / (chosen["kind"] == kind).sum())
                for name in (*IO_COUNTERS, *IO_TIMES):
                    assert told[name] == pytest.approx(group[name].mean(), rel=1e-12)

    behind = collected(attempts.snapshots_behind_counts(frame))
    assert (
        behind[(behind[list(KIND)] == "*").all(axis=1)]["count"].sum()
        == (rows["kind"] == "retry").sum()
    )


# -- plans ---------------------------------------------------------------------------------------------------------------


def plan_of(frame: DataFrame) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()


@pytest.fixture(scope="module")
def stored(
    spark: SparkSession, rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> DataFrame:
    """The made-up transactions in a file, so that reading them shows in a plan."""
    path: Path = tmp_path_factory.mktemp("stored") / "rows.parquet"
    rows.to_parquet(path)
    types = ", ".join(f"{name} {kind}" for name, kind in TRANSACTION_TYPES.items())
    return spark.read.schema(types).parquet(path.as_uri())


def test_outcomes_are_one_scan_and_one_aggregate_without_python(
    spark: SparkSession, stored: DataFrame
) -> None:
    starting = warmups(spark, STARTS)
    plan = plan_of(outcomes.outcome_sums(windows.in_window(stored, starting)))
    assert plan.count("FileScan") == 1
    # A partial and a final one, around one exchange of what is aggregated already.
    assert plan.count("HashAggregate") == 2
    assert plan.count("Exchange hashpartitioning") == 1
    assert "Expand" not in plan
    assert "Python" not in plan
    assert "Pandas" not in plan


def test_totals_are_made_of_sums_and_not_of_rows(spark: SparkSession, stored: DataFrame) -> None:
    plan = plan_of(
        percentiles.wanted_bins(
            percentiles.bin_counts(percentiles.measured(stored, LATENCIES)), QUANTILES
        )
    )
    assert plan.count("FileScan") == 1
    # Read from the end: scan, aggregate, and only then a row for each grouping set.
    assert plan.index("Expand") < plan.rindex("HashAggregate") < plan.index("FileScan")
    assert "Python" not in plan
    assert "ObjectHashAggregate" not in plan


def test_only_means_of_batches_go_to_python(stored: DataFrame, spark: SparkSession) -> None:
    runs = spark.createDataFrame([], "experiment string, seed bigint, duration_ms double")
    plan = plan_of(windows.mser5_warmups(windows.committed_batches(stored), runs))
    assert plan.count("FileScan") == 1
    assert (
        plan.index("FlatMapGroupsInPandas") < plan.index("HashAggregate") < plan.index("FileScan")
    )
