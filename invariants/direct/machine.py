"""A state machine that lets many reads and commits be half done at once, and compares after each step.

Commits are made against any snapshot ever read, however old. Endive's own catalogs are driven in lockstep with the reference model: both
wait at the same places, end at the same step, say the same and show the same. A foreign target has the general properties only.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from endive.catalog import AppendCatalog
from invariants.direct.adapter import MakeTarget, Seen, close
from invariants.direct.own import PARTITIONS_PER_TABLE, OwnTarget
from invariants.direct.properties import Call, Trial
from invariants.direct.reference import Commit, Reference

NUM_TABLES = 3
MAX_UNDER_WAY = 6
table_sets = st.sets(st.integers(0, NUM_TABLES - 1), min_size=1).map(lambda s: tuple(sorted(s)))
partition_sets = st.sets(st.integers(0, PARTITIONS_PER_TABLE - 1), min_size=1).map(
    lambda s: tuple(sorted(s))
)


class CatalogMachine(RuleBasedStateMachine):
    """Any number of clients of one catalog."""

    make: MakeTarget

    def __init__(self) -> None:
        super().__init__()
        self.target = type(self).make(NUM_TABLES)
        self.trial = Trial(self.target, NUM_TABLES)
        self.is_own = isinstance(self.target, OwnTarget)
        self.reference = Reference(self.target.kind, NUM_TABLES) if self.is_own else None
        self.snapshots: list[Seen] = [self.trial.states[0]]
        self.under_way: list[tuple[Call, Any]] = []
        self.next_id = 0
        self.is_broken = False

    def _new_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    # -- what clients do -----------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.under_way) < MAX_UNDER_WAY)
    @rule()
    def begin_read(self) -> None:
        """Somebody calls for a read."""
        twin = self.reference.read() if self.reference else None
        self.under_way.append((self.trial.read(self._new_id()), twin))

    @precondition(lambda self: len(self.under_way) < MAX_UNDER_WAY)
    @rule(data=st.data(), tables=table_sets, age=st.sampled_from((0, 0, 0, 1, 2, 5)))
    def begin_commit(self, data: st.DataObject, tables: tuple[int, ...], age: int) -> None:
        """Somebody calls for a commit, against what was read last or long ago."""
        tables = tables[: getattr(self.target, "tables_per_commit", None)]
        seen = self.snapshots[-1 - min(age, len(self.snapshots) - 1)]
        partitions = None
        if self.is_own and data.draw(st.booleans(), label="tracks partitions"):
            partitions = {t: data.draw(partition_sets, label=f"of table {t}") for t in tables}
        twin = self.reference.commit(Commit(seen, tables, partitions)) if self.reference else None
        call = self.trial.commit(self._new_id(), seen, tables, partitions)
        self.under_way.append((call, twin))

    @precondition(lambda self: self.under_way)
    @rule(place=st.integers(0, MAX_UNDER_WAY - 1))
    def step(self, place: int) -> None:
        """Somebody goes on to the next wait."""
        self._step(place % len(self.under_way))

    @precondition(lambda self: self.under_way)
    @rule(place=st.integers(0, MAX_UNDER_WAY - 1))
    def finish(self, place: int) -> None:
        """Somebody goes on to the end, with nobody in between."""
        while not self._step(place % len(self.under_way)):
            pass

    def _step(self, place: int) -> bool:
        call, twin = self.under_way[place]
        self.is_broken = True
        ended = self.trial.step(call)
        if twin is not None:
            self._step_twin(call, twin)
        self.is_broken = False
        if ended:
            del self.under_way[place]
            if call.seen is None:
                self.snapshots.append(call.answer)
        return ended

    # -- what must hold ------------------------------------------------------------------------------------------

    def _step_twin(self, call: Call, twin: Any) -> None:
        has_ended, answer = False, None
        try:
            next(twin)
        except StopIteration as end:
            has_ended, answer = True, end.value
        assert call.ended == has_ended, f"{call.name} and the reference end at different steps"
        assert call.answer == answer, f"{call.name}: {call.answer}, reference {answer}"
        assert self.reference is not None
        shown = self.trial.states[-1]
        assert shown == self.reference.seen(), f"{shown}, reference {self.reference.seen()}"
        catalog = self.target.catalog
        assert catalog.seq == shown.seq
        if isinstance(catalog, AppendCatalog):
            log, model = catalog.log, self.reference.log
            assert (log.length_bytes, log.sealed, log.compactions) == (
                model.length,
                model.sealed,
                model.compactions,
            )

    def teardown(self) -> None:
        """Whatever was read is still what it was."""
        try:
            # After a counterexample the count is off, too; that would hide what was found first.
            if not self.is_broken:
                self.trial.check_held()
                self.trial.check_end()
        finally:
            close(self.target)


def machine_for(make_target: MakeTarget) -> type[CatalogMachine]:
    """The machine, for one target."""
    return type("CatalogMachine", (CatalogMachine,), {"make": staticmethod(make_target)})
