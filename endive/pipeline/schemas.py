"""The tables after aggregation: which columns, of which type, and what each means (docs/PIPELINE.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from endive.pipeline.columns import EXPERIMENT, KIND, RUN
from endive.summary import TIME_PARTS

ColumnType = Literal["string", "long", "double", "boolean"]

IO_COUNTERS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
)
"""The operations that are counted per transaction and per attempt."""
IO_TIMES = (
    "catalog_read_ms",
    "start_io_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "rework_ms",
)
"""Where the time of an attempt goes."""
LATENCIES = {"latency": "total_latency", "commit_latency": "commit_latency"}
"""The measured durations, and the column that holds each."""
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
PERCENTILES = tuple(f"{name}_{point}_ms" for name in LATENCIES for point in QUANTILES)
PART_COLUMNS = {f"part_{part}_ms": column for part, column in TIME_PARTS.items()}
"""Mean time per finished transaction, by part."""

COUNTS = ("offered", "committed", "aborted", "in_flight")
METRICS = (
    *COUNTS,
    "offered_per_s",
    "achieved_per_s",
    "success_rate",
    "censored_share",
    "offered_share",
    *(f"{name}_{point}_ms" for name in LATENCIES for point in ("mean", *QUANTILES)),
    "retries_mean",
    *PART_COLUMNS,
)
"""What is measured in each run, and averaged over seeds."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table in order; together the first of them name a row."""

    columns: Mapping[str, ColumnType]
    keys: tuple[str, ...]


def _schema(
    keys: tuple[str, ...],
    values: Mapping[str, ColumnType],
    key_types: Mapping[str, ColumnType] | None = None,
) -> TableSchema:
    longs = {"seed", "value", "snapshots_behind"}
    types: dict[str, ColumnType] = {key: "long" if key in longs else "string" for key in keys}
    return TableSchema({**types, **(key_types or {}), **values}, keys)


def _metric_type(name: str) -> ColumnType:
    return "long" if name in COUNTS else "double"


WARMUP = _schema(
    RUN,
    {
        "method": "string",
        "commits": "long",
        "batches": "long",
        "truncated_batches": "long",
        "least_at_batch": "long",
        "standard_error": "double",
        "steady": "boolean",
        "warmup_ms": "double",
        "duration_ms": "double",
    },
)
RUNS = _schema(
    (*RUN, *KIND),
    {
        "window_start_ms": "double",
        "window_end_ms": "double",
        "warmup_ms": "double",
        "steady": "boolean",
        **{name: _metric_type(name) for name in METRICS},
    },
)
CELLS = _schema(
    (EXPERIMENT, *KIND),
    {
        "seeds": "long",
        "seeds_steady": "long",
        **{
            column: "double" for name in METRICS for column in (name, f"{name}_low", f"{name}_high")
        },
    },
)
TIMELINE = _schema(
    (*RUN, *KIND, "bin_start_ms"),
    {"bin_ms": "double", "committed": "long", "aborted": "long", "offered": "long"},
    {"bin_start_ms": "double"},
)
HISTOGRAMS = _schema((EXPERIMENT, *KIND, "quantity", "value"), {"count": "long"})
ATTEMPT_IO = _schema(
    (
        EXPERIMENT,
        *KIND,
        "kind",
        "conflict_class",
        "outcome",
        "snapshots_behind",
        *IO_COUNTERS,
    ),
    {"count": "long"},
    dict.fromkeys(IO_COUNTERS, "long"),
)
ATTEMPT_COSTS = _schema(
    (EXPERIMENT, *KIND, "kind", "conflict_class"),
    {
        "attempts": "long",
        "share": "double",
        **dict.fromkeys((*IO_COUNTERS, *IO_TIMES), "double"),
    },
)

SCHEMAS: Mapping[str, TableSchema] = {
    "warmup": WARMUP,
    "runs": RUNS,
    "cells": CELLS,
    "timeline": TIMELINE,
    "histograms": HISTOGRAMS,
    "attempt_io": ATTEMPT_IO,
    "attempt_costs": ATTEMPT_COSTS,
}
"""Every table by name. `cells` has one more column per configuration key that varies."""
