"""Small experiments trees of real runs, for tests of what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from endive.config import compute_experiment_hash, resolve_config
from endive.experiment import SUMMARY_KEY, Experiment, code_version, prepare_directory, run_seed

MIX = {"fast_append": 0.6, "merge_append": 0.2, "validated_overwrite": 0.2}


def make_experiment(
    tree: Path, seeds: list[int], *, label: str = "small", attempts: bool = True, **settings: Any
) -> Path:
    """Run a small contended configuration under some seeds; `settings` are tables to add to it."""
    config: dict[str, Any] = {
        "simulation": {"duration_ms": 20_000.0},
        "experiment": {"label": label},
        "storage": {"provider": "s3x"},
        "catalog": {"num_tables": 2, "partitions": {"num_partitions": 2}},
        "transaction": {
            "retry": 3,
            "runtime": {"distribution": "lognormal", "mean": 300.0, "sigma": 1.0},
            "inter_arrival": {"distribution": "exponential", "scale": 80.0},
            "operation_types": MIX,
        },
    }
    for table, values in settings.items():
        config[table] = {**config.get(table, {}), **values}
    resolved = resolve_config(config)
    name = compute_experiment_hash(resolved)
    directory = tree / f"{label}-{name}"
    experiment = Experiment(
        resolved, name, code_version(), seeds, directory, records_attempts=attempts
    )
    prepare_directory(experiment)
    for seed in seeds:
        run_seed(experiment, seed)
    return directory


def rewrite(
    path: Path,
    change: Any = None,
    *,
    told: dict[str, Any] | None = None,
    summary: bool = True,
) -> None:
    """Write a results file again with other rows, or with a summary that says something else."""
    table = pq.read_table(path)
    stored = json.loads(table.schema.metadata[SUMMARY_KEY.encode()])
    if change is not None:
        table = change(table)
    metadata = {SUMMARY_KEY: json.dumps({**stored, **(told or {})})} if summary else {}
    pq.write_table(table.replace_schema_metadata(metadata), path)
