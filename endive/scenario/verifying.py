"""Verifies scenarios: makes the runs, with more seeds where the matter is still open, and decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from endive.config import ResolvedConfig
from endive.scenario.deciding import Decision, Finding, decide, judge_invariants
from endive.scenario.metrics import Metric, Observed, Selection
from endive.scenario.model import Expectation, Scenario
from endive.scenario.running import (
    FRESH_PROCESS,
    OTHER_VARIANT,
    SAME_PROCESS,
    Outcomes,
    Task,
    story_of,
)

_MAX_STORY_LINES = 40
Perform = Callable[[Sequence[Task]], Iterator[Outcomes]]
"""Makes runs, here or elsewhere, and gives what came of them in the order of the tasks."""


@dataclass(frozen=True, slots=True)
class Report:
    """What verifying one scenario came to."""

    scenario: Scenario
    decisions: tuple[Decision, ...]
    exercised: dict[str, int]
    runs: int
    seeds: int
    digests: dict[str, dict[str, str]]
    """Of the first seed of each variant."""

    @property
    def finding(self) -> Finding:
        """The worst of all."""
        found = {decision.finding for decision in self.decisions}
        for worst in (Finding.FAIL, Finding.UNKNOWN):
            if worst in found:
                return worst
        return Finding.PASS


@dataclass(slots=True)
class _Runs:
    """What is known so far: by variant, seed by seed."""

    scenario: Scenario
    by_variant: dict[str, list[Outcomes]] = field(default_factory=dict)

    def observed(self, name: str, measure: tuple[Metric, Selection]) -> list[Observed]:
        place = _measures(self.scenario, name).index(measure)
        return [outcome.observed[place] for outcome in self.by_variant[name]]

    def seeds(self, name: str) -> list[int]:
        return [outcome.seed for outcome in self.by_variant[name]]


def verify(
    scenario: Scenario,
    perform: Perform,
    *,
    seed: int | None = None,
    on_runs: Callable[[int], object] = lambda _count: None,
) -> Report:
    """Run a scenario until everything is decided or may not be; with a seed, that one only."""
    if seed is not None:
        is_first = seed == scenario.seeds.head(1)[0]
        scenario = replace(
            scenario,
            # Digests are kept of the first seed only.
            golden=scenario.golden if is_first else None,
            seeds=replace(scenario.seeds, start=seed, first=1, limit=1, listed=()),
        )
    runs = _Runs(scenario)
    names = [variant.name for variant in scenario.variants]
    looks = scenario.seeds.looks
    wanted, decisions = set(names), list[Decision]()
    for look, count in enumerate(looks):
        _extend(runs, wanted, count, perform, on_runs)
        is_last = look == len(looks) - 1
        decisions = [
            _decided(runs, expectation, len(looks), is_last=is_last, is_single=seed is not None)
            for expectation in scenario.expectations
        ]
        pending = [
            expectation
            for expectation, decision in zip(scenario.expectations, decisions, strict=True)
            if decision.is_open
        ]
        wanted = {name for each in pending for name in (each.variant, each.other) if name}
        if not wanted:
            break
    decisions = [
        _with_story(scenario, expectation, decision)
        for expectation, decision in zip(scenario.expectations, decisions, strict=True)
    ]
    verdicts = {
        name: [(outcome.seed, held) for outcome in outcomes for held in outcome.verdicts]
        for name, outcomes in runs.by_variant.items()
    }
    held, exercised = judge_invariants(scenario, verdicts)
    digests = {
        name: {str(outcomes[0].seed): outcomes[0].digest}
        for name, outcomes in runs.by_variant.items()
    }
    return Report(
        scenario,
        (*decisions, *held, *_golden(scenario, runs)),
        exercised,
        sum(len(outcomes) for outcomes in runs.by_variant.values()),
        max(len(outcomes) for outcomes in runs.by_variant.values()),
        digests,
    )


def _measures(scenario: Scenario, name: str) -> tuple[tuple[Metric, Selection], ...]:
    found = [
        (expectation.metric, expectation.selection)
        for expectation in scenario.expectations
        if name in (expectation.variant, expectation.other)
    ]
    return tuple(dict.fromkeys(found))


def _extend(
    runs: _Runs,
    wanted: set[str],
    count: int,
    perform: Perform,
    on_runs: Callable[[int], object],
) -> None:
    """Make the runs that are missing until each wanted variant has so many."""
    scenario = runs.scenario
    tasks, owners = [], []
    for variant in scenario.variants:
        if variant.name not in wanted:
            continue
        done = runs.by_variant.setdefault(variant.name, [])
        for place, seed in list(enumerate(scenario.seeds.head(count)))[len(done) :]:
            tasks.append(
                Task(
                    variant.config,
                    seed,
                    _measures(scenario, variant.name),
                    is_judged=place < scenario.judged_seeds,
                    pairs=_pairs(scenario) if place == 0 else (),
                    other=_other(scenario, variant.name),
                )
            )
            owners.append(variant.name)
    on_runs(len(tasks))
    for owner, outcome in zip(owners, perform(tasks), strict=True):
        runs.by_variant[owner].append(_only_those_that_matter(scenario, outcome))


def _pairs(scenario: Scenario) -> tuple[str, ...]:
    asked = scenario.invariants or ()
    return tuple(id for id in (SAME_PROCESS, FRESH_PROCESS, OTHER_VARIANT) if id in asked)


def _other(scenario: Scenario, name: str) -> ResolvedConfig | None:
    others = [variant.config for variant in scenario.variants if variant.name != name]
    return others[0] if others else None


def _only_those_that_matter(scenario: Scenario, outcome: Outcomes) -> Outcomes:
    if scenario.invariants is None:
        return outcome
    named = {*scenario.invariants, *scenario.sometimes}
    kept = tuple(held for held in outcome.verdicts if held.id in named)
    return replace(outcome, verdicts=kept)


def _decided(
    runs: _Runs, expectation: Expectation, looks: int, *, is_last: bool, is_single: bool
) -> Decision:
    measure = (expectation.metric, expectation.selection)
    observed = runs.observed(expectation.variant, measure)
    other = None
    if expectation.other is not None:
        other = runs.observed(expectation.other, measure)
        # One of the two may have been run with more seeds for another expectation's sake.
        shared = min(len(observed), len(other))
        observed, other = observed[:shared], other[:shared]
    return decide(
        expectation,
        runs.seeds(expectation.variant)[: len(observed)],
        observed,
        other,
        confidence=runs.scenario.confidence,
        looks=looks,
        is_last=is_last,
        is_single=is_single,
    )


def _with_story(scenario: Scenario, expectation: Expectation, decision: Decision) -> Decision:
    """A failure comes with what happened in the run that shows it, where that is about single transactions."""
    if decision.finding is not Finding.FAIL or decision.seed is None:
        return decision
    config = scenario.variant(expectation.variant).config
    lines = list(story_of(config, decision.seed, expectation.metric, expectation.selection))
    if len(lines) > _MAX_STORY_LINES:
        left = len(lines) - _MAX_STORY_LINES
        lines = [*lines[:_MAX_STORY_LINES], f"… and {left} more events"]
    because = (f"because: {expectation.because}",) if expectation.because else ()
    return replace(decision, stories=(*because, *lines))


def _golden(scenario: Scenario, runs: _Runs) -> Iterator[Decision]:
    """Digests as they were when somebody last looked at them."""
    if scenario.golden is None:
        return
    for name, outcomes in runs.by_variant.items():
        kept = scenario.golden.get(name, {})
        first = outcomes[0]
        expected = kept.get(str(first.seed))
        if expected is None:
            yield Decision(
                Finding.UNKNOWN,
                "golden digest",
                "a digest in the file",
                "none; endive verify --update writes it",
                first.seed,
                name,
            )
        elif expected != first.digest:
            yield Decision(Finding.FAIL, "golden digest", expected, first.digest, first.seed, name)
        else:
            yield Decision(Finding.PASS, "golden digest", expected, first.digest, first.seed, name)
