"""The vocabulary of a trace: what can happen in a run, and nothing else.

Each event is emitted where it happens, by whoever reads or changes state: a catalog tells at the effect point what it applied or
refused, a transaction tells what it called for, paid and decided, and why. Together the events of a transaction explain every
millisecond of it. Times are milliseconds since the start of the run; `t_ms` is when the event happened, and where something took
time, it ended then and had begun `…_ms` earlier.

Versions and partitions are given for the tables that a transaction *writes*, in ascending order of id, unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Ints = tuple[int, ...]
BACKGROUND_ID = -1
"""Transactions that commit from elsewhere have this id or less; they have no other events."""


class Submitted(NamedTuple):
    """A transaction begins."""

    t_ms: float
    txn_id: int
    class_name: str
    operation: str
    tables_read: Ints
    tables_written: Ints
    partitions: tuple[Ints, ...] | None
    """Written partitions of each written table; None where partitions are not tracked."""
    runtime_ms: float


class CatalogRead(NamedTuple):
    """A snapshot was captured at `t_ms`; the call that did it took `read_ms` from `t_called_ms` on."""

    t_ms: float
    txn_id: int
    t_called_ms: float
    read_ms: float
    seq: int
    versions: Ints
    partition_versions: tuple[Ints, ...] | None
    """Versions of the written partitions of each written table."""
    versions_read: Ints
    """Versions of the tables that are read and not written."""


class Worked(NamedTuple):
    """The transaction's own work ended; it had taken `runtime_ms`."""

    t_ms: float
    txn_id: int
    runtime_ms: float


class Classified(NamedTuple):
    """What a transaction found between the snapshot it last saw and the current one."""

    t_ms: float
    txn_id: int
    attempt: int
    """The commit call that this prepares, counted from 0 over the whole transaction."""
    classes: tuple[str, ...]
    """For each written table, then for each changed table of the read set where that matters."""
    snapshots_behind: int
    """N of the validation."""
    replaced: int
    """R of the validation."""


class Judged(NamedTuple):
    """The detector was asked whether the conflict is real."""

    t_ms: float
    txn_id: int
    attempt: int
    is_real: bool


class IoPaid(NamedTuple):
    """Manifest and metadata I/O was done, and why."""

    t_ms: float
    txn_id: int
    attempt: int
    reason: str
    """`start`, `attempt`, `validate`, `merge`, `rebuild` or `install`; `list` for a single step at a manifest list."""
    paid_ms: float
    counts: Ints
    """In the order of `COUNTS`."""


class StorageUsed(NamedTuple):
    """A store, or a catalog that needs none, did operations of one kind one batch after another; the last ended at `t_ms`.

    It stands before the event that says what it was for: the payment, read or commit call that it is a part of.
    """

    t_ms: float
    txn_id: int
    artifact: str
    """What was touched: `catalog` (its pointer, or checkpoint and log), `log`, `checkpoint`, `manifest_list`, `manifest_file` or `table_metadata`."""
    action: str
    """`read`, `write`, `append` or `cas`."""
    operations: int
    """How many operations."""
    size_bytes: int
    """How large each object is; 0 where there is no store behind a catalog."""
    batches: int
    """How many of them, at least, came after one another: the operations of a batch run at the same time."""
    took_ms: float
    """How long all of them took."""


class CommitCalled(NamedTuple):
    """A transaction asks the catalog to commit."""

    t_ms: float
    txn_id: int
    attempt: int
    expected_seq: int
    versions: Ints
    """The versions it means to install."""


class CommitApplied(NamedTuple):
    """The catalog changed: all of a commit at one instant."""

    t_ms: float
    txn_id: int
    seq_before: int
    seq_after: int
    tables: Ints
    versions: Ints
    """Of the tables just written, after the commit."""
    partitions: tuple[Ints, ...] | None
    replaces_data: bool
    manifests: Ints
    """How many manifests each of the tables has now."""


class CommitRefused(NamedTuple):
    """The catalog did not change, because what the commit expected no longer holds."""

    t_ms: float
    txn_id: int
    expected_seq: int
    seq: int


class CommitReturned(NamedTuple):
    """A transaction learns what became of its commit."""

    t_ms: float
    txn_id: int
    attempt: int
    success: bool
    commit_ms: float


