"""§8.9: an append tells only that it landed; whether it was applied is discovered, by the writer's own record."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant(
    "append-outcome-by-own-record",
    "append-needs-discovery",
    "log-grows-by-records",
    "some-rejected-record",
    "some-physical-failure",
)


def test_a_writer_learns_the_fate_of_its_own_record_and_pays_for_it() -> None:
    hold_over(
        configs({"catalog": {"type": "append"}}),
        "append-outcome-by-own-record",
        "append-needs-discovery",
        "log-grows-by-records",
        "some-rejected-record",
        "some-physical-failure",
    )
