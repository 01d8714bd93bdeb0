"""From files of runs to evidence: what Spark reads, computes and hands over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from endive.errors import InputError, Problem
from endive.fidelity.evidence import Evidence, Fate, Mean, Seen, Wait
from endive.fidelity.formula import DEFAULT_K_PER_COMMIT
from endive.fidelity.model import Run
from endive.fidelity.transforms import fates, finished_attempts, io_distribution, io_means, waits
from endive.pipeline.consolidation import consolidate, open_frames
from endive.pipeline.schemas import IO_COUNTERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Configs = Mapping[str, Mapping[str, object]]

_FILE = r"/([^/]+)/[0-9]+/[^/]+\.parquet$"


def gather_own(spark: SparkSession, tree: Path, runs: Sequence[Run], configs: Configs) -> Evidence:
    """The evidence of runs that were made just now: their files are as they were written, and need no verifying."""
    attempts = _read(spark, tree, runs, "attempts.parquet")
    return gather(spark, attempts, _read(spark, tree, runs, "results.parquet"), runs, configs)


def gather_given(
    spark: SparkSession, tree: Path, work: Path, runs: Sequence[Run], configs: Configs
) -> Evidence:
    """The evidence of somebody's runs, verified and consolidated at `work`."""
    consolidate(spark, tree, work)
    with open_frames(spark, work) as frames:
        if frames.attempts is None:
            message = "no run recorded its attempts; run them again with --attempts"
            raise InputError([Problem(message, file=str(tree))])
        chosen = [run.name for run in runs]
        attempts = frames.attempts.where(frames.attempts["experiment"].isin(chosen))
        transactions = frames.transactions.where(frames.transactions["experiment"].isin(chosen))
        return gather(spark, attempts, transactions, runs, configs)


def gather(
    spark: SparkSession,
    attempts: DataFrame,
    transactions: DataFrame,
    runs: Sequence[Run],
    configs: Configs,
) -> Evidence:
    """Everything the report asks of the runs; `configs` are flat and by name of the run."""
    attempts = finished_attempts(attempts)
    # It is small beside what it was read from, and read three times.
    attempts.cache()
    sources = spark.createDataFrame(
        [(run.name, run.source) for run in runs], "experiment string, source string"
    )
    named = {run.name: run for run in runs}
    try:
        return Evidence(
            attempts=tuple(_seen(row, named) for row in io_distribution(attempts).collect()),
            means=tuple(_mean(row) for row in io_means(attempts, sources).collect()),
            waits=tuple(_wait(row, named) for row in waits(attempts).collect()),
            fates=tuple(_fate(row, named) for row in fates(transactions).collect()),
            runs=tuple(runs),
            excluded=excluded_runs(configs),
            metadata_apart=frozenset(name for name, config in configs.items() if _is_apart(config)),
            k_per_commit={
                name: _number(config.get(_K, DEFAULT_K_PER_COMMIT))
                for name, config in configs.items()
            },
        )
    finally:
        attempts.unpersist()


def _seen(row: Row, runs: Mapping[str, Run]) -> Seen:
    run = runs[row["experiment"]]
    counts = {name: int(row[name]) for name in IO_COUNTERS}
    counts["current_list_reads"] = counts["manifest_list_reads"] - counts["historical_ml_reads"]
    return Seen(
        run=run.name,
        source=run.source,
        role=run.role,
        class_name=row["class_name"],
        operation=row["operation_type"],
        kind=row["kind"],
        conflict_class=row["conflict_class"],
        n=int(row["snapshots_behind"]),
        attempt=int(row["attempt"]),
        gave_up=bool(row["gave_up"]),
        counts=counts,
        io_ms_low=float(row["io_ms_low"]),
        io_ms_high=float(row["io_ms_high"]),
        count=int(row["seen"]),
    )


def _mean(row: Row) -> Mean:
    return Mean(
        source=row["source"],
        operation=row["operation_type"],
        kind=row["kind"],
        conflict_class=row["conflict_class"],
        attempts=int(row["attempts"]),
        means={name: float(row[f"{name}_mean"]) for name in IO_COUNTERS},
        most={name: int(row[f"{name}_max"]) for name in IO_COUNTERS},
    )


def _wait(row: Row, runs: Mapping[str, Run]) -> Wait:
    run = runs[row["experiment"]]
    low_ms, high_ms = float(row["low_ms"]), float(row["high_ms"])
    return Wait(
        run.name, run.source, run.role, int(row["attempt"]), low_ms, high_ms, int(row["seen"])
    )


def _fate(row: Row, runs: Mapping[str, Run]) -> Fate:
    run = runs[row["experiment"]]
    return Fate(
        run=run.name,
        source=run.source,
        role=run.role,
        class_name=row["class_name"],
        operation=row["operation_type"],
        status=row["status"],
        abort_reason=row["abort_reason"],
        retries_low=int(row["retries_low"]),
        retries_high=int(row["retries_high"]),
        count=int(row["seen"]),
    )


_K = "transaction.manifests_per_concurrent_commit"


def excluded_runs(configs: Configs) -> dict[str, str]:
    """Runs whose counts are no one table's retry, and why."""
    excluded = {}
    for name, config in configs.items():
        tables = config.get("transaction.tables_per_txn", 1)
        if tables != 1:
            excluded[name] = f"each transaction touches {tables} tables, so counts are sums"
        elif config.get("transaction.manifest_list_mode", "rewrite") != "rewrite":
            excluded[name] = "manifest lists are appended to, not written"
    return excluded


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else DEFAULT_K_PER_COMMIT


def _is_apart(config: Mapping[str, object]) -> bool:
    return config.get("catalog.table_metadata_inlined", True) is False


def _read(spark: SparkSession, tree: Path, runs: Sequence[Run], file: str) -> DataFrame:
    from pyspark.sql import functions as F

    paths = [str(tree / run.name / str(seed) / file) for run in runs for seed in run.seeds]
    frame = spark.read.parquet(*paths)
    experiment = F.regexp_extract(F.col("_metadata.file_path"), _FILE, 1)
    return frame.withColumn("experiment", experiment)
