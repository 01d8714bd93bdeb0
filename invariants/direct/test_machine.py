"""Random crowds of half-finished reads and commits against each catalog."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from invariants.direct.adapter import MakeTarget
from invariants.direct.machine import machine_for
from invariants.profiles import examples

pytestmark = [
    pytest.mark.direct,
    pytest.mark.invariant("seq-adds-one", "commits-at-most-once", "no-phantom-commit"),
]


def test_any_crowd_of_reads_and_commits_keeps_the_properties(make_target: MakeTarget) -> None:
    is_quick = getattr(make_target, "is_quick", True)
    run_state_machine_as_test(
        machine_for(make_target),
        settings=settings(
            max_examples=examples(60 if is_quick else 8),
            stateful_step_count=40,
            # One counterexample, made small; the story tells the rest.
            phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
        ),
    )
