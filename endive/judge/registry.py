"""All invariants, by id and by clause."""

from __future__ import annotations

from collections.abc import Mapping

from endive.judge.model import Invariant
from endive.judge.rules import (
    beyond_commits,
    beyond_costs,
    beyond_flow,
    beyond_logs,
    beyond_retries,
    beyond_storage,
    c8_1,
    c8_2,
    c8_3,
    c8_4,
    c8_5,
    c8_6,
    c8_7,
    c8_8,
    c8_9,
    c8_10,
    c8_11,
    c8_12,
)

INVARIANTS: tuple[Invariant, ...] = (
    *c8_1.INVARIANTS,
    *c8_2.INVARIANTS,
    *c8_3.INVARIANTS,
    *c8_4.INVARIANTS,
    *c8_5.INVARIANTS,
    *c8_6.INVARIANTS,
    *c8_7.INVARIANTS,
    *c8_8.INVARIANTS,
    *c8_9.INVARIANTS,
    *c8_10.INVARIANTS,
    *c8_11.INVARIANTS,
    *c8_12.INVARIANTS,
    *beyond_flow.INVARIANTS,
    *beyond_commits.INVARIANTS,
    *beyond_retries.INVARIANTS,
    *beyond_costs.INVARIANTS,
    *beyond_logs.INVARIANTS,
    *beyond_storage.INVARIANTS,
)

_BY_ID: Mapping[str, Invariant] = {invariant.id: invariant for invariant in INVARIANTS}


def by_id(id: str) -> Invariant:
    """One invariant by its name."""
    if id not in _BY_ID:
        raise KeyError(f"no invariant is called {id!r}; there are {', '.join(_BY_ID)}")
    return _BY_ID[id]


def clauses() -> Mapping[str, tuple[Invariant, ...]]:
    """The invariants of each clause, in order of the clauses."""
    found: dict[str, list[Invariant]] = {}
    for invariant in INVARIANTS:
        found.setdefault(invariant.clause, []).append(invariant)
    return {clause: tuple(each) for clause, each in found.items()}
