"""All interleavings of a few transactions: every order in which their steps can come.

A transaction reads and commits, and after a refusal reads and commits again, as often as it may. A *turn* takes it from one wait to
the next; where a call ends, the next one begins in the same turn, because nothing lies between. Schedules are explored depth first.
Generators cannot be copied, so each schedule is played from the start.

Two grains. *Steps*: every wait of every generator is a place where others come in. *Effects*: a wait after which a target says that it
looks at nothing others can change is passed over, which leaves every order of effects and is small enough for three transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

from invariants.direct.adapter import MakeTarget, close
from invariants.direct.properties import Call, Trial

Programs = tuple[tuple[int, ...], ...]
"""The tables that each transaction writes."""


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

    def programs(self, tables_per_commit: int | None = None) -> Iterator[Programs]:
        """Every choice of tables to write, but for the order of transactions."""
        sets: list[tuple[int, ...]] = [(0,), (1,), (0, 1)][: 1 if self.tables == 1 else 3]
        allowed = [s for s in sets if tables_per_commit is None or len(s) <= tables_per_commit]
        for programs in combinations_with_replacement(allowed, self.transactions):
            # With the names of the tables exchanged it would be the same again.
            exchanged = tuple(sorted(tuple(sorted(1 - t for t in p)) for p in programs))
            if self.tables == 1 or tuple(sorted(programs)) <= exchanged:
                yield programs


class Player:
    """One transaction, and where it stands."""

    def __init__(self, trial: Trial, txn_id: int, tables: tuple[int, ...], bound: Bound) -> None:
        self._trial = trial
        self._txn_id = txn_id
        self._attempts_left = bound.attempts
        self._passes_over = None
        self.tables = tables
        self.has_moved = False
        self.call: Call | None = trial.read(txn_id)
        if bound.grain == "effects":
            self._passes_over = getattr(trial.target, "passes_over", None)
        if self._passes_over is not None:
            # A catalog that says what it looks at looks at nothing before the first wait.
            trial.step(self.call)

    def turn(self) -> None:
        """Go on to the next wait that matters, through the ends of calls."""
        self.has_moved = True
        while self.call is not None:
            if self._trial.step(self.call):
                self.call = self._next_call(self.call)
            elif not self._is_passed_over(self.call):
                return

    def _is_passed_over(self, call: Call) -> bool:
        return self._passes_over is not None and self._passes_over(
            call.seen is not None, call.waits
        )

    def _next_call(self, ended: Call) -> Call | None:
        if ended.seen is None:
            self._attempts_left -= 1
            return self._trial.commit(self._txn_id, ended.answer, self.tables)
        if ended.answer or self._attempts_left == 0:
            return None
        return self._trial.read(self._txn_id)


def count_interleavings(make: MakeTarget, bound: Bound) -> int:
    """Play all interleavings up to the bound; the first counterexample is raised."""
    probe = make(bound.tables)
    tables_per_commit = getattr(probe, "tables_per_commit", None)
    close(probe)
    return sum(_count(make, bound, programs) for programs in bound.programs(tables_per_commit))


def _count(make: MakeTarget, bound: Bound, programs: Programs) -> int:
    count = 0
    schedule: list[tuple[int, int]] = []
    """At each turn with a choice: which of how many was taken."""
    while True:
        target = make(bound.tables)
        try:
            _play(target, bound, programs, schedule)
        finally:
            close(target)
        count += 1
        while schedule and schedule[-1][0] == schedule[-1][1] - 1:
            schedule.pop()
        if not schedule:
            return count
        taken, choices = schedule[-1]
        schedule[-1] = (taken + 1, choices)


def _play(target: Any, bound: Bound, programs: Programs, schedule: list[tuple[int, int]]) -> None:
    trial = Trial(target, bound.tables)
    players = [Player(trial, txn_id, tables, bound) for txn_id, tables in enumerate(programs)]
    depth = 0
    while candidates := _candidates(players):
        taken = 0
        if len(candidates) > 1:
            if depth == len(schedule):
                schedule.append((0, len(candidates)))
            taken = schedule[depth][0]
            depth += 1
        candidates[taken].turn()
    trial.check_held()
    trial.check_end()


def _candidates(players: list[Player]) -> list[Player]:
    """Whose turn it may be. Of several that are the same in all but name, the first one moves first."""
    found: list[Player] = []
    waiting: set[tuple[int, ...]] = set()
    for player in players:
        if player.call is None:
            continue
        if not player.has_moved:
            if player.tables in waiting:
                continue
            waiting.add(player.tables)
        found.append(player)
    return found