class LogAppended(NamedTuple):
    """A record met the catalog's log: physically (`landed`), and, if it did, logically (`applied`)."""

    t_ms: float
    txn_id: int
    offset: int
    """Where the writer expected the log to end."""
    length: int
    """Where it ends now."""
    landed: bool
    applied: bool
    sealed: bool
    """Whether the log takes no more records until it is compacted."""


class LogCompacted(NamedTuple):
    """A writer tried to compact a sealed log; only one of several can."""

    t_ms: float
    txn_id: int
    compactions: int
    """How many there had been when it found the log sealed."""
    won: bool


class ListAppended(NamedTuple):
    """An entry met a manifest list at an offset (ML+)."""

    t_ms: float
    txn_id: int
    table: int
    offset: int
    length: int
    landed: bool
    sealed: bool


class ListRewritten(NamedTuple):
    """A writer put a new list, with its entry in it, in the place of a sealed one; only one of several can."""

    t_ms: float
    txn_id: int
    table: int
    length: int
    won: bool


class BackedOff(NamedTuple):
    """A wait before retry number `retry` (from 1) of a run of attempts ended."""

    t_ms: float
    txn_id: int
    retry: int
    backoff_ms: float


class Restarted(NamedTuple):
    """The application starts again after a real conflict."""

    t_ms: float
    txn_id: int
    restarts: int


class Finished(NamedTuple):
    """A transaction ended, or the run ended around it; with what its row in the results says."""

    t_ms: float
    txn_id: int
    status: str
    """`committed`, `aborted` or `in_flight`."""
    abort_reason: str | None
    retries: int
    total_ms: float
    commit_latency_ms: float
    parts_ms: tuple[float, ...]
    """In the order of `TIME_PARTS`."""
    counts: Ints
    """In the order of `COUNTS`."""


TIME_PARTS = (
    "catalog_read_ms",
    "start_io_ms",
    "runtime_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "rework_ms",
    "unfinished_ms",
)
COUNTS = (
    "metadata_reads",
    "manifest_list_reads",
    "historical_ml_reads",
    "manifest_file_reads",
    "manifest_file_writes",
    "manifest_list_appends",
    "manifest_list_writes",
    "metadata_writes",
)
"""As results count them: manifest-list reads include the historical ones."""

Event = (
    Submitted
    | CatalogRead
    | Worked
    | Classified
    | Judged
    | StorageUsed
    | IoPaid
    | CommitCalled
    | CommitApplied
    | CommitRefused
    | CommitReturned
    | LogAppended
    | LogCompacted
    | ListAppended
    | ListRewritten
    | BackedOff
    | Restarted
    | Finished
)
KINDS: Mapping[str, type[Any]] = {
    "submitted": Submitted,
    "catalog_read": CatalogRead,
    "worked": Worked,
    "classified": Classified,
    "judged": Judged,
    "storage_used": StorageUsed,
    "io_paid": IoPaid,
    "commit_called": CommitCalled,
    "commit_applied": CommitApplied,
    "commit_refused": CommitRefused,
    "commit_returned": CommitReturned,
    "log_appended": LogAppended,
    "log_compacted": LogCompacted,
    "list_appended": ListAppended,
    "list_rewritten": ListRewritten,
    "backed_off": BackedOff,
    "restarted": Restarted,
    "finished": Finished,
}
"""What each event is called in files."""

Emit = Callable[[Any], None]
"""Whoever takes events, and records that become events later (`endive.trace.recorder`)."""

Use = tuple[str, str, int, int, int, float]
"""What a store was used for, as drawn: artifact, action, count, bytes of each, batches, milliseconds in all."""


class Header(NamedTuple):
    """What a trace is a trace of."""

    seed: int
    duration_ms: float
    config: Mapping[str, Any]
    """The resolved configuration, all defaults filled in; empty where a run was not made from one."""
    num_tables: int
    partitions_per_table: Ints
    group_of: Ints
    """The group of each table; empty if there is one group only."""
    cost_table: Mapping[str, Any]
    """The whole cost table, as its file has it."""
    versions: Mapping[str, str]
    """Of Endive and of what it runs on."""
    store: Mapping[str, Any] = {}
    """What the store is like, profile and configuration taken together: `min_latency_ms`, `effect_point`, `max_parallel`, and `sizes` in bytes. Empty in traces of format 1."""
    format: int = 2


class Trace(NamedTuple):
    """A header and all events, in the order in which they were emitted."""

    header: Header
    events: tuple[Event, ...]
