"""Ten million rows through the pipeline: in a driver of 512 MiB, and at what price its percentiles are exact.

*Data* is one simulated run, filed again under other seeds until there are rows enough; each file is a valid one. *Memory*: in
a local session the driver executes too, so that the heap it is given bounds everything that Spark does. *Price*: CPU time of
Spark, its Python workers included, from when the session stands to when the tables do, with percentiles and without, each in a
process of its own.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.cases import SEED
from benchmarks.measure import Options, in_child
from benchmarks.verdict import Row, Target

_ROWS = 10_000_000
_ROWS_PER_RUN = 100_000
_HEAP_MIB = 512
_CONFIG = {
    "storage": {"provider": "s3x"},
    "catalog": {"num_tables": 20, "partitions": {"num_partitions": 10}},
    "transaction": {
        "retry": 4,
        "runtime": {"distribution": "lognormal", "mean": 1000.0, "sigma": 1.0},
        "inter_arrival": {"distribution": "exponential", "scale": 100.0},
        "operation_types": {"fast_append": 0.7, "merge_append": 0.2, "validated_overwrite": 0.1},
    },
}


def ten_million_rows(options: Options) -> list[Row]:
    """Both rows of this benchmark."""
    rows = round(_ROWS * options.scale)
    with tempfile.TemporaryDirectory() as place:
        written = in_child("pipeline-tree", {"rows": rows, "place": place})
        consolidated = in_child("pipeline-consolidate", {"place": place})
        plain = in_child("pipeline-tables", {"place": place, "percentiles": 0})
        exact = in_child("pipeline-tables", {"place": place, "percentiles": 1})
    figures = {
        "consolidate_s": consolidated["cpu_s"],
        "without_s": plain["cpu_s"],
        "with_s": exact["cpu_s"],
    }
    return [
        Row(
            "pipeline",
            f"rows through a driver with {_HEAP_MIB} MiB of heap",
            written["rows"] / 1e6,
            "M",
            Target("≥", 10.0),
            full_size=not options.quick,
            figures={
                "consolidate_rss_mib": consolidated["peak_mib"],
                "tables_rss_mib": exact["peak_mib"],
            },
        ),
        Row(
            "pipeline",
            "CPU of all tables against the same without percentiles",
            exact["cpu_s"] / plain["cpu_s"],
            "×",
            Target("≤", 3.0),
            full_size=not options.quick,
            figures=figures,
        ),
    ]


def write_tree(rows: int, place: str) -> dict[str, float]:
    """Simulate one run and file it under as many seeds as that takes."""
    import pyarrow.parquet as pq

    from endive.config import compute_experiment_hash, resolve_config
    from endive.experiment import (
        SUMMARY_KEY,
        Experiment,
        code_version,
        prepare_directory,
        run_seed,
    )

    per_run = min(rows, _ROWS_PER_RUN)
    duration_ms = 100.0 * per_run
    config = resolve_config({"simulation": {"duration_ms": duration_ms}, **_CONFIG})
    name = compute_experiment_hash(config)
    directory = Path(place) / "tree" / f"rows-{name}"
    experiment = Experiment(config, name, code_version(), [SEED], directory)
    prepare_directory(experiment)
    run_seed(experiment, SEED)
    table: Any = pq.read_table(experiment.results_path(SEED))
    summary = json.loads(table.schema.metadata[SUMMARY_KEY.encode()])
    written, seed = len(table), SEED
    while written < rows:
        seed += 1
        path = experiment.results_path(seed)
        path.parent.mkdir()
        told = {SUMMARY_KEY: json.dumps({**summary, "seed": seed})}
        pq.write_table(table.replace_schema_metadata(told), path)
        written += len(table)
    return {"rows": float(written)}


def consolidate_tree(place: str) -> dict[str, float]:
    """Consolidate the tree in a driver of little memory."""
    from endive.pipeline import consolidate

    with _Metered() as meter:
        consolidate(meter.spark, Path(place) / "tree", Path(place) / "data")
    return meter.figures


def aggregate(place: str, percentiles: bool) -> dict[str, float]:
    """Build all tables in a driver of little memory."""
    from endive.pipeline import build_tables
    from endive.pipeline.schemas import QUANTILES

    with _Metered() as meter:
        tables = build_tables(
            meter.spark, Path(place) / "data", quantiles=QUANTILES if percentiles else {}
        )
    if bool(tables.runs["latency_p99_ms"].notna().all()) is not percentiles:
        raise ValueError("what was measured is not what was asked for")
    return meter.figures


class _Metered:
    """A session with little memory, and what is spent in it: CPU seconds, and the most memory its Java has held."""

    def __enter__(self) -> _Metered:
        from endive.spark import start_session

        self.figures: dict[str, float] = {}
        self.spark = start_session(
            "benchmark", master="local[2]", conf={"spark.driver.memory": f"{_HEAP_MIB}m"}
        )
        # The first job starts what every job needs.
        self.spark.range(1).count()
        self._before_s = _descendants_cpu_s()
        return self

    def __exit__(self, *_: object) -> None:
        self.figures = {
            "cpu_s": _descendants_cpu_s() - self._before_s,
            "peak_mib": _peak_of_java_mib(),
        }
        self.spark.stop()


def _descendants_cpu_s() -> float:
    """CPU seconds of all processes below this one, those that have ended included."""
    import psutil

    return sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))


def _peak_of_java_mib() -> float:
    import psutil

    peaks_kib = [0]
    for child in psutil.Process().children(recursive=True):
        if child.name() == "java":
            status = Path(f"/proc/{child.pid}/status").read_text("ascii", errors="replace")
            peaks_kib += [
                int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")
            ]
    return max(peaks_kib) / 1024.0
