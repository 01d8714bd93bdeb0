"""Studies for tests: real configurations, and tables as the pipeline makes them, with figures that a test chooses."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from endive.analysis.setups import Setup
from endive.analysis.study import Study, studies
from endive.config import compute_experiment_hash, resolve_config
from endive.config.overrides import lay
from endive.inference import mean_interval
from endive.pipeline import SCHEMAS
from endive.pipeline.schemas import METRICS

Figures = Mapping[str, float]
Told = Callable[[Setup, int, str, str], Figures | None]
"""What a run shows of a class and an operation; None: nothing of the kind was submitted."""

BASE: dict[str, Any] = {
    "simulation": {"duration_ms": 60_000},
    "storage": {"provider": "s3x"},
    "catalog": {"num_tables": 1},
    "transaction": {
        "runtime": {"distribution": "fixed", "value": 1000},
        "inter_arrival": {"distribution": "exponential", "scale": 1000.0},
        "operation_types": {"fast_append": 1.0},
    },
}
MAINTENANCE: dict[str, Any] = {
    "simulation": {"duration_ms": 60_000},
    "storage": {"provider": "s3x"},
    "transaction": {},
    "workload": {
        "class": [
            {
                "name": "maintenance",
                "kind": "periodic",
                "interval_ms": 1000.0,
                "runtime": {"distribution": "fixed", "value": 100},
                "operation_types": {"validated_overwrite": 1.0},
            },
            {
                "name": "appends",
                "kind": "background",
                "inter_arrival": {"distribution": "exponential", "scale": 1000.0},
            },
        ]
    },
}


def setup(label: str = "study", base: Mapping[str, Any] = BASE, **settings: Any) -> Setup:
    """An experiment; settings are dotted keys with `__` for the dot."""
    document = copy.deepcopy(dict(base))
    for key, value in settings.items():
        lay(document, key.replace("__", "."), value)
    resolved = resolve_config(document)
    return Setup(f"{label}-{compute_experiment_hash(resolved)}", resolved.values, "0123abc")


def at_rate(per_s: float, **settings: Any) -> Setup:
    """An experiment at so many transactions a second."""
    return setup(transaction__inter_arrival__scale=1000.0 / per_s, **settings)


def study(
    setups: Sequence[Setup],
    told: Told,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    kinds: Sequence[tuple[str, str]] = (("default", "fast_append"),),
    histograms: Sequence[tuple[str, str, int, int]] = (),
    timeline: Sequence[tuple[str, int, float, float, int, int]] = (),
) -> Study:
    """One study. `histograms`: experiment, quantity, value, count. `timeline`: experiment, seed, bin start and length in ms, committed,
    aborted.
    """
    (found,) = all_studies(
        setups, told, seeds=seeds, kinds=kinds, histograms=histograms, timeline=timeline
    )
    return found


def all_studies(
    setups: Sequence[Setup],
    told: Told,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    kinds: Sequence[tuple[str, str]] = (("default", "fast_append"),),
    histograms: Sequence[tuple[str, str, int, int]] = (),
    timeline: Sequence[tuple[str, int, float, float, int, int]] = (),
) -> tuple[Study, ...]:
    """The studies of some experiments."""
    runs = [
        {**_empty(one, seed, kind), **_completed(figures)}
        for one in setups
        for seed in seeds
        for kind in (("*", "*"), *kinds)
        if (figures := told(one, seed, *kind)) is not None
    ]
    table = pd.DataFrame(runs, columns=list(SCHEMAS["runs"].columns))
    columns = list(SCHEMAS["histograms"].columns)
    counted = [(name, "*", "*", *rest) for name, *rest in histograms]
    over_time = [
        (name, seed, "*", "*", start, length, committed, aborted, 0)
        for name, seed, start, length, committed, aborted in timeline
    ]
    return studies(
        setups,
        runs=table,
        cells=_cells(table),
        timeline=pd.DataFrame(over_time, columns=list(SCHEMAS["timeline"].columns)),
        histograms=pd.DataFrame(counted, columns=columns),
    )


def outcome(committed: int, aborted: int, in_flight: int = 0, **figures: float) -> Figures:
    """What so many transactions of a minute come to, with some latencies."""
    finished = committed + aborted
    return {
        "committed": committed,
        "aborted": aborted,
        "in_flight": in_flight,
        "offered": finished + in_flight,
        "offered_per_s": (finished + in_flight) / 60.0,
        "achieved_per_s": committed / 60.0,
        "success_rate": committed / finished if finished else math.nan,
        "censored_share": in_flight / (finished + in_flight) if finished + in_flight else math.nan,
        **figures,
    }


def _empty(one: Setup, seed: int, kind: tuple[str, str]) -> dict[str, Any]:
    return {
        "experiment": one.name,
        "seed": seed,
        "class_name": kind[0],
        "operation_type": kind[1],
        "window_start_ms": 5_000.0,
        "window_end_ms": 60_000.0,
        "warmup_ms": 5_000.0,
        "steady": True,
        **dict.fromkeys(METRICS, 0.0),
    }


def _completed(figures: Figures) -> dict[str, float]:
    latency_ms = figures.get("commit_latency_mean_ms", 100.0)
    same = {f"commit_latency_{name}_ms": latency_ms for name in ("mean", "p50", "p95", "p99")}
    return {**same, "part_catalog_commit_ms": latency_ms, **figures}


def _cells(runs: pd.DataFrame) -> pd.DataFrame:
    keys = ["experiment", "class_name", "operation_type"]
    rows = []
    for key, group in runs.groupby(keys):
        row: dict[str, Any] = dict(zip(keys, key, strict=True))
        row["seeds"] = len(group)
        for name in METRICS:
            values = [float(value) for value in group[name] if not math.isnan(value)]
            row[name] = math.fsum(values) / len(values) if values else math.nan
            interval = mean_interval(values, 0.95) if len(values) > 1 else None
            row[f"{name}_low"] = interval.low if interval else math.nan
            row[f"{name}_high"] = interval.high if interval else math.nan
        rows.append(row)
    return pd.DataFrame(rows)
