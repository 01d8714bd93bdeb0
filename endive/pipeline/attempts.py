"""What attempts found and paid: the exact distribution of their I/O, its means, and how often each class of conflict was met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endive.pipeline.columns import ATTEMPT_KIND, EXPERIMENT, KIND
from endive.pipeline.grouping import with_totals
from endive.pipeline.schemas import ATTEMPT_COSTS, ATTEMPT_IO, IO_COUNTERS, IO_TIMES
from endive.results import IN_FLIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def attempt_sums(attempts: DataFrame) -> DataFrame:
    """One scan, one aggregate: attempts that found and paid exactly the same, and the time that they took in all."""
    from pyspark.sql import functions as F

    keys = [key for key in ATTEMPT_IO.keys if key != EXPERIMENT]
    return (
        attempts.groupBy(EXPERIMENT, *keys)
        .agg(
            F.count("*").alias("count"),
            *(F.sum(column).alias(column) for column in IO_TIMES),
        )
        .select(EXPERIMENT, *keys, "count", *IO_TIMES)
    )


def attempt_io(sums: DataFrame) -> DataFrame:
    """The table `attempt_io`."""
    return sums.select(*ATTEMPT_IO.columns)


def attempt_costs(sums: DataFrame) -> DataFrame:
    """The table `attempt_costs`: means per attempt, totals included; an attempt that the end cut off has not paid all."""
    from pyspark.sql import functions as F

    count = F.col("count")
    whole = sums.where(F.col("outcome") != IN_FLIGHT)
    kinds = (ATTEMPT_KIND, "conflict_class")
    by_class = whole.groupBy(EXPERIMENT, *KIND, *kinds).agg(
        F.sum("count").alias("attempts"),
        *(F.sum(F.col(column) * count).alias(column) for column in IO_COUNTERS),
        *(F.sum(column).alias(column) for column in IO_TIMES),
    )
    paid = ("attempts", *IO_COUNTERS, *IO_TIMES)
    totals = with_totals(by_class, (EXPERIMENT, *kinds), paid)
    of_kind = totals.groupBy(EXPERIMENT, *KIND, ATTEMPT_KIND).agg(
        F.sum("attempts").alias("of_kind")
    )
    attempts = F.col("attempts")
    return (
        totals.join(of_kind, [EXPERIMENT, *KIND, ATTEMPT_KIND])
        .withColumns({column: F.col(column) / attempts for column in (*IO_COUNTERS, *IO_TIMES)})
        .withColumn("share", attempts / F.col("of_kind"))
        .select(*ATTEMPT_COSTS.columns)
    )


def snapshots_behind_counts(attempts: DataFrame) -> DataFrame:
    """How far behind the attempts were that looked, over all seeds of an experiment."""
    from pyspark.sql import functions as F

    counts = (
        attempts.where(F.col("conflict_class").isNotNull())
        .groupBy(EXPERIMENT, *KIND, F.col("snapshots_behind").alias("value"))
        .agg(F.count("*").alias("count"))
    )
    return (
        with_totals(counts, (EXPERIMENT, "value"), ("count",))
        .withColumn("quantity", F.lit("snapshots_behind"))
        .select(EXPERIMENT, *KIND, "quantity", "value", "count")
    )
