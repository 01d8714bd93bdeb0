"""The properties themselves, for any target: who changed what is found out by looking at the catalog after each step.

Nothing is known of a target but what it shows. If it shows something new after a step of somebody's commit, then that commit took
effect in that step; the rest follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from invariants.direct.adapter import (
    Seen,
    Steps,
    commit_steps,
    finish,
    read_steps,
)

PROPERTIES = {
    "seq-adds-one": "Each commit that takes effect adds exactly 1 to seq (§8.1).",
    "versions-follow-commits": "A commit adds 1 to the tables it writes, and changes no other (§2.1).",
    "one-winner-per-state": "Of the commits that exclude each other, at most one takes effect on what was seen (§2.1).",
    "success-iff-applied": "A commit returns success iff it took effect, once, during its own call (§8.7, §8.9).",
    "refused-only-if-changed": "A commit is refused only if something it depends on has changed (§8.12).",
    "only-commits-change": "Reads and refused commits change nothing (§8.2).",
    "snapshot-is-a-past-state": "A read shows a state that the catalog was in during the read (§8.2).",
    "snapshot-never-changes": "What was read stays as it was, whatever happens later (§8.2).",
}


class PropertyBroken(AssertionError):
    """A counterexample: the name of the property, and the story so far."""

    def __init__(self, name: str, what: str, story: Iterable[str]) -> None:
        self.name = name
        lines = "\n".join(f"  {line}" for line in story)
        super().__init__(f"{name}: {what}\n{PROPERTIES[name]}\nWhat happened:\n{lines}")


@dataclass
class Call:
    """A read or a commit under way."""

    txn_id: int
    steps: Steps[Any]
    seen: Seen | None = None
    """What a commit is made against; None: this is a read."""
    tables: tuple[int, ...] = ()
    partitions: dict[int, tuple[int, ...]] | None = None
    began_at: int = 0
    """How many states there had been when it was called."""
    applied_as: int | None = None
    """The seq that it became."""
    waits: list[Any] = field(default_factory=list)
    ended: bool = False
    answer: Any = None

    @property
    def name(self) -> str:
        """For the story."""
        return f"T{self.txn_id}'s {'read' if self.seen is None else 'commit'}"


@dataclass
class Trial:
    """One catalog, the calls under way, and everything that was seen."""

    target: Any
    num_tables: int
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.granularity: str = getattr(self.target, "granularity", "catalog")
        self.group_of: tuple[int, ...] = getattr(self.target, "group_of", ())
        first = self._look()
        self.states = [first]
        self.applied: list[Call] = []
        self.held: list[tuple[str, Any, str]] = []
        if first.seq != 0 or first.versions != (0,) * self.num_tables:
            self._broken("seq-adds-one", f"a new catalog shows {shown(first)}")

    # -- driving -------------------------------------------------------------------------------------------------

    def read(self, txn_id: int) -> Call:
        """Call for a read; nothing happens yet."""
        return Call(txn_id, read_steps(self.target), began_at=len(self.states) - 1)

    def commit(
        self,
        txn_id: int,
        seen: Seen,
        tables: tuple[int, ...],
        partitions: dict[int, tuple[int, ...]] | None = None,
    ) -> Call:
        """Call for a commit; nothing happens yet."""
        steps = commit_steps(self.target, seen, tables, txn_id, partitions)
        return Call(txn_id, steps, seen, tables, partitions, len(self.states) - 1)

    def step(self, call: Call) -> bool:
        """Let a call go on to its next wait, or to its end; says whether it has ended."""
        try:
            call.waits.append(next(call.steps))
        except StopIteration as end:
            call.ended, call.answer = True, end.value
        now = self._look()
        if now != self.states[-1]:
            self._took_effect(call, now)
        if call.ended:
            if call.seen is None:
                self._check_read(call)
            else:
                self._check_commit(call)
        return call.ended

    def check_held(self) -> None:
        """Nothing that was ever read has changed."""
        for name, thing, as_it_was in self.held:
            if repr(thing) != as_it_was:
                self._broken("snapshot-never-changes", f"{name} showed {as_it_was}, now {thing!r}")

    def check_end(self) -> None:
        """Looked at once more, the catalog is where the commits that returned success left it."""
        now = self._look()
        if now.seq != len(self.applied):
            self._broken("seq-adds-one", f"{len(self.applied)} commits, and seq {now.seq}")

    # -- judging -------------------------------------------------------------------------------------------------

    def _look(self) -> Seen:
        look = getattr(self.target, "look", None)
        seen: Seen = finish(read_steps(self.target)) if look is None else look()
        return seen

    def _took_effect(self, call: Call, now: Seen) -> None:
        before = self.states[-1]
        self.story.append(f"{call.name} changed {shown(before)} to {shown(now)}")
        if call.seen is None:
            self._broken("only-commits-change", f"{call.name} changed the catalog")
        if call.applied_as is not None:
            self._broken("success-iff-applied", f"{call.name} took effect twice")
        if now.seq != before.seq + 1:
            self._broken("seq-adds-one", f"seq went from {before.seq} to {now.seq}")
        expected = tuple(
            version + (table in call.tables) for table, version in enumerate(before.versions)
        )
        if now.versions != expected:
            self._broken(
                "versions-follow-commits",
                f"{call.name} wrote {call.tables}: versions went from {before.versions} to {now.versions}",
            )
        if rival := self._rival(call):
            self._broken(
                "one-winner-per-state",
                f"{call.name} had seen seq {call.seen.seq}; {rival.name} has been applied since, as {rival.applied_as}",
            )
        call.applied_as = now.seq
        self.applied.append(call)
        self.states.append(now)

    def _check_read(self, call: Call) -> None:
        seen = call.answer
        self.story.append(f"{call.name} showed {shown(seen)}")
        if seen not in self.states[call.began_at :]:
            during = ", ".join(shown(state) for state in self.states[call.began_at :])
            self._broken(
                "snapshot-is-a-past-state", f"{call.name} showed {shown(seen)}, not one of {during}"
            )
        thing = seen if seen.handle is None else seen.handle
        self.held.append((call.name, thing, repr(thing)))

    def _check_commit(self, call: Call) -> None:
        self.story.append(f"{call.name} returned {'success' if call.answer else 'failure'}")
        if bool(call.answer) != (call.applied_as is not None):
            did = "took no effect" if call.applied_as is None else f"became {call.applied_as}"
            self._broken("success-iff-applied", f"{call.name} returned {call.answer!r} and {did}")
        refuses_only_changed = getattr(self.target, "refuses_only_changed", True)
        if not call.answer and refuses_only_changed and self._rival(call) is None:
            assert call.seen is not None
            self._broken(
                "refused-only-if-changed",
                f"{call.name} had seen {shown(call.seen)} and was refused, though nothing it depends on has changed",
            )

    def _rival(self, call: Call) -> Call | None:
        """A commit applied since this one's writer looked, that excludes it."""
        assert call.seen is not None
        later = self.applied[call.seen.seq :]
        return next((other for other in later if self._excludes(call, other)), None)

    def _excludes(self, mine: Call, other: Call) -> bool:
        if self.granularity == "catalog":
            return True
        if self.granularity == "group":
            return bool({self.group_of[t] for t in mine.tables} & {self.group_of[t] for t in other.tables})  # fmt: skip
        shared = set(mine.tables) & set(other.tables)
        if self.granularity == "table" or mine.partitions is None or other.partitions is None:
            return bool(shared)
        return any(set(mine.partitions[t]) & set(other.partitions[t]) for t in shared)

    def _broken(self, name: str, what: str) -> None:
        raise PropertyBroken(name, what, self.story)


def shown(seen: Seen) -> str:
    """A state in a few words."""
    return f"seq {seen.seq} {list(seen.versions)}"
