"""A trace, replayed: the history of the catalog, the life of every transaction, and what each retry should have found.

Everything here is computed from the header and the events by code of its own. The simulator's parts are not asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

from endive.judge.history import Behind, History
from endive.judge.lives import Life, Round, live
from endive.judge.settings import Settings, read_settings
from endive.trace import CatalogRead, CommitApplied, Event, Header, Submitted, Trace

CROSS_TABLE = "cross_table"
READ_SET = "read_set"
DISJOINT_PARTITIONS = "disjoint_partitions"
OVERLAP = "overlap"
SEVERITY = (CROSS_TABLE, READ_SET, DISJOINT_PARTITIONS, OVERLAP)
"""Classes from the mildest to the worst (docs/MODEL.md, section 7)."""

CLOSE_MS = 1e-6
"""Times closer than this are the same time: sums of floats differ in their last digits."""

_E = TypeVar("_E")


class Found(NamedTuple):
    """What a round should have found between the snapshot last seen and the current one."""

    classes: Mapping[int, str]
    """Of every written table, then of every changed table of the read set where that matters."""
    worst: str
    first_of_worst: int
    behind: Mapping[int, Behind]
    """What the prices of each table count."""
    validated: Behind
    """N and R of the validation."""

    @property
    def overlapping(self) -> list[int]:
        """The written tables that somebody else wrote where this transaction writes."""
        return [table for table, found in self.classes.items() if found == OVERLAP]


class Replay:
    """One trace, ready to be asked."""

    def __init__(self, trace: Trace) -> None:
        self.header: Header = trace.header
        self.events = trace.events
        self.settings: Settings = read_settings(trace.header)
        by_kind: dict[type, list[Event]] = defaultdict(list)
        by_txn: dict[int, list[Event]] = defaultdict(list)
        for event in trace.events:
            by_kind[type(event)].append(event)
            # Commits from elsewhere have no life of their own.
            if event.txn_id >= 0:
                by_txn[event.txn_id].append(event)
        self._by_kind = by_kind
        commits = self.of(CommitApplied)
        self.history = History(trace.header, commits, self.settings.manifests_per_table)
        self.number_of = {id(commit): number for number, commit in enumerate(commits, start=1)}
        """The number of each applied commit, by the identity of its event."""
        self.lives = {txn_id: live(txn_id, by_txn[txn_id]) for txn_id in sorted(by_txn)}

    def of(self, kind: type[_E]) -> list[_E]:
        """All events of one kind, in order."""
        return self._by_kind[kind]  # type: ignore[return-value]

    def rounds(self) -> Iterator[tuple[Life, Submitted, Round]]:
        """All rounds of all transactions that were submitted."""
        for life in self.lives.values():
            if life.submitted is not None:
                for each in life.rounds:
                    yield life, life.submitted, each

    def retries(self) -> Iterator[tuple[Life, Submitted, Round, Found]]:
        """All rounds that compared two snapshots, with what they should have found."""
        for life, submitted, each in self.rounds():
            found = self.found(submitted, each)
            if found is not None:
                yield life, submitted, each, found

    # -- what a round should have found ------------------------------------------------------------------------------

    def found(self, submitted: Submitted, each: Round) -> Found | None:
        """What a round should have found; None if it read nothing, or had nothing to compare it with."""
        if each.found is None and each.read is not None and each.seen is not None:
            since = each.seen
            if self.validates_from_start and each.run.start is not None:
                since = each.run.start
            each.found = self._compare(submitted, since.seq, each.seen.seq, each.read.seq)
        found: Found | None = each.found
        return found

    @property
    def validates_from_start(self) -> bool:
        """Whether N counts from the snapshot that the work began with."""
        settings = self.header.cost_table.get("settings", {})
        return bool(settings.get("validate_from", {}).get("is") == "start")

    def _compare(self, submitted: Submitted, since: int, seen: int, current: int) -> Found:
        classes = self._classes(submitted, seen, current)
        worst = max(classes.values(), key=SEVERITY.index)
        first = min(table for table, found in classes.items() if found == worst)
        scope = self.settings.history_scope
        if scope in ("catalog", "group"):
            # One history for all tables, so it is counted once.
            shared = self.behind(submitted, first, since, current)
            return Found(classes, worst, first, dict.fromkeys(classes, shared), shared)
        each = {table: self.behind(submitted, table, since, current) for table in classes}
        validated = Behind()
        for table, found in classes.items():
            if found == OVERLAP:
                validated = validated.plus(each[table])
        return Found(classes, worst, first, each, validated)

    def _classes(self, submitted: Submitted, seen: int, current: int) -> dict[int, str]:
        history, classes = self.history, {}
        for place, table in enumerate(submitted.tables_written):
            if not history.table_behind(table, seen, current).commits:
                classes[table] = CROSS_TABLE
            elif submitted.partitions is None:
                classes[table] = OVERLAP
            else:
                partitions = submitted.partitions[place]
                hit = history.partitions_behind(table, partitions, seen, current).commits
                classes[table] = OVERLAP if hit else DISJOINT_PARTITIONS
        if self.settings.serializable:
            for table in read_only(submitted):
                if history.table_behind(table, seen, current).commits:
                    classes[table] = READ_SET
        return classes

    def behind(self, submitted: Submitted, table: int, old: int, new: int) -> Behind:
        """How far a table is behind, as the history scope counts."""
        scope, history = self.settings.history_scope, self.history
        if scope == "catalog":
            return history.behind(old, new)
        if scope == "group":
            return history.group_behind(table, old, new)
        if scope == "table" or submitted.partitions is None or table in read_only(submitted):
            return history.table_behind(table, old, new)
        partitions = submitted.partitions[submitted.tables_written.index(table)]
        return history.partitions_behind(table, partitions, old, new)

    # -- stories -----------------------------------------------------------------------------------------------------

    @property
    def command(self) -> str:
        """How to see it again."""
        return f"Replay: endive run cfg.toml --seed {self.header.seed} --trace"

    def tell(self, clause: str, sentence: str) -> str:
        """A story with its clause and the way to see it again."""
        return f"{sentence} ({_cite(clause)}). {self.command}"

    def meanwhile(self, submitted: Submitted, each: Round) -> str:
        """The beginning of a story about a retry: what was seen, and who committed since."""
        assert each.seen is not None
        assert each.read is not None
        name = f"T{submitted.txn_id}"
        told = [f"{name} ({submitted.operation}) saw seq {each.seen.seq}"]
        commits, old, new = self.history.commits, each.seen.seq, each.read.seq
        mine = sorted(
            {n for t in submitted.tables_written for n in self.history.writers(t, old, new)}
        )
        for number in mine[:3]:
            told.append(describe(commits[number - 1], number))
        if len(mine) > 3:
            told.append(f"and {len(mine) - 3} more to its tables followed")
        told.append(f"then {name} read seq {each.read.seq}")
        return "; ".join(told)


def describe(commit: CommitApplied, number: int) -> str:
    """A commit in words."""
    who = f"T{commit.txn_id}" if commit.txn_id >= 0 else "somebody else"
    where = []
    for place, table in enumerate(commit.tables):
        parts = "" if commit.partitions is None else commit.partitions[place]
        named = f", partition {', '.join(map(str, parts))}" if parts else ""
        where.append(f"table {table}{named}")
    return f"{who} committed seq {number} on {' and '.join(where)}"


def read_only(submitted: Submitted) -> list[int]:
    """The tables that are read and not written."""
    written = submitted.tables_written
    if len(submitted.tables_read) == len(written):
        return []
    return [table for table in submitted.tables_read if table not in written]


def read_end_ms(read: CatalogRead) -> float:
    """When a catalog read was over."""
    return read.t_called_ms + read.read_ms


def is_close(a_ms: float, b_ms: float) -> bool:
    """Whether two times are the same, but for the last digits of their sums."""
    return abs(a_ms - b_ms) <= CLOSE_MS + 1e-12 * abs(a_ms)


def _cite(clause: str) -> str:
    return f"§{clause}" if clause[0].isdigit() else clause
