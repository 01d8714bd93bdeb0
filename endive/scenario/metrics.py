"""What can be measured of a run: each metric with its domain, so that an expectation that cannot fail is seen for what it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from endive.simulation import Statistics


class Level(Enum):
    """What a metric is about."""

    RUN = "run"
    TRANSACTIONS = "transactions"
    ATTEMPTS = "attempts"


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that can be measured."""

    name: str
    level: Level
    statement: str
    high: float = math.inf
    """The largest value there can be; the smallest is 0."""
    column: str = ""
    """The column of results or attempts that holds it; empty: it is counted."""
    committed_only: bool = False
    """Whether it is about what committed, unless a status is asked for."""
    needs: str = ""
    """The setting without which it is always 0."""

    @property
    def takes_aggregate(self) -> bool:
        """Whether many rows become one number."""
        return bool(self.column)


@dataclass(frozen=True, slots=True)
class Selection:
    """Of which transactions or attempts something is measured, and how they become one number."""

    aggregate: str = "mean"
    operation: str | None = None
    named: str | None = None
    status: str | None = None
    reason: str | None = None
    attempt: int | None = None
    conflict_class: str | None = None

    def words(self) -> str:
        """As a message says it."""
        parts = [self.status, self.operation, self.named and f"'{self.named}'"]
        text = " ".join(part for part in parts if part)
        if self.reason:
            text += f" aborted with {self.reason}"
        if self.attempt is not None:
            text += f" attempt {self.attempt}"
        if self.conflict_class:
            text += f" after {self.conflict_class}"
        return text.strip()


@dataclass(frozen=True, slots=True)
class Observed:
    """One value of one run; None where there was nothing to measure."""

    value: float | None
    successes: int | None = None
    trials: int | None = None
    """Of a share: how many of how many."""


_T, _A, _R = Level.TRANSACTIONS, Level.ATTEMPTS, Level.RUN
_TIMES = {
    "catalog_read_ms": "time in catalog reads",
    "per_attempt_io_ms": "time in the I/O of every attempt",
    "conflict_io_ms": "time in the I/O of conflicts",
    "catalog_commit_ms": "time in commit calls",
    "backoff_ms": "time waiting before retries",
    "start_io_ms": "time in I/O before the work",
    "rework_ms": "time of work done again",
    "unfinished_ms": "time in the step that the end cut off",
}
_COUNTS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
)
_NEEDS = {
    "backoff_ms": "transaction.retry_backoff.enabled",
    "manifest_list_appends": "transaction.manifest_list_mode=append",
    "metadata_reads": "catalog.table_metadata_inlined=false",
    "metadata_writes": "catalog.table_metadata_inlined=false",
    "restarts": "transaction.on_validation_exception=restart",
    "rework_ms": "transaction.on_validation_exception=restart",
}


def _all_metrics() -> list[Metric]:
    found = [
        Metric("count", _T, "transactions submitted"),
        Metric("committed", _T, "transactions that committed"),
        Metric("aborted", _T, "transactions that were aborted"),
        Metric("in_flight", _T, "transactions that the end cut off"),
        Metric("success_rate", _T, "committed of those that ended", high=1.0),
        Metric("censored_share", _T, "in flight of those submitted", high=1.0),
        Metric("commits_per_s", _T, "commits per simulated second"),
        Metric("offered_per_s", _T, "submissions per simulated second"),
        Metric("retries", _T, "commit calls after the first", column="n_retries"),
        Metric(
            "restarts", _T, "times it started again", column="restarts", needs=_NEEDS["restarts"]
        ),
        Metric("false_conflicts", _T, "conflicts that were not real", column="false_conflicts"),
        Metric("real_conflicts", _T, "conflicts that were real", column="real_conflicts"),
        Metric(
            "latency_ms",
            _T,
            "from submission to commit",
            column="total_latency",
            committed_only=True,
        ),
        Metric(
            "commit_latency_ms",
            _T,
            "from the end of the work to commit",
            column="commit_latency",
            committed_only=True,
        ),
        Metric("commit_time_ms", _T, "when it committed", column="t_commit", committed_only=True),
        Metric("abort_time_ms", _T, "when it was aborted", column="t_abort"),
        Metric("submit_time_ms", _T, "when it was submitted", column="t_submit"),
        Metric("runtime_ms", _T, "time of its own work", column="t_runtime"),
        Metric("attempts", _A, "commit calls, and validations that ended without one"),
        Metric(
            "snapshots_behind",
            _A,
            "N: snapshots that an attempt had to catch up with",
            column="snapshots_behind",
        ),
        Metric("attempt_failure_rate", _A, "failed of the commit calls that returned", high=1.0),
        Metric(
            "cross_table_share",
            _A,
            "retries that found only other tables changed, of all retries",
            high=1.0,
        ),
        Metric("call_time_ms", _A, "when a commit was called", column="t_commit_call"),
        Metric("seq", _R, "Catalog.seq at the end"),
        Metric("background_commits", _R, "commits of background loads", needs="background"),
    ]
    for name, words in _TIMES.items():
        found.append(Metric(name, _T, words, column=name, needs=_NEEDS.get(name, "")))
        if name != "unfinished_ms":
            found.append(
                Metric(
                    f"attempt_{name}",
                    _A,
                    f"{words}, per attempt",
                    column=name,
                    needs=_NEEDS.get(name, ""),
                )
            )
    for name in _COUNTS:
        words = name.replace("_", " ").replace("historical ml", "historical manifest-list")
        found.append(Metric(name, _T, words, column=name, needs=_NEEDS.get(name, "")))
        found.append(
            Metric(
                f"attempt_{name}",
                _A,
                f"{words}, per attempt",
                column=name,
                needs=_NEEDS.get(name, ""),
            )
        )
    for name in (
        "physical_success",
        "logical_success",
        "logical_conflict",
        "physical_failure",
        "compactions_triggered",
        "compactions_completed",
    ):
        found.append(
            Metric(
                f"append_{name}",
                _R,
                f"of the catalog's log: {name.replace('_', ' ')}",
                needs="catalog.type=append",
            )
        )
    for name in ("physical_success", "physical_failure", "sealed_rewrite"):
        found.append(
            Metric(
                f"manifest_append_{name}",
                _R,
                f"of manifest lists: {name.replace('_', ' ')}",
                needs="transaction.manifest_list_append=offset",
            )
        )
    return found


METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _all_metrics()}


def observe(statistics: Statistics, metric: Metric, selection: Selection) -> Observed:
    """Measure one run."""
    if metric.level is Level.RUN:
        return Observed(float(getattr(statistics, metric.name)))
    if metric.level is Level.ATTEMPTS:
        return _of_attempts(statistics, metric, selection)
    rows = _transactions(statistics, selection)
    status = _words(statistics, "status")[rows]
    counted = {
        word: int(np.count_nonzero(status == word))
        for word in ("committed", "aborted", "in_flight")
    }
    total = len(status)
    seconds = statistics.duration_ms / 1000.0
    if metric.name in counted:
        return Observed(float(counted[metric.name]))
    if metric.name == "count":
        return Observed(float(total))
    if metric.name == "success_rate":
        return _share(counted["committed"], counted["committed"] + counted["aborted"])
    if metric.name == "censored_share":
        return _share(counted["in_flight"], total)
    if metric.name in ("commits_per_s", "offered_per_s"):
        number = counted["committed"] if metric.name == "commits_per_s" else total
        return Observed(number / seconds)
    return _aggregated(
        statistics.log.column(metric.column)[_meant(statistics, metric, selection)],
        selection.aggregate,
    )


def chosen_ids(statistics: Statistics, metric: Metric, selection: Selection) -> list[int]:
    """The ids of the transactions that a metric of a selection is about, in order."""
    if metric.level is Level.RUN:
        return []
    if metric.level is Level.ATTEMPTS:
        return sorted(set(_attempts(statistics, selection)["txn_id"].tolist()))
    rows = _meant(statistics, metric, selection)
    return sorted(statistics.log.column("txn_id")[rows].tolist())


# Only what ended like this has such a value.
_ENDED = {"abort_time_ms": "aborted", "unfinished_ms": "in_flight"}


def _meant(statistics: Statistics, metric: Metric, selection: Selection) -> NDArray[np.bool_]:
    rows = _transactions(statistics, selection)
    is_counted = not metric.column or metric.name == "submit_time_ms"
    if selection.status is not None or is_counted:
        return rows
    status = _words(statistics, "status")
    ended = "committed" if metric.committed_only else _ENDED.get(metric.name)
    # What the end cut off has spent only part of its time and retries.
    meant: NDArray[np.bool_] = rows & (status == ended if ended else status != "in_flight")
    return meant


def _transactions(statistics: Statistics, selection: Selection) -> NDArray[np.bool_]:
    rows: NDArray[np.bool_] = np.ones(len(statistics.log), dtype=bool)
    for column, wanted in (
        ("operation_type", selection.operation),
        ("class_name", selection.named),
        ("status", selection.status),
        ("abort_reason", selection.reason),
    ):
        if wanted is not None:
            rows &= _words(statistics, column) == wanted
    return rows


def _words(statistics: Statistics, column: str) -> NDArray[Any]:
    words = np.array([str(word) for word in statistics.log.words(column)])
    codes = statistics.log.column(column)
    return words[codes] if len(words) else np.empty(0, dtype=str)


def _of_attempts(statistics: Statistics, metric: Metric, selection: Selection) -> Observed:
    frame = _attempts(statistics, selection)
    if metric.name == "attempts":
        return Observed(float(len(frame)))
    if metric.name == "attempt_failure_rate":
        returned = frame[frame["outcome"].isin(["committed", "failed"])]
        return _share(int((returned["outcome"] == "failed").sum()), len(returned))
    if metric.name == "cross_table_share":
        # A first attempt that looks before it calls may have found nothing changed at all.
        found = frame[(frame["attempt"] > 0) & frame["conflict_class"].notna()]
        return _share(int((found["conflict_class"] == "cross_table").sum()), len(found))
    return _aggregated(frame[metric.column].to_numpy(dtype=float), selection.aggregate)


def _attempts(statistics: Statistics, selection: Selection) -> pd.DataFrame:
    assert statistics.attempts is not None
    frame = statistics.attempts.to_dataframe()
    for column, wanted in (
        ("operation_type", selection.operation),
        ("class_name", selection.named),
        ("attempt", selection.attempt),
        ("conflict_class", selection.conflict_class),
    ):
        if wanted is not None:
            frame = frame[frame[column] == wanted]
    return frame


def _share(successes: int, trials: int) -> Observed:
    return Observed(successes / trials if trials else None, successes, trials)


def _aggregated(values: NDArray[Any], aggregate: str) -> Observed:
    if not len(values):
        # The sum of nothing is 0; nothing else can be said of nothing.
        return Observed(0.0 if aggregate == "sum" else None)
    if aggregate == "mean":
        return Observed(math.fsum(values.tolist()) / len(values))
    if aggregate == "sum":
        return Observed(math.fsum(values.tolist()))
    if aggregate == "min":
        return Observed(float(values.min()))
    if aggregate == "max":
        return Observed(float(values.max()))
    return Observed(float(np.quantile(values, int(aggregate[1:]) / 100.0)))
