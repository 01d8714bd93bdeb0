"""Which part of a run is measured: from the end of its warm-up to its own end, by the time of submission.

MSER-5 (endive/warmup.py) looks at the commit latencies of a run's committed transactions in order of submission. Their batches
are averaged by Spark; only the means go to Python, where the one implementation of the rule decides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endive.pipeline.columns import RUN
from endive.pipeline.schemas import WARMUP
from endive.warmup import BATCH, mser

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

MSER5 = "mser5"
FIXED = "fixed"

_FOUND = (
    "experiment string, seed bigint, commits bigint, batches bigint, truncated_batches bigint, "
    "least_at_batch bigint, standard_error double, steady boolean, warmup_ms double"
)


def committed_batches(transactions: DataFrame) -> DataFrame:
    """The mean commit latency of each five committed transactions in a row, run by run in order of submission."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy(*RUN).orderBy("t_submit", "txn_id")
    place = F.row_number().over(in_order) - 1
    return (
        transactions.where(F.col("status") == "committed")
        .select(*RUN, "t_submit", "commit_latency", F.floor(place / BATCH).alias("batch"))
        .groupBy(*RUN, "batch")
        .agg(
            F.count("*").alias("commits"),
            F.avg("commit_latency").alias("mean_ms"),
            F.min("t_submit").alias("first_submit_ms"),
        )
        .select(*RUN, "batch", "commits", "mean_ms", "first_submit_ms")
    )


def mser5_warmups(batches: DataFrame, runs: DataFrame) -> DataFrame:
    """The warm-up of every run by MSER-5; one that never settles, or has too few commits to tell, keeps everything.

    `runs` has a row (experiment, seed, duration_ms) for each run, those without a single commit included.
    """
    from pyspark.sql import functions as F

    found = batches.groupBy(*RUN).applyInPandas(_found, _FOUND)
    return (
        runs.join(found, list(RUN), "left")
        .withColumn("method", F.lit(MSER5))
        .select(
            *RUN,
            "method",
            *(
                F.coalesce(column, F.lit(0).cast("bigint")).alias(column)
                for column in ("commits", "batches", "truncated_batches", "least_at_batch")
            ),
            F.coalesce("standard_error", F.lit(math.nan)).alias("standard_error"),
            F.coalesce("steady", F.lit(False)).alias("steady"),
            F.coalesce("warmup_ms", F.lit(0.0)).alias("warmup_ms"),
            "duration_ms",
        )
        .select(*WARMUP.columns)
    )


def fixed_warmups(runs: DataFrame, warmup_ms: float) -> DataFrame:
    """The same warm-up for every run; nobody has looked whether it is one, so none is called steady."""
    from pyspark.sql import functions as F

    nothing = F.lit(0).cast("bigint")
    return runs.select(
        *RUN,
        F.lit(FIXED).alias("method"),
        nothing.alias("commits"),
        nothing.alias("batches"),
        nothing.alias("truncated_batches"),
        nothing.alias("least_at_batch"),
        F.lit(math.nan).alias("standard_error"),
        F.lit(False).alias("steady"),
        F.lit(float(warmup_ms)).alias("warmup_ms"),
        "duration_ms",
    ).select(*WARMUP.columns)


def in_window(rows: DataFrame, warmups: DataFrame) -> DataFrame:
    """The rows whose transaction was submitted when its run had warmed up."""
    from pyspark.sql import functions as F

    starts = warmups.select(*RUN, "warmup_ms")
    return (
        rows.join(F.broadcast(starts), list(RUN))
        .where(F.col("t_submit") >= F.col("warmup_ms"))
        .select(*rows.columns)
    )


def _found(batches: pd.DataFrame) -> pd.DataFrame:
    """The warm-up of one run, from its batches in any order."""
    import pandas as pd

    batches = batches.sort_values("batch")
    whole = batches[batches["commits"] == BATCH]
    found = mser(whole["mean_ms"].to_numpy())
    cut = found.truncated_batches
    return pd.DataFrame(
        {
            "experiment": [batches["experiment"].iloc[0]],
            "seed": [batches["seed"].iloc[0]],
            "commits": [int(batches["commits"].sum())],
            "batches": [found.batches],
            "truncated_batches": [cut],
            "least_at_batch": [found.least_at],
            "standard_error": [found.standard_error],
            "steady": [found.is_steady],
            # Everything submitted before the first transaction that is kept belongs to the warm-up.
            "warmup_ms": [float(whole["first_submit_ms"].iloc[cut]) if cut else 0.0],
        }
    )
