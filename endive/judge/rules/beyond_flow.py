"""Beyond §8: nobody gets lost, nothing is counted that was not paid, and every millisecond is explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from endive.judge.lives import Life
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.prices import NOTHING, add, in_words
from endive.judge.replay import CLOSE_MS, Replay, is_close, read_end_ms
from endive.trace import (
    TIME_PARTS,
    BackedOff,
    CatalogRead,
    CommitCalled,
    CommitReturned,
    Event,
    Finished,
    IoPaid,
    StorageUsed,
    Submitted,
    Worked,
)

BEYOND = "beyond §8"
_PART_OF_REASON = {
    "start": "start_io_ms",
    "attempt": "per_attempt_io_ms",
    "rebuild": "per_attempt_io_ms",
    "install": "per_attempt_io_ms",
    "list": "per_attempt_io_ms",
    "validate": "conflict_io_ms",
    "merge": "conflict_io_ms",
}


def everybody_ends_once(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Launched = committed + aborted + in flight, one by one."""
    duration_ms = replay.header.duration_ms
    for expected, submitted in enumerate(replay.of(Submitted)):
        tally.look()
        if submitted.txn_id != expected:
            story = f"T{submitted.txn_id} was submitted as number {expected} of all: ids count up from 0"
            yield Violation(replay.tell(BEYOND, story), (submitted,))
        if submitted.t_ms >= duration_ms:
            story = f"T{submitted.txn_id} was submitted at {submitted.t_ms} ms, though the run ended at {duration_ms} ms"
            yield Violation(replay.tell(BEYOND, story), (submitted,))
    ends = Counter(finished.txn_id for finished in replay.of(Finished))
    begins = Counter(submitted.txn_id for submitted in replay.of(Submitted))
    for life in replay.lives.values():
        if begins[life.txn_id] != 1 or ends[life.txn_id] != 1:
            story = f"{life.name} was submitted {begins[life.txn_id]} times and ended {ends[life.txn_id]} times, each of which is once"
            yield Violation(replay.tell(BEYOND, story), tuple(life.events[:3]))
            continue
        if life.events[-1] is not life.finished or life.events[0] is not life.submitted:
            story = f"{life.name} did something before it was submitted or after it had ended: {life.events[-1]}"
            yield Violation(replay.tell(BEYOND, story), (life.events[0], life.events[-1]))
        finished = life.finished
        assert finished is not None
        is_late = finished.t_ms > duration_ms or (
            (finished.t_ms == duration_ms) != (finished.status == "in_flight")
        )
        if is_late:
            story = f"{life.name} is {finished.status} as of {finished.t_ms} ms in a run that ended at {duration_ms} ms"
            yield Violation(replay.tell(BEYOND, story), (finished,))


