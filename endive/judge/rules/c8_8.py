"""§8.8 Commit does not return state: whoever loses has to read."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType

from endive.judge.model import Invariant, Kind, Scope, Tally, Violation
from endive.judge.replay import Replay

ANSWER = ("success", "latency_ms")


def commit_answers_without_state(
    modules: Mapping[str, ModuleType], tally: Tally
) -> Iterator[Violation]:
    """Whether, and how long it took: that is all that comes back."""
    answers = {
        module.CommitResult for module in modules.values() if hasattr(module, "CommitResult")
    }
    for cls in answers:
        tally.look()
        if not is_dataclass(cls):
            yield Violation(f"{cls} is no dataclass, so what it returns cannot be told (§8.8)")
            continue
        names = tuple(field.name for field in fields(cls))
        more = [
            name
            for name, value in inspect.getmembers(cls)
            if not name.startswith("_") and name not in names and not callable(value)
        ]
        if names != ANSWER or more:
            told = ", ".join((*names, *more))
            yield Violation(
                f"commit() answers with {told}; a commit tells success and latency_ms only, never state (§8.8)"
            )


def losers_read_before_they_call_again(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """After a lost call comes a read, and the next call expects what that read showed."""
    for life, _submitted, each in replay.rounds():
        called, at_hand = each.called, each.at_hand
        if called is None:
            continue
        tally.look()
        if each.place > 0 and each.read is None:
            story = f"{life.name} lost a commit call and made call {called.attempt} expecting seq {called.expected_seq} without having read the catalog"
            yield Violation(replay.tell("8.8", story), (called,))
        elif at_hand is not None and called.expected_seq != at_hand.seq:
            story = f"{life.name} last read seq {at_hand.seq}, and commit call {called.attempt} expects seq {called.expected_seq}: nothing it was told says that"
            yield Violation(replay.tell("8.8", story), (at_hand, called))


INVARIANTS = (
    Invariant(
        id="commit-returns-no-state",
        clause="8.8",
        kind=Kind.ALWAYS,
        statement="commit() returns success and latency, and nothing of the catalog's state.",
        check=commit_answers_without_state,
        scope=Scope.API,
    ),
    Invariant(
        id="failure-then-read",
        clause="8.8",
        kind=Kind.ALWAYS,
        statement="A lost commit call is followed by a catalog read before the next call, which expects what was read.",
        check=losers_read_before_they_call_again,
    ),
)
