"""A million result rows to Parquet: how fast, against a list of dataclasses, and in how much memory.

*Speed* is the writing alone. The rows are recorded already, in `Statistics` on one side and in a plain
list on the other; from there each goes to a file with the same columns, types and settings. The list
keeps the order it was recorded in, while `Statistics` also sorts by transaction id.

*Memory* is everything: the peak of a process that records a million rows and writes them, less what
it held with all libraries loaded and no row recorded. So the recorded rows are part of it; the
results that are handed in are not, because each is let go once it is recorded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cases import SEED
from benchmarks.measure import Contender, Options, best_in_turns, in_child, peak_rss_mib, rss_mib
from benchmarks.verdict import Row, Target
from endive.simulation import Statistics
from endive.transaction import TransactionResult, TransactionStatus

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1_000_000
_BLOCK = 10_000
_OPERATIONS = ("fast_append", "merge_append", "validated_overwrite")
_COLUMN_OF_FIELD = {
    "submit_time_ms": "t_submit",
    "runtime_ms": "t_runtime",
    "commit_time_ms": "t_commit",
    "abort_time_ms": "t_abort",
    "commit_latency_ms": "commit_latency",
    "total_latency_ms": "total_latency",
    "total_retries": "n_retries",
}


def million_rows(options: Options) -> list[Row]:
    """Both rows of this benchmark, each measured in a process of its own."""
    rows = round(_ROWS * options.scale)
    speed = in_child("parquet-speed", {"rows": rows, "repeat": options.repeat})
    memory = in_child("parquet-memory", {"rows": rows})
    return [
        Row(
            "parquet",
            "writing speed against a list of dataclasses",
            speed["dataclasses_s"] / speed["endive_s"],
            "×",
            Target("≥", 5.0),
            full_size=not options.quick,
            figures=speed,
        ),
        Row(
            "parquet",
            f"memory to record and write {rows:,} rows",
            memory["peak_mib"] - memory["baseline_mib"],
            "MiB",
            Target("<", 400.0),
            full_size=not options.quick,
            figures=memory,
        ),
    ]


def measure_speed(rows: int, repeat: int) -> dict[str, float]:
    """CPU seconds of writing the same results from `Statistics` and from a list."""
    statistics = Statistics()
    results: list[TransactionResult] = []
    for result in made_up_results(rows):
        statistics.record_transaction(result)
        results.append(result)
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = str(Path(place) / "endive.parquet"), str(Path(place) / "list.parquet")
        # Whoever comes first would pay for loading the libraries.
        _recorded(1).export_parquet(ours)
        best_s = best_in_turns(
            {
                "endive_s": Contender(lambda: statistics.export_parquet(ours), repeat),
                "dataclasses_s": Contender(lambda: write_dataclasses(results, theirs), repeat),
            }
        )
        _check_same(ours, theirs)
    return best_s


def measure_memory(rows: int) -> dict[str, float]:
    """MiB held before the first row, with all rows recorded, and at the peak of it all."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "endive.parquet")
        # A first small file loads the libraries; those are not the price of the rows.
        _recorded(1).export_parquet(path)
        baseline_mib = rss_mib()
        statistics = _recorded(rows)
        recorded_mib = rss_mib()
        statistics.export_parquet(path)
        peak_mib = peak_rss_mib()
    return {"baseline_mib": baseline_mib, "recorded_mib": recorded_mib, "peak_mib": peak_mib}


def write_dataclasses(results: Sequence[TransactionResult], path: str) -> None:
    """The plain way: one list per column out of the list of results, then a table, then a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, pa.Array] = {}
    for name in TransactionResult.__dataclass_fields__:
        column = _COLUMN_OF_FIELD.get(name, name)
        if name == "status":
            columns[column] = pa.array([result.status.name.lower() for result in results])
        elif name == "abort_reason":
            columns[column] = pa.array([result.abort_reason for result in results], pa.string())
        else:
            columns[column] = pa.array([getattr(result, name) for result in results])
    pq.write_table(pa.table(columns), path)


def made_up_results(rows: int) -> Iterator[TransactionResult]:
    """Results as a run yields them: times that never repeat, small counts, ids a little out of order."""
    rng = np.random.RandomState(SEED)
    for start in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - start)
        txn_ids = (start + rng.permutation(size)).tolist()
        operations = rng.choice(3, size, p=(0.7, 0.2, 0.1)).tolist()
        retries = rng.geometric(0.4, size).tolist()
        times = rng.lognormal(3.0, 1.0, (size, 5)).tolist()
        for txn_id, operation, tries, parts in zip(
            txn_ids, operations, retries, times, strict=True
        ):
            yield _result(txn_id, _OPERATIONS[operation], tries - 1, parts)


def _result(
    txn_id: int, operation_type: str, retries: int, parts: Sequence[float]
) -> TransactionResult:
    read_ms, attempt_ms, conflict_ms, commit_ms, work = parts
    submit_ms, runtime_ms = 100.0 * txn_id + work, 1000.0 * work
    latency_ms = read_ms + attempt_ms + conflict_ms + commit_ms
    end_ms = submit_ms + runtime_ms + latency_ms
    has_committed = retries < 10
    return TransactionResult(
        status=TransactionStatus.COMMITTED if has_committed else TransactionStatus.ABORTED,
        txn_id=txn_id,
        commit_time_ms=end_ms if has_committed else -1.0,
        abort_time_ms=-1.0 if has_committed else end_ms,
        abort_reason=None if has_committed else "max_retries",
        total_retries=retries,
        commit_latency_ms=latency_ms,
        total_latency_ms=runtime_ms + latency_ms,
        operation_type=operation_type,
        runtime_ms=runtime_ms,
        manifest_list_reads=1 + retries,
        manifest_list_writes=1 + retries,
        manifest_file_reads=retries,
        manifest_file_writes=1 + retries,
        catalog_read_ms=read_ms,
        per_attempt_io_ms=attempt_ms,
        conflict_io_ms=conflict_ms,
        catalog_commit_ms=commit_ms,
        submit_time_ms=submit_ms,
    )


def _recorded(rows: int) -> Statistics:
    statistics = Statistics()
    for result in made_up_results(rows):
        statistics.record_transaction(result)
    return statistics


def _check_same(ours: str, theirs: str) -> None:
    # A file that says less is written faster.
    import pyarrow.parquet as pq

    left: Any = pq.read_table(ours)
    right: Any = pq.read_table(theirs).sort_by("txn_id").select(left.column_names)
    if not left.equals(right):
        raise ValueError("the two ways wrote different tables")