def time_is_conserved(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Each step begins where the last one ended, and the parts of the row are the sums of the steps."""
    for life in replay.lives.values():
        if life.submitted is None or life.finished is None:
            continue
        tally.look()
        gap = _first_gap(life)
        if gap is not None:
            now_ms, event, began_ms = gap
            story = f"{life.name} was done with one step at {now_ms} ms and began the next ({type(event).__name__}) at {began_ms} ms: the time between belongs to nothing"
            yield Violation(replay.tell(BEYOND, story), (event,))
            continue
        yield from _parts_disagree(replay, life)


def _first_gap(life: Life) -> tuple[float, Event, float] | None:
    assert life.submitted is not None
    now_ms = life.submitted.t_ms
    for event in life.events:
        if isinstance(event, CatalogRead):
            began_ms, end_ms = event.t_called_ms, read_end_ms(event)
        elif isinstance(event, IoPaid):
            began_ms, end_ms = event.t_ms - event.paid_ms, event.t_ms
        elif isinstance(event, Worked):
            began_ms, end_ms = event.t_ms - event.runtime_ms, event.t_ms
        elif isinstance(event, CommitReturned):
            began_ms, end_ms = event.t_ms - event.commit_ms, event.t_ms
        elif isinstance(event, BackedOff):
            began_ms, end_ms = event.t_ms - event.backoff_ms, event.t_ms
        elif isinstance(event, CommitCalled) or (
            isinstance(event, Finished) and event.status != "in_flight"
        ):
            began_ms = end_ms = event.t_ms
        else:
            continue
        if not is_close(began_ms, now_ms):
            return now_ms, event, began_ms
        now_ms = end_ms
    return None


def _spent(life: Life) -> dict[str, float]:
    """Where the time of a transaction went, added up from its events."""
    spent = dict.fromkeys(TIME_PARTS, 0.0)
    works = 0
    for event in life.events:
        if isinstance(event, CatalogRead):
            spent["catalog_read_ms"] += event.read_ms
        elif isinstance(event, IoPaid):
            spent[_PART_OF_REASON[event.reason]] += event.paid_ms
        elif isinstance(event, Worked):
            # Work done again after a real conflict has a part of its own.
            spent["rework_ms" if works else "runtime_ms"] += event.runtime_ms
            works += 1
        elif isinstance(event, CommitReturned):
            spent["catalog_commit_ms"] += event.commit_ms
        elif isinstance(event, BackedOff):
            spent["backoff_ms"] += event.backoff_ms
    return spent


def _parts_disagree(replay: Replay, life: Life) -> Iterator[Violation]:
    submitted, finished = life.submitted, life.finished
    assert submitted is not None
    assert finished is not None
    spent, total_ms = _spent(life), finished.t_ms - submitted.t_ms
    spent["unfinished_ms"] = max(0.0, total_ms - sum(spent.values())) if life.is_cut else 0.0
    told = dict(zip(TIME_PARTS, finished.parts_ms, strict=True))
    first_work = next((e for e in life.events if isinstance(e, Worked)), None)
    if first_work is None:
        # A row shows the runtime that was drawn, even of work that was not done.
        spent["runtime_ms"] = submitted.runtime_ms
    for part in TIME_PARTS:
        if not is_close(told[part], spent[part]):
            story = (
                f"{life.name} reports {part} {told[part]}, and its steps add up to {spent[part]}"
            )
            yield Violation(replay.tell(BEYOND, story), (finished,))
    if first_work is not None and not is_close(sum(spent.values()), total_ms):
        story = f"{life.name} took {total_ms} ms, and its steps explain {sum(spent.values())} ms"
        yield Violation(replay.tell(BEYOND, story), (finished,))
    latency_ms = 0.0 if first_work is None else finished.t_ms - first_work.t_ms
    for name, reported_ms, actual_ms in (
        ("total_ms", finished.total_ms, total_ms),
        ("commit_latency_ms", finished.commit_latency_ms, latency_ms),
        ("runtime_ms", told["runtime_ms"], submitted.runtime_ms),
    ):
        if not is_close(reported_ms, actual_ms):
            story = f"{life.name} reports {name} {reported_ms}, and it was {actual_ms}"
            yield Violation(replay.tell(BEYOND, story), (finished,))


def counts_are_conserved(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """The counts of a row are those of its payments."""
    for life in replay.lives.values():
        if life.finished is None:
            continue
        tally.look()
        paid = [event.counts for event in life.events if isinstance(event, IoPaid)]
        total = add(*paid) if paid else NOTHING
        if total != life.finished.counts:
            story = f"{life.name} paid for {in_words(total)}, and its row says {in_words(life.finished.counts)}"
            yield Violation(replay.tell(BEYOND, story), (life.finished,))
        calls = sum(isinstance(event, CommitCalled) for event in life.events)
        if life.finished.retries != max(0, calls - 1):
            story = f"{life.name} called for a commit {calls} times, and its row says {life.finished.retries} retries"
            yield Violation(replay.tell(BEYOND, story), (life.finished,))


def events_are_in_order(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Time never runs backwards; at one instant, steps come in order of transaction id."""
    last_ms = 0.0
    last_step: Event | None = None
    for event in replay.events:
        tally.look()
        if isinstance(event, StorageUsed):
            # Told when the whole that it is a part of is over, and held against that (`storage-explains-payments`).
            continue
        # A read is told when it is over, though its snapshot is of an instant before.
        now_ms = read_end_ms(event) if isinstance(event, CatalogRead) else event.t_ms
        if now_ms < last_ms - CLOSE_MS:
            story = f"{_step(event)} of T{event.txn_id} happened at {now_ms} ms, and is told after something of {last_ms} ms"
            yield Violation(replay.tell(BEYOND, story), (event,))
        last_ms = max(last_ms, now_ms)
        if isinstance(event, Submitted) or event.txn_id < 0:
            # Whoever arrives may act at once, before the steps of that instant.
            last_step = None
        elif not isinstance(event, CatalogRead) and not _is_cut_off(event):
            # The end of a read is a sum of floats, so it is left out; so are those whom the end of the run cuts off.
            if (
                last_step is not None
                and last_step.t_ms == event.t_ms
                and last_step.txn_id > event.txn_id
            ):
                story = f"T{event.txn_id} and T{last_step.txn_id} both had a step at {event.t_ms} ms, and T{last_step.txn_id} went first"
                yield Violation(replay.tell(BEYOND, story), (last_step, event))
            last_step = event


def _is_cut_off(event: Event) -> bool:
    return isinstance(event, Finished) and event.status == "in_flight"


def _step(event: Event) -> str:
    return type(event).__name__


INVARIANTS = (
    Invariant(
        id="flow-balance",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Every submitted transaction ends exactly once: committed, aborted or in flight; ids count up from 0.",
        check=everybody_ends_once,
    ),
    Invariant(
        id="time-conserved",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Every millisecond of a transaction is explained by exactly one read, payment, commit, backoff or its own work.",
        check=time_is_conserved,
    ),
    Invariant(
        id="counts-conserved",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="What a row counts is what the payments of its transaction add up to.",
        check=counts_are_conserved,
    ),
    Invariant(
        id="events-in-order",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Time never runs backwards, and at one instant steps come in order of transaction id.",
        check=events_are_in_order,
    ),
)
