"""A trace as a timeline: the JSON format of Chrome's tracing, which ui.perfetto.dev opens.

Each class of transactions is a process and each transaction a track in it. Within the slice of a transaction
stand its reads, its work, its waits and its attempts; within an attempt its reads, payments and the commit
call. The catalog is a process of its own, where every applied commit is an instant.

Times are whole microseconds. A slice begins where the one before it has ended, so that slices nest whatever
the last bits of their times say; the exact milliseconds are in the arguments.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from endive.trace.events import (
    COUNTS,
    KINDS,
    TIME_PARTS,
    BackedOff,
    CatalogRead,
    Classified,
    CommitApplied,
    CommitCalled,
    CommitReturned,
    Event,
    Finished,
    IoPaid,
    Restarted,
    StorageUsed,
    Submitted,
    Trace,
    Worked,
)
from endive.trace.text import in_words, transaction_name

CATALOG_PID = 1
# A thread with the number of its process is shown as the main one, which no track here is.
CATALOG_TID = 2
_UNKNOWN_CLASS = "(class unknown)"
_KIND_OF = {cls: name for name, cls in KINDS.items()}
# These say what happened at an instant; all others say how time passed.
_INSTANTS = (
    "classified",
    "judged",
    "commit_refused",
    "log_appended",
    "log_compacted",
    "list_appended",
    "list_rewritten",
)

Record = dict[str, Any]


def perfetto_lines(trace: Trace, transactions: Collection[int] | None = None) -> Iterator[str]:
    """The JSON document line by line, one record on each; only these transactions, but every commit."""
    about = {
        "seed": trace.header.seed,
        "duration_ms": trace.header.duration_ms,
        "versions": dict(trace.header.versions),
    }
    yield f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n'
    comma = ""
    for record in perfetto_records(trace, transactions):
        yield comma + json.dumps(record, allow_nan=False, separators=(",", ":"))
        comma = ",\n"
    yield "\n]}\n"


def perfetto_records(trace: Trace, transactions: Collection[int] | None = None) -> Iterator[Record]:
    """The records of the timeline: names first, then slices and instants, transaction by transaction."""
    yield _name("process_name", CATALOG_PID, 0, "catalog")
    yield _sort("process_sort_index", CATALOG_PID, 0, 0)
    yield _name("thread_name", CATALOG_PID, CATALOG_TID, "applied commits")
    events_of: dict[int, list[Event]] = {}
    for event in trace.events:
        if type(event) is CommitApplied:
            yield _commit(event)
        if event.txn_id >= 0 and (transactions is None or event.txn_id in transactions):
            events_of.setdefault(event.txn_id, []).append(event)
    # Viewers show the numbers of threads beside their names, so a transaction's is its id, but for T0: thread 0 is taken
    # for the processor's idling. Processes are numbered beyond all threads.
    beyond = max(events_of, default=0) + 1
    pids: dict[str, int] = {}
    for txn_id, events in events_of.items():
        begin = next((event for event in events if type(event) is Submitted), None)
        class_name = _UNKNOWN_CLASS if begin is None else begin.class_name
        if class_name not in pids:
            pids[class_name] = CATALOG_PID + 1 + beyond + len(pids)
            yield _name("process_name", pids[class_name], 0, f"class {class_name}")
            yield _sort("process_sort_index", pids[class_name], 0, len(pids))
        place = {"pid": pids[class_name], "tid": txn_id or beyond}
        yield from _Track(place, txn_id, begin, events).records()


class _Track:
    """One transaction: its events in order, turned into slices that nest."""

    def __init__(
        self, place: dict[str, int], txn_id: int, begin: Submitted | None, events: list[Event]
    ) -> None:
        self._place = place
        self._txn_id = txn_id
        self._begin = begin
        self._events = events
        self._records: list[Record] = []
        self._first_us = self._now_us = _us(_begin_ms(events[0]))
        # Where the attempt under way began, and what belongs to it so far.
        self._attempt_us = -1
        self._attempt: list[Record] = []
        self._outcome: Record = {}
        # Reads and payments before the work belong to no attempt.
        self._has_worked = False
        # What the store did since the last slice.
        self._uses: list[str] = []

    def records(self) -> Iterator[Record]:
        """The track's name, the slice of the whole, then all that stands in it."""
        last: Finished | None = None
        for event in self._events:
            if type(event) is Finished:
                last = event
            else:
                self._take(event)
        self._close_attempt()
        if last is not None and last.status == "in_flight" and _us(last.t_ms) > self._now_us:
            self._slice("cut off by the end", last.t_ms, {"unfinished_ms": last.parts_ms[-1]})
        operation = "" if self._begin is None else f" {self._begin.operation}"
        name = f"{transaction_name(self._txn_id)}{operation}"
        yield _name("thread_name", self._place["pid"], self._place["tid"], name)
        yield _sort("thread_sort_index", self._place["pid"], self._place["tid"], self._txn_id)
        end_us = self._now_us if last is None else max(self._now_us, _us(last.t_ms))
        status = "" if last is None else f" {last.status.replace('_', ' ')}"
        yield self._made(name + status, self._first_us, end_us, _summary(self._begin, last))
        yield from self._records

    def _take(self, event: Event) -> None:
        kind = type(event)
        if isinstance(event, Submitted):
            return
        if isinstance(event, CatalogRead):
            if self._has_worked:
                self._open_attempt()
            seen = {"seq": event.seq, "versions": list(event.versions), "read_ms": event.read_ms}
            self._slice("catalog read", event.t_called_ms + event.read_ms, seen)
        elif isinstance(event, StorageUsed):
            self._uses.append(in_words(event))
        elif isinstance(event, Worked):
            self._slice("runtime", event.t_ms, {"runtime_ms": event.runtime_ms})
            self._has_worked = True
        elif isinstance(event, IoPaid):
            if self._has_worked:
                self._open_attempt()
            counts = {n: c for n, c in zip(COUNTS, event.counts, strict=True) if c}
            args = {"call": event.attempt, "paid_ms": event.paid_ms, **counts}
            self._slice(f"I/O: {event.reason}", event.t_ms, args)
            if event.reason == "install":
                self._close_attempt()
        elif isinstance(event, CommitCalled):
            self._open_attempt()
            self._outcome = {"call": event.attempt, "expected_seq": event.expected_seq}
        elif isinstance(event, CommitReturned):
            self._open_attempt()
            self._outcome = {**self._outcome, "call": event.attempt, "success": event.success}
            args = {**self._outcome, "commit_ms": event.commit_ms}
            self._slice("commit", event.t_ms, args)
            if not event.success:
                self._close_attempt()
        elif isinstance(event, BackedOff):
            self._close_attempt()
            args = {"retry": event.retry, "backoff_ms": event.backoff_ms}
            self._slice("backoff", event.t_ms, args)
        elif isinstance(event, Restarted):
            self._close_attempt()
            self._has_worked = False
            self._instant("restarted", event)
        elif isinstance(event, CommitApplied):
            self._instant(f"applied as seq {event.seq_after}", event)
        elif _KIND_OF[kind] in _INSTANTS:
            if isinstance(event, Classified):
                self._outcome = {"call": event.attempt, "classes": list(event.classes)}
            self._instant(_KIND_OF[kind].replace("_", " "), event)

    def _slice(self, name: str, end_ms: float, args: Record) -> None:
        """From where the track has come to until then."""
        end_us = max(self._now_us, _us(end_ms))
        if self._uses:
            args, self._uses = {**args, "store": self._uses}, []
        self._keep(self._made(name, self._now_us, end_us, args))
        self._now_us = end_us

    def _instant(self, name: str, event: Event) -> None:
        record = {"ph": "i", "s": "t", "name": name, "ts": _us(event.t_ms), **self._place}
        self._keep({**record, "args": {"says": in_words(event), "t_ms": event.t_ms}})

    def _keep(self, record: Record) -> None:
        (self._attempt if self._attempt_us >= 0 else self._records).append(record)

    def _open_attempt(self) -> None:
        if self._attempt_us < 0:
            self._attempt_us = self._now_us

    def _close_attempt(self) -> None:
        if self._attempt_us < 0:
            return
        call = self._outcome.get("call")
        name = "attempt" if call is None else f"attempt {call}"
        outer = self._made(name, self._attempt_us, self._now_us, self._outcome)
        self._attempt_us, self._outcome = -1, {}
        self._records += [outer, *self._attempt]
        self._attempt = []

    def _made(self, name: str, begin_us: int, end_us: int, args: Record) -> Record:
        times = {"ts": begin_us, "dur": end_us - begin_us}
        return {"ph": "X", "name": name, **times, **self._place, "args": args}


