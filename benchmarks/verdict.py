"""What a measurement must reach, and whether it does. Nothing is measured here."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Sense = Literal["≥", "≤", "<"]
Verdict = Literal["held", "missed", "not judged"]

_COMPARISONS: Mapping[Sense, Callable[[float, float], bool]] = {
    "≥": operator.ge,
    "≤": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a value has to keep. `aim` is what is hoped for; missing it has no consequence."""

    sense: Sense
    bound: float
    aim: float | None = None

    def is_kept_by(self, value: float) -> bool:
        """Whether the value keeps the bound; one that is not a number never does."""
        return _COMPARISONS[self.sense](value, self.bound)


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value beside its target."""

    benchmark: str
    measure: str
    value: float
    unit: str
    target: Target
    # Targets are set for the full size. A smaller one only shows that the benchmark works.
    full_size: bool = True
    figures: Mapping[str, float] = field(default_factory=dict)
    """What the value was computed from."""

    @property
    def verdict(self) -> Verdict:
        """Whether the target is reached, if that can be said at this size."""
        if not self.full_size:
            return "not judged"
        return "held" if self.target.is_kept_by(self.value) else "missed"

    def as_dict(self) -> dict[str, Any]:
        """The row as one flat JSON object, its figures apart."""
        return {
            "benchmark": self.benchmark,
            "measure": self.measure,
            "value": self.value,
            "unit": self.unit,
            "sense": self.target.sense,
            "target": self.target.bound,
            "aim": self.target.aim,
            "verdict": self.verdict,
            "figures": dict(self.figures),
        }


def exit_code(rows: Sequence[Row]) -> int:
    """1 if any target is missed, else 0."""
    return int(any(row.verdict == "missed" for row in rows))
