"""§8.4: no overlap, false conflict and real conflict are told apart by what was really committed in between."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant(
    "class-matches-history",
    "n-matches-history",
    "real-conflict-ends-or-merges",
    "some-overlap",
    "some-disjoint",
    "some-cross-table",
    "some-real-conflict",
)


def test_classes_and_distances_are_those_of_the_commits_in_between() -> None:
    hold_over(
        configs(),
        "class-matches-history",
        "n-matches-history",
        "some-overlap",
        "some-disjoint",
        "some-cross-table",
        count=60,
    )


def test_a_real_conflict_ends_restarts_or_merges_as_the_cost_table_says() -> None:
    overwrites = {
        "transaction": {
            "operation_types": {"validated_overwrite": 1, "fast_append": 1},
            "real_conflict_probability": 0.5,
        }
    }
    hold_over(configs(overwrites), "real-conflict-ends-or-merges", "some-real-conflict")
