"""A catalog as the documents describe it (§2, docs/MODEL.md, sections 4, 10 and 11), written for being read.

It keeps everything that ever happened and works out the rest by looking through it: nothing is cached, nothing is fast. Its calls are
generators that wait exactly where the real ones do, so the two can be driven in lockstep and compared after each step.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from invariants.direct.adapter import Seen
from invariants.direct.own import PARTITIONS_PER_TABLE, RECORD_BYTES, Kind

Waits = Generator[None, None, bool]
Partitions = dict[int, tuple[int, ...]]
ALL = tuple(range(PARTITIONS_PER_TABLE))


@dataclass(frozen=True)
class Commit:
    """What somebody means to write, and what they had seen."""

    seen: Seen
    tables: tuple[int, ...]
    partitions: Partitions | None

    def touched(self, table: int) -> tuple[int, ...]:
        """The partitions of a table that it writes: all of them where they are not tracked."""
        if table not in self.tables:
            return ()
        return ALL if self.partitions is None else self.partitions[table]


@dataclass
class Log:
    """The log of an append catalog: what it holds, and the state of its seal."""

    records: list[bool] = field(default_factory=list)
    """For each record whether it was applied; rejected ones stay."""
    checkpoint: int = 0
    """How many records the checkpoint covers."""
    sealed: bool = False
    compactions: int = 0

    @property
    def length(self) -> int:
        """Where the log ends, in bytes."""
        return RECORD_BYTES * len(self.records)

    def end_as_of(self, seq: int) -> int:
        """Where it ended when the catalog came to this seq: behind the seq-th applied record."""
        if seq == 0:
            return 0
        places = [place for place, applied in enumerate(self.records) if applied]
        return RECORD_BYTES * (places[seq - 1] + 1)


class Reference:
    """The reference model of one kind of catalog."""

    def __init__(self, kind: Kind, num_tables: int) -> None:
        self.kind = kind
        self.num_tables = num_tables
        self.group_of = kind.group_of(num_tables)
        self.history: list[Commit] = []
        self.log = Log()

    # -- what it shows -------------------------------------------------------------------------------------------

    def seen(self) -> Seen:
        """The state, counted up from nothing."""
        return Seen(
            len(self.history),
            tuple(sum(t in c.tables for c in self.history) for t in range(self.num_tables)),
            tuple(
                tuple(sum(p in c.touched(t) for c in self.history) for p in ALL)
                for t in range(self.num_tables)
            ),
        )

    def depends(self, mine: Commit, other: Commit) -> bool:
        """Whether a commit of mine is refused if another came about since I looked."""
        granularity = "table" if self.kind.catalog == "append" else self.kind.granularity
        if granularity == "catalog":
            return True
        if granularity == "group":
            mine_in = {self.group_of[table] for table in mine.tables}
            return any(self.group_of[table] in mine_in for table in other.tables)
        if granularity == "partition" and mine.partitions is not None:
            return any(set(mine.touched(t)) & set(other.touched(t)) for t in mine.tables)
        return bool(set(mine.tables) & set(other.tables))

    def is_current(self, commit: Commit) -> bool:
        """Whether nothing that the commit depends on has changed since its writer looked."""
        return not any(self.depends(commit, later) for later in self.history[commit.seen.seq :])

    # -- what can be done to it ----------------------------------------------------------------------------------

    def read(self) -> Generator[None, None, Seen]:
        """Wait, look, wait."""
        yield
        seen = self.seen()
        yield
        return seen

    def commit(self, commit: Commit) -> Waits:
        """Wait, decide, wait; a log has more to say in between."""
        return self._append(commit) if self.kind.catalog == "append" else self._swap(commit)

    def _swap(self, commit: Commit) -> Waits:
        yield
        success = self.is_current(commit)
        if success:
            self.history.append(commit)
        yield
        return success

    def _append(self, commit: Commit) -> Waits:
        log, settings = self.log, self.kind.settings
        offset = log.end_as_of(commit.seen.seq)
        if log.sealed:
            yield from self._compact(log.compactions)
        if settings.get("append_offset") == "latest":
            yield
            offset = log.length
            yield
        failures = 0
        while True:
            yield
            if offset == log.length and not log.sealed:
                applied = self._land(commit)
                yield
                break
            offset, sealed, compactions = log.length, log.sealed, log.compactions
            yield
            if failures == settings.get("max_physical_retries", 100):
                return False
            failures += 1
            if sealed:
                yield from self._compact(compactions)
        # The discovery read: two more waits, and nothing that could change the outcome.
        yield
        yield
        return applied

    def _land(self, commit: Commit) -> bool:
        log, settings = self.log, self.kind.settings
        applied = self.is_current(commit)
        log.records.append(applied)
        if applied:
            self.history.append(commit)
        since = len(log.records) - log.checkpoint
        most_entries = settings.get("compaction_max_entries", 0)
        most_bytes = settings.get("compaction_threshold", 16_000_000)
        if since * RECORD_BYTES > most_bytes or 0 < most_entries <= since:
            log.sealed = True
        return applied

    def _compact(self, seen_compactions: int) -> Generator[None, None, None]:
        log = self.log
        yield
        # Only the first of those who found the same seal compacts.
        if log.compactions == seen_compactions:
            log.checkpoint = len(log.records)
            log.sealed = False
            log.compactions += 1
        yield
