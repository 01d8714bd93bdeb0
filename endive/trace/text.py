"""A trace for people: one line per event, with its time, its transaction and what happened in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from endive.trace.events import (
    BACKGROUND_ID,
    COUNTS,
    TIME_PARTS,
    BackedOff,
    CatalogRead,
    Classified,
    CommitApplied,
    CommitCalled,
    CommitRefused,
    CommitReturned,
    Event,
    Finished,
    IoPaid,
    Judged,
    ListAppended,
    ListRewritten,
    LogAppended,
    LogCompacted,
    Restarted,
    StorageUsed,
    Submitted,
    Worked,
)


def text_lines(events: Iterable[Event]) -> Iterator[str]:
    """One line per event, without line ends."""
    for event in events:
        who = transaction_name(event.txn_id)
        yield f"{event.t_ms:14.3f} ms  {who:<8} {in_words(event)}"


def in_words(event: Event) -> str:
    """What happened."""
    return _WORDS[type(event)](event)


def transaction_name(txn_id: int) -> str:
    """`T5`; whoever commits from elsewhere has no number."""
    return "elsewhere" if txn_id <= BACKGROUND_ID else f"T{txn_id}"


def counts_in_words(counts: Sequence[int]) -> str:
    """The counts that are not nothing: `1 manifest list read, 2 manifest file writes`."""
    phrases = [""]
    for name, count in zip(COUNTS, counts, strict=True):
        if count and name == "historical_ml_reads":
            phrases[-1] += f" ({count} of them historical)"
        elif count:
            phrases.append(_many(count, name.removesuffix("s").replace("_", " ")))
    return ", ".join(filter(None, phrases)) or "nothing"


def _submitted(event: Submitted) -> str:
    also = [table for table in event.tables_read if table not in event.tables_written]
    reads = f", reads {_tables(also)} too" if also else ""
    writes = touched_in_words(event.tables_written, event.partitions)
    return (
        f"submitted: {event.operation} of class {event.class_name}, writes {writes}{reads}; "
        f"its work takes {event.runtime_ms:.3f} ms"
    )


def _read(event: CatalogRead) -> str:
    return (
        f"saw seq {event.seq} (its tables at {_numbers(event.versions)}) in a read of "
        f"{event.read_ms:.3f} ms from {event.t_called_ms:.3f} on"
    )


def _worked(event: Worked) -> str:
    return f"did its work of {event.runtime_ms:.3f} ms"


def _classified(event: Classified) -> str:
    classes = ", ".join(name.replace("_", " ") for name in event.classes)
    return (
        f"found before call {event.attempt}: {classes}; {_many(event.snapshots_behind, 'commit')} behind, "
        f"{event.replaced} of them replaced data"
    )


def _judged(event: Judged) -> str:
    real = "real" if event.is_real else "not real"
    return f"the conflict before call {event.attempt} is {real}"


def _used(event: StorageUsed) -> str:
    what = f"{event.artifact.replace('_', ' ')} {event.action}"
    batches = f" in {_many(event.batches, 'batch', 'batches')}" if event.operations > 1 else ""
    return (
        f"used the store for {_many(event.operations, what)} of {event.size_bytes} bytes{batches}, "
        f"which took {event.took_ms:.3f} ms"
    )


def _paid(event: IoPaid) -> str:
    return (
        f"paid {event.paid_ms:.3f} ms for {counts_in_words(event.counts)} "
        f"({event.reason}, call {event.attempt})"
    )


def _called(event: CommitCalled) -> str:
    return (
        f"calls commit (call {event.attempt}): expects seq {event.expected_seq}, "
        f"to install {_numbers(event.versions)}"
    )


def _applied(event: CommitApplied) -> str:
    how = "replaces data" if event.replaces_data else "adds data"
    tables = touched_in_words(event.tables, event.partitions)
    return f"COMMITTED as seq {event.seq_after}: {tables} now at {_numbers(event.versions)}; {how}"


def _refused(event: CommitRefused) -> str:
    return f"refused: expected seq {event.expected_seq}, the catalog is at {event.seq}"


def _returned(event: CommitReturned) -> str:
    outcome = "succeeded" if event.success else "failed"
    return f"learns that call {event.attempt} {outcome}, after {event.commit_ms:.3f} ms"


def _log(event: LogAppended) -> str:
    if not event.landed:
        why = "the log is sealed" if event.sealed else f"the log ends at {event.length}"
        return f"record for offset {event.offset} did not land: {why}"
    judged = "applied" if event.applied else "rejected"
    sealed = "; the log is sealed" if event.sealed else ""
    return f"record landed at offset {event.offset} and was {judged}; the log ends at {event.length}{sealed}"


def _compacted(event: LogCompacted) -> str:
    return f"{'compacted the log' if event.won else 'lost the compaction of the log'}, after {event.compactions} before"


def _list(event: ListAppended) -> str:
    sealed = "; the list is sealed" if event.sealed else ""
    if not event.landed:
        return f"entry for offset {event.offset} of table {event.table}'s list did not land: it ends at {event.length}{sealed}"
    return f"entry landed at offset {event.offset} of table {event.table}'s list, which ends at {event.length}{sealed}"


def _rewritten(event: ListRewritten) -> str:
    if event.won:
        return f"put a new list of {event.length} in place for table {event.table}"
    return f"lost the rewrite of table {event.table}'s list, which has {event.length} now"


def _backed_off(event: BackedOff) -> str:
    return f"waited {event.backoff_ms:.3f} ms before retry {event.retry}"


def _restarted(event: Restarted) -> str:
    return f"starts all over, for time {event.restarts}"


def _finished(event: Finished) -> str:
    reason = f" ({event.abort_reason})" if event.abort_reason is not None else ""
    parts = ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {spent_ms:.3f}"
        for name, spent_ms in zip(TIME_PARTS, event.parts_ms, strict=True)
        if spent_ms
    )
    return (
        f"{event.status.replace('_', ' ')}{reason} after {event.total_ms:.3f} ms and "
        f"{event.retries} {'retry' if event.retries == 1 else 'retries'}; ms: {parts or 'none'}; I/O: {counts_in_words(event.counts)}"
    )


def _many(count: int, what: str, several: str = "") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {several or what + 's'}"


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "–"


def _tables(tables: Sequence[int]) -> str:
    return f"table{'s' if len(tables) != 1 else ''} {_numbers(tables)}"


def touched_in_words(tables: Sequence[int], partitions: Sequence[Sequence[int]] | None) -> str:
    """Tables and, where they are known, their partitions: `table 0 (partitions 1, 2)`."""
    if partitions is None:
        return _tables(tables)
    each = [
        f"{table} (partitions {_numbers(touched)})"
        for table, touched in zip(tables, partitions, strict=False)
    ]
    return f"table{'s' if len(tables) != 1 else ''} {', '.join(each)}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    Submitted: _submitted,
    CatalogRead: _read,
    Worked: _worked,
    Classified: _classified,
    Judged: _judged,
    StorageUsed: _used,
    IoPaid: _paid,
    CommitCalled: _called,
    CommitApplied: _applied,
    CommitRefused: _refused,
    CommitReturned: _returned,
    LogAppended: _log,
    LogCompacted: _compacted,
    ListAppended: _list,
    ListRewritten: _rewritten,
    BackedOff: _backed_off,
    Restarted: _restarted,
    Finished: _finished,
}
