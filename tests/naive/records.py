"""What is recorded of a transaction: its row, and a row for each of its attempts (MODEL.md 1, 5, 15)."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .findings import Finding
from .store import Share

T = TypeVar("T")

COUNTS = (
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
)
TIME_PARTS = (
    "catalog_read_ms",
    "start_io_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "rework_ms",
)


def no_parts() -> dict[str, float]:
    """Time parts of nothing."""
    return dict.fromkeys(TIME_PARTS, 0.0)


def no_counts() -> dict[str, int]:
    """Counts of nothing."""
    return dict.fromkeys(COUNTS, 0)


@dataclass
class Record:
    """Everything that is written down about one transaction while it lives."""

    txn_id: int
    class_name: str
    operation_type: str
    runtime_ms: float
    submit_ms: float
    now_ms: Callable[[], float]
    status: str = "in_flight"
    abort_reason: str | None = None
    end_ms: float = -1.0
    runtime_end_ms: float | None = None
    commit_calls: int = 0
    restarts: int = 0
    false_conflicts: int = 0
    real_conflicts: int = 0
    step_start_ms: float = 0.0
    parts_ms: dict[str, float] = field(default_factory=no_parts)
    counts: dict[str, int] = field(default_factory=no_counts)
    # Whether the runtime is over; when the application starts again, it is not.
    has_run: bool = False
    # When the commit call under way began, and what had been found before it.
    call_start_ms: float | None = None
    finding: Finding | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)
    parts_since_row_ms: dict[str, float] = field(default_factory=no_parts)
    counts_since_row: dict[str, int] = field(default_factory=no_counts)

    def timed(self, part: str, steps: Generator[float, None, T]) -> Generator[float, None, T]:
        """Drive one operation and, once it is complete, book its time."""
        self.step_start_ms = self.now_ms()
        outcome = yield from steps
        elapsed_ms = self.now_ms() - self.step_start_ms
        self.parts_ms[part] += elapsed_ms
        self.parts_since_row_ms[part] += elapsed_ms
        return outcome

    def run(self) -> Generator[float, None, None]:
        """The transaction's own work, for the first time; it is no time part."""
        self.step_start_ms = self.now_ms()
        yield self.runtime_ms
        self.runtime_end_ms = self.now_ms()

    def count(self, shares: list[Share]) -> None:
        """Count the operations of a payment that is complete."""
        for share in shares:
            for counts in (self.counts, self.counts_since_row):
                for name, count in share.counts.items():
                    counts[name] += count
                # Historical manifest lists are manifest lists too.
                counts["manifest_list_reads"] += share.counts.get("historical_ml_reads", 0)

    def start_call(self) -> None:
        """A commit call begins."""
        self.commit_calls += 1
        self.call_start_ms = self.now_ms()

    def close_call(self, outcome: str) -> None:
        """A commit call is over: write its row."""
        self.add_attempt(outcome, self.call_start_ms)
        self.call_start_ms = None
        self.finding = None

    def end(self, status: str, abort_reason: str | None = None) -> None:
        """The transaction is over."""
        self.status = status
        self.abort_reason = abort_reason
        self.end_ms = self.now_ms()

    def give_up_attempt(self) -> None:
        """A real conflict: the validation that found it is no part of any commit call."""
        self.add_attempt("aborted", None)
        self.finding = None

    def add_attempt(self, outcome: str, call_start_ms: float | None) -> None:
        """One row of attempts, with what was counted and booked since the previous one."""
        row: dict[str, Any] = {
            "txn_id": self.txn_id,
            "attempt": len(self.attempts),
            "restart": self.restarts,
            "operation_type": self.operation_type,
            "class_name": self.class_name,
            "conflict_class": None,
            "snapshots_behind": 0,
            "outcome": outcome,
            "t_commit_call": -1.0 if call_start_ms is None else call_start_ms,
            **self.counts_since_row,
            **self.parts_since_row_ms,
        }
        if self.finding is not None:
            row["conflict_class"] = self.finding.worst
            everywhere = self.finding.behind_in(list(self.finding.classes))
            row["snapshots_behind"] = everywhere.snapshots
        self.counts_since_row = no_counts()
        self.parts_since_row_ms = no_parts()
        self.attempts.append(row)

    def close_run(self) -> None:
        """The run is over: who is still on the way to a commit gets a row for what is done."""
        if self.status == "in_flight" and self.has_run:
            self.add_attempt("in_flight", self.call_start_ms)

    def row(self, duration_ms: float) -> dict[str, Any]:
        """The row of the results; a transaction still in flight is cut off at the end."""
        in_flight = self.status == "in_flight"
        end_ms = duration_ms if in_flight else self.end_ms
        return {
            "txn_id": self.txn_id,
            "t_submit": self.submit_ms,
            "t_runtime": self.runtime_ms,
            "t_commit": end_ms if self.status == "committed" else -1.0,
            "t_abort": end_ms if self.status == "aborted" else -1.0,
            "commit_latency": 0.0 if self.runtime_end_ms is None else end_ms - self.runtime_end_ms,
            "total_latency": end_ms - self.submit_ms,
            "n_retries": max(0, self.commit_calls - 1),
            "status": self.status,
            "operation_type": self.operation_type,
            "abort_reason": self.abort_reason,
            **self.counts,
            **self.parts_ms,
            "unfinished_ms": end_ms - self.step_start_ms if in_flight else 0.0,
            "restarts": self.restarts,
            "false_conflicts": self.false_conflicts,
            "real_conflicts": self.real_conflicts,
            "class_name": self.class_name,
        }
