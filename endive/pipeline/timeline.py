"""What happened when: commits, aborts and submissions over the whole run, warm-up included, in bins of equal length.

Unlike in every other table a commit counts here at the time at which it was made, because it is the rate that is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from endive.pipeline.columns import ALL, KIND, RUN
from endive.pipeline.grouping import with_totals
from endive.pipeline.schemas import TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BINS = 60
"""Into how many bins a run is divided."""
_EVENTS = ("committed", "aborted", "offered")


def event_counts(transactions: DataFrame, bins: int = BINS) -> DataFrame:
    """Events by run, class, operation and bin, where there are any."""
    from pyspark.sql import functions as F

    ends = "CASE status WHEN 'committed' THEN t_commit WHEN 'aborted' THEN t_abort END"
    at_ms, what = F.col("at_ms"), F.col("what")
    # What happens at the very end belongs to the last bin.
    number = F.least(F.floor(at_ms / F.col("duration_ms") * bins), F.lit(bins - 1))
    return (
        transactions.select(
            *RUN,
            *KIND,
            "duration_ms",
            F.expr(f"stack(2, 'offered', t_submit, status, {ends}) AS (what, at_ms)"),
        )
        .where(at_ms.isNotNull())
        .groupBy(*RUN, *KIND, number.cast("int").alias("bin"))
        .agg(*(F.count(F.when(what == event, 1)).alias(event) for event in _EVENTS))
        .select(*RUN, *KIND, "bin", *_EVENTS)
    )


def timeline(counts: DataFrame, runs: DataFrame, bins: int = BINS) -> DataFrame:
    """The table `timeline`: totals included, and every bin told, those in which nothing happened too."""
    from pyspark.sql import functions as F

    totals = with_totals(counts, (*RUN, "bin"), _EVENTS)
    groups = totals.select(*RUN, *KIND).union(
        runs.select(*RUN, *(F.lit(ALL).alias(column) for column in KIND))
    )
    every = groups.distinct().select(
        *RUN, *KIND, F.explode(F.sequence(F.lit(0), F.lit(bins - 1))).alias("bin")
    )
    bin_ms = F.col("duration_ms") / bins
    return (
        every.join(totals, [*RUN, *KIND, "bin"], "left")
        .join(runs, list(RUN))
        .select(
            *RUN,
            *KIND,
            (F.col("bin") * bin_ms).alias("bin_start_ms"),
            bin_ms.alias("bin_ms"),
            *(F.coalesce(event, F.lit(0).cast("bigint")).alias(event) for event in _EVENTS),
        )
        .select(*TIMELINE.columns)
    )
