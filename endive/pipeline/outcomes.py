"""What came of the transactions of a window: counts, rates, shares and means, all over the same transactions.

Offered is what was submitted within the window, and everything else says what became of exactly these: committed, aborted, or
still in flight when the run ended. What is in flight is counted and told as the censored share; it has no latency yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from endive.pipeline.columns import ALL, EXPERIMENT, KIND, RUN
from endive.pipeline.grouping import with_totals
from endive.pipeline.schemas import COUNTS, LATENCIES, METRICS, PART_COLUMNS
from endive.results import IN_FLIGHT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SUM = "sum_"
SUMS = (
    *COUNTS,
    *(f"{_SUM}{name}" for name in LATENCIES),
    f"{_SUM}retries",
    *(f"{_SUM}{name}" for name in PART_COLUMNS),
)
"""What is added up over transactions; everything told of them is made of these."""


def outcome_sums(transactions: DataFrame) -> DataFrame:
    """One scan, one aggregate: sums by run, class, operation and number of retries; those in flight have none yet."""
    from pyspark.sql import functions as F

    status = F.col("status")
    committed, in_flight = status == "committed", status == IN_FLIGHT
    finished = ~in_flight

    def summed(column: str, of: Column) -> Column:
        return F.coalesce(F.sum(F.when(of, F.col(column))), F.lit(0.0))

    return (
        transactions.withColumn("retries", F.when(finished, F.col("n_retries")))
        .groupBy(*RUN, *KIND, "retries")
        .agg(
            F.count("*").alias("offered"),
            F.count(F.when(committed, 1)).alias("committed"),
            F.count(F.when(status == "aborted", 1)).alias("aborted"),
            F.count(F.when(in_flight, 1)).alias("in_flight"),
            *(
                summed(column, committed).alias(f"{_SUM}{name}")
                for name, column in LATENCIES.items()
            ),
            *(
                summed(column, finished).alias(f"{_SUM}{name}")
                for name, column in PART_COLUMNS.items()
            ),
            F.coalesce(F.sum("retries"), F.lit(0)).alias(f"{_SUM}retries"),
        )
        .select(*RUN, *KIND, "retries", *SUMS)
    )


def run_outcomes(sums: DataFrame, warmups: DataFrame) -> DataFrame:
    """Counts, rates, shares and means of every run, its totals included.

    A run has a row for every class and operation that any run of its experiment has: that it saw none is a figure too.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    windows = warmups.select(*RUN, "warmup_ms", "steady", "duration_ms")
    seen = sums.select(*RUN, *KIND, *SUMS)
    kinds = seen.select(EXPERIMENT, *KIND).distinct()
    none = windows.select(*RUN).join(kinds, EXPERIMENT)
    types = {field.name: field.dataType for field in seen.schema}
    nothing = none.select(*RUN, *KIND, *(F.lit(0).cast(types[name]).alias(name) for name in SUMS))
    every = windows.join(with_totals(seen.union(nothing), RUN, SUMS), list(RUN), "left")
    span_s = (F.col("duration_ms") - F.col("warmup_ms")) / 1000.0
    counted = {name: F.coalesce(name, F.lit(0).cast("bigint")) for name in COUNTS}
    finished = counted["committed"] + counted["aborted"]
    # Nobody offers more than all of them together.
    offered_by_run = F.max("offered").over(Window.partitionBy(*RUN))
    return every.select(
        *RUN,
        *(F.coalesce(column, F.lit(ALL)).alias(column) for column in KIND),
        F.col("warmup_ms").alias("window_start_ms"),
        F.col("duration_ms").alias("window_end_ms"),
        "warmup_ms",
        "steady",
        *(count.alias(name) for name, count in counted.items()),
        (counted["offered"] / span_s).alias("offered_per_s"),
        (counted["committed"] / span_s).alias("achieved_per_s"),
        F.try_divide(counted["committed"], finished).alias("success_rate"),
        F.try_divide(counted["in_flight"], counted["offered"]).alias("censored_share"),
        F.try_divide(counted["offered"], offered_by_run).alias("offered_share"),
        *(
            F.try_divide(F.col(f"{_SUM}{name}"), counted["committed"]).alias(f"{name}_mean_ms")
            for name in LATENCIES
        ),
        F.try_divide(F.col(f"{_SUM}retries"), finished).alias("retries_mean"),
        *(F.try_divide(F.col(f"{_SUM}{name}"), finished).alias(name) for name in PART_COLUMNS),
    )


def run_metrics(outcomes: DataFrame) -> DataFrame:
    """Everything measured in each run, one row per `metric`, with its `value`; what a run has no value of has no row."""
    from pyspark.sql import functions as F

    measured = [name for name in METRICS if name in outcomes.columns]
    pairs = ", ".join(f"'{name}', CAST({name} AS double)" for name in measured)
    return (
        outcomes.select(*RUN, *KIND, F.expr(f"stack({len(measured)}, {pairs}) AS (metric, value)"))
        .where(F.col("value").isNotNull())
        .select(*RUN, *KIND, "metric", "value")
    )


def retry_counts(sums: DataFrame) -> DataFrame:
    """How many finished transactions took how many retries, over all seeds of an experiment."""
    from pyspark.sql import functions as F

    counts = (
        sums.where(F.col("retries").isNotNull())
        .groupBy(EXPERIMENT, *KIND, F.col("retries").alias("value"))
        .agg(F.sum("offered").alias("count"))
    )
    return (
        with_totals(counts, (EXPERIMENT, "value"), ("count",))
        .withColumn("quantity", F.lit("n_retries"))
        .select(EXPERIMENT, *KIND, "quantity", "value", "count")
    )
