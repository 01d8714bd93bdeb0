"""All interleavings of two and three transactions on each catalog: no counterexample up to the bound."""

from __future__ import annotations

import pytest

from invariants.direct.adapter import MakeTarget, close
from invariants.direct.enumerate import Bound, count_interleavings

pytestmark = [
    pytest.mark.direct,
    pytest.mark.invariant("seq-adds-one", "cas-expectation", "no-phantom-commit"),
]


def bounds_for(make_target: MakeTarget) -> tuple[Bound, ...]:
    """As much as can be played through in seconds."""
    own = getattr(make_target, "__self__", None)
    if own is None:
        target = make_target(1)
        close(target)
        return getattr(target, "bounds", (Bound(2, 1, 2, "steps"), Bound(2, 2, 2, "steps")))
    if own.catalog != "append":
        return (
            Bound(2, 1, 2, "steps"),
            Bound(2, 2, 2, "steps"),
            Bound(3, 1, 2, "effects"),
            Bound(3, 2, 2, "effects"),
        )
    asks = own.settings.get("append_offset") == "latest"
    by_steps = () if asks or own.settings else (Bound(2, 1, 1, "steps"),)
    # A writer that asks for the end of the log first, or compacts, has more effects: fewer attempts.
    attempts = 1 if own.settings and "max_physical_retries" not in own.settings else 2
    return (
        *by_steps,
        Bound(2, 1, 2, "effects"),
        Bound(2, 2, 2, "effects"),
        Bound(3, 1, attempts, "effects"),
        *(() if asks else (Bound(3, 2, 1, "effects"),)),
    )


def test_no_interleaving_breaks_a_property(
    make_target: MakeTarget, record_property: pytest.RecordProperty
) -> None:
    for bound in bounds_for(make_target):
        count = count_interleavings(make_target, bound)
        said = f"no counterexample up to the bound: {bound}, {count} interleavings"
        print(said)
        record_property("enumerated", said)
        assert count > 1, said
