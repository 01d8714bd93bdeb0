"""The life of a transaction, put together from its events: runs of the application, and the rounds of each.

A round is everything that prepares one commit call, the call, and what became of it. Putting together judges nothing: what
does not fit is kept where a rule will find it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from endive.trace import (
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
    Restarted,
    StorageUsed,
    Submitted,
    Worked,
)


@dataclass(slots=True, eq=False)
class Round:
    """One commit call: what was done for it, and what it met."""

    run: Run
    place: int
    """Which one of its run, from 0."""
    seen: CatalogRead | None
    """The snapshot last seen before this round."""
    backed_off: BackedOff | None = None
    read: CatalogRead | None = None
    classified: Classified | None = None
    judged: list[Judged] = field(default_factory=list)
    payments: list[IoPaid] = field(default_factory=list)
    called: CommitCalled | None = None
    effects: list[Event] = field(default_factory=list)
    """What the catalog, its log and manifest lists did."""
    returned: CommitReturned | None = None
    found: Any = None
    """What the replay makes of it, kept here once it is known."""

    @property
    def at_hand(self) -> CatalogRead | None:
        """The snapshot that the commit call is made against."""
        return self.read or self.seen

    @property
    def is_real(self) -> bool:
        """Whether the detector said that the conflict is real."""
        return any(judged.is_real for judged in self.judged)

    @property
    def applied(self) -> CommitApplied | None:
        """The commit, if it was applied."""
        return next((e for e in self.effects if isinstance(e, CommitApplied)), None)

    @property
    def refused(self) -> CommitRefused | None:
        """The refusal, if there was one."""
        return next((e for e in self.effects if isinstance(e, CommitRefused)), None)

    @property
    def log_appends(self) -> list[LogAppended]:
        """How its record met the log, as often as it did."""
        return [event for event in self.effects if isinstance(event, LogAppended)]


@dataclass(slots=True, eq=False)
class Run:
    """One run of the application: from a snapshot through the work to the end of its commit calls."""

    life: Life
    start: CatalogRead | None = None
    worked: Worked | None = None
    payments: list[IoPaid] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Life:
    """One transaction, from submission to its end."""

    txn_id: int
    submitted: Submitted | None = None
    finished: Finished | None = None
    runs: list[Run] = field(default_factory=list)
    restarts: list[Restarted] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def rounds(self) -> Iterable[Round]:
        """All rounds of all runs."""
        return (each for run in self.runs for each in run.rounds)

    @property
    def is_cut(self) -> bool:
        """Whether the end of the run cut it off, so that its last step is missing."""
        return self.finished is None or self.finished.status == "in_flight"

    def is_cut_in(self, each: Round) -> bool:
        """Whether the end of the run cut it off in this round."""
        return self.is_cut and self.runs[-1].rounds[-1:] == [each]

    @property
    def name(self) -> str:
        """What stories call it."""
        return f"T{self.txn_id}"


def live(txn_id: int, events: list[Event]) -> Life:
    """Put together the life of one transaction from its events, in the order of the trace."""
    life = Life(txn_id, events=events)
    run: Run | None = None
    now: Round | None = None

    def current_run() -> Run:
        nonlocal run
        if run is None:
            run = Run(life)
            life.runs.append(run)
        return run

    def open_round() -> Round:
        """The round that is being prepared; a new one after the last call has returned."""
        nonlocal now
        if now is None or now.returned is not None:
            mine = current_run()
            seen = now.at_hand if now is not None else mine.start
            now = Round(mine, len(mine.rounds), seen)
            mine.rounds.append(now)
        return now

    for event in events:
        if isinstance(event, StorageUsed):
            # A part of what comes next, and judged with that.
            continue
        if isinstance(event, CatalogRead):
            if current_run().worked is None:
                # Of several reads before the work the last is what the work began with.
                current_run().start = event
            else:
                open_round().read = event
        elif isinstance(event, IoPaid):
            if event.reason == "start":
                current_run().payments.append(event)
            elif event.reason == "install" and now is not None:
                now.payments.append(event)
            else:
                open_round().payments.append(event)
        elif isinstance(event, CommitCalled):
            open_round().called = event
        elif isinstance(event, CommitReturned):
            (now or open_round()).returned = event
        elif isinstance(event, Worked):
            current_run().worked = event
        elif isinstance(event, Classified):
            open_round().classified = event
        elif isinstance(event, Judged):
            open_round().judged.append(event)
        elif isinstance(event, BackedOff):
            open_round().backed_off = event
        elif isinstance(event, Submitted):
            life.submitted = event
        elif isinstance(event, Finished):
            life.finished = event
        elif isinstance(event, Restarted):
            life.restarts.append(event)
            run = now = None
        elif isinstance(event, ListAppended | ListRewritten):
            open_round().effects.append(event)
        else:
            (now or open_round()).effects.append(event)
    return life
