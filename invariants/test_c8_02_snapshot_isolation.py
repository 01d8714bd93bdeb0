"""§8.2: transactions see immutable states of the past, and commits only once they have happened."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant(
    "snapshot-is-a-past-state", "snapshot-before-runtime", "some-stale-snapshot"
)


def test_every_read_shows_a_state_that_was_current_while_it_lasted() -> None:
    hold_over(
        configs(), "snapshot-is-a-past-state", "snapshot-before-runtime", "some-stale-snapshot"
    )
