"""Means over seeds and how sure they are: Student's t, as in endive/inference.py. Seeds are the sample, transactions are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endive.pipeline.columns import EXPERIMENT, KIND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CONFIDENCE = 0.95


def seed_intervals(metrics: DataFrame, most_seeds: int) -> DataFrame:
    """The mean of every metric over the seeds that have it, and the ends of its interval: `mean`, `low` and `high`.

    One seed says nothing of its own spread: its interval is without ends. No experiment has more than `most_seeds` seeds.
    """
    from pyspark.sql import functions as F

    count = F.col("seeds")
    half = (
        F.element_at(_t_quantiles(most_seeds), count.cast("int")) * F.col("spread") / F.sqrt(count)
    )
    # Values that are all alike have an interval without width; rounding must not give it one.
    width = (
        F.when(count == 1, F.lit(math.inf))
        .when(F.col("least") == F.col("most"), F.lit(0.0))
        .otherwise(half)
    )
    return (
        metrics.groupBy(EXPERIMENT, *KIND, "metric")
        .agg(
            F.count("*").alias("seeds"),
            F.avg("value").alias("mean"),
            F.stddev_samp("value").alias("spread"),
            F.min("value").alias("least"),
            F.max("value").alias("most"),
        )
        .select(
            EXPERIMENT,
            *KIND,
            "metric",
            "seeds",
            "mean",
            (F.col("mean") - width).alias("low"),
            (F.col("mean") + width).alias("high"),
        )
    )


def _t_quantiles(most_seeds: int) -> Column:
    """For every number of seeds the half width of an interval, in standard errors; SciPy knows it, Spark does not."""
    from pyspark.sql import functions as F
    from scipy.stats import t

    halves = [float(t.ppf(0.5 + CONFIDENCE / 2.0, count - 1)) for count in range(2, most_seeds + 1)]
    return F.array(*(F.lit(half) for half in (math.inf, *halves)))
