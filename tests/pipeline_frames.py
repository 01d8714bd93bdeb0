"""Rows of transactions and attempts for tests of the pipeline, and what numpy and pandas make of them.

What is computed here shares no code with the pipeline: it says the same once more, one run and one group at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRANSACTION_TYPES = {
    "experiment": "string",
    "seed": "bigint",
    "txn_id": "bigint",
    "class_name": "string",
    "operation_type": "string",
    "status": "string",
    "t_submit": "double",
    "t_commit": "double",
    "t_abort": "double",
    "t_runtime": "double",
    "commit_latency": "double",
    "total_latency": "double",
    "n_retries": "bigint",
    "catalog_read_ms": "double",
    "per_attempt_io_ms": "double",
    "conflict_io_ms": "double",
    "catalog_commit_ms": "double",
    "backoff_ms": "double",
    "start_io_ms": "double",
    "rework_ms": "double",
    "duration_ms": "double",
}
PARTS = {
    "part_catalog_read_ms": "catalog_read_ms",
    "part_runtime_ms": "t_runtime",
    "part_per_attempt_io_ms": "per_attempt_io_ms",
    "part_conflict_io_ms": "conflict_io_ms",
    "part_catalog_commit_ms": "catalog_commit_ms",
    "part_backoff_ms": "backoff_ms",
    "part_start_io_ms": "start_io_ms",
    "part_rework_ms": "rework_ms",
}


def made_up_runs(
    runs: dict[tuple[str, int], int], *, duration_ms: float = 10_000.0, seed: int = 7
) -> pd.DataFrame:
    """So many transactions for each (experiment, seed), with ties, zeros, and all three ways to end."""
    rng = np.random.RandomState(seed)
    frames = []
    for (experiment, run_seed), count in runs.items():
        latency = rng.lognormal(3.0, 1.5, count)
        # Fixed latencies make ties, and an instant store makes zeros.
        latency[rng.random_sample(count) < 0.3] = 50.0
        latency[rng.random_sample(count) < 0.1] = 0.0
        runtime = rng.lognormal(4.0, 1.0, count)
        submit = np.sort(rng.uniform(0.0, duration_ms, count))
        status = rng.choice(["committed", "aborted", "in_flight"], count, p=[0.7, 0.2, 0.1])
        end = np.minimum(submit + runtime + latency, duration_ms)
        frames.append(
            pd.DataFrame(
                {
                    "experiment": experiment,
                    "seed": run_seed,
                    "txn_id": np.arange(count),
                    "class_name": rng.choice(["ingest", "upkeep"], count, p=[0.8, 0.2]),
                    "operation_type": rng.choice(["fast_append", "merge_append"], count),
                    "status": status,
                    "t_submit": submit,
                    "t_commit": np.where(status == "committed", end, -1.0),
                    "t_abort": np.where(status == "aborted", end, -1.0),
                    "t_runtime": runtime,
                    "commit_latency": latency,
                    "total_latency": latency + runtime,
                    "n_retries": rng.geometric(0.4, count) - 1,
                    **{
                        column: rng.exponential(5.0, count)
                        for column in PARTS.values()
                        if column != "t_runtime"
                    },
                    "duration_ms": duration_ms,
                }
            )
        )
    # Nothing may depend on the order of rows.
    together = pd.concat(frames, ignore_index=True)
    return together.sample(frac=1.0, random_state=np.random.RandomState(seed))


def to_spark(spark: SparkSession, frame: pd.DataFrame, types: dict[str, str]) -> DataFrame:
    """A pandas frame as a Spark one."""
    # A word that is missing is NaN to pandas and would be a word to Spark.
    chosen = frame[list(types)].astype(object)
    rows = chosen.where(chosen.notna(), None).to_numpy().tolist()
    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    return spark.createDataFrame(rows, schema)


def groups_of(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Every class and operation, totals included, and the rows of each."""
    for class_name in ("*", *sorted(rows["class_name"].unique())):
        for operation_type in ("*", *sorted(rows["operation_type"].unique())):
            chosen = rows
            if class_name != "*":
                chosen = chosen[chosen["class_name"] == class_name]
            if operation_type != "*":
                chosen = chosen[chosen["operation_type"] == operation_type]
            yield class_name, operation_type, chosen


def expected_run(rows: pd.DataFrame, start_ms: float, end_ms: float) -> dict[str, Any]:
    """What the table `runs` must say of a group of rows in a window."""
    inside = rows[rows["t_submit"] >= start_ms]
    committed = inside[inside["status"] == "committed"]
    aborted = inside[inside["status"] == "aborted"]
    finished = pd.concat([committed, aborted])
    in_flight = inside[inside["status"] == "in_flight"]
    span_s = (end_ms - start_ms) / 1000.0

    def ratio(part: int, whole: int) -> float:
        return part / whole if whole else float("nan")

    told: dict[str, Any] = {
        "offered": len(inside),
        "committed": len(committed),
        "aborted": len(aborted),
        "in_flight": len(in_flight),
        "offered_per_s": len(inside) / span_s,
        "achieved_per_s": len(committed) / span_s,
        "success_rate": ratio(len(committed), len(finished)),
        "censored_share": ratio(len(in_flight), len(inside)),
        "retries_mean": finished["n_retries"].mean(),
        "latency_mean_ms": committed["total_latency"].mean(),
        "commit_latency_mean_ms": committed["commit_latency"].mean(),
    }
    for name, column in PARTS.items():
        told[name] = finished[column].mean()
    for name, column in (("latency", "total_latency"), ("commit_latency", "commit_latency")):
        for point, quantile in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            values = committed[column].to_numpy()
            told[f"{name}_{point}_ms"] = (
                float(np.quantile(values, quantile)) if len(values) else float("nan")
            )
    return told
