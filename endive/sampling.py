"""Drawing latencies: one operation at a time, or a whole convoy at once.

A store draws all its latencies from one stream of standard normals, in the order in which they are needed. Everything here
yields exactly what drawing them one by one would yield (docs/MODEL.md, section 2), at a fraction of the price.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from endive.latency import LatencyDistribution, LognormalLatency, NormalDriven
from endive.utils import NormalStream

# Below this many operations a Python loop beats the overhead of an array.
_VECTOR_FROM = 24


class OperationSampler:
    """Draws the latency of one kind of operation on objects of one size."""

    __slots__ = ("_distribution", "_normals", "draw_ms")

    draw_ms: Callable[[], float]
    """Draws the latency of one operation."""

    def __init__(
        self, distribution: LatencyDistribution, normals: NormalStream, rng: np.random.RandomState
    ) -> None:
        self._distribution = distribution
        self._normals = normals
        if isinstance(distribution, NormalDriven):
            self.draw_ms = block_sampler(distribution, normals)
        else:
            self.draw_ms = partial(distribution.sample, rng)

    def batch_ms(self, count: int, width: int) -> float:
        """Draw `count` operations that run `width` at a time, each batch as slow as its slowest."""
        if count < _VECTOR_FROM or not isinstance(self._distribution, NormalDriven):
            draw_ms, total_ms = self.draw_ms, 0.0
            for start in range(0, count, width):
                slowest_ms = 0.0
                for _ in range(min(width, count - start)):
                    slowest_ms = max(slowest_ms, draw_ms())
                total_ms += slowest_ms
            return total_ms
        # The map from normals is monotone, so the slowest of a batch is the image of its largest normal.
        normals = self._normals.take(count)
        full = count - count % width
        largest = normals[:full:width]
        for place in range(1, width):
            largest = np.maximum(largest, normals[place:full:width])
        total_ms = float(self._distribution.from_normals(largest).sum())
        if full < count:
            total_ms += self._distribution.from_normal(float(normals[full:].max()))
        return total_ms


def block_sampler(distribution: NormalDriven, normals: NormalStream) -> Callable[[], float]:
    """What draws from a distribution with the next normal of a stream."""
    values, refill = normals.values, normals.refill
    if type(distribution) is LognormalLatency:
        exp = math.exp
        mu, sigma, floor_ms = distribution.mu, distribution.sigma, distribution.min_latency_ms

        def draw_lognormal_ms() -> float:
            latency_ms = exp(mu + sigma * (values.pop() if values else refill()))
            return latency_ms if latency_ms > floor_ms else floor_ms

        return draw_lognormal_ms

    from_normal = distribution.from_normal

    def draw_ms() -> float:
        return from_normal(values.pop() if values else refill())

    return draw_ms
