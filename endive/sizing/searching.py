"""Runs what is needed to judge candidates, and no more; brackets the rate at which one gives way; confirms the best with fresh seeds.

All points that are open at one look are run together, so that processes are busy. The seeds of a look are the same for all points:
candidates meet the same arrivals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from endive.sizing.candidates import Candidate
from endive.sizing.deciding import (
    Confidence,
    Decision,
    Verdict,
    confidence_of_a_look,
    decide,
    looks,
    overall,
)
from endive.sizing.measuring import Reading, Task, measure
from endive.sizing.planning import Plan, is_about_jobs, plan_runs
from endive.sizing.request import Document, Request

FEWEST_SEEDS = 20
SCOUTS = 4
"""So many seeds of short runs come first."""
FRESH = 1_000_000
"""So far apart are the seeds that judge and those that confirm."""
_DOUBLINGS_UP = 4
_HALVINGS_DOWN = 7

Apply = Callable[[Callable[[Task], Reading], Sequence[Task]], Iterator[Reading]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """How sure one wants to be, and what that may take."""

    confidence: float = 0.95
    seeds: int = FEWEST_SEEDS
    first_seed: int = 1
    duration_ms: float | None = None
    step: float = 1.25
    """Margins are bracketed this closely: the rate that breaks is at most so many times the one that holds."""

    @property
    def most_seeds(self) -> int:
        """Where an objective is still open, twice the seeds may be spent on it."""
        return 2 * self.seeds


@dataclass(frozen=True, slots=True)
class Assessment:
    """What was found out about a candidate at a rate."""

    candidate: Candidate
    rate_per_s: float
    plan: Plan
    seeds: range
    readings: tuple[Reading, ...]
    decisions: tuple[Decision, ...]
    document: Document

    @property
    def verdict(self) -> Verdict:
        """Whether it keeps all objectives."""
        return overall(self.decisions)


@dataclass(slots=True)
class Bracket:
    """Between which rates a candidate gives way."""

    holds: Assessment | None = None
    """At the highest rate at which it was seen to hold."""
    breaks: Assessment | None = None
    """At the lowest rate at which it was seen not to: it fails, or stays open."""
    tried: list[Assessment] = field(default_factory=list)

    def add(self, found: Assessment) -> None:
        """Take in one more rate."""
        self.tried.append(found)
        if found.verdict is Verdict.HOLDS:
            if self.holds is None or found.rate_per_s > self.holds.rate_per_s:
                self.holds = found
        elif self.breaks is None or found.rate_per_s < self.breaks.rate_per_s:
            self.breaks = found

    @property
    def is_crossed(self) -> bool:
        """Whether it was seen to hold above a rate at which it was not: then nothing is bracketed."""
        return (
            self.holds is not None
            and self.breaks is not None
            and self.holds.rate_per_s >= self.breaks.rate_per_s
        )

    def next_rate(self, asked: float, step: float) -> float | None:
        """The next rate to try; None: it is known well enough."""
        if self.is_crossed:
            return None
        if self.holds is not None and self.breaks is not None:
            low, high = self.holds.rate_per_s, self.breaks.rate_per_s
            return math.sqrt(low * high) if high / low > step else None
        if self.holds is not None:
            rate = self.holds.rate_per_s * 2.0
            return rate if rate <= asked * 2.0**_DOUBLINGS_UP else None
        if self.breaks is not None:
            rate = self.breaks.rate_per_s / 2.0
            return rate if rate >= asked / 2.0**_HALVINGS_DOWN else None
        return asked


class Searcher:
    """Judges candidates at rates."""

    def __init__(
        self,
        request: Request,
        evidence: Evidence,
        apply: Apply,
        on_stage: Callable[[str, int], object] = lambda _stage, _runs: None,
    ) -> None:
        self._request = request
        self._evidence = evidence
        self._apply = apply
        self._on_stage = on_stage
        self.runs = 0
        self.transactions = 0.0

    def plan(self, rate: float, *, scouts: bool = False, jobs: bool = True) -> Plan:
        """How runs at a rate are made."""
        evidence = self._evidence
        confidence = self._confidence(looks(evidence.seeds, evidence.most_seeds))
        return plan_runs(
            self._request,
            rate,
            evidence.seeds,
            confidence.to_hold,
            evidence.duration_ms,
            scouts=scouts,
            jobs=jobs,
        )

    def assess(
        self,
        points: Sequence[tuple[Candidate, float]],
        stage: str,
        *,
        fresh: bool = False,
        jobs: bool = True,
    ) -> list[Assessment]:
        """Judge candidates at rates: a few seeds first, and more for those about which they leave a doubt.

        `fresh` seeds confirm: no scouts, and no look before there are as many of them as were asked for. Without `jobs` the runs are
        too short for periodic jobs, and objectives that are about nothing else stay open.
        """
        evidence = self._evidence
        first = evidence.first_seed + (FRESH if fresh else 0)
        schedule = looks(evidence.seeds, evidence.most_seeds)
        if fresh:
            schedule = tuple(count for count in schedule if count >= evidence.seeds)
        confidence = self._confidence(schedule)
        losers: dict[int, _State] = {}
        if not fresh:
            scouts = [
                self._state(candidate, rate, self.plan(rate, scouts=True, jobs=False), jobs=jobs)
                for candidate, rate in points
            ]
            self._look(scouts, range(first, first + SCOUTS), stage, confidence)
            losers = {
                place: each
                for place, each in enumerate(scouts)
                if overall(each.decisions) is Verdict.FAILS
            }
        states = [
            losers.get(place) or self._state(candidate, rate, self.plan(rate, jobs=jobs), jobs=jobs)
            for place, (candidate, rate) in enumerate(points)
        ]
        done = 0
        for count in schedule:
            waiting = [each for each in states if each.is_open]
            self._look(waiting, range(first + done, first + count), stage, confidence)
            done = count
        return [each.assessment(first) for each in states]

    def margins(self, known: Sequence[Assessment]) -> list[Bracket]:
        """Bracket the rate at which each gives way, starting from what is known."""
        brackets = []
        for each in known:
            bracket = Bracket()
            bracket.add(each)
            brackets.append(bracket)
        asked = self._request.rate_per_s
        while True:
            pairs = [(each, each.next_rate(asked, self._evidence.step)) for each in brackets]
            open_ones = [(each, rate) for each, rate in pairs if rate is not None]
            if not open_ones:
                return brackets
            points = [(each.tried[0].candidate, rate) for each, rate in open_ones]
            for (bracket, _), found in zip(
                open_ones, self.assess(points, "finding margins"), strict=True
            ):
                bracket.add(found)

    def _confidence(self, schedule: Sequence[int]) -> Confidence:
        # The scouts are a look, too.
        return confidence_of_a_look(
            self._evidence.confidence,
            looks=1 + len(schedule),
            holding_looks=sum(count >= self._evidence.seeds for count in schedule),
            objectives=len(self._request.objectives),
        )

    def _state(self, candidate: Candidate, rate: float, plan: Plan, *, jobs: bool) -> _State:
        counted = tuple(
            jobs or not is_about_jobs(self._request, each) for each in self._request.objectives
        )
        return _State(self._request, candidate, rate, plan, counted)

    def _look(
        self, states: Sequence[_State], seeds: range, stage: str, confidence: Confidence
    ) -> None:
        """Run more seeds of these, and decide what can be decided."""
        self._run(states, seeds, stage)
        for each in states:
            may_hold = len(each.readings) >= self._evidence.seeds
            each.decisions = tuple(
                decide(
                    objective,
                    [reading.tallies[place] for reading in each.readings],
                    confidence,
                    may_hold=may_hold,
                )
                for place, objective in enumerate(self._request.objectives)
            )
            each.settle()

    def _run(self, states: Sequence[_State], seeds: range, stage: str) -> None:
        tasks = [each.task(self._request, seed) for each in states for seed in seeds]
        if not tasks:
            return
        self._on_stage(stage, len(tasks))
        self.runs += len(tasks)
        readings = iter(self._apply(measure, tasks))
        for each in states:
            self.transactions += each.plan.transactions * len(seeds)
            each.readings += [next(readings) for _ in seeds]
        # What is left of a lazy iterator is its end.
        for _ in readings:
            raise AssertionError("more readings than tasks")


class _State:
    """A point while it is looked at."""

    def __init__(
        self,
        request: Request,
        candidate: Candidate,
        rate: float,
        plan: Plan,
        counted: tuple[bool, ...],
    ) -> None:
        self.candidate, self.rate, self.plan = candidate, rate, plan
        self._counted = counted
        self.document: Mapping[str, Any] = candidate.applied_to(request.at(rate), plan.duration_ms)
        self._key = json.dumps(self.document, sort_keys=True)
        self.readings: list[Reading] = []
        self.decisions: tuple[Decision, ...] = ()
        self.is_open = True

    def settle(self) -> None:
        """More seeds are wanted while nothing fails and something that runs like these can tell is open."""
        verdicts = [each.verdict for each in self.decisions]
        waits = zip(self._counted, verdicts, strict=True)
        self.is_open = Verdict.FAILS not in verdicts and any(
            counted and verdict is Verdict.OPEN for counted, verdict in waits
        )

    def task(self, request: Request, seed: int) -> Task:
        return Task(
            dict(self.document), self._key, seed, request.objectives, request.open_names, self.plan
        )

    def assessment(self, first: int) -> Assessment:
        return Assessment(
            self.candidate,
            self.rate,
            self.plan,
            range(first, first + len(self.readings)),
            tuple(self.readings),
            self.decisions,
            dict(self.document),
        )
