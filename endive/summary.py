"""The summary of a run (§6.2): counters, rates and, per operation, success, retries and times.

Everything is computed from the packed rows, so a summary of a million rows takes no Python object
per row. A share or a quantile of nothing is `None`, never NaN: summaries are stored as JSON.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endive.cost_model import OPERATIONS
from endive.results import RowLog
from endive.simulation import Statistics

COUNTERS = (
    "launched",
    "committed",
    "aborted",
    "in_flight",
    "seq",
    "total_retries",
    "validation_exceptions",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
    "restarts",
    "background_commits",
    "false_conflicts",
    "real_conflicts",
    "append_physical_success",
    "append_logical_success",
    "append_logical_conflict",
    "append_physical_failure",
    "append_compactions_triggered",
    "append_compactions_completed",
    "manifest_append_physical_success",
    "manifest_append_physical_failure",
    "manifest_append_sealed_rewrite",
)

# The parts of a transaction's time and the column that holds each.
TIME_PARTS = {
    "catalog_read": "catalog_read_ms",
    "runtime": "t_runtime",
    "per_attempt_io": "per_attempt_io_ms",
    "conflict_io": "conflict_io_ms",
    "catalog_commit": "catalog_commit_ms",
    "backoff": "backoff_ms",
    "start_io": "start_io_ms",
    "rework": "rework_ms",
}

_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def summarise(statistics: Statistics) -> dict[str, Any]:
    """What a run amounts to, as a JSON document without the circumstances of the run."""
    simulated_s = statistics.duration_ms / 1000.0
    summary: dict[str, Any] = {"seed": statistics.seed, "duration_ms": statistics.duration_ms}
    summary.update((name, int(getattr(statistics, name))) for name in COUNTERS)
    summary["commits_per_s"] = statistics.committed / simulated_s
    summary["offered_per_s"] = statistics.launched / simulated_s
    summary["success_rate"] = _success_rate(statistics.committed, statistics.aborted)
    summary["censored_share"] = _share(statistics.in_flight, statistics.launched)
    # How many commit calls are under way at a time, on average: what the model of a store is asked for.
    calls_ms = float(statistics.log.column("catalog_commit_ms").sum())
    summary["calls_in_progress"] = calls_ms / statistics.duration_ms
    summary["digest"] = statistics.digest()
    summary["operations"] = _by_word(statistics.log, "operation_type", OPERATIONS)
    summary["classes"] = {
        name: {
            **part,
            "offered_per_s": part["count"] / simulated_s,
            "commits_per_s": part["committed"] / simulated_s,
        }
        for name, part in _by_word(statistics.log, "class_name", ()).items()
    }
    return summary


def peak_rss_mib() -> float:
    """The most memory this process has held, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes where Linux counts KiB.
    return float(peak) / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


def _by_word(log: RowLog, column: str, order: Sequence[str]) -> dict[str, Any]:
    """The summary of the rows of each word of a column; the words of `order` come first."""
    words = [str(word) for word in log.words(column)]
    codes = log.column(column)
    status = log.column("status")
    outcome = {str(word): status == code for code, word in enumerate(log.words("status"))}

    def rank(word: str) -> tuple[int, str]:
        return (order.index(word) if word in order else len(order), word)

    return {
        word: _part(log, codes == words.index(word), outcome) for word in sorted(words, key=rank)
    }


def _part(
    log: RowLog, chosen: NDArray[np.bool_], outcome: dict[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    count = {word: int(np.count_nonzero(chosen & rows)) for word, rows in outcome.items()}
    launched = int(np.count_nonzero(chosen))
    # What the end cut off has spent only part of its time and retries, so it is left out of both.
    finished = chosen & ~outcome["in_flight"]
    committed = chosen & outcome["committed"]
    return {
        "count": launched,
        "committed": count["committed"],
        "aborted": count["aborted"],
        "in_flight": count["in_flight"],
        "success_rate": _success_rate(count["committed"], count["aborted"]),
        "censored_share": _share(count["in_flight"], launched),
        "retries_mean": _mean(log.column("n_retries")[finished]),
        "latency_ms": _quantiles(log.column("total_latency")[committed]),
        "commit_latency_ms": _quantiles(log.column("commit_latency")[committed]),
        "time_share": _time_share(log, finished),
    }


def _time_share(log: RowLog, finished: NDArray[np.bool_]) -> dict[str, float | None]:
    """How the time of the finished transactions divides into its parts."""
    spent_ms = {part: log.column(name)[finished].sum() for part, name in TIME_PARTS.items()}
    total_ms = np.array(list(spent_ms.values())).sum()
    return {part: _share(float(ms), float(total_ms)) for part, ms in spent_ms.items()}


def _quantiles(values: NDArray[np.float64]) -> dict[str, float | None]:
    if not len(values):
        return dict.fromkeys(_QUANTILES)
    found = np.quantile(values, list(_QUANTILES.values()))
    return dict(zip(_QUANTILES, found.tolist(), strict=True))


def _mean(values: NDArray[np.int32]) -> float | None:
    return float(values.mean()) if len(values) else None


def _success_rate(committed: int, aborted: int) -> float | None:
    """The share of the finished that committed; what the end cut off is neither."""
    return _share(committed, committed + aborted)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