def _us(t_ms: float) -> int:
    return round(t_ms * 1000.0)


def _begin_ms(event: Event) -> float:
    return event.t_called_ms if isinstance(event, CatalogRead) else event.t_ms


def _name(what: str, pid: int, tid: int, name: str) -> Record:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _sort(what: str, pid: int, tid: int, index: int) -> Record:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"sort_index": index}}


def _commit(event: CommitApplied) -> Record:
    args = {
        "seq": event.seq_after,
        "txn_id": event.txn_id,
        "tables": list(event.tables),
        "versions": list(event.versions),
        "partitions": None if event.partitions is None else [list(p) for p in event.partitions],
        "replaces_data": event.replaces_data,
    }
    return {
        "ph": "i",
        "s": "t",
        "name": f"seq {event.seq_after}: {transaction_name(event.txn_id)}",
        "ts": _us(event.t_ms),
        "pid": CATALOG_PID,
        "tid": CATALOG_TID,
        "args": args,
    }


def _summary(begin: Submitted | None, last: Finished | None) -> Record:
    args: Record = {}
    if begin is not None:
        args |= {"operation": begin.operation, "tables_written": list(begin.tables_written)}
    if last is not None:
        args |= {"status": last.status, "abort_reason": last.abort_reason, "retries": last.retries}
        args |= {n: ms for n, ms in zip(TIME_PARTS, last.parts_ms, strict=True) if ms}
        args |= {n: c for n, c in zip(COUNTS, last.counts, strict=True) if c}
    return args
