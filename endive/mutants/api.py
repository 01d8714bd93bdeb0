"""Faults of what the code offers: they break a promise before anything runs."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import make_dataclass
from typing import Any

from endive import catalog
from endive.catalog import CASCatalog, Catalog, CommitResult, PointerCatalog, types
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant, Shows
from endive.mutants.patch import setting, together

_WithState = make_dataclass(
    "CommitResult",
    [("success", bool), ("latency_ms", float), ("snapshot", Any, None)],
    frozen=True,
    slots=True,
)
_WithState.__module__ = CommitResult.__module__


def _commit_if_forced(
    self: Any,
    expected_seq: int,
    writes: Mapping[int, int],
    timestamp_ms: float = 0.0,
    intention: Any = None,
    force: bool = False,
) -> Generator[float, None, Any]:
    """The signature of one catalog only."""
    return (yield from PointerCatalog.commit(self, expected_seq, writes, timestamp_ms, intention))


MUTANTS = (
    Mutant(
        "commit-returns-state",
        "a commit result carries a snapshot",
        "Specification §8.8: neither success nor failure returns a snapshot",
        ("commit-returns-no-state",),
        on.CROWD,
        together(
            setting(types, "CommitResult", _WithState), setting(catalog, "CommitResult", _WithState)
        ),
        shows=Shows.API,
    ),
    Mutant(
        "commit-of-its-own-kind",
        "one catalog's commit takes an argument that the others do not know",
        "Specification §8.7: the same for all implementations",
        ("uniform-interface",),
        on.CROWD,
        setting(CASCatalog, "commit", _commit_if_forced),
        shows=Shows.API,
    ),
    Mutant(
        "catalog-tells-topology",
        "the catalog can be asked how many tables there are",
        "Specification §8.11: the catalog does not expose topology queries",
        ("topology-owned-by-workload",),
        on.CROWD,
        setting(Catalog, "num_tables", property(lambda self: len(self.state.tables))),
        shows=Shows.API,
    ),
)
