"""Experiments as the analysis sees them: what each is set to, and in which respects they differ.

Keys that only make sense together are one axis: everything that sets the load, all weights of an operation mix, all
latencies of the catalog. What differs between the experiments of a study, apart from the load, tells its curves apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from endive.analysis.words import number, percent

LOAD = "load"
MIX = "operation mix"
CATALOG_LATENCY = "catalog latency"
TABLES = "catalog.num_tables"
PROVIDER = "storage.provider"

# What a commit competes for, by the kind of catalog or else by the granularity of its conflicts.
CATALOG_MODELS = {
    "append": "log of records",
    "catalog": "one pointer",
    "group": "per group",
    "table": "per table",
    "partition": "per partition",
}
_PROVIDERS = {
    "s3": "S3",
    "s3x": "S3 Express",
    "azure": "Azure",
    "azurex": "Azure Premium",
    "gcp": "Google Cloud",
    "instant": "instant store",
    "s3-2025": "S3 (fitted)",
    "s3x-2025": "S3 Express (fitted)",
}
# Not part of what is simulated, or told apart otherwise.
_CIRCUMSTANCES = re.compile(r"experiment\.|simulation\.(seed|output_path)$")
_LOAD_KEYS = re.compile(r"(^|\.)(inter_arrival|think_time)\.|\.(clients|interval_ms)$")
_MIX_KEYS = re.compile(r"(^|\.)operation_types\.")
_CATALOG_KEYS = re.compile(r"storage\.latency\.catalog\.")


@dataclass(frozen=True)
class Load:
    """What is submitted: so many transactions a second from open sources, and by so many clients that wait."""

    submitted_per_s: float
    background_per_s: float
    clients: int

    @property
    def per_s(self) -> float:
        """Commits that are attempted or land by themselves, in a second; what clients do is not known beforehand."""
        return self.submitted_per_s + self.background_per_s


@dataclass(frozen=True)
class Setup:
    """One experiment: the name of its directory, and its complete configuration."""

    name: str
    values: Mapping[str, Any]
    version: str = ""
    """The code that made the results."""

    @property
    def label(self) -> str:
        """What the directory is named after, without the hash."""
        return re.sub(r"-[0-9a-f]{6}$", "", self.name)

    @property
    def provider(self) -> str:
        """The store, as people call it."""
        name = str(self.values["storage"]["provider"])
        return _PROVIDERS.get(name, name)

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return int(self.values["catalog"]["num_tables"])

    @property
    def catalog_model(self) -> str:
        """What a commit competes for: one pointer for all, a pointer per table, a log of records."""
        catalog = self.values["catalog"]
        kind = catalog.get("type", "cas")
        if kind == "append":
            return CATALOG_MODELS[kind]
        return CATALOG_MODELS[catalog.get("conflict_granularity", "catalog")]

    @cached_property
    def load(self) -> Load:
        """What is submitted."""
        classes = self.values.get("workload", {}).get("class", ())
        if not classes:
            gaps = self.values["transaction"].get("inter_arrival")
            return Load(_rate(gaps) if gaps else 0.0, 0.0, 0)
        submitted, background, clients = [], [], 0
        for each in classes:
            kind = each["kind"]
            if kind == "open":
                submitted.append(_rate(each["inter_arrival"]))
            elif kind == "periodic":
                submitted.append(1000.0 / each["interval_ms"])
            elif kind == "background":
                background.append(_rate(each["inter_arrival"]))
            else:
                clients += int(each["clients"])
        return Load(math.fsum(submitted), math.fsum(background), clients)

    @cached_property
    def catalog_latency_ms(self) -> float | None:
        """The mean latency of a swap of the catalog, where the configuration sets it."""
        catalog = self.values["storage"].get("latency", {}).get("catalog", {})
        table = catalog.get("append" if self.values["catalog"].get("type") == "append" else "cas")
        return _mean_ms(table) if table else None

    @cached_property
    def axes(self) -> Mapping[str, str | float | bool | None]:
        """The value of every axis on which experiments may differ."""
        values: dict[str, str | float | bool | None] = {}
        mixes: dict[str, dict[str, float]] = {}
        load = []
        for key, value in _flat(self.values):
            if _CIRCUMSTANCES.match(key):
                continue
            if _LOAD_KEYS.search(key):
                load.append(f"{key}={value}")
            elif found := _MIX_KEYS.search(key):
                mixes.setdefault(key[: found.start()], {})[key[found.end() :]] = float(value)
            elif not _CATALOG_KEYS.match(key):
                values[key] = value
        values[LOAD] = "; ".join(load)
        values[CATALOG_LATENCY] = self.catalog_latency_ms
        if mixes:
            values[MIX] = "; ".join(
                _mix(place, weights, is_only=len(mixes) == 1) for place, weights in mixes.items()
            )
        return values


def varied_axes(setups: Sequence[Setup]) -> tuple[str, ...]:
    """The axes on which the experiments differ, in the order of the configuration."""
    axes = list(dict.fromkeys(axis for setup in setups for axis in setup.axes))
    return tuple(axis for axis in axes if len({setup.axes.get(axis) for setup in setups}) > 1)


def in_words(axis: str, value: object) -> str:
    """The value of an axis as it stands in a legend."""
    if axis == PROVIDER:
        return _PROVIDERS.get(str(value), str(value))
    if axis == TABLES:
        return "1 table" if value == 1 else f"{number(value)} tables"
    if axis == CATALOG_LATENCY:
        return "catalog as profiled" if value is None else f"catalog {number(value)} ms"
    if axis == "catalog.conflict_granularity":
        return CATALOG_MODELS.get(str(value), str(value))
    if axis == "catalog.type":
        return f"{value} catalog"
    if axis == MIX:
        return "–" if value is None else str(value)
    if axis == "transaction.cost_table":
        return str(value).rsplit("/", 1)[-1]
    if axis == "simulation.duration_ms" and isinstance(value, float):
        return f"{number(value / 1000.0)} s long"
    name = axis.split("workload.class.", 1)[-1].removeprefix("transaction.")
    if value is None:
        return f"no {name}"
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {number(value) if isinstance(value, int | float) else value}"


def _mix(place: str, weights: Mapping[str, float], *, is_only: bool) -> str:
    total = math.fsum(weights.values()) or 1.0
    parts = [f"{percent(w / total)} {name}" for name, w in weights.items() if w > 0.0]
    owner = "" if is_only else f"{place.removeprefix('workload.class.')}: "
    return owner + ", ".join(part.removeprefix("100 % ") for part in parts)


def _flat(table: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key; classes of load go by their name, other lists are values."""
    for key, value in table.items():
        name = f"{place}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list | tuple):
            if value and all(isinstance(each, Mapping) for each in value):
                for position, each in enumerate(value):
                    rest = {k: v for k, v in each.items() if k != "name"}
                    yield from _flat(rest, f"{name}.{each.get('name', position)}.")
            else:
                yield name, ", ".join(map(str, value))
        else:
            yield name, value


def _rate(gaps: Mapping[str, Any]) -> float:
    mean_ms = _mean_ms(gaps)
    return 1000.0 / mean_ms if mean_ms else 0.0


def _mean_ms(table: Mapping[str, Any]) -> float | None:
    """The mean of a distribution, from its settings; None where it depends on more than those."""
    family = table["distribution"]
    if family == "fixed":
        return float(table["value"])
    if family == "exponential":
        return float(table["scale"])
    if family == "uniform":
        return (float(table["low"]) + float(table["high"])) / 2.0
    if family == "size_based":
        return None
    if "median" in table:
        return float(table["median"]) * math.exp(float(table["sigma"]) ** 2 / 2.0)
    return float(table["mean"])
