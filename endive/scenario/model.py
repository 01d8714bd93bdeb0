"""What a scenario is, once it has been read and found sound: values without a line of YAML in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from endive.config import ResolvedConfig
from endive.scenario.metrics import Metric, Selection

DEFAULT_VARIANT = "default"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values an expectation allows; an end may or may not belong to them."""

    low: float = -math.inf
    high: float = math.inf
    has_low: bool = True
    has_high: bool = True
    is_exact: bool = False
    """Whether it is one value that every run must have, and not a statement about a mean."""

    def admits(self, value: float) -> bool:
        """Whether a value is as expected."""
        if self.is_exact:
            # Times are sums of floats: docs/MODEL.md holds two engines to a millionth of a millisecond.
            return math.isclose(value, self.low, rel_tol=1e-12, abs_tol=1e-6)
        above = value >= self.low if self.has_low else value > self.low
        below = value <= self.high if self.has_high else value < self.high
        return above and below

    def words(self) -> str:
        """As a sentence goes on after "expected"."""
        if self.is_exact:
            return f"{self.low:.10g}"
        if self.high == math.inf:
            return f"{'at least' if self.has_low else 'above'} {self.low:.10g}"
        if self.low == -math.inf:
            return f"{'at most' if self.has_high else 'below'} {self.high:.10g}"
        return f"between {self.low:.10g} and {self.high:.10g}"


class Comparison(Enum):
    """How two variants are held against each other."""

    DIFFERENCE = "minus"
    RATIO = "over"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One number of a variant, or of two against each other, and where it must lie."""

    metric: Metric
    selection: Selection
    bounds: Bounds
    variant: str
    other: str | None = None
    comparison: Comparison | None = None
    because: str = ""
    line: int = 0

    def words(self) -> str:
        """What is measured."""
        of = self.selection.words()
        text = f"{self.metric.name}{f' ({self.selection.aggregate})' if self.is_aggregated else ''}"
        text += f" of {of}" if of else ""
        if self.variant != DEFAULT_VARIANT:
            text += f" in {self.variant}"
        if self.comparison is not None:
            text += f" {self.comparison.value} {self.other}"
        return text

    @property
    def is_aggregated(self) -> bool:
        """Whether many rows become one number."""
        return self.metric.takes_aggregate


@dataclass(frozen=True, slots=True)
class Seeds:
    """Which seeds are run, and how many there may be."""

    start: int
    first: int
    limit: int
    listed: tuple[int, ...] = ()

    def head(self, count: int) -> tuple[int, ...]:
        """The first so many seeds."""
        if self.listed:
            return self.listed[:count]
        return tuple(range(self.start, self.start + count))

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many seeds one looks whether all is decided: each time twice as many."""
        counts = [self.first]
        while counts[-1] < self.limit:
            counts.append(min(self.limit, 2 * counts[-1]))
        return tuple(counts)


@dataclass(frozen=True, slots=True)
class Variant:
    """One configuration of a scenario."""

    name: str
    config: ResolvedConfig


@dataclass(frozen=True, slots=True)
class Scenario:
    """A behaviour, what shows it, and what must come out."""

    file: str
    title: str
    about: str
    sections: tuple[str, ...]
    clauses: tuple[str, ...]
    variants: tuple[Variant, ...]
    seeds: Seeds
    confidence: float
    judged_seeds: int
    invariants: tuple[str, ...] | None
    """The ids of those that matter; None: all that apply."""
    sometimes: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    golden: Mapping[str, Mapping[str, str]] | None

    @property
    def name(self) -> str:
        """The name of its file, which says what it shows."""
        return Path(self.file).stem

    def variant(self, name: str) -> Variant:
        """The variant of this name."""
        return next(each for each in self.variants if each.name == name)

    def settings(self, name: str) -> Mapping[str, Any]:
        """The configuration of a variant, all defaults filled in."""
        return self.variant(name).config.values
