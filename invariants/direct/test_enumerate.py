"""All interleavings of two and three transactions on each catalog: no counterexample up to the bound."""

from __future__ import annotations

import pytest

from invariants.direct.adapter import MakeTarget, close
from invariants.direct.enumerate import Bound, cover
from invariants.direct.own import KINDS

covers = pytest.mark.invariant("seq-adds-one", "cas-expectation", "no-phantom-commit")

BOUNDS = (
    Bound(2, 1, 2, "steps"),
    Bound(2, 2, 2, "steps"),
    Bound(3, 1, 2, "effects"),
    Bound(3, 2, 2, "effects"),
)


def hold_up_to(
    make_target: MakeTarget, bound: Bound, record_property: pytest.RecordProperty
) -> None:
    """Play all of them, and say how many there were."""
    covered = cover(make_target, bound)
    said = f"no counterexample up to the bound: {bound}, {covered.interleavings:,} interleavings in {covered.turns:,} turns"
    print(said)
    record_property("enumerated", said)
    assert covered.interleavings > 1, said


@covers
@pytest.mark.direct
def test_no_interleaving_breaks_a_property(
    make_target: MakeTarget, record_property: pytest.RecordProperty
) -> None:
    target = make_target(1)
    close(target)
    # A target that cannot tell its state has every interleaving played out, so it has fewer of them.
    bounds = BOUNDS if hasattr(target, "fingerprint") else getattr(target, "bounds", BOUNDS[:2])
    for bound in bounds:
        hold_up_to(make_target, bound, record_property)


@covers
@pytest.mark.slow
@pytest.mark.parametrize("tables", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_no_interleaving_of_three_step_by_step_breaks_a_property(
    kind: str, tables: int, record_property: pytest.RecordProperty
) -> None:
    hold_up_to(KINDS[kind].make, Bound(3, tables, 2, "steps"), record_property)
