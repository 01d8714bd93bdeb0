"""Beyond §8: the catalog's log and the manifest lists grow by what was appended, and by nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay
from endive.judge.settings import appends_at_offsets, is_append, section
from endive.trace import ListAppended, ListRewritten, LogAppended, LogCompacted

BEYOND = "beyond §8"


@dataclass(slots=True)
class _Log:
    """The log as it must be, from one event to the next."""

    entry_size: int
    threshold: int
    max_entries: int
    length: int = 0
    checkpoint: int = 0
    entries: int = 0
    sealed: bool = False
    compactions: int = 0

    def extend(self) -> None:
        self.length += self.entry_size
        self.entries += 1
        is_large = self.length - self.checkpoint > self.threshold
        if is_large or 0 < self.max_entries <= self.entries:
            self.sealed = True

    def compact(self) -> None:
        self.checkpoint, self.entries, self.sealed = self.length, 0, False
        self.compactions += 1


def log_grows_by_records(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Length, seal and compactions are the sum of what happened."""
    catalog = section(replay.header, "catalog")
    log = _Log(
        catalog.get("log_entry_size", 100),
        catalog.get("compaction_threshold", 16_000_000),
        catalog.get("compaction_max_entries", 0),
    )
    for event in replay.events:
        if isinstance(event, LogAppended):
            tally.look()
            # Commits from elsewhere land whatever the seal says.
            fits = event.offset == log.length and (not log.sealed or event.txn_id < 0)
            if event.landed != fits:
                story = f"T{event.txn_id} appended at {event.offset} to a log of {log.length} bytes{', sealed' if log.sealed else ''}, and it {'landed' if event.landed else 'did not land'}"
                yield Violation(replay.tell(BEYOND, story), (event,))
            if event.landed:
                log.extend()
            if (event.length, event.sealed) != (log.length, log.sealed):
                story = f"T{event.txn_id} met a log that must be {log.length} bytes long and {'' if log.sealed else 'not '}sealed by now, and it is {event.length} bytes long and {'' if event.sealed else 'not '}sealed"
                yield Violation(replay.tell(BEYOND, story), (event,))
                # One story is enough: go on from what is said.
                log.length, log.sealed = event.length, event.sealed
        elif isinstance(event, LogCompacted):
            tally.look()
            can_win = event.compactions == log.compactions
            if event.won != can_win or (event.won and not log.sealed):
                story = f"T{event.txn_id} found the log sealed after {event.compactions} compactions; there had been {log.compactions} when it was ready, and it {'won' if event.won else 'lost'}"
                yield Violation(replay.tell(BEYOND, story), (event,))
            if event.won:
                log.compact()
    yield from _stubborn(replay)


def _stubborn(replay: Replay) -> Iterator[Violation]:
    allowed = section(replay.header, "catalog").get("append_max_physical_retries", 100)
    for life, _submitted, each in replay.rounds():
        failed = [event for event in each.log_appends if not event.landed]
        if len(failed) > allowed + 1:
            story = f"{life.name} failed to append {len(failed)} times in one commit call, and may try again {allowed} times"
            yield Violation(replay.tell(BEYOND, story), tuple(failed[-2:]))
        gave_up = each.returned is not None and len(failed) == len(each.log_appends)
        if gave_up and len(failed) <= allowed:
            story = f"{life.name} gave up after {len(failed)} failed appends in one commit call, and may try again {allowed} times"
            yield Violation(replay.tell(BEYOND, story), tuple(failed[-2:]))


@dataclass(slots=True)
class _List:
    """One manifest list as it must be, from one event to the next."""

    length: int = 0
    sealed: bool = False
    rewrites: int = 0
    found_sealed: dict[int, int] = field(default_factory=dict)
    """For each transaction that found it sealed, how often it had been rewritten by then."""


def lists_grow_by_entries(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Each list is as long as its entries; a sealed one takes none until it is rewritten, by one writer only."""
    transaction = section(replay.header, "transaction")
    entry_size = transaction.get("manifest_list_entry_size", 50)
    threshold = transaction.get("manifest_list_seal_threshold", 0)
    lists: dict[int, _List] = defaultdict(_List)
    for event in replay.events:
        if isinstance(event, ListAppended):
            tally.look()
            known = lists[event.table]
            fits = event.offset == known.length and not known.sealed
            if event.landed != fits:
                story = f"T{event.txn_id} appended at {event.offset} to the list of table {event.table}, {known.length} bytes long{', sealed' if known.sealed else ''}, and it {'landed' if event.landed else 'did not land'}"
                yield Violation(replay.tell(BEYOND, story), (event,))
            if event.landed:
                known.length += entry_size
                known.sealed = known.sealed or 0 < threshold < known.length
            elif known.sealed:
                known.found_sealed[event.txn_id] = known.rewrites
            yield from _misfit(replay, known, event)
        elif isinstance(event, ListRewritten):
            tally.look()
            known = lists[event.table]
            can_win = known.found_sealed.get(event.txn_id) == known.rewrites and known.sealed
            if event.won != can_win:
                story = f"T{event.txn_id} rewrote the list of table {event.table} and {'won' if event.won else 'lost'}, though {'nobody' if can_win else 'somebody else'} had done so since it found it sealed"
                yield Violation(replay.tell(BEYOND, story), (event,))
            if event.won:
                known.length, known.sealed = entry_size, False
                known.rewrites += 1
            yield from _misfit(replay, known, event)


def _misfit(
    replay: Replay, known: _List, event: ListAppended | ListRewritten
) -> Iterator[Violation]:
    sealed = event.sealed if isinstance(event, ListAppended) else known.sealed
    if (event.length, sealed) == (known.length, known.sealed):
        return
    story = f"T{event.txn_id} met the list of table {event.table}, which must be {known.length} bytes long and {'' if known.sealed else 'not '}sealed by now, and it is {event.length} bytes long and {'' if sealed else 'not '}sealed"
    yield Violation(replay.tell(BEYOND, story), (event,))
    known.length, known.sealed = event.length, sealed


INVARIANTS = (
    Invariant(
        id="log-grows-by-records",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="The log grows by one record per landing, lands only at its end, and is compacted once per seal.",
        check=log_grows_by_records,
        applies_when=is_append,
    ),
    Invariant(
        id="lists-grow-by-entries",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A manifest list grows by one entry per landing, lands only at its end, and is rewritten once per seal.",
        check=lists_grow_by_entries,
        applies_when=appends_at_offsets,
    ),
)
