"""Holds runs against invariants: one trace, a corpus of them, a pair, or the interfaces themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from endive.judge.model import (
    MAX_VIOLATIONS,
    Invariant,
    Kind,
    Outcome,
    Scope,
    Tally,
    Verdict,
    Violation,
    judge_one,
)
from endive.judge.registry import INVARIANTS
from endive.judge.replay import Replay
from endive.trace import Trace


def _of(scope: Scope) -> list[Invariant]:
    return [invariant for invariant in INVARIANTS if invariant.scope is scope]


def judge(trace: Trace) -> list[Verdict]:
    """What all invariants of scope trace say about one run."""
    try:
        replay = Replay(trace)
    except Exception as error:
        # Not even replayed: no rule can say anything, and every one says so.
        detail = f"cannot be replayed: {type(error).__name__}: {error}"
        return [Verdict(each, Outcome.ERROR, detail=detail) for each in _of(Scope.TRACE)]
    return [judge_one(invariant, replay) for invariant in _of(Scope.TRACE)]


def judge_corpus(traces: Iterable[Trace]) -> list[Verdict]:
    """What all invariants of scope trace say about many runs together.

    What holds always must hold in each of them; what must happen sometimes, must have happened in one of those it applies to.
    """
    return combine(judge(trace) for trace in traces)


def combine(judged: Iterable[Iterable[Verdict]]) -> list[Verdict]:
    """The same from what was said about each run."""
    verdicts: dict[str, list[Verdict]] = {invariant.id: [] for invariant in _of(Scope.TRACE)}
    for each in judged:
        for verdict in each:
            verdicts[verdict.invariant.id].append(verdict)
    return [_together(each, verdicts[each.id]) for each in _of(Scope.TRACE)]


def _together(invariant: Invariant, verdicts: list[Verdict]) -> Verdict:
    outcomes = {verdict.outcome for verdict in verdicts}
    exercised = sum(verdict.exercised for verdict in verdicts)
    violations = tuple(v for verdict in verdicts for v in verdict.violations)[:MAX_VIOLATIONS]
    detail = next((verdict.detail for verdict in verdicts if verdict.detail), "")
    for worst in (Outcome.FAIL, Outcome.ERROR):
        if worst in outcomes:
            return Verdict(invariant, worst, exercised, violations, detail)
    if exercised:
        return Verdict(invariant, Outcome.PASS, exercised)
    if Outcome.UNKNOWN not in outcomes:
        return Verdict(invariant, Outcome.NOT_APPLICABLE)
    if invariant.kind is Kind.SOMETIMES:
        applicable = sum(verdict.outcome is Outcome.UNKNOWN for verdict in verdicts)
        story = f"In none of {applicable} runs: {invariant.statement} A corpus that never shows this proves little."
        return Verdict(invariant, Outcome.FAIL, 0, (Violation(story),))
    return Verdict(invariant, Outcome.UNKNOWN)


def judge_pair(a: Trace, b: Trace) -> list[Verdict]:
    """What the invariants of pairs say about two runs."""
    return [
        _checked(invariant, (a, b))
        if invariant.applies_when(a.header)
        else Verdict(invariant, Outcome.NOT_APPLICABLE)
        for invariant in _of(Scope.PAIR)
    ]


def judge_api(modules: Mapping[str, ModuleType]) -> list[Verdict]:
    """What the invariants of interfaces say about these modules, given by their full names."""
    return [_checked(invariant, modules) for invariant in _of(Scope.API)]


def _checked(invariant: Invariant, what: Any) -> Verdict:
    """What an invariant says about two runs, or about modules: whatever its scope is."""
    tally, violations = Tally(), []
    try:
        for violation in invariant.check(what, tally):
            violations.append(violation)
            if len(violations) == MAX_VIOLATIONS:
                break
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return Verdict(invariant, Outcome.ERROR, tally.exercised, tuple(violations), detail)
    if violations:
        return Verdict(invariant, Outcome.FAIL, tally.exercised, tuple(violations))
    outcome = Outcome.PASS if tally.exercised else Outcome.UNKNOWN
    return Verdict(invariant, outcome, tally.exercised)
