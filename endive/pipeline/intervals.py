"""Means over seeds and how sure they are: Student's t, as in endive/inference.py. Seeds are the sample, transactions are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from endive.pipeline.columns import EXPERIMENT, KIND
from endive.pipeline.schemas import CELLS, METRICS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CONFIDENCE = 0.95


def seed_intervals(runs: DataFrame, most_seeds: int) -> DataFrame:
    """The table `cells`: every metric's mean over the seeds that have it, with its interval of confidence.

    One seed says nothing of its own spread: its interval is without ends. No experiment has more than `most_seeds` seeds.
    """
    from pyspark.sql import functions as F

    quantiles = _t_quantiles(most_seeds)
    sums = [F.count("*").alias("seeds"), F.count(F.when(F.col("steady"), 1)).alias("seeds_steady")]
    for name in METRICS:
        value = F.col(name).cast("double")
        sums += [
            F.avg(value).alias(name),
            F.stddev_samp(value).alias(f"{name}_spread"),
            F.count(value).alias(f"{name}_seeds"),
            (F.min(value) == F.max(value)).alias(f"{name}_alike"),
        ]
    cells = runs.groupBy(EXPERIMENT, *KIND).agg(*sums)
    columns: list[Column] = []
    for name in METRICS:
        mean, count = F.col(name), F.col(f"{name}_seeds")
        half = F.element_at(quantiles, count.cast("int")) * F.col(f"{name}_spread") / F.sqrt(count)
        # Values that are all alike have an interval without width; rounding must not give it one.
        width = (
            F.when(count == 0, F.lit(None))
            .when(count == 1, F.lit(math.inf))
            .when(F.col(f"{name}_alike"), F.lit(0.0))
            .otherwise(half)
        )
        columns += [mean, (mean - width).alias(f"{name}_low"), (mean + width).alias(f"{name}_high")]
    return cells.select(EXPERIMENT, *KIND, "seeds", "seeds_steady", *columns).select(*CELLS.columns)


def _t_quantiles(most_seeds: int) -> Column:
    """For every number of seeds the half width of an interval, in standard errors; SciPy knows it, Spark does not."""
    from pyspark.sql import functions as F
    from scipy.stats import t

    halves = [float(t.ppf(0.5 + CONFIDENCE / 2.0, count - 1)) for count in range(2, most_seeds + 1)]
    return F.array(*(F.lit(half) for half in (math.inf, *halves)))
