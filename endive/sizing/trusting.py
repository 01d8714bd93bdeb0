"""Where an answer goes beyond what was measured, said from the data: profiles, fits, and how crowded the runs were.

Stores were measured with some numbers of closed-loop clients on one key (`endive.calibration`). An answer extrapolates where no profile
of the store reproduces those measurements, where its tail is off by more than a profile may be, or where more commit calls meet on a
pointer than clients were measured.
"""

from __future__ import annotations

from endive.calibration.compare import LIMIT, TAIL_LIMIT
from endive.calibration.region import (
    Doubt,
    doubts_of_crowd,
    doubts_of_latencies,
    doubts_of_store,
)
from endive.config import PROVIDER_PROFILES
from endive.profiles import ProviderProfile
from endive.sizing.candidates import Candidate
from endive.sizing.explaining import pointers_of, simultaneous_calls
from endive.sizing.searching import Assessment

_TAIL = 0.99


def doubts(assessment: Assessment) -> tuple[Doubt, ...]:
    """Everything that the data say against an answer."""
    candidate = assessment.candidate
    profile = PROVIDER_PROFILES[candidate.provider]
    found = [
        *doubts_of_store(candidate.provider, _operations(candidate)),
        *doubts_of_crowd(simultaneous_calls(assessment.readings) / pointers_of(assessment)),
        *_tail(assessment, profile),
        *_median(candidate, profile),
    ]
    found += doubts_of_latencies(assessment.document["storage"])
    if (
        candidate.catalog == "per-table"
        and int(assessment.document["catalog"].get("num_tables", 1)) > 1
    ):
        found.append(
            Doubt(
                "one key was measured; pointers of several tables are taken not to slow each other down",
                False,
            )
        )
    unsteady = sum(not each.flow.is_steady for each in assessment.readings)
    # MSER-5 overlooks a steady state now and then where latencies have heavy tails; most of the time it does not.
    if 2 * unsteady > len(assessment.readings):
        found.append(
            Doubt(
                f"{unsteady} of {len(assessment.readings)} seeds show no steady state (MSER-5)",
                False,
            )
        )
    return tuple(found)


def extrapolates(assessment: Assessment) -> bool:
    """Whether an answer is outside of what was measured."""
    return any(each.extrapolates for each in doubts(assessment))


def _operations(candidate: Candidate) -> list[str]:
    """The conditional writes that a candidate depends on."""
    used = ["append" if candidate.catalog == "log" else "cas"]
    if candidate.lists == "ml+" and "append" not in used:
        used.append("append")
    return used


def _tail(assessment: Assessment, profile: ProviderProfile) -> list[Doubt]:
    """How far the tail of the profile is from the measured one."""
    levels = [each.objective.quantile for each in assessment.decisions if each.objective.is_latency]
    if not levels or max(levels) < _TAIL:
        return []
    fit = profile.fit
    factors = []
    for operation in _operations(assessment.candidate):
        stated = fit.get(f"{operation}_p99_over_p50_understated_by")
        if isinstance(stated, int | float):
            factors.append(float(stated))
    if "measured_p99_over_p50" in fit and "model_p99_over_p50" in fit:
        factors.append(float(fit["measured_p99_over_p50"]) / float(fit["model_p99_over_p50"]))
    factor = max(factors, default=1.0)
    if factor <= 1.0 + LIMIT:
        return []
    words = f"p99 over p50 of a conditional write was measured {factor:.3g} times as large as the profile has it"
    return [Doubt(words, factor > TAIL_LIMIT)]


def _median(candidate: Candidate, profile: ProviderProfile) -> list[Doubt]:
    found = []
    for operation in _operations(candidate):
        error = profile.fit.get(f"{operation}_median_latency_error_pct")
        if isinstance(error, int | float) and abs(error) / 100.0 > LIMIT:
            words = f"in a crowd the median {operation} takes up to {1.0 / (1.0 + error / 100.0):.2g} times as long as the profile has it"
            found.append(Doubt(words, False))
    return found
