"""What Spark computes of the runs: DataFrame in, DataFrame out. The session and the paths are the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endive.pipeline.schemas import IO_COUNTERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SITUATION = ("operation_type", "kind", "conflict_class", "snapshots_behind")


def finished_attempts(attempts: DataFrame) -> DataFrame:
    """Attempts that came to an end, told apart as first ones and retries; those after a restart are first ones again."""
    from pyspark.sql import functions as F

    kind = F.when(F.col("attempt") == 0, "first").otherwise("retry")
    return (
        attempts.where((F.col("outcome") != "in_flight") & (F.col("restart") == 0))
        .withColumn("kind", kind)
        .withColumn("conflict_class", F.coalesce(F.col("conflict_class"), F.lit("")))
        .withColumn("gave_up", F.col("outcome") == "aborted")
        .withColumn("io_ms", F.col("conflict_io_ms") + F.col("per_attempt_io_ms"))
        .select(
            "experiment",
            "class_name",
            *SITUATION,
            "gave_up",
            *IO_COUNTERS,
            "io_ms",
            "attempt",
            "backoff_ms",
        )
    )


def io_distribution(attempts: DataFrame) -> DataFrame:
    """The exact distribution of I/O: how often each combination of counts was seen, by experiment and situation."""
    from pyspark.sql import functions as F

    return attempts.groupBy("experiment", "class_name", *SITUATION, "gave_up", *IO_COUNTERS).agg(
        F.count("*").alias("seen"),
        F.min("attempt").alias("attempt"),
        F.min("io_ms").alias("io_ms_low"),
        F.max("io_ms").alias("io_ms_high"),
    )


def io_means(attempts: DataFrame, sources: DataFrame) -> DataFrame:
    """Mean I/O per attempt and per retry, by cost table, operation and class; `sources` says which experiment had which table."""
    from pyspark.sql import functions as F

    return (
        attempts.where(~F.col("gave_up"))
        .join(F.broadcast(sources), "experiment")
        .groupBy("source", "operation_type", "kind", "conflict_class")
        .agg(
            F.count("*").alias("attempts"),
            *(F.avg(name).alias(f"{name}_mean") for name in IO_COUNTERS),
            *(F.max(name).alias(f"{name}_max") for name in IO_COUNTERS),
        )
    )


def waits(attempts: DataFrame) -> DataFrame:
    """How long was waited before each retry, at least and at most."""
    from pyspark.sql import functions as F

    return (
        attempts.where(F.col("kind") == "retry")
        .groupBy("experiment", "class_name", "attempt")
        .agg(
            F.count("*").alias("seen"),
            F.min("backoff_ms").alias("low_ms"),
            F.max("backoff_ms").alias("high_ms"),
        )
    )


def fates(transactions: DataFrame) -> DataFrame:
    """What became of transactions, by experiment, class of load and operation."""
    from pyspark.sql import functions as F

    reason = F.coalesce(F.col("abort_reason"), F.lit(""))
    return (
        transactions.withColumn("abort_reason", reason)
        .groupBy("experiment", "class_name", "operation_type", "status", "abort_reason")
        .agg(
            F.count("*").alias("seen"),
            F.min("n_retries").alias("retries_low"),
            F.max("n_retries").alias("retries_high"),
        )
    )
