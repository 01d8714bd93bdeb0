"""Exact percentiles of any number of rows in little memory: count coarsely, then look closely at the few bins that matter.

Spark's own exact `percentile` keeps every distinct value of a group in memory, boxed, and once more for each grouping set. A
percentile, however, is one or two values of known rank. So the rows are first counted by class, operation and bin of their
value, where bins are narrow and their order is that of the values. That tells in which bin each wanted rank lies. Only the rows
of those bins, about one in a hundred, are then looked at again and ranked one by one.

The result is that of `numpy.quantile` with its default method, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from endive.pipeline.columns import KIND, RUN
from endive.pipeline.grouping import with_totals

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BINS_PER_OCTAVE = 128
_NOT_POSITIVE = -(2**31)
_BY = (*RUN, "quantity", "bin")
_GROUP = (*RUN, *KIND, "quantity")


def measured(transactions: DataFrame, latencies: Mapping[str, str]) -> DataFrame:
    """Each measured duration of a committed transaction on a row of its own, and the bin it falls into."""
    from pyspark.sql import functions as F

    stack = ", ".join(f"{index}, {column}" for index, column in enumerate(latencies.values()))
    value = F.col("value")
    # A logarithm is the same share of every value wide, whatever the scale. Nothing measured is below zero; what is zero
    # or less has a bin of its own.
    number = F.when(value > 0.0, F.floor(F.log2(value) * BINS_PER_OCTAVE)).otherwise(_NOT_POSITIVE)
    return (
        transactions.where(F.col("status") == "committed")
        .select(*RUN, *KIND, F.expr(f"stack({len(latencies)}, {stack}) AS (quantity, value)"))
        .select(*RUN, *KIND, "quantity", "value", number.cast("int").alias("bin"))
    )


def bin_counts(values: DataFrame) -> DataFrame:
    """How many values fall into each bin."""
    from pyspark.sql import functions as F

    return (
        values.groupBy(*RUN, *KIND, "quantity", "bin")
        .agg(F.count("*").alias("values"))
        .select(*RUN, *KIND, "quantity", "bin", "values")
    )


def wanted_bins(counts: DataFrame, quantiles: Mapping[str, float]) -> DataFrame:
    """The bins in which a wanted rank lies, of every group and its totals; how many values come before, and are in all."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    totals = with_totals(counts, _BY, ("values",))
    group = Window.partitionBy(*_GROUP)
    so_far = F.sum("values").over(group.orderBy("bin"))
    placed = totals.select(
        *_GROUP,
        "bin",
        (so_far - F.col("values")).alias("before"),
        so_far.alias("after"),
        F.sum("values").over(group).alias("in_all"),
    )
    is_wanted = F.lit(False)
    for quantile in quantiles.values():
        below, above, _ = _ranks(F.lit(quantile), F.col("in_all"))
        for rank in (below, above):
            is_wanted = is_wanted | ((F.col("before") <= rank) & (rank < F.col("after")))
    return placed.where(is_wanted).select(*_GROUP, "bin", "before", "in_all")


def values_in(values: DataFrame, wanted: DataFrame) -> DataFrame:
    """The values in bins that any group wants, each with how often it was seen: a tie is one row."""
    from pyspark.sql import functions as F

    bins = wanted.select(*_BY).distinct()
    return (
        values.join(F.broadcast(bins), list(_BY))
        .groupBy(*_BY, *KIND, "value")
        .agg(F.count("*").alias("values"))
        .select(*_BY, *KIND, "value", "values")
    )


def percentiles(
    found: DataFrame,
    wanted: DataFrame,
    latencies: Mapping[str, str],
    quantiles: Mapping[str, float],
) -> DataFrame:
    """Each duration's quantiles by run, class and operation, totals included: one row per `metric`, with its `value`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ranked = with_totals(found, (*_BY, "value"), ("values",)).join(wanted, [*_GROUP, "bin"])
    within = Window.partitionBy(*_GROUP, "bin").orderBy("value")
    end = F.col("before") + F.sum("values").over(within)
    points = ", ".join(f"'{point}', {quantile!r}D" for point, quantile in quantiles.items())
    placed = ranked.select(
        *_GROUP, "value", "in_all", (end - F.col("values")).alias("from"), end.alias("to")
    ).select("*", F.expr(f"stack({len(quantiles)}, {points}) AS (point, quantile)"))
    below, above, share = _ranks(F.col("quantile"), F.col("in_all"))

    def at(rank: Column) -> Column:
        holds = (F.col("from") <= rank) & (rank < F.col("to"))
        return F.max(F.when(holds, F.col("value")))

    names = F.array(*(F.lit(name) for name in latencies))
    return (
        placed.groupBy(*_GROUP, "point", "quantile", "in_all")
        .agg(at(below).alias("below"), at(above).alias("above"))
        .select(
            *RUN,
            *KIND,
            F.concat_ws("_", names[F.col("quantity")], "point", F.lit("ms")).alias("metric"),
            _between(F.col("below"), F.col("above"), share).alias("value"),
        )
    )


def _ranks(quantile: Column, in_all: Column) -> tuple[Column, Column, Column]:
    """The ranks between which a quantile lies, counted from 0, and how far it is from the lower one."""
    from pyspark.sql import functions as F

    place = (in_all - 1).cast("double") * quantile
    below = F.floor(place)
    above = F.least(below + 1, in_all - 1)
    return below, above, place - below


def _between(below: Column, above: Column, share: Column) -> Column:
    """Linear interpolation from whichever end is nearer, as numpy does it."""
    from pyspark.sql import functions as F

    apart = above - below
    return F.when(share >= 0.5, above - apart * (1.0 - share)).otherwise(below + apart * share)
