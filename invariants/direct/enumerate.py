"""All interleavings of a few transactions: every order in which their steps can come.

A transaction reads and commits, and after a refusal reads and commits again, as often as it may. A *turn* takes it from one wait to
the next; where a call ends, the next one begins in the same turn, because nothing lies between. Schedules are explored depth first.
Generators cannot be copied, so a schedule is played from the start.

Two grains. *Steps*: every wait of every generator is a place where others come in. *Effects*: a wait after which a target says that it
looks at nothing others can change is passed over, which leaves every order of effects.

Two ways of covering them. A target that can tell all of its state (`fingerprint()`) has schedules merged that come to the same point:
what happens from there on cannot differ. Where a transaction stands follows from what the catalog was like at each of its turns,
since its call began anew; so the catalog, and for each transaction those states, are the point. The number of interleavings is exact, though most of them
are played from their meeting with another one no further. Any other target has each of them played out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from invariants.direct.adapter import MakeTarget, close
from invariants.direct.programs import Program, Programs, programs_of
from invariants.direct.properties import Call, Trial


@dataclass(frozen=True)
class Bound:
    """How much is enumerated."""

    transactions: int
    tables: int
    attempts: int
    grain: str

    def __str__(self) -> str:
        return (
            f"{self.transactions} transactions x {self.tables} tables x {self.attempts} attempts"
            f" by {self.grain}"
        )


@dataclass(frozen=True)
class Covered:
    """How much there was up to a bound."""

    interleavings: int = 0
    turns: int = 0
    """How many turns there are at all, each of them from another point: less than played, where some had to be played again."""

    def __add__(self, other: Covered) -> Covered:
        return Covered(self.interleavings + other.interleavings, self.turns + other.turns)


class Player:
    """One transaction, and where it stands."""

    def __init__(self, trial: Trial, txn_id: int, program: Program, bound: Bound) -> None:
        self._trial = trial
        self._txn_id = txn_id
        self._attempts_left = bound.attempts
        self._passes_over = None
        self._met: list[int] = []
        self.program = program
        self.has_moved = False
        self.call: Call | None = trial.read(txn_id)
        if bound.grain == "effects":
            self._passes_over = getattr(trial.target, "passes_over", None)
        if self._passes_over is not None:
            # A catalog that says what it looks at looks at nothing before the first wait.
            trial.step(self.call)

    def turn(self) -> bool:
        """Go on to the next wait that matters, through the ends of calls; says whether the transaction has begun anew."""
        self.has_moved = True
        is_anew = False
        while self.call is not None:
            if self._trial.step(self.call):
                self.call = self._next_call(self.call)
                is_anew = is_anew or (self.call is not None and self.call.seen is None)
            elif not self._is_passed_over(self.call):
                break
        return is_anew

    def met(self, before: int, after: int, is_anew: bool) -> None:
        """What the catalog was like at the turn just taken. Whoever begins anew knows nothing of what was before."""
        self._met = [after] if is_anew else [*self._met, before]

    def point(self) -> Hashable:
        """Where this transaction stands: what it will do depends on this, and on the catalog, alone."""
        if self.call is None:
            return None
        is_commit = self.call.seen is not None
        return self.has_moved, self._attempts_left, is_commit, len(self.call.waits), *self._met

    def _is_passed_over(self, call: Call) -> bool:
        return self._passes_over is not None and self._passes_over(
            call.seen is not None, call.waits
        )

    def _next_call(self, ended: Call) -> Call | None:
        if ended.seen is None:
            self._attempts_left -= 1
            return self._trial.commit(
                self._txn_id, ended.answer, self.program.tables, self.program.partitions_written()
            )
        if ended.answer or self._attempts_left == 0:
            return None
        return self._trial.read(self._txn_id)


class Play:
    """A catalog and its transactions, some way into a schedule."""

    def __init__(
        self, make: MakeTarget, bound: Bound, programs: Programs, names: dict[Hashable, int]
    ) -> None:
        self.target = make(bound.tables)
        self.trial = Trial(self.target, bound.tables)
        self.players = [Player(self.trial, i, each, bound) for i, each in enumerate(programs)]
        self._names = names
        self.now = self._state()

    def _state(self) -> int:
        """A number for the state of the catalog; the same for the same."""
        fingerprint = getattr(self.target, "fingerprint", None)
        if fingerprint is None:
            return 0
        # Who has been applied, and in which order, is what the properties are held against.
        applied = tuple(call.txn_id for call in self.trial.applied)
        return self._names.setdefault((fingerprint(), applied), len(self._names))

    def turn(self, who: int, known: int | None = None) -> None:
        """Let one transaction go on. `known`: the state that this leads to, where it has been found out before."""
        before, player = self.now, self.players[who]
        is_anew = player.turn()
        self.now = self._state() if known is None else known
        player.met(before, self.now, is_anew)

    def point(self) -> Hashable:
        """What everything that can happen from here on depends on."""
        return self.now, tuple(player.point() for player in self.players)

    def candidates(self) -> list[int]:
        """Whose turn it may be. Of several that are the same in all but name, the first one moves first."""
        found: list[int] = []
        waiting: set[Program] = set()
        for who, player in enumerate(self.players):
            if player.call is None:
                continue
            if not player.has_moved:
                if player.program in waiting:
                    continue
                waiting.add(player.program)
            found.append(who)
        return found

    def end(self) -> None:
        """What must hold when all have ended."""
        self.trial.check_held()
        self.trial.check_end()


def cover(make: MakeTarget, bound: Bound, *, merges: bool = True) -> Covered:
    """All interleavings up to the bound; the first counterexample is raised. `merges`: if the target can."""
    probe: Any = make(bound.tables)
    tables_per_commit = getattr(probe, "tables_per_commit", None)
    by_partition = getattr(probe, "granularity", "catalog") == "partition"
    merges = merges and hasattr(probe, "fingerprint")
    close(probe)
    total = Covered()
    for programs in programs_of(bound.transactions, bound.tables, tables_per_commit, by_partition):
        total += _Exploration(make, bound, programs, merges).covered()
    return total


Schedule = list[tuple[int, int]]
"""Whose turn it was, and the state that it led to."""


class _Exploration:
    """All schedules of one choice of programs."""

    def __init__(self, make: MakeTarget, bound: Bound, programs: Programs, merges: bool) -> None:
        self._make = make
        self._bound = bound
        self._programs = programs
        self._merges = merges
        self._names: dict[Hashable, int] = {}
        self._beyond: dict[Hashable, int] = {}
        self._turns = 0

    def covered(self) -> Covered:
        """Play what must be played."""
        interleavings = self._explore(self._played([]), [])
        return Covered(interleavings, self._turns)

    def _played(self, schedule: Schedule) -> Play:
        play = Play(self._make, self._bound, self._programs, self._names)
        for who, known in schedule:
            play.turn(who, known)
        return play

    def _explore(self, play: Play, schedule: Schedule) -> int:
        """How many interleavings there are beyond this point. The play is used up."""
        point = play.point() if self._merges else None
        known = self._beyond.get(point) if self._merges else None
        if known is not None:
            play.trial.check_held()
            close(play.target)
            return known
        candidates = play.candidates()
        if not candidates:
            play.end()
            close(play.target)
        count = 0 if candidates else 1
        for who in candidates:
            # The first one goes on from here; for the others it must come to this point again.
            here = play if who == candidates[0] else self._played(schedule)
            self._turns += 1
            try:
                here.turn(who)
            except BaseException:
                close(here.target)
                raise
            count += self._explore(here, [*schedule, (who, here.now)])
        if self._merges:
            self._beyond[point] = count
        return count
