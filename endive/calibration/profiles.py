"""Fitted profiles: what fits, as a provider profile under a new name, with the errors it claims.

The specification's own profiles stay as they are. A fitted one takes its effect point and its conditional writes from the
fit, and capabilities, floor and PUT model from the specification's profile of the same store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from endive.calibration.compare import Comparison
from endive.calibration.fit import StoreFit
from endive.profiles import ProviderProfile

SUFFIX = "-2025"
_ERRORS = ("failure", "throughput")
# Stated errors are rounded up to a tenth of a point.
_ROUNDING_POINTS = 0.1


def is_offered(comparisons: Sequence[Comparison]) -> bool:
    """Whether a profile of a store may be offered: all its operations must fit."""
    return bool(comparisons) and all(each.is_offered for each in comparisons)


def claims(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """The largest errors of each operation, in percent, as a profile states them."""
    stated = {}
    for each in comparisons:
        for kind, held_out in (("held_out", True), ("trained", False)):
            for name in _ERRORS:
                worst = abs(each.worst(name, held_out=held_out).value) * 100.0
                key = f"{each.case.operation.latency}_{kind}_{name}_error_pct"
                stated[key] = math.ceil(worst * 10.0) / 10.0
    return stated


def broken_claims(stated: Mapping[str, object], comparisons: Sequence[Comparison]) -> list[str]:
    """What a profile states of its errors and no longer holds, in words."""
    broken = []
    for each in comparisons:
        if not each.is_offered:
            broken.append(f"{each.case.name} no longer fits")
        for kind, held_out in (("held_out", True), ("trained", False)):
            for name in _ERRORS:
                key = f"{each.case.operation.latency}_{kind}_{name}_error_pct"
                limit, worst = stated.get(key), each.worst(name, held_out=held_out)
                found = abs(worst.value) * 100.0
                # What seeds alone may change is no news.
                noise = worst.interval.half_width * 100.0 + _ROUNDING_POINTS
                if not isinstance(limit, int | float):
                    broken.append(f"{key} is not stated")
                elif found > limit + noise:
                    broken.append(f"{key} is {found:.1f}, stated as {limit}")
    return broken


def render_profile(
    specified: ProviderProfile, fit: StoreFit, comparisons: Sequence[Comparison]
) -> str:
    """A fitted profile as the text of a provider's file."""
    name = f"{specified.name}{SUFFIX}"
    parts = [
        f"# {specified.title}, fitted to measurements. Written by `endive calibrate --fit --out DIR`;"
        " docs/CALIBRATION.md tells how.",
        f'name = "{name}"',
        f'title = "{specified.title}, fitted to YCSB conditional writes of June 2025"',
        f"supports_cas = {_bool(specified.supports_cas)}",
        f"supports_append = {_bool(specified.supports_append)}",
        f"supports_tail_append = {_bool(specified.supports_tail_append)}",
        "",
        "[sources]",
        f'floor = "{specified.min_latency_ms.source}"',
        'fitted = "fitted to YCSB conditional writes, June 2025: failure rate and throughput of 1, 4 and 16'
        ' closed-loop clients on one key; tested on 2 and 8"',
        'sigma = "YCSB conditional writes, June 2025: p99 over p50 of one client alone"',
        'refused_sigma = "no quantiles of refused operations were published; the sigma of successes stands in"',
        f'put = "{specified.latency["put"].figures["base"].source}"',
        f'put_sigma = "{specified.latency["put"].figures["sigma"].source}"',
        "",
        "[min_latency_ms]",
        f"value = {specified.min_latency_ms.value}",
        'source = "floor"',
        "",
        "[effect_point]",
        f"value = {fit.effect_point}",
        'source = "fitted"',
    ]
    for operation, model in fit.models.items():
        parts += [
            "",
            f"[latency.{operation.latency}]",
            'distribution = "lognormal"',
            f'median = {{ value = {model.median_ms}, source = "fitted" }}',
            f'sigma = {{ value = {model.sigma}, source = "sigma" }}',
            "",
            f"[latency.{operation.latency}_failure]",
            'distribution = "lognormal"',
            f'median = {{ value = {model.refused_median_ms}, source = "fitted" }}',
            f'sigma = {{ value = {model.refused_sigma}, source = "refused_sigma", assumed = true }}',
        ]
    put = specified.latency["put"].figures
    parts += [
        "",
        "[latency.put]",
        'distribution = "size_based"',
        f'base = {{ value = {put["base"].value}, source = "put" }}',
        f'per_mib = {{ value = {put["per_mib"].value}, source = "put" }}',
        f'sigma = {{ value = {put["sigma"].value}, source = "put_sigma", assumed = true }}',
        "",
        "# The largest errors of failure rate (relative to the rarer outcome) and throughput; `endive calibrate` holds the",
        "# profile to them.",
        "[fit]",
        'source = "YCSB conditional writes, June 2025: failure rate and throughput, 1 to 16 threads"',
        f'client = "{fit.client.value}"',
    ]
    if fit.effect_range is not None:
        low, high = fit.effect_range
        parts.append(f'effect_points_that_fit = "{low:g} to {high:g}"')
    parts += [f"{key} = {value}" for key, value in claims(comparisons).items()]
    for each in comparisons:
        factor = each.worst_tail_factor
        median = max((row.median_error for row in each.rows), key=abs)
        operation_name = each.case.operation.latency
        parts.append(f"{operation_name}_median_latency_error_pct = {100.0 * median:.0f}")
        parts.append(f"{operation_name}_p99_over_p50_understated_by = {factor:.2f}")
    parts.append(f'verdict = "{_verdict(comparisons)}"')
    return "\n".join(parts) + "\n"


def _verdict(comparisons: Sequence[Comparison]) -> str:
    text = "failure rate and throughput fit"
    if all(each.median.value == "fits" for each in comparisons):
        text += ", and so does the median latency"
    else:
        text += "; latency does not: the store gets slower the more clients there are, and the profile does not"
    if any(each.tail.value != "fits" for each in comparisons):
        text += "; the tail under contention is heavier than the model's"
    return text


def _bool(value: bool) -> str:
    return "true" if value else "false"
