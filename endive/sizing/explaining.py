"""What gives way first: which objective, and by which mechanism, read off the runs and not guessed.

The transactions that miss an objective say it themselves: how they ended, how often they tried, and where their time went.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from endive.sizing.deciding import Decision, Verdict
from endive.sizing.measuring import IN_FLIGHT, Reading
from endive.sizing.objectives import Quantity
from endive.sizing.searching import Assessment
from endive.transaction import VALIDATION_REASON

# A miss with fewer retries than this on average has nobody else to blame.
_FEW_RETRIES = 0.5
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Limit:
    """The objective that gives way first, and why."""

    decision: Decision
    rate_per_s: float
    """The rate at which that was seen."""
    mechanism: str
    """A word for it."""
    words: str
    figures: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "objective": self.decision.objective.text,
            "rate_per_s": self.rate_per_s,
            "mechanism": self.mechanism,
            "words": self.words,
            "figures": self.figures,
        }


def limit_of(assessment: Assessment) -> Limit:
    """The objective with the least room, those that fail first, and what its misses say."""
    order = {Verdict.FAILS: 0, Verdict.OPEN: 1, Verdict.HOLDS: 2}
    place, decision = min(
        enumerate(assessment.decisions), key=lambda pair: (order[pair[1].verdict], pair[1].room)
    )
    figures = figures_of(assessment, place)
    mechanism, words = _mechanism(assessment, decision, figures, place)
    return Limit(decision, assessment.rate_per_s, mechanism, words, figures)


def figures_of(assessment: Assessment, place: int) -> dict[str, float]:
    """What the runs say of the misses of one objective, and of the pointer."""
    readings = assessment.readings
    missed = [each.tallies[place].missed for each in readings]
    count = sum(each.count for each in missed)
    parts: Counter[str] = Counter()
    for each in missed:
        parts.update(each.parts_ms)
    found = {f"missed_{name}_ms": _over(ms, count) for name, ms in sorted(parts.items())}
    found["missed"] = float(count)
    found["missed_retries"] = _over(sum(each.retries for each in missed), count)
    found["missed_lists_of_history"] = _over(sum(each.behind for each in missed), count)
    fates: Counter[str] = Counter()
    for each in missed:
        fates.update(each.fates)
    for name, number in sorted(fates.items()):
        found[f"missed_by_{name}"] = float(number)
    return found | flow_figures(assessment)


def flow_figures(assessment: Assessment) -> dict[str, float]:
    """How the open arrivals fared over all seeds."""
    flows = [each.flow for each in assessment.readings]
    calls = sum(each.calls for each in flows)
    window_s = sum(each.window_ms for each in flows) / 1000.0
    first_try_ms = _over(
        sum(each.first_try_ms for each in flows), sum(e.first_tries for e in flows)
    )
    pointers = pointers_of(assessment)
    found = {
        "arrived_per_s": _over(sum(each.arrived for each in flows), window_s),
        "committed_per_s": _over(sum(each.committed for each in flows), window_s),
        "calls_lost_share": _over(sum(each.lost for each in flows), calls),
        "first_try_ms": first_try_ms,
        "commit_calls_at_a_time": simultaneous_calls(assessment.readings),
        "commit_calls_at_a_time_per_pointer": simultaneous_calls(assessment.readings) / pointers,
        "failed_appends": float(sum(each.physical_failures for each in flows)),
    }
    if first_try_ms > 0.0:
        # Law L6, of commits that follow one another; those that overlap can do better.
        found["serial_ceiling_per_s"] = 1000.0 * pointers / first_try_ms
    return found


def pointers_of(assessment: Assessment) -> float:
    """Among how many pointers the commits divide; with a hot table as many as would be equally loaded."""
    if assessment.candidate.catalog != "per-table":
        return 1.0
    document = assessment.document
    tables = int(document["catalog"].get("num_tables", 1))
    selector = document["transaction"].get("table_selector", {})
    if selector.get("type") != "zipf":
        return float(tables)
    alpha = float(selector.get("alpha", 1.5))
    return math.fsum(rank**-alpha for rank in range(1, tables + 1))


def simultaneous_calls(readings: Sequence[Reading]) -> float:
    """How many commit calls are under way at a time, on average."""
    return _over(
        sum(each.flow.swapping_ms for each in readings),
        sum(each.flow.window_ms for each in readings),
    )


def _mechanism(
    assessment: Assessment, decision: Decision, figures: dict[str, float], place: int
) -> tuple[str, str]:
    """A word and a sentence for what makes transactions miss an objective."""
    if (
        decision.objective.quantity is Quantity.THROUGHPUT
        and figures["arrived_per_s"] < decision.objective.limit
        and decision.objective.subject is None
    ):
        arrived = figures["arrived_per_s"]
        return (
            "offered",
            f"no more than {arrived:.4g}/s arrive: the objective is above the rate asked for",
        )
    missed = figures["missed"]
    if not missed:
        return "none", "nobody missed it in any run"
    real = figures.get(f"missed_by_{VALIDATION_REASON}", 0.0) / missed
    if real > _HALF:
        words = f"real conflicts: {real:.0%} of the misses fail validation; no store or catalog changes that"
        return "real-conflicts", words
    aborted = (
        1.0
        - (figures.get("missed_by_late", 0.0) + figures.get(f"missed_by_{IN_FLIGHT}", 0.0)) / missed
    )
    is_total = decision.objective.quantity is Quantity.TOTAL_LATENCY
    if is_total and figures["missed_runtime_ms"] > _HALF * decision.objective.limit:
        words = f"the work itself: {figures['missed_runtime_ms'] / 1000.0:.3g} s of the late ones is spent before the commit"
        return "work", words
    if figures["missed_retries"] < _FEW_RETRIES and aborted < _HALF:
        words = (
            f"the store's own latency: the late ones lost hardly any commit call ({figures['missed_retries']:.2g} each); "
            f"a commit that nobody disturbs takes {figures['first_try_ms']:.3g} ms on average"
        )
        return "store-latency", words
    mechanism, cause = _cause(assessment, figures, waits=aborted <= _HALF)
    how = f"{figures['calls_lost_share']:.0%} of all commit calls are lost"
    retries = figures["missed_retries"]
    if aborted > _HALF:
        ends = f"{aborted:.0%} of the misses give up after {retries:.2g} retries"
    else:
        ends = f"the late ones retry {retries:.2g} times"
    return mechanism, f"{cause}; {how}, {ends}"


def _cause(assessment: Assessment, figures: dict[str, float], *, waits: bool) -> tuple[str, str]:
    """What fills the time of those who retry; `waits`: that between retries counts, too, which makes nobody give up."""
    swaps_ms = figures["missed_catalog_commit_ms"]
    parts = {
        "convoy": figures["missed_conflict_io_ms"],
        "rebuild": figures["missed_per_attempt_io_ms"],
        "catalog": swaps_ms + figures["missed_catalog_read_ms"],
        "backoff": figures["missed_backoff_ms"] if waits else 0.0,
    }
    total = math.fsum(parts.values()) or 1.0
    largest = max(parts, key=lambda name: parts[name])
    share = f"{parts[largest] / total:.0%} of their commit time"
    catalog = assessment.candidate.catalog
    where = {
        "one-pointer": "the one pointer",
        "per-table": "the pointer of a table",
        "log": "the log",
    }[catalog]
    ceiling = figures.get("serial_ceiling_per_s", math.nan)
    room = f"commits one after another could be {ceiling:.3g}/s, and {figures['arrived_per_s']:.3g}/s come"
    if largest == "convoy":
        lists = figures["missed_lists_of_history"]
        return (
            "convoy",
            f"the convoy: {share} goes into reading {lists:,.0f} lists of history each, while others commit",
        )
    if catalog == "log" and largest == "catalog" and figures["failed_appends"] > 0:
        return (
            "failed-appends",
            f"appends that find {where} longer than expected: {share} goes into commit calls and reads",
        )
    if largest == "catalog":
        return (
            "swap-contention",
            f"contention for {where}: {share} goes into commit calls and catalog reads; {room}",
        )
    if largest == "rebuild":
        if assessment.candidate.lists == "ml+" and figures["failed_appends"] > 0:
            return (
                "failed-appends",
                f"appends to manifest lists that have grown meanwhile, and manifests: {share}",
            )
        return (
            "rebuild",
            f"contention for {where}: {share} goes into manifests and lists between read and commit; {room}",
        )
    return "backoff", f"contention for {where}: {share} is waiting between retries; {room}"


def _over(whole: float, parts: float) -> float:
    return whole / parts if parts else 0.0
