"""Says what the runs of a scenario amount to: each expectation and each invariant holds, fails, or stays open.

Statements about random runs are about the mean over seeds. One looks several times, each time with twice as many seeds, until the
interval lies wholly inside or wholly outside of what is expected; the risk of error is divided among the looks, so that looking often
does not make a wrong verdict likelier than the confidence says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from endive.inference import Interval, mean_interval, proportion_interval
from endive.judge.model import Outcome
from endive.scenario.metrics import Observed
from endive.scenario.model import Comparison, Expectation, Scenario
from endive.scenario.running import Held


class Finding(Enum):
    """What is said in the end."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is said about one thing that was to be found out."""

    finding: Finding
    what: str
    expected: str
    seen: str
    seed: int | None = None
    """A seed that shows it."""
    variant: str = ""
    stories: tuple[str, ...] = ()
    line: int = 0
    is_open: bool = False
    """Whether more seeds could settle it."""


def decide(
    expectation: Expectation,
    seeds: Sequence[int],
    observed: Sequence[Observed],
    other: Sequence[Observed] | None,
    *,
    confidence: float,
    looks: int,
    is_last: bool,
    is_single: bool = False,
) -> Decision:
    """What the runs so far say about an expectation; `UNKNOWN` where more of them are needed, or could not help."""

    def said(
        finding: Finding, seen: str, seed: int | None = None, *, is_open: bool = False
    ) -> Decision:
        return Decision(
            finding,
            expectation.words(),
            expectation.bounds.words(),
            seen,
            seed,
            expectation.variant,
            line=expectation.line,
            is_open=is_open,
        )

    values: list[float] = []
    for place, each in enumerate(observed):
        value = _compared(expectation, each, None if other is None else other[place])
        if value is None:
            return said(
                Finding.UNKNOWN, f"nothing to measure with seed {seeds[place]}", seeds[place]
            )
        values.append(value)
    bounds = expectation.bounds
    if bounds.is_exact or len(values) == 1:
        for seed, value in zip(seeds, values, strict=True):
            if not bounds.admits(value):
                return said(Finding.FAIL, f"{value:.10g} with seed {seed}", seed)
        if len(values) == 1 and not bounds.is_exact and is_single:
            return said(Finding.UNKNOWN, f"{values[0]:.10g}; one seed says nothing about a mean")
        return said(Finding.PASS, f"{values[0]:.10g}")
    interval = _possible(
        expectation,
        _interval(observed if other is None else (), values, 1.0 - (1.0 - confidence) / looks),
    )
    mean = sum(values) / len(values)
    seen = f"{mean:.6g} (from {interval.low:.6g} to {interval.high:.6g}, {len(values)} seeds)"
    if not is_last and min(values) == max(values):
        # What is rare has not been seen yet in a few seeds; what never varies is better said with `equals`.
        return said(Finding.UNKNOWN, f"{seen}: all alike so far", is_open=True)
    if bounds.admits(interval.low) and bounds.admits(interval.high):
        return said(Finding.PASS, seen)
    is_apart = (
        interval.high < bounds.low
        or interval.low > bounds.high
        or (interval.high == bounds.low and not bounds.has_low)
        or (interval.low == bounds.high and not bounds.has_high)
    )
    # The seed farthest outside of what is expected is the one to look at: alone, it fails, too.
    worst = max(
        zip(seeds, values, strict=True),
        key=lambda pair: max(bounds.low - pair[1], pair[1] - bounds.high),
    )[0]
    if is_apart:
        return said(Finding.FAIL, seen, worst)
    reason = "still open with all the seeds it may have" if is_last else "open"
    return said(Finding.UNKNOWN, f"{seen}: {reason}", worst, is_open=not is_last)


def _compared(expectation: Expectation, one: Observed, other: Observed | None) -> float | None:
    if expectation.comparison is None:
        return one.value
    if one.value is None or other is None or other.value is None:
        return None
    if expectation.comparison is Comparison.DIFFERENCE:
        return one.value - other.value
    return one.value / other.value if other.value else None


