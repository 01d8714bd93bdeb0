"""The answer: all candidates judged, ranked and explained, the margin of the best, and the one to take, confirmed with fresh seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from endive.calibration.region import Doubt
from endive.sizing.candidates import Candidate, LeftOut
from endive.sizing.deciding import Decision, Verdict
from endive.sizing.explaining import Limit, flow_figures, limit_of
from endive.sizing.request import Request
from endive.sizing.searching import Assessment, Bracket, Evidence, Searcher
from endive.sizing.trusting import doubts, extrapolates

NOTHING_HOLDS = 1
INCONCLUSIVE = 3
# Runs that are so many times as long for the sake of jobs are for finalists.
_LONG = 2.0
_ORDER = {Verdict.HOLDS: 0, Verdict.OPEN: 1, Verdict.FAILS: 2}


@dataclass(slots=True)
class Entry:
    """A candidate in the answer."""

    assessment: Assessment
    margin: Bracket | None = None
    confirmation: Assessment | None = None
    """The same with fresh seeds, for those that were to be recommended."""
    is_unfinished: bool = False
    """Whether it is open only because it was no finalist."""

    @property
    def candidate(self) -> Candidate:
        """Whose entry it is."""
        return self.assessment.candidate

    @property
    def verdict(self) -> Verdict:
        """What is said of it; who is not confirmed by fresh seeds is open at best."""
        if self.confirmation is not None and self.confirmation.verdict is not Verdict.HOLDS:
            return Verdict.OPEN
        return self.assessment.verdict

    @property
    def room(self) -> float:
        """How far from its tightest objective it is."""
        return min(each.room for each in self.assessment.decisions)

    @property
    def latency_room(self) -> float:
        """The same of latencies alone, which tell candidates apart that never fail."""
        rooms = [each.room for each in self.assessment.decisions if each.objective.is_latency]
        return min(rooms, default=self.room)

    @property
    def holds_up_to(self) -> float | None:
        """The highest rate at which it was seen to hold."""
        if self.margin is None or self.margin.holds is None:
            return None
        return self.margin.holds.rate_per_s

    @property
    def limit(self) -> Limit:
        """What gives way first: where it gives way if that is known, else what is nearest to it."""
        breaks = self.margin.breaks if self.margin is not None else None
        return limit_of(breaks or self.assessment)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What the data say against it."""
        return doubts(self.assessment)

    @property
    def extrapolates(self) -> bool:
        """Whether it is outside of what was measured."""
        return extrapolates(self.assessment)


@dataclass(frozen=True, slots=True)
class Answer:
    """All that was found out."""

    request: Request
    evidence: Evidence
    entries: tuple[Entry, ...]
    """The best first."""
    left_out: tuple[LeftOut, ...]
    runs: int
    transactions: float

    @property
    def recommended(self) -> Entry | None:
        """The best that holds and was confirmed."""
        for each in self.entries:
            if each.verdict is Verdict.HOLDS and each.confirmation is not None:
                return each
        return None

    @property
    def exit_code(self) -> int:
        """0: something holds; 3: nothing, but not everything fails; 1: everything fails."""
        if self.recommended is not None:
            return 0
        is_open = any(each.verdict is not Verdict.FAILS for each in self.entries)
        return INCONCLUSIVE if is_open else NOTHING_HOLDS

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        best = self.recommended
        return {
            "request": {
                "rate_per_s": self.request.rate_per_s,
                "tables": self.request.tables,
                "objectives": [
                    {"text": each.text, "implied": each.is_implied}
                    for each in self.request.objectives
                ],
                "load": self.request.document,
            },
            "confidence": self.evidence.confidence,
            "seeds": self.evidence.seeds,
            "runs": self.runs,
            "transactions": round(self.transactions),
            "recommended": None if best is None else best.candidate.name,
            "candidates": [_entry(each, self.request.rate_per_s) for each in self.entries],
            "left_out": [
                {"candidate": each.candidate.name, "reason": each.reason} for each in self.left_out
            ],
        }


