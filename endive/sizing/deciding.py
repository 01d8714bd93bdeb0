"""Whether an objective is kept, from seeds: holds, fails, or open, and never more sure than they allow.

The unit is the seed. Transactions of one run share their rivals and are not independent; runs are. For a share the interval is that of
the mean over seeds by Student's t, widened to Wilson's of all transactions together, and below to that of a gamma. The first knows that
seeds differ, the second that twenty seeds without a miss are no proof that there are none, the third that misses come in bad seeds.

One looks several times, each time with more seeds. Two errors are kept below the risk that is allowed, each by itself: that a candidate is said to
hold that does not, and that one is said to fail that holds. The former is divided among the looks at which something may be said to hold, those with
`seeds` of them at least; all objectives must hold, so that it need not be divided among them. The latter is divided among all looks and objectives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from endive.inference import Interval, mean_interval, proportion_interval
from endive.sizing.measuring import Tally
from endive.sizing.objectives import Objective, Quantity

_FIRST_LOOKS = (4, 10)


class Verdict(Enum):
    """What is said of an objective, and of a candidate."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Decision:
    """What seeds say of one objective."""

    objective: Objective
    verdict: Verdict
    low: float
    """The share that keeps it is surely above this; for a throughput the rate."""
    high: float
    """And below this."""
    mean: float
    seen: float | None
    """The quantile, share or rate itself, of all seeds together."""
    trials: int
    seeds: int
    note: str = ""

    @property
    def room(self) -> float:
        """How many times as much there could be of what must not be: misses, or time. Below 1 there is none."""
        if self.objective.is_latency:
            return math.inf if not self.seen else self.objective.limit / self.seen
        if self.objective.quantity is Quantity.THROUGHPUT:
            return self.mean / self.objective.limit
        missing = 1.0 - self.mean
        return math.inf if missing <= 0.0 else (1.0 - self.objective.required) / missing


def looks(seeds: int, most: int) -> tuple[int, ...]:
    """After how many seeds one looks."""
    return (
        *(each for each in _FIRST_LOOKS if each < seeds),
        seeds,
        *((most,) if most > seeds else ()),
    )


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure one look must be, as the confidence of an interval that has half of its risk on each side."""

    to_hold: float
    to_fail: float


def confidence_of_a_look(
    confidence: float, *, looks: int, holding_looks: int, objectives: int
) -> Confidence:
    """So sure must a look be for all of them together to be as sure as was asked."""
    risk = 1.0 - confidence
    # Only one end of an interval can mislead in each case, and that with half of its risk: the other half is a reserve for seeds
    # that differ in ways no formula knows.
    return Confidence(1.0 - risk / holding_looks, 1.0 - risk / (looks * objectives))


def decide(
    objective: Objective, tallies: Sequence[Tally], confidence: Confidence, *, may_hold: bool
) -> Decision:
    """What seeds say of an objective in one look that is so sure."""
    if objective.quantity is Quantity.THROUGHPUT:
        rates = [each.rate_per_s for each in tallies]
        low = mean_interval(rates, confidence.to_hold).low
        high = mean_interval(rates, confidence.to_fail).high
        return _said(objective, tallies, (low, low), (high, high), _mean(rates), may_hold)
    if any(not each.trials for each in tallies):
        note = "runs are too short: in some nobody is there to be judged"
        return Decision(objective, Verdict.OPEN, 0.0, 1.0, math.nan, None, 0, len(tallies), note)
    seen = [(each.hits, each.trials) for each in tallies]
    possible = [(each.possible_hits, each.trials) for each in tallies]
    lows = (
        share_interval(seen, confidence.to_hold).low,
        share_interval(possible, confidence.to_hold).low,
    )
    highs = (
        share_interval(seen, confidence.to_fail).high,
        share_interval(possible, confidence.to_fail).high,
    )
    mean = _mean([each.hits / each.trials for each in tallies])
    return _said(objective, tallies, lows, highs, mean, may_hold)


def share_interval(seeds: Sequence[tuple[int, int]], confidence: float) -> Interval:
    """Where a share lies, from hits and trials of each seed."""
    between = mean_interval([hits / trials for hits, trials in seeds], confidence)
    within = proportion_interval(
        sum(hits for hits, _ in seeds), sum(trials for _, trials in seeds), confidence
    )
    return Interval(
        max(0.0, min(between.low, within.low, 1.0 - _most_misses(seeds, confidence))),
        min(1.0, max(between.high, within.high)),
        confidence,
    )


def _most_misses(seeds: Sequence[tuple[int, int]], confidence: float) -> float:
    """The upper end of a mean of misses that come in rare bad seeds; no more than the mean if seeds do not differ by more than chance.

    Student's t is too sure of a mean when most seeds have few misses and some have many: those that were not drawn are
    the ones that count. A sum of such seeds is close to a gamma with their coefficient of variation.
    """
    misses = [1.0 - hits / trials for hits, trials in seeds]
    mean = _mean(misses)
    variance = math.fsum((each - mean) ** 2 for each in misses) / max(1, len(misses) - 1)
    by_chance = mean * (1.0 - mean) * _mean([1.0 / trials for _, trials in seeds])
    if mean <= 0.0 or variance <= by_chance:
        return mean
    from scipy.special import gammaincinv

    shape = len(misses) * mean**2 / variance
    return mean * shape / float(gammaincinv(shape, (1.0 - confidence) / 2.0))


def overall(decisions: Sequence[Decision]) -> Verdict:
    """What is said of a candidate: it holds if all of its objectives do, and fails if any does."""
    verdicts = {each.verdict for each in decisions}
    if Verdict.FAILS in verdicts:
        return Verdict.FAILS
    return Verdict.OPEN if Verdict.OPEN in verdicts else Verdict.HOLDS


def _said(
    objective: Objective,
    tallies: Sequence[Tally],
    lows: tuple[float, float],
    highs: tuple[float, float],
    mean: float,
    may_hold: bool,
) -> Decision:
    """The verdict, from bounds with those that still go on counted as misses, and as hits."""
    required = objective.required
    verdict, note = Verdict.OPEN, ""
    if highs[1] < required:
        verdict = Verdict.FAILS
    elif lows[0] >= required and may_hold:
        verdict = Verdict.HOLDS
    elif highs[0] < required or (lows[1] >= required and may_hold):
        note = "it depends on how those end that the end of the run cut off"
    return Decision(
        objective,
        verdict,
        lows[0],
        highs[1],
        mean,
        pooled_quantile(tallies, objective.quantile) if objective.is_latency else mean,
        sum(each.trials for each in tallies),
        len(tallies),
        note,
    )


def pooled_quantile(tallies: Sequence[Tally], quantile: float) -> float | None:
    """The latency that this share of all seeds' transactions keeps; for people to read, not to decide by."""
    slowest = np.sort(np.concatenate([each.slowest_ms for each in tallies]))
    beyond = math.floor((1.0 - quantile) * sum(each.trials for each in tallies) + 1e-9)
    return float(slowest[-1 - min(beyond, len(slowest) - 1)]) if len(slowest) else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
