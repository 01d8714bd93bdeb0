"""§8.6: nothing takes less time than the store's floor."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("latency-floor", "some-at-floor")


@pytest.mark.parametrize("floor_ms", [1, 16, 64])
def test_every_operation_takes_at_least_the_floor(floor_ms: float) -> None:
    hold_over(
        configs({"storage": {"min_latency_ms": floor_ms}}),
        "latency-floor",
        "some-at-floor",
        count=25,
    )