def _interval(observed: Sequence[Observed], values: Sequence[float], confidence: float) -> Interval:
    shares = [(each.successes, each.trials) for each in observed]
    if len(set(values)) == 1 and shares and all(None not in share for share in shares):
        # Seeds that are all alike show no spread; how many trials there were still says something.
        successes = sum(share[0] or 0 for share in shares)
        return proportion_interval(successes, sum(share[1] or 0 for share in shares), confidence)
    return mean_interval(values, confidence)


def _possible(expectation: Expectation, interval: Interval) -> Interval:
    """The part of an interval that the quantity can have at all: no share is below 0."""
    low, high = 0.0, expectation.metric.high
    if expectation.comparison is Comparison.DIFFERENCE:
        low = -high
    elif expectation.comparison is Comparison.RATIO:
        high = math.inf
    return replace(interval, low=max(low, interval.low), high=min(high, interval.high))


@dataclass(slots=True)
class Exercise:
    """How often an invariant had something to look at in one variant, and what it found."""

    id: str
    clause: str
    is_sometimes: bool
    exercised: int = 0
    applies: bool = False


def judge_invariants(
    scenario: Scenario, verdicts: Mapping[str, Sequence[tuple[int, Held]]]
) -> tuple[list[Decision], dict[str, int]]:
    """What the invariants say about all judged runs, by variant; and how often each was exercised in all."""
    decisions: list[Decision] = []
    counts: dict[str, int] = {}
    for variant, found in verdicts.items():
        by_id: dict[str, Exercise] = {}
        for seed, held in found:
            entry = by_id.setdefault(held.id, Exercise(held.id, held.clause, held.is_sometimes))
            entry.exercised += held.exercised
            entry.applies |= held.outcome is not Outcome.NOT_APPLICABLE
            if held.outcome in (Outcome.FAIL, Outcome.ERROR):
                decisions.append(
                    Decision(
                        Finding.FAIL,
                        f"invariant {held.id} (§{held.clause})",
                        "to hold",
                        "violated" if held.outcome is Outcome.FAIL else "the check broke",
                        seed,
                        variant,
                        held.stories,
                    )
                )
        for entry in by_id.values():
            counts[entry.id] = counts.get(entry.id, 0) + entry.exercised
        decisions += _unexercised(scenario, variant, by_id)
    decisions += [
        Decision(
            Finding.UNKNOWN,
            f"invariant {id}",
            "to happen" if id in scenario.sometimes else "to be exercised",
            "never, in no variant",
        )
        for id in (*scenario.sometimes, *(scenario.invariants or ()))
        if not counts.get(id)
    ]
    decisions += _never_shown(scenario, verdicts)
    return decisions, counts


def _never_shown(
    scenario: Scenario, verdicts: Mapping[str, Sequence[tuple[int, Held]]]
) -> list[Decision]:
    """Clauses that a scenario claims, and of which nothing applies in any of its variants."""
    shown = {
        held.clause
        for found in verdicts.values()
        for _seed, held in found
        if held.outcome is not Outcome.NOT_APPLICABLE and not held.is_sometimes
    }
    return [
        Decision(
            Finding.UNKNOWN,
            f"clause {clause}",
            "to be exercised",
            "no invariant of it was judged that applies to any variant",
        )
        for clause in scenario.clauses
        if clause not in shown
    ]


def _unexercised(scenario: Scenario, variant: str, by_id: Mapping[str, Exercise]) -> list[Decision]:
    """A clause that a scenario claims to show must have had something to look at, wherever it applies."""
    decisions = []
    for clause in scenario.clauses:
        rules = [each for each in by_id.values() if each.clause == clause and not each.is_sometimes]
        applicable = [each for each in rules if each.applies]
        if applicable and not any(each.exercised for each in applicable):
            decisions.append(
                Decision(
                    Finding.UNKNOWN,
                    f"clause {clause}",
                    "to be exercised",
                    f"{', '.join(each.id for each in applicable)}: never",
                    variant=variant,
                )
            )
    return decisions
