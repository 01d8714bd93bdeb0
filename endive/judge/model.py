"""What an invariant is, and what is said about a run that was held against it.

An invariant is a declared object; its check is a pure function of what was recorded. A check yields violations and says how
often it had something to look at: a pass that was never exercised is not a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from endive.trace import Event, Header

if TYPE_CHECKING:
    from endive.judge.replay import Replay


class Scope(Enum):
    """What a check looks at."""

    TRACE = "trace"
    PAIR = "pair"
    API = "api"


class Kind(Enum):
    """Whether something holds in every run, or must happen in some of a corpus."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"


class Outcome(Enum):
    """What is said in the end."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"
    """Applicable, and never exercised."""
    ERROR = "error"
    """The check itself broke, on a trace that makes no sense to it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A counterexample: the events that cannot all be, and the story they tell."""

    story: str
    events: tuple[Event, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counts how often a check had something to look at."""

    exercised: int = 0

    def look(self, times: int = 1) -> None:
        """There was something to look at."""
        self.exercised += times


def everywhere(_header: Header) -> bool:
    """Every run is meant."""
    return True


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that holds, in one sentence, and how to find out."""

    id: str
    clause: str
    """The clause of the specification (`8.3`), or `beyond` for what no clause says."""
    kind: Kind
    statement: str
    check: Callable[..., Iterator[Violation]]
    """Scope trace: (replay, tally). Pair: (pair of traces or runs, tally). API: (modules, tally)."""
    scope: Scope = Scope.TRACE
    applies_when: Callable[[Header], bool] = everywhere


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one invariant says about one run."""

    invariant: Invariant
    outcome: Outcome
    exercised: int = 0
    violations: tuple[Violation, ...] = field(default=())
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "id": self.invariant.id,
            "clause": self.invariant.clause,
            "kind": self.invariant.kind.value,
            "scope": self.invariant.scope.value,
            "outcome": self.outcome.value,
            "exercised": self.exercised,
            "violations": [violation.story for violation in self.violations],
            "detail": self.detail,
        }


# Enough to see a pattern, few enough to read.
MAX_VIOLATIONS = 20


def judge_one(invariant: Invariant, replay: Replay) -> Verdict:
    """Hold one run against one invariant of scope trace."""
    if not invariant.applies_when(replay.header):
        return Verdict(invariant, Outcome.NOT_APPLICABLE)
    tally, violations = Tally(), []
    try:
        for violation in invariant.check(replay, tally):
            violations.append(violation)
            if len(violations) == MAX_VIOLATIONS:
                break
    except Exception as error:
        # Whatever a foreign trace makes a check do, the others still have their say.
        detail = f"{type(error).__name__}: {error}"
        return Verdict(invariant, Outcome.ERROR, tally.exercised, tuple(violations), detail)
    if violations:
        outcome = Outcome.FAIL
    elif invariant.kind is Kind.SOMETIMES:
        # Over one run, not happening says nothing; a corpus decides.
        outcome = Outcome.PASS if tally.exercised else Outcome.UNKNOWN
    else:
        outcome = Outcome.PASS if tally.exercised else Outcome.UNKNOWN
    return Verdict(invariant, outcome, tally.exercised, tuple(violations))
