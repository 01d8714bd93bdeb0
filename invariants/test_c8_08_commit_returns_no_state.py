"""§8.8: a commit says whether it succeeded and how long it took; who lost reads to learn the state."""

from __future__ import annotations

from dataclasses import fields

import pytest

from endive.catalog import CommitResult
from invariants.direct.adapter import finish
from invariants.direct.own import KINDS
from invariants.holding import hold_api, hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("commit-returns-no-state", "failure-then-read")


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("wins", [True, False])
def test_a_commit_answers_with_success_and_latency_and_nothing_else(name: str, wins: bool) -> None:
    catalog = KINDS[name].make(1).catalog
    assert finish(catalog.commit(0, {0: 1})).success
    result = finish(catalog.commit(1 if wins else 0, {0: 2 if wins else 1}))
    assert type(result) is CommitResult
    assert result.success is wins
    assert {field.name: field.type for field in fields(result)} == {
        "success": "bool",
        "latency_ms": "float",
    }
    assert type(result.latency_ms) is float


def test_the_interface_has_no_place_for_state_in_the_answer() -> None:
    hold_api("commit-returns-no-state")


def test_who_lost_reads_before_trying_again() -> None:
    hold_over(configs(), "failure-then-read")
