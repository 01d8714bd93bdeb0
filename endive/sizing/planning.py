"""How long to simulate: long enough for what was asked, and no longer; worked out from loads and objectives alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endive.sizing.load import mean_of, quantile_of
from endive.sizing.objectives import Objective, Quantity
from endive.sizing.request import Request

# A seed long enough for so many misses, where as many miss as may: twenty of them tell 1 % from 0.8 % or 1.2 %.
_MISSES_PER_SEED = 5.0
_COMMITS_FOR_A_RATE = 2_000.0
_LEAST_WINDOW_MS = 30_000.0
_LEAST_SETTLE_MS = 5_000.0
_SETTLES_PER_WINDOW = 2.0
# Whoever misses by a wide margin shows it in a fraction of that.
_SCOUT_SHARE = 0.1
# Until most of those who work have worked, fewer come to commit than will.
_RAMP_QUANTILE = 0.95


@dataclass(frozen=True, slots=True)
class Plan:
    """The length of a run, and which part of it is judged."""

    duration_ms: float
    ramp_ms: float
    """Before this hardly anybody has come to commit; warm-up goes on from here."""
    settle_ms: float
    """Whoever comes to commit later than this before the end may not have been seen to end, and is not judged."""
    reasons: tuple[str, ...]
    transactions: float
    """How many are expected in a run."""


def plan_runs(
    request: Request,
    rate_per_s: float,
    seeds: int,
    confidence: float,
    duration_ms: float | None = None,
    *,
    scouts: bool = False,
    jobs: bool = True,
) -> Plan:
    """Plan runs at a rate; `confidence` is that of the interval of which an objective must lie on the right side.

    Scouts are short: they see losers. They begin with empty queues like all runs, so what fails in a short one fails in a long one.
    Without `jobs` objectives of periodic jobs alone, for which one may have to wait for hours, do not lengthen a run.
    """
    scale = rate_per_s / request.rate_per_s
    limits = [each.limit for each in request.objectives if each.is_latency]
    settle_ms = max([_LEAST_SETTLE_MS, *limits])
    opened = [each for each in request.classes if each["kind"] == "open"]
    ramp_ms = max(quantile_of(request.runtime_of(each), _RAMP_QUANTILE) for each in opened)
    arrivals_per_ms = sum(
        _rate_per_ms(request, each) * (scale if each["kind"] == "open" else 1.0)
        for each in request.classes
        if each["kind"] != "background"
    )
    window_ms = max(_LEAST_WINDOW_MS, _SETTLES_PER_WINDOW * settle_ms)
    reasons = [f"at least {window_ms / 1000.0:g} s"]
    end_ms = ramp_ms + window_ms
    for objective in request.objectives:
        needed, begins_ms, words = _needed_ms(request, objective, scale, seeds, confidence)
        begins_ms = max(begins_ms, ramp_ms)
        if not jobs and is_about_jobs(request, objective):
            continue
        if scouts:
            needed *= _SCOUT_SHARE
        if begins_ms + needed > end_ms:
            end_ms = begins_ms + needed
            reasons = [f"{objective.text}: {words}"]
    found_ms = math.ceil((end_ms + settle_ms) / 1000.0) * 1000.0
    if duration_ms is not None and not (found_ms < duration_ms and (scouts or not jobs)):
        reasons = ["as asked for"]
        found_ms = duration_ms
    return Plan(found_ms, ramp_ms, settle_ms, tuple(reasons), arrivals_per_ms * found_ms)


def _needed_ms(
    request: Request, objective: Objective, scale: float, seeds: int, confidence: float
) -> tuple[float, float, str]:
    """How long to look at an objective, from when on, and in words why."""
    rate, begins_ms = 0.0, 0.0
    for each in request.classes:
        weight = _weight(request, objective, each)
        if not weight:
            continue
        rate += weight * _rate_per_ms(request, each) * (scale if each["kind"] == "open" else 1.0)
        begins_ms = max(begins_ms, quantile_of(request.runtime_of(each), _RAMP_QUANTILE))
    if objective.quantity is Quantity.THROUGHPUT:
        count = _COMMITS_FOR_A_RATE
        words = f"{count:,.0f} commits a seed"
    elif is_about_jobs(request, objective):
        fewest = fewest_trials(objective.required, confidence)
        count = math.ceil(fewest / seeds)
        words = f"{count:,.0f} jobs a seed; fewer than {fewest:,} in all could not show it"
    else:
        count = _MISSES_PER_SEED / (1.0 - objective.required)
        words = f"{count:,.0f} transactions a seed"
    return count / rate, begins_ms, words


def is_about_jobs(request: Request, objective: Objective) -> bool:
    """Whether an objective is about periodic jobs and nobody else."""
    return all(
        each["kind"] == "periodic" for each in request.classes if _weight(request, objective, each)
    )


def fewest_trials(required: float, confidence: float) -> int:
    """So many trials without a miss are the fewest whose Wilson interval lies above a share."""
    from scipy.stats import norm

    z2 = float(norm.ppf(0.5 + confidence / 2.0)) ** 2
    return math.ceil(z2 * required / (1.0 - required))


def _weight(request: Request, objective: Objective, each: Mapping[str, Any]) -> float:
    """Which share of a class an objective is about."""
    if each["kind"] == "background":
        return 0.0
    if objective.subject is None:
        return 1.0 if each["kind"] == "open" else 0.0
    if objective.subject == each["name"]:
        return 1.0
    return request.operations_of(each).get(objective.subject, 0.0)


def _rate_per_ms(request: Request, each: Mapping[str, Any]) -> float:
    """Submissions of a class per millisecond; of clients, if commits took no time."""
    if each["kind"] == "periodic":
        return 1.0 / float(each["interval_ms"])
    if each["kind"] == "closed":
        works_ms = mean_of(request.runtime_of(each)) + mean_of(each["think_time"])
        return float(each["clients"]) / max(works_ms, 1.0)
    return 1.0 / mean_of(each["inter_arrival"])
