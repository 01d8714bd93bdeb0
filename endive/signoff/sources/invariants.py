"""Invariants as evidence: how often each was exercised by the scenarios, and what those about interfaces say.

A pass that was never exercised is no pass: an invariant that nothing exercised stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from endive.judge.engine import judge_api
from endive.judge.model import Outcome, Scope
from endive.judge.registry import INVARIANTS
from endive.mutants.trial import api_modules
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict

_VERDICTS = {Outcome.PASS: Verdict.PASS, Outcome.FAIL: Verdict.FAIL}


class Invariants:
    """Counts how often invariants were exercised."""

    kind = "invariant"

    def __init__(self, scenarios: Sequence[Mapping[str, Any]]) -> None:
        """`scenarios` are the details of their evidence."""
        self._exercised: dict[str, int] = {}
        for detail in scenarios:
            for id, count in detail.get("exercised", {}).items():
                self._exercised[id] = self._exercised.get(id, 0) + count

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every invariant."""
        return self.again([invariant.id for invariant in INVARIANTS], apply)

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some invariants, by id; the counts are those of the scenarios."""
        about_interfaces = {verdict.invariant.id: verdict for verdict in judge_api(api_modules())}
        for invariant in INVARIANTS:
            if invariant.id not in names:
                continue
            exercised = self._exercised.get(invariant.id, 0)
            verdict = Verdict.PASS if exercised else Verdict.UNKNOWN
            if invariant.scope is Scope.API:
                found = about_interfaces[invariant.id]
                exercised = found.exercised
                verdict = _VERDICTS.get(found.outcome, Verdict.UNKNOWN)
            yield Evidence(
                f"invariant/{invariant.id}",
                verdict,
                {
                    "clause": invariant.clause,
                    "kind": invariant.kind.value,
                    "scope": invariant.scope.value,
                    "statement": invariant.statement,
                    "exercised": exercised,
                },
                "" if verdict is Verdict.PASS else "nothing exercised it, or it does not hold",
            )
