"""Merging interleavings that come to the same point loses none of them, and no fault hides behind it."""

from __future__ import annotations

import pytest

from endive.mutants.registry import MUTANTS
from invariants.direct.enumerate import Bound, cover
from invariants.direct.own import KINDS
from invariants.direct.properties import PropertyBroken


@pytest.mark.parametrize("kind", KINDS)
def test_merged_and_played_out_there_are_as_many_interleavings(kind: str) -> None:
    is_log = KINDS[kind].catalog == "append"
    grains = ("effects",) if is_log else ("effects", "steps")
    bounds = [Bound(2, tables, 2, grain) for tables in (1, 2) for grain in grains]
    # Of three with a seal and a question for the end of the log there are too many to play them all.
    if kind != "append-sealing-bytes":
        # Per partition there are twelve times as many; without latencies they are played out all the same.
        attempts = 1 if is_log or kind == "cas-partition" else 2
        bounds.append(Bound(3, 1, attempts, "effects"))
    for bound in bounds:
        merged, played = (cover(KINDS[kind].make, bound, merges=each) for each in (True, False))
        assert merged.interleavings == played.interleavings, bound
        assert merged.turns <= played.turns


@pytest.mark.parametrize(
    ("mutant_id", "kind", "bound"),
    [
        ("lost-update", "cas", Bound(2, 1, 2, "effects")),
        ("torn-commit", "cas", Bound(2, 2, 2, "effects")),
        ("mutable-snapshot", "cas", Bound(2, 1, 2, "effects")),
        ("torn-read", "instant", Bound(2, 1, 2, "steps")),
        ("table-granularity-overlooks", "cas-table", Bound(2, 1, 2, "effects")),
        ("partition-granularity-by-table", "cas-partition", Bound(2, 1, 2, "effects")),
        ("append-success-by-version", "append", Bound(3, 1, 2, "effects")),
    ],
)
def test_merging_hides_no_fault(mutant_id: str, kind: str, bound: Bound) -> None:
    fault = next(mutant.apply for mutant in MUTANTS if mutant.id == mutant_id)
    for merges in (True, False):
        with fault(), pytest.raises(PropertyBroken):
            cover(KINDS[kind].make, bound, merges=merges)
