"""Latency distributions (§1.2): opaque objects that turn randomness into milliseconds.

Every built-in distribution is a monotone map of one standard normal. So a stream of normals can be drawn in blocks, two
runs that differ in a distribution see the same quantiles, and the slowest of a parallel batch is the image of its largest
normal (docs/MODEL.md, section 2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Normals = NDArray[np.float64]

_MIB = 1024 * 1024
_SQRT2 = math.sqrt(2.0)


class LatencyDistribution(ABC):
    """Where a duration in milliseconds comes from."""

    @abstractmethod
    def sample(self, rng: np.random.RandomState) -> float:
        """Draw a latency sample in milliseconds."""


class NormalDriven(LatencyDistribution):
    """A distribution given as a monotone map of one standard normal, raised to a floor."""

    min_latency_ms: float

    @abstractmethod
    def from_normal(self, z: float) -> float:
        """The sample that belongs to the standard normal `z`."""

    @abstractmethod
    def from_normals(self, z: Normals) -> Normals:
        """The samples that belong to many standard normals."""

    def sample(self, rng: np.random.RandomState) -> float:
        """Draw a latency sample in milliseconds."""
        return self.from_normal(rng.standard_normal())

    def with_floor(self, min_latency_ms: float) -> Self:
        """The same distribution over another floor."""
        return replace(self, min_latency_ms=min_latency_ms)  # type: ignore[type-var]


@dataclass(frozen=True)
class LognormalLatency(NormalDriven):
    """Lognormal with minimum floor."""

    mu: float
    sigma: float
    min_latency_ms: float = 1.0

    @classmethod
    def from_median(
        cls, median_ms: float, sigma: float, min_latency_ms: float = 1.0
    ) -> LognormalLatency:
        """The lognormal with this median."""
        return cls(math.log(median_ms), sigma, min_latency_ms)

    @classmethod
    def from_mean(
        cls, mean_ms: float, sigma: float, min_latency_ms: float = 1.0
    ) -> LognormalLatency:
        """The lognormal with this arithmetic mean (before the floor)."""
        return cls(math.log(mean_ms) - sigma * sigma / 2.0, sigma, min_latency_ms)

    def from_normal(self, z: float) -> float:
        latency_ms = math.exp(self.mu + self.sigma * z)
        floor_ms = self.min_latency_ms
        return latency_ms if latency_ms > floor_ms else floor_ms

    def from_normals(self, z: Normals) -> Normals:
        return np.maximum(np.exp(self.mu + self.sigma * z), self.min_latency_ms)


@dataclass(frozen=True)
class SizeBasedLatency(NormalDriven):
    """Size-dependent model: the median is base + rate · size, with lognormal noise around it (Durner et al., VLDB 2023)."""

    base_latency_ms: float
    latency_per_mib_ms: float
    sigma: float
    min_latency_ms: float = 1.0
    size_bytes: int = field(default=0, kw_only=True)

    def with_size(self, size_bytes: int) -> SizeBasedLatency:
        """The same model for an object of this size."""
        return replace(self, size_bytes=size_bytes)

    @property
    def median_ms(self) -> float:
        """The median before the floor."""
        return self.base_latency_ms + self.latency_per_mib_ms * (self.size_bytes / _MIB)

    def at_size(self, size_bytes: int) -> LognormalLatency:
        """The lognormal that this model is at one size."""
        return LognormalLatency.from_median(
            self.with_size(size_bytes).median_ms, self.sigma, self.min_latency_ms
        )

    def from_normal(self, z: float) -> float:
        return max(self.min_latency_ms, math.exp(math.log(self.median_ms) + self.sigma * z))

    def from_normals(self, z: Normals) -> Normals:
        return np.maximum(np.exp(math.log(self.median_ms) + self.sigma * z), self.min_latency_ms)


@dataclass(frozen=True)
class FixedLatency(LatencyDistribution):
    """Deterministic latency for testing. Consumes no randomness."""

    latency_ms: float

    def sample(self, rng: np.random.RandomState) -> float:
        """The fixed latency."""
        return self.latency_ms

    def with_floor(self, min_latency_ms: float) -> FixedLatency:
        """The same latency, raised to a floor."""
        return FixedLatency(max(self.latency_ms, min_latency_ms))


@dataclass(frozen=True)
class NormalLatency(NormalDriven):
    """Normal with a floor, as the older latency tables of mean and standard deviation describe it."""

    mean_ms: float
    std_dev_ms: float
    min_latency_ms: float = 0.0

    def from_normal(self, z: float) -> float:
        return max(self.min_latency_ms, self.mean_ms + self.std_dev_ms * z)

    def from_normals(self, z: Normals) -> Normals:
        return np.maximum(self.mean_ms + self.std_dev_ms * z, self.min_latency_ms)


@dataclass(frozen=True)
class ExponentialLatency(NormalDriven):
    """Exponential with this mean: the gaps of a Poisson process."""

    mean_ms: float
    min_latency_ms: float = 0.0

    def from_normal(self, z: float) -> float:
        # The upper tail 1 − Φ(z) comes straight from erfc, so that long gaps keep all their digits.
        return max(self.min_latency_ms, -self.mean_ms * math.log(0.5 * math.erfc(z / _SQRT2)))

    def from_normals(self, z: Normals) -> Normals:
        return np.array([self.from_normal(value) for value in z.tolist()])


@dataclass(frozen=True)
class UniformLatency(NormalDriven):
    """Uniform between two bounds."""

    low_ms: float
    high_ms: float
    min_latency_ms: float = 0.0

    def from_normal(self, z: float) -> float:
        share = 0.5 * math.erfc(-z / _SQRT2)
        return max(self.min_latency_ms, self.low_ms + (self.high_ms - self.low_ms) * share)

    def from_normals(self, z: Normals) -> Normals:
        return np.array([self.from_normal(value) for value in z.tolist()])


@dataclass(frozen=True)
class ShiftedLatency(NormalDriven):
    """Another distribution plus a constant: a runtime that never falls below its fixed part."""

    variable: NormalDriven
    offset_ms: float
    min_latency_ms: float = 0.0

    def from_normal(self, z: float) -> float:
        return max(self.min_latency_ms, self.offset_ms + self.variable.from_normal(z))

    def from_normals(self, z: Normals) -> Normals:
        return np.maximum(self.offset_ms + self.variable.from_normals(z), self.min_latency_ms)
