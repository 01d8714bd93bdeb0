"""What a change of a key is, and the crowd in which most of them show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A crowded second in which commits fail, overlap, back off and conflict.
CROWD: Mapping[str, Any] = {
    "simulation.duration_ms": 1000.0,
    "simulation.seed": 7,
    "storage.provider": "s3x",
    "transaction.inter_arrival": {"distribution": "exponential", "scale": 20.0},
    "transaction.runtime": {"distribution": "fixed", "value": 50.0},
    "transaction.retry": 4,
    "transaction.operation_types": {
        "fast_append": 1.0,
        "merge_append": 1.0,
        "validated_overwrite": 1.0,
    },
}


@dataclass(frozen=True, slots=True)
class Change:
    """Two values of a key, and the setting in which the difference must show."""

    before: Any
    after: Any
    where: Mapping[str, Any] = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=lambda: CROWD)


FAMILIES: dict[str, Mapping[str, Any]] = {
    "fixed": {"value": 30.0},
    "lognormal": {"median": 30.0, "sigma": 0.5},
    "normal": {"mean": 30.0, "std_dev": 5.0},
    "exponential": {"scale": 30.0},
    "uniform": {"low": 20.0, "high": 40.0},
    "size_based": {"base": 30.0, "per_mib": 200.0, "sigma": 0.5},
}
# For each parameter a family that has it.
FAMILY_OF = {
    "value": "fixed",
    "mean": "normal",
    "median": "lognormal",
    "sigma": "lognormal",
    "std_dev": "normal",
    "scale": "exponential",
    "low": "uniform",
    "high": "uniform",
    "base": "size_based",
    "per_mib": "size_based",
}
