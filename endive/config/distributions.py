"""From a table with `distribution` and its parameters to a distribution (docs/MODEL.md, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalDriven,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)

Table = Mapping[str, Any]


def build_runtime(table: Table) -> LatencyDistribution:
    """A runtime: a distribution, and the fixed part that is added to it."""
    variable, offset_ms = build_distribution(table), float(table["min"])
    if isinstance(variable, FixedLatency):
        return FixedLatency(variable.latency_ms + offset_ms)
    return ShiftedLatency(variable, offset_ms) if offset_ms > 0.0 else variable


def build_distribution(table: Table) -> NormalDriven | FixedLatency:
    """A distribution over the floor 0; a store raises it to its own."""
    family = table["distribution"]
    if family == "fixed":
        return FixedLatency(table["value"])
    if family == "normal":
        return NormalLatency(table["mean"], table["std_dev"], 0.0)
    if family == "exponential":
        return ExponentialLatency(table["scale"], 0.0)
    if family == "uniform":
        return UniformLatency(table["low"], table["high"], 0.0)
    if family == "size_based":
        return SizeBasedLatency(table["base"], table["per_mib"], table["sigma"], 0.0)
    if "median" in table:
        return LognormalLatency.from_median(table["median"], table["sigma"], min_latency_ms=0.0)
    return LognormalLatency.from_mean(table["mean"], table["sigma"], min_latency_ms=0.0)
