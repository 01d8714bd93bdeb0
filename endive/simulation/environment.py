"""The event loop: SimPy's environment, with the loop written for the one kind of event there is here."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Generator, Iterator
from heapq import heappop, heappush
from operator import length_hint
from typing import Any

import simpy

# A power of two, so that slots begin and end exactly where they should.
_SLOT_MS = 512.0
_NEVER_MS = 1e300

_Entry = tuple[float, int, Callable[[], float], Callable[[Any], None]]


class Environment(simpy.Environment):
    """A SimPy environment with a loop of its own, for the one kind of event there is here: a generator's next step.

    The naive engine of the tests runs on SimPy's own loop, processes and timeouts, and gives the same results.
    """

    # A plain attribute in place of SimPy's property: transactions ask for the time at every step.
    now: float = 0.0

    def __init__(self, first_step_priority: int) -> None:
        super().__init__()
        self._first_step_priority = first_step_priority
        # Entries are (due, priority, the step to take, what to do with the generator's result). Those of the slot of
        # time at hand are a sorted agenda. All others, mostly long runtimes, wait unsorted in one list per slot.
        self._agenda: list[_Entry] = []
        self._ahead: Iterator[_Entry] = iter(self._agenda)
        self._agenda_ends_ms = 0.0
        self._later: dict[int, list[_Entry]] = {}
        self._slots: list[int] = []

    def drive(
        self,
        steps: Generator[float, None, Any],
        priority: int,
        on_return: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """Turn every millisecond value that `steps` yields into a wait, starting with the first one now.

        `priority` orders what is due at the same instant: arrivals, then transactions by id.
        """
        try:
            wait_ms = next(steps)
            # A step that takes no time is over before anybody else's turn comes. Arrivals take turns.
            while wait_ms == 0.0 and priority >= self._first_step_priority:
                wait_ms = next(steps)
        except StopIteration as stop:
            on_return(stop.value)
            return
        if not wait_ms >= 0.0:
            raise _bad_wait(wait_ms)
        entry = (self.now + wait_ms, priority, steps.__next__, on_return)
        if entry[0] < self._agenda_ends_ms:
            # A client that need not think submits at the very instant at which its transaction ended. Submissions come
            # before steps, but not before the step that is just being taken.
            taken = len(self._agenda) - length_hint(self._ahead)
            insort(self._agenda, entry, taken)
        else:
            self._postpone(entry)

    def run_until(self, end_ms: float) -> None:
        """Do everything that is due before `end_ms`."""
        while self._open_next_slot(end_ms):
            agenda, agenda_ends_ms = self._agenda, self._agenda_ends_ms
            done = 0
            # What the steps schedule is due now or later, so it lands behind the entry at hand and is found in its turn.
            self._ahead = iter(agenda)
            for now_ms, priority, next_wait, on_return in self._ahead:
                done += 1
                self.now = now_ms
                try:
                    wait_ms = next_wait()
                except StopIteration as stop:
                    on_return(stop.value)
                    continue
                if not wait_ms >= 0.0:
                    raise _bad_wait(wait_ms)
                due_ms = now_ms + wait_ms
                if due_ms < agenda_ends_ms:
                    insort(agenda, (due_ms, priority, next_wait, on_return), done)
                else:
                    self._postpone((due_ms, priority, next_wait, on_return))
        self.now = self._agenda_ends_ms = end_ms
        self._agenda = []

    def _open_next_slot(self, end_ms: float) -> bool:
        """Make an agenda of the next slot that has entries, if any of them is due before `end_ms`."""
        if not self._slots or self._slots[0] * _SLOT_MS >= end_ms:
            return False
        slot = heappop(self._slots)
        entries = sorted(self._later.pop(slot))
        self._agenda_ends_ms = min((slot + 1) * _SLOT_MS, end_ms)
        while entries and entries[-1][0] >= end_ms:
            self._postpone(entries.pop())
        self._agenda = entries
        return bool(entries)

    def _postpone(self, entry: _Entry) -> None:
        if entry[0] < _NEVER_MS:
            slot = int(entry[0] / _SLOT_MS)
            if slot in self._later:
                self._later[slot].append(entry)
            else:
                self._later[slot] = [entry]
                heappush(self._slots, slot)


def _bad_wait(wait_ms: float) -> ValueError:
    return ValueError(f"a component yielded a wait of {wait_ms} ms; waits must be 0 or more")
