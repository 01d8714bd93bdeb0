"""All interleavings of two and three transactions on each catalog: no counterexample up to the bound."""

from __future__ import annotations

from collections.abc import Iterator

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


def bounds_by_steps() -> Iterator[tuple[str, Bound]]:
    """Three transactions with every wait a place where others come in, where that ends within minutes."""
    for name, kind in KINDS.items():
        if kind.catalog != "append":
            yield name, Bound(3, 1, 2, "steps")
            if kind.granularity != "partition":
                yield name, Bound(3, 2, 2, "steps")
    yield "append-impatient", Bound(3, 1, 2, "steps")
    yield "append", Bound(3, 1, 1, "steps")


@covers
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bound"), list(bounds_by_steps()), ids=str)
def test_no_interleaving_of_three_step_by_step_breaks_a_property(
    kind: str, bound: Bound, record_property: pytest.RecordProperty
) -> None:
    hold_up_to(KINDS[kind].make, bound, record_property)
