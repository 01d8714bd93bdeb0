"""§8.10 ML+ deferred validity: an entry of a manifest list is valid iff its transaction commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from endive.judge.lives import Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay
from endive.judge.rules.beyond_costs import Dues
from endive.judge.settings import SPECIFIED, appends_to_lists
from endive.trace import COUNTS, ListAppended, ListRewritten, Submitted

_APPENDS = COUNTS.index("manifest_list_appends")
_WRITES = COUNTS.index("manifest_list_writes")


def entries_count_when_committed(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """At a commit each written table has exactly one live entry; after overlap the old one is orphaned."""
    dues = Dues(replay)
    for life, submitted, each in replay.rounds():
        written = [p for p in each.payments if p.counts[_WRITES] and p.reason != "list"]
        if written:
            story = f"{life.name} wrote a whole manifest list for commit call {each.place}, though lists are appended to"
            yield Violation(replay.tell("8.10", story), tuple(written))
        if each.called is None or each.at_hand is None:
            continue
        tally.look()
        owed = _owed(replay, dues, submitted, each)
        if replay.settings.appends_at_offsets:
            made = _made(each)
            if made != owed:
                story = f"{_began(replay, submitted, each)}; it owed one new entry in the manifest list of {_tables(owed)}, and made {_tables(made)}"
                yield Violation(replay.tell("8.10", story), tuple(each.payments))
        else:
            count = sum(p.counts[_APPENDS] for p in each.payments)
            if count != sum(owed.values()):
                story = f"{_began(replay, submitted, each)}; it owed one new entry in the manifest list of {_tables(owed)}, and made {count} in all"
                yield Violation(replay.tell("8.10", story), tuple(each.payments))


def _owed(replay: Replay, dues: Dues, submitted: Submitted, each: Round) -> Counter[int]:
    """The tables that need a new entry: all at first, then those whose entry was orphaned."""
    found = replay.found(submitted, each)
    if replay.header.cost_table.get("name") == SPECIFIED:
        if each.place == 0 or found is None:
            return Counter(submitted.tables_written)
        return Counter(found.overlapping)
    prices = dues.each_table(submitted, each, found)
    return Counter({table: price[_APPENDS] for table, price in prices.items() if price[_APPENDS]})


def _made(each: Round) -> Counter[int]:
    """The entries that are in a list now: appended, or part of a list that took a sealed one's place."""
    return Counter(
        event.table
        for event in each.effects
        if (isinstance(event, ListAppended) and event.landed)
        or (isinstance(event, ListRewritten) and event.won)
    )


def _began(replay: Replay, submitted: Submitted, each: Round) -> str:
    if each.read is not None and each.seen is not None:
        return replay.meanwhile(submitted, each)
    return f"T{submitted.txn_id} ({submitted.operation}) prepared its first commit"


def _tables(entries: Counter[int]) -> str:
    named = [f"table {table}" + (f" {n} times" if n > 1 else "") for table, n in entries.items()]
    return ", ".join(sorted(named)) or "no table"


def some_orphaned_entry(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """An entry is left behind by a retry that has to make another."""
    for _life, _submitted, each, found in replay.retries():
        tally.look(each.place > 0 and bool(found.overlapping) and each.called is not None)
    return iter(())


INVARIANTS = (
    Invariant(
        id="entry-valid-iff-committed",
        clause="8.10",
        kind=Kind.ALWAYS,
        statement="With ML+ a commit call has exactly one live entry in the list of each table it writes: the first, or after overlap a new one; whole lists are never written.",
        check=entries_count_when_committed,
        applies_when=lambda header: appends_to_lists(header) and bool(header.cost_table),
    ),
    Invariant(
        id="some-orphaned-entry",
        clause="8.10",
        kind=Kind.SOMETIMES,
        statement="Some entry is orphaned, and another one made.",
        check=some_orphaned_entry,
        applies_when=appends_to_lists,
    ),
)
