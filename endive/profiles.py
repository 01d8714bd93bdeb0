"""Provider profiles (§1.3, §1.4) as data: what a store can do and how long it takes, each figure with its source.

A profile is a TOML file in `endive/providers/`. A figure that neither a document nor a measurement gives is marked
`assumed`, and `endive providers` shows it as such.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.latency import LognormalLatency, NormalDriven, SizeBasedLatency
from endive.resources import package_dir

FITTED: tuple[str, ...] = ("s3-2025", "s3x-2025")
"""The fitted profiles that ship: of the stores whose measurements can be reproduced (docs/CALIBRATION.md)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, where it comes from, and whether it is an assumption."""

    value: float
    source: str
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class LatencyFigures:
    """The parameters of one latency distribution of a profile."""

    distribution: str
    figures: Mapping[str, Figure]

    def build(self, min_latency_ms: float) -> NormalDriven:
        """The distribution over the given floor."""
        value = {name: figure.value for name, figure in self.figures.items()}
        if self.distribution == "lognormal":
            return LognormalLatency.from_median(value["median"], value["sigma"], min_latency_ms)
        if self.distribution == "size_based":
            return SizeBasedLatency(value["base"], value["per_mib"], value["sigma"], min_latency_ms)
        raise ValueError(
            f"profiles have lognormal or size_based latencies, not {self.distribution!r}"
        )


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """A store: capabilities, floor, effect point and latencies."""

    name: str
    title: str
    supports_cas: bool
    supports_append: bool
    supports_tail_append: bool
    min_latency_ms: Figure
    effect_point: Figure
    latency: Mapping[str, LatencyFigures]
    fit: Mapping[str, Any]
    text: str


def load_profile(path: Path) -> ProviderProfile:
    """Read one profile."""
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    sources: dict[str, str] = data["sources"]

    def figure(entry: Mapping[str, Any]) -> Figure:
        source = sources[entry["source"]]
        return Figure(float(entry["value"]), source, bool(entry.get("assumed", False)))

    latency = {
        operation: LatencyFigures(
            entry["distribution"],
            {name: figure(value) for name, value in entry.items() if name != "distribution"},
        )
        for operation, entry in data["latency"].items()
    }
    return ProviderProfile(
        name=data["name"],
        title=data["title"],
        supports_cas=data["supports_cas"],
        supports_append=data["supports_append"],
        supports_tail_append=data["supports_tail_append"],
        min_latency_ms=figure(data["min_latency_ms"]),
        effect_point=figure(data["effect_point"]),
        latency=latency,
        fit=data.get("fit", {}),
        text=text,
    )


def load_profiles() -> dict[str, ProviderProfile]:
    """The specification's profiles by name, in the order of its table."""
    order = ("s3", "s3x", "azure", "azurex", "gcp", "instant")
    return {name: load_profile(package_dir("providers") / f"{name}.toml") for name in order}


def load_fitted_profiles() -> dict[str, ProviderProfile]:
    """Profiles fitted to measurements, by name; they stand beside the specification's and replace none."""
    return {name: load_profile(package_dir("providers") / f"{name}.toml") for name in FITTED}
