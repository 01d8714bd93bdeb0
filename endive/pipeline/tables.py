"""The tables of an experiments tree: everything that is asked of its data, after aggregation (docs/PIPELINE.md).

Only here is anything collected, and only what has been aggregated.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from endive.errors import InputError, Problem
from endive.pipeline import attempts, intervals, outcomes, percentiles, timeline, windows
from endive.pipeline.columns import EXPERIMENT, KIND, RUN, config_column
from endive.pipeline.consolidation import open_frames
from endive.pipeline.manifest import Manifest
from endive.pipeline.schemas import (
    HISTOGRAMS,
    LATENCIES,
    METRICS,
    QUANTILES,
    SCHEMAS,
    TableSchema,
)
from endive.utils import whole_file

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

_DTYPES = {"long": "int64", "double": "float64", "boolean": "bool"}
_RUN_TYPES = "experiment string, seed bigint, duration_ms double"

WarmUpRule = Literal["mser5"] | float
"""By MSER-5, run by run, or the same number of milliseconds for all."""
_MSER5: WarmUpRule = "mser5"


@dataclass(frozen=True)
class Tables:
    """Everything that is asked of a tree, as small frames; `endive.pipeline.schemas` names their columns."""

    experiments: pd.DataFrame
    """One row per experiment: label, config_hash, code_version, seeds and every configuration key."""
    warmup: pd.DataFrame
    runs: pd.DataFrame
    cells: pd.DataFrame
    timeline: pd.DataFrame
    histograms: pd.DataFrame
    attempt_io: pd.DataFrame
    attempt_costs: pd.DataFrame

    def save(self, directory: str | Path) -> list[Path]:
        """Write each table as `<name>.parquet`; each file appears whole."""
        written = []
        for field in fields(self):
            path = Path(directory) / f"{field.name}.parquet"
            with whole_file(path) as beside:
                getattr(self, field.name).to_parquet(beside, index=False)
            written.append(path)
        return written


def load_tables(directory: str | Path) -> Tables:
    """The tables that `Tables.save` wrote."""
    import pandas as pd

    paths = {field.name: Path(directory) / f"{field.name}.parquet" for field in fields(Tables)}
    missing = [path for path in paths.values() if not path.is_file()]
    if missing:
        message = "is missing; build the tables of the tree again"
        raise InputError([Problem(message, file=str(path)) for path in missing])
    return Tables(**{name: pd.read_parquet(path) for name, path in paths.items()})


def build_tables(
    spark: SparkSession,
    directory: str | Path,
    *,
    warmup: WarmUpRule = _MSER5,
    bins: int = timeline.BINS,
    quantiles: Mapping[str, float] = QUANTILES,
    on_step: Callable[[str], None] | None = None,
) -> Tables:
    """All tables of the consolidated data in a directory. `on_step` is told what is being worked on.

    The columns of percentiles that are not among `quantiles` are there and empty: they take a second look at the data.
    """
    step = on_step or (lambda _: None)
    with open_frames(spark, directory) as frames, contextlib.ExitStack() as kept:
        manifest = frames.manifest
        _check_warmup(warmup, manifest)
        runs = _runs(spark, manifest)

        step("warm-up")
        warmups = _collected(_warmups(frames.transactions, runs, warmup), "warmup")
        found = _small(spark, warmups, "warmup")

        step("outcomes")
        windowed = windows.in_window(frames.transactions, found)
        sums = kept.enter_context(_kept(outcomes.outcome_sums(windowed)))
        counted = kept.enter_context(_kept(outcomes.run_outcomes(sums, found)))
        metrics = outcomes.run_metrics(counted)
        exact = None
        if quantiles:
            step("percentiles")
            exact = kept.enter_context(_kept(_percentiles(windowed, quantiles, kept)))
            metrics = metrics.union(exact.select(*metrics.columns))
        runs_table = _with_percentiles(counted, exact)
        step("intervals")
        means = collected(intervals.seed_intervals(metrics, _most_seeds(manifest)))
        cells = _cells(means, runs_table)

        step("timeline")
        counts = timeline.event_counts(frames.transactions, bins)
        told_when = _collected(timeline.timeline(counts, runs, bins), "timeline")

        step("attempts")
        histograms = outcomes.retry_counts(sums)
        of_attempts = _nothing(spark, "attempt_io"), _nothing(spark, "attempt_costs")
        if frames.attempts is not None:
            paid = kept.enter_context(_kept(attempts.attempt_sums(frames.attempts)))
            of_attempts = attempts.attempt_io(paid), attempts.attempt_costs(paid)
            behind = attempts.snapshots_behind_counts(windows.in_window(frames.attempts, found))
            histograms = histograms.union(behind)
        return Tables(
            experiments=_experiments(manifest),
            warmup=warmups,
            runs=runs_table,
            cells=_with_varied(cells, manifest),
            timeline=told_when,
            histograms=_collected(histograms.select(*HISTOGRAMS.columns), "histograms"),
            attempt_io=_collected(of_attempts[0], "attempt_io"),
            attempt_costs=_collected(of_attempts[1], "attempt_costs"),
        )


def collected(frame: DataFrame) -> pd.DataFrame:
    """What has been aggregated, brought to the driver."""
    # By way of Arrow: what Spark's own way asks of pandas, pandas warns about.
    table: pd.DataFrame = frame.toArrow().to_pandas()
    return table


def varied_keys(manifest: Manifest) -> list[str]:
    """The configuration keys in which the experiments of a tree differ; that one lacks a key is a difference."""
    configs = [manifest.config(name) for name in manifest.experiments]
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]


def _warmups(transactions: DataFrame, runs: DataFrame, rule: WarmUpRule) -> DataFrame:
    if isinstance(rule, str):
        return windows.mser5_warmups(windows.committed_batches(transactions), runs)
    return windows.fixed_warmups(runs, rule)


def _check_warmup(rule: WarmUpRule, manifest: Manifest) -> None:
    if isinstance(rule, str):
        if rule != windows.MSER5:
            message = f"{rule!r} is no rule for the warm-up; use {windows.MSER5!r} or milliseconds"
            raise InputError([Problem(message, key="warmup")])
        return
    shortest = min(manifest.runs, key=lambda run: run.duration_ms)
    if not 0.0 <= rule < shortest.duration_ms:
        message = (
            f"{rule:g} ms is no warm-up of a run of {shortest.duration_ms:g} ms; "
            "use at least 0 and less than the shortest run"
        )
        raise InputError([Problem(message, key="warmup", file=shortest.files.results.path)])


def _runs(spark: SparkSession, manifest: Manifest) -> DataFrame:
    rows = [(run.files.experiment, run.files.seed, run.duration_ms) for run in manifest.runs]
    return spark.createDataFrame(rows, _RUN_TYPES)


def _small(spark: SparkSession, table: pd.DataFrame, name: str) -> DataFrame:
    """A table that has been collected, handed back to Spark."""
    columns = SCHEMAS[name].columns.items()
    rows = table[list(SCHEMAS[name].columns)].astype(object).to_numpy().tolist()
    return spark.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in columns))


def _most_seeds(manifest: Manifest) -> int:
    return max(_seeds(manifest).values())


def _seeds(manifest: Manifest) -> Counter[str]:
    """How many seeds each experiment has."""
    return Counter(run.files.experiment for run in manifest.runs)


@contextlib.contextmanager
def _kept(frame: DataFrame) -> Iterator[DataFrame]:
    """A frame that is used more than once, computed once."""
    kept = frame.persist()
    try:
        kept.count()
        yield kept
    finally:
        kept.unpersist()


def _nothing(spark: SparkSession, name: str) -> DataFrame:
    columns = SCHEMAS[name].columns.items()
    return spark.createDataFrame([], ", ".join(f"`{name}` {kind}" for name, kind in columns))


def _collected(frame: DataFrame, name: str) -> pd.DataFrame:
    """A table of aggregated rows."""
    return _typed(collected(frame.select(*SCHEMAS[name].columns)), name)


def _typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table in order of its keys, with the columns and types that its schema promises."""
    schema: TableSchema = SCHEMAS[name]
    types = {column: _DTYPES[kind] for column, kind in schema.columns.items() if kind in _DTYPES}
    table = table[list(schema.columns)].astype(types)
    in_order: pd.DataFrame = table.sort_values(list(schema.keys), ignore_index=True)
    return in_order


