"""The words for a load: mixes of operations, working times and maintenance, as options of the command line say them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endive.cost_model import OPERATIONS
from endive.sizing.units import Unclear, duration_ms, hint, share

WRITERS = "writers"
MAINTENANCE = "maintenance"

_MAINTENANCE = re.compile(r"(\S+) every (\S+) for (\S+)( in all)?(?: overlap (\S+))?")


def mix(text: str) -> dict[str, float]:
    """Weights of operations, as in `fast_append=0.9,merge_append=0.1`."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, weight = (word.strip() for word in part.partition("="))
        if name not in OPERATIONS:
            raise Unclear(f"{name!r} is no operation; {hint(name, OPERATIONS)}")
        if name in weights:
            raise Unclear(f"{name!r} is given twice")
        try:
            value = float(weight) if equals else 1.0
        except ValueError:
            value = math.nan
        if not (value >= 0.0 and math.isfinite(value)):
            raise Unclear(f"{weight!r} is no weight; write {name}=0.9")
        weights[name] = value
    if not sum(weights.values()) > 0.0:
        raise Unclear(f"the weights of {text!r} add up to 0; give one of them more")
    return weights


def runtime(text: str) -> dict[str, Any]:
    """How long a transaction works: `10s`, `exponential 10s` or `lognormal 10s sigma 1`."""
    words = text.split()
    if len(words) == 1:
        return {"distribution": "fixed", "value": 0.0 if text == "0" else duration_ms(text)}
    if len(words) == 2 and words[0] == "exponential":
        return {"distribution": "exponential", "scale": duration_ms(words[1])}
    if len(words) == 4 and words[0] == "lognormal" and words[2] == "sigma":
        try:
            sigma = float(words[3])
        except ValueError:
            sigma = -1.0
        if 0.0 <= sigma <= 20.0:
            mean_ms = duration_ms(words[1])
            return {"distribution": "lognormal", "mean": mean_ms, "sigma": sigma}
        raise Unclear(f"{words[3]!r} is no sigma; give a number from 0 to 20")
    raise Unclear(
        f"{text!r} is no working time; write it as 10s, 'exponential 10s' or 'lognormal 10s sigma 1'"
    )


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A job that comes again and again: on every table in turn, unless it is so many in all."""

    operation: str
    every_ms: float
    works_ms: float
    is_in_all: bool = False
    overlap: float | None = None
    """How often it writes partitions that others write, too; None: not said."""

    def interval_ms(self, tables: int) -> float:
        """From one job to the next."""
        return self.every_ms if self.is_in_all else self.every_ms / tables

    def class_of(self, name: str, tables: int) -> dict[str, Any]:
        """The class of load that it is."""
        settings: dict[str, Any] = {
            "name": name,
            "kind": "periodic",
            "interval_ms": self.interval_ms(tables),
            # The first begins with the run, so that none of it is waited for in vain.
            "offset_ms": 0.0,
            "runtime": {"distribution": "fixed", "value": self.works_ms},
            "operation_types": {self.operation: 1.0},
            "tables_per_txn": 1,
            "table_selector": {"type": "uniform"},
        }
        if self.overlap is not None:
            settings["overlap_probability"] = self.overlap
        return settings


def maintenance(text: str) -> Maintenance:
    """A maintenance job, as in `rewrite_files every 1h for 10min`."""
    found = _MAINTENANCE.fullmatch(" ".join(text.split()))
    if found is None:
        raise Unclear(
            f"{text!r} is no maintenance; write it as 'rewrite_files every 1h for 10min', with 'in all' behind it "
            "if that is not for each table, and 'overlap 5%' for the share of jobs that write partitions of others"
        )
    operation, every, works, in_all, overlap = found.groups()
    if operation not in OPERATIONS:
        raise Unclear(f"{operation!r} is no operation; {hint(operation, OPERATIONS)}")
    return Maintenance(
        operation,
        duration_ms(every),
        duration_ms(works),
        in_all is not None,
        None if overlap is None else share(overlap),
    )


# -- gaps between arrivals ---------------------------------------------------------------------------------------------

_SCALED = ("value", "scale", "mean", "median", "std_dev", "low", "high")


def scaled(gaps: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The same gaps, so many times as long: all families here are scale families."""
    return {name: value * factor if name in _SCALED else value for name, value in gaps.items()}


def mean_of(table: Mapping[str, Any]) -> float:
    """The mean of a distribution; of a normal one without what is cut off below 0."""
    return float(_moments(table)[0])


def quantile_of(table: Mapping[str, Any], level: float) -> float:
    """What a share `level` of a distribution stays below."""
    return float(_moments(table)[1].ppf(level)) + float(table.get("min", 0.0))


def _moments(table: Mapping[str, Any]) -> tuple[float, Any]:
    from scipy import stats

    family = table["distribution"]
    if family == "fixed":
        # A normal without spread is a point.
        mean, law = float(table["value"]), stats.uniform(table["value"], 0.0 + 1e-12)
    elif family == "exponential":
        mean, law = float(table["scale"]), stats.expon(scale=table["scale"])
    elif family == "uniform":
        mean = (table["low"] + table["high"]) / 2.0
        law = stats.uniform(table["low"], max(table["high"] - table["low"], 1e-12))
    elif family == "normal":
        mean, law = float(table["mean"]), stats.norm(table["mean"], max(table["std_dev"], 1e-12))
    else:
        sigma = table["sigma"]
        median = table.get("median") or table["mean"] / math.exp(sigma**2 / 2.0)
        mean = median * math.exp(sigma**2 / 2.0)
        law = stats.lognorm(max(sigma, 1e-12), scale=median)
    return mean + float(table.get("min", 0.0)), law
