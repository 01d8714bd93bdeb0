"""Where an answer goes beyond what was measured, said from the data: profiles, fits, and how crowded the runs were.

Stores were measured with some numbers of closed-loop clients on one key (`endive.calibration`). An answer extrapolates where no profile
of the store reproduces those measurements, where its tail is off by more than a profile may be, or where more commit calls meet on a
pointer than clients were measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from endive.calibration.compare import LIMIT, TAIL_LIMIT
from endive.calibration.data import THREADS, packaged_file, read_cases
from endive.calibration.profiles import SUFFIX
from endive.config import PROVIDER_PROFILES
from endive.profiles import FITTED, ProviderProfile
from endive.sizing.candidates import Candidate
from endive.sizing.explaining import pointers_of, simultaneous_calls
from endive.sizing.searching import Assessment

_TAIL = 0.99
# What is exceeded once in a hundred instants, where calls come at random.
_CROWDED = 2.33


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt an answer."""

    words: str
    extrapolates: bool
    """Whether the answer is outside of what was measured; otherwise an error is known, and its size."""


def doubts(assessment: Assessment) -> tuple[Doubt, ...]:
    """Everything that the data say against an answer."""
    candidate = assessment.candidate
    profile = PROVIDER_PROFILES[candidate.provider]
    found = [
        *_fit(candidate),
        *_crowd(assessment),
        *_tail(assessment, profile),
        *_median(candidate, profile),
    ]
    if assessment.document["storage"].get("latency"):
        given = ", ".join(sorted(assessment.document["storage"]["latency"]))
        found.append(
            Doubt(
                f"latencies of {given} are those of the configuration, not of a measured store",
                True,
            )
        )
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


@lru_cache(maxsize=1)
def _measured() -> frozenset[tuple[str, str]]:
    """Stores, and what was measured of them."""
    return frozenset((case.store, case.operation.latency) for case in read_cases(packaged_file()))


def _operations(candidate: Candidate) -> list[str]:
    """The conditional writes that a candidate depends on."""
    used = ["append" if candidate.catalog == "log" else "cas"]
    if candidate.lists == "ml+" and "append" not in used:
        used.append("append")
    return used


def _fit(candidate: Candidate) -> list[Doubt]:
    store = candidate.provider.removesuffix(SUFFIX)
    found = []
    for operation in _operations(candidate):
        if (store, operation) not in _measured():
            found.append(Doubt(f"{operation} of {candidate.provider} was never measured", True))
    if found or candidate.provider in FITTED:
        return found
    fitted = f"{store}{SUFFIX}"
    if fitted in FITTED:
        words = f"{candidate.provider} is the specification's profile; {fitted} is the one that fits failure rate and throughput as measured"
        return [Doubt(words, False)]
    return [
        Doubt(
            f"no profile reproduces what was measured on {store} with {THREADS[0]} to {THREADS[-1]} clients",
            True,
        )
    ]


def _crowd(assessment: Assessment) -> list[Doubt]:
    mean = simultaneous_calls(assessment.readings) / pointers_of(assessment)
    crowd = mean + _CROWDED * math.sqrt(mean)
    if crowd <= THREADS[-1]:
        return []
    words = (
        f"{mean:.3g} commit calls at a time on a pointer, at times {crowd:.0f}; "
        f"measured were {THREADS[0]} to {THREADS[-1]} clients"
    )
    return [Doubt(words, True)]


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