def answer(
    request: Request,
    candidates: Sequence[Candidate],
    left_out: Sequence[LeftOut],
    evidence: Evidence,
    searcher: Searcher,
    *,
    margins: int,
    finalists: int,
) -> Answer:
    """Judge all candidates, bracket the margins of the best, and confirm the one to be recommended.

    Where objectives of jobs make runs long, all candidates are judged by the other objectives first, in runs as short as those need,
    and the best of them then in long ones.
    """
    rate = request.rate_per_s
    points = [(each, rate) for each in candidates]
    waits = searcher.plan(rate).transactions > _LONG * searcher.plan(rate, jobs=False).transactions
    entries = [
        Entry(each) for each in searcher.assess(points, "judging candidates", jobs=not waits)
    ]
    entries.sort(key=_rank)
    if waits:
        runners = [each for each in entries if each.verdict is not Verdict.FAILS]
        runners.sort(key=lambda each: (each.extrapolates, -each.latency_room))
        best = runners[:finalists]
        for each in runners[finalists:]:
            each.is_unfinished = True
        judged = searcher.assess([(each.candidate, rate) for each in best], "judging jobs")
        for entry, assessment in zip(best, judged, strict=True):
            entry.assessment = assessment
        entries.sort(key=_rank)
    holding = [each for each in entries if each.verdict is Verdict.HOLDS]
    # Where nothing holds, the best of the others say how much less would.
    chosen = (holding or entries)[:margins]
    for entry, bracket in zip(
        chosen, searcher.margins([each.assessment for each in chosen]), strict=True
    ):
        entry.margin = bracket
    entries.sort(key=_rank)
    for entry in [each for each in entries if each.verdict is Verdict.HOLDS]:
        (entry.confirmation,) = searcher.assess(
            [(entry.candidate, rate)], "confirming with fresh seeds", fresh=True
        )
        if entry.verdict is Verdict.HOLDS:
            break
    entries.sort(key=_rank)
    return Answer(
        request, evidence, tuple(entries), tuple(left_out), searcher.runs, searcher.transactions
    )


def _rank(entry: Entry) -> tuple[Any, ...]:
    """Holding before open before failing; measured before extrapolated; more margin, then more room, first."""
    holds = entry.verdict is Verdict.HOLDS
    return (
        _ORDER[entry.verdict],
        entry.is_unfinished,
        entry.extrapolates if holds else False,
        -(entry.holds_up_to or 0.0),
        -entry.latency_room if holds else -entry.room,
    )


def _entry(entry: Entry, asked: float) -> dict[str, Any]:
    assessment = entry.assessment
    return {
        "name": entry.candidate.name,
        "provider": entry.candidate.provider,
        "catalog": entry.candidate.catalog,
        "manifest_lists": entry.candidate.lists,
        "verdict": entry.verdict.value,
        "objectives": [_decision(each) for each in assessment.decisions],
        "seeds": [assessment.seeds.start, assessment.seeds.stop - 1],
        "duration_ms": assessment.plan.duration_ms,
        "figures": flow_figures(assessment),
        "margin": _margin(entry.margin, asked),
        "is_unfinished": entry.is_unfinished,
        "first_limit": entry.limit.as_dict(),
        "extrapolates": entry.extrapolates,
        "doubts": [
            {"words": each.words, "extrapolates": each.extrapolates} for each in entry.doubts
        ],
        "confirmed": None
        if entry.confirmation is None
        else {
            "verdict": entry.confirmation.verdict.value,
            "seeds": [entry.confirmation.seeds.start, entry.confirmation.seeds.stop - 1],
            "objectives": [_decision(each) for each in entry.confirmation.decisions],
        },
        "config": assessment.document,
    }


def _margin(bracket: Bracket | None, asked: float) -> dict[str, Any] | None:
    if bracket is None:
        return None

    def at(found: Assessment | None) -> dict[str, Any] | None:
        if found is None:
            return None
        return {
            "rate_per_s": found.rate_per_s,
            "times": found.rate_per_s / asked,
            "verdict": found.verdict.value,
            "objectives": [_decision(each) for each in found.decisions],
        }

    return {
        "holds": at(bracket.holds),
        "breaks": at(bracket.breaks),
        "is_crossed": bracket.is_crossed,
        "tried": [
            {"rate_per_s": each.rate_per_s, "verdict": each.verdict.value} for each in bracket.tried
        ],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "objective": decision.objective.text,
        "verdict": decision.verdict.value,
        "seen": _finite(decision.seen),
        "required": decision.objective.required,
        "kept": _finite(decision.mean),
        "kept_low": _finite(decision.low),
        "kept_high": _finite(decision.high),
        "trials": decision.trials,
        "seeds": decision.seeds,
        "note": decision.note,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