def _percentiles(
    windowed: DataFrame, quantiles: Mapping[str, float], kept: contextlib.ExitStack
) -> DataFrame:
    values = percentiles.measured(windowed, LATENCIES)
    # What is kept has a known size, so that Spark sends it to the rows and not the rows to it.
    wanted = kept.enter_context(
        _kept(percentiles.wanted_bins(percentiles.bin_counts(values), quantiles))
    )
    found = percentiles.values_in(values, wanted)
    return percentiles.percentiles(found, wanted, LATENCIES, quantiles)


def _with_percentiles(outcomes: DataFrame, exact: DataFrame | None) -> pd.DataFrame:
    """The table `runs`, of two that have been aggregated."""
    keys = [*RUN, *KIND]
    table = collected(outcomes)
    if exact is not None:
        wide = collected(exact).pivot(index=keys, columns="metric", values="value").reset_index()
        table = table.merge(wide, on=keys, how="left", validate="one_to_one")
    # Where nothing was committed anywhere there is no percentile, but there is its column.
    return _typed(table.reindex(columns=list(SCHEMAS["runs"].columns)), "runs")


def _cells(means: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The table `cells` without its varying keys, of means with a row per metric."""
    keys = [EXPERIMENT, *KIND]
    seeds = runs.groupby(keys, as_index=False).agg(
        seeds=("steady", "size"), seeds_steady=("steady", "sum")
    )
    for end, suffix in (("mean", ""), ("low", "_low"), ("high", "_high")):
        wide = means.pivot(index=keys, columns="metric", values=end)
        wide = wide.reindex(columns=list(METRICS)).add_suffix(suffix).reset_index()
        seeds = seeds.merge(wide, on=keys, how="left", validate="one_to_one")
    return _typed(seeds, "cells")


def _with_varied(cells: pd.DataFrame, manifest: Manifest) -> pd.DataFrame:
    varied = [config_column(key) for key in varied_keys(manifest)]
    experiments = _experiments(manifest)[[EXPERIMENT, *varied]]
    return cells.merge(experiments, on=EXPERIMENT, how="left", validate="many_to_one")


def _experiments(manifest: Manifest) -> pd.DataFrame:
    import pandas as pd

    seeds = _seeds(manifest)
    rows: list[dict[str, Any]] = []
    for name, one in sorted(manifest.experiments.items()):
        config: Mapping[str, Any] = one["config"]
        rows.append(
            {
                EXPERIMENT: name,
                "label": one["label"],
                "config_hash": one["config_hash"],
                "code_version": one["version"],
                "seeds": seeds[name],
                **{config_column(key): value for key, value in config.items()},
            }
        )
    frame = pd.DataFrame(rows)
    first = [EXPERIMENT, "label", "config_hash", "code_version", "seeds"]
    return frame[first + sorted(set(frame.columns) - set(first))]
