"""Whether a run lies where the model has been held against measurements, said from the data and not from a list.

Stores were measured with some numbers of closed-loop clients on one key. A run extrapolates where what it rests on was never measured,
where no profile of the store reproduces what was, or where more commit calls meet on a pointer than clients were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from endive.calibration.data import THREADS, packaged_file, read_cases
from endive.calibration.profiles import SUFFIX
from endive.profiles import FITTED

# What is exceeded once in a hundred instants, where calls come at random.
_CROWDED = 2.33


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt an answer."""

    words: str
    extrapolates: bool
    """Whether the answer is outside of what was measured; otherwise an error is known, and its size."""


@lru_cache(maxsize=1)
def measured() -> frozenset[tuple[str, str]]:
    """Stores, and what was measured of them."""
    return frozenset((case.store, case.operation.latency) for case in read_cases(packaged_file()))


def doubts_of_run(values: Mapping[str, Any], calls_in_progress: float) -> tuple[Doubt, ...]:
    """What the data say against a run of this configuration, with so many commit calls under way on average."""
    catalog, transaction, storage = values["catalog"], values["transaction"], values["storage"]
    used = ["append" if catalog["type"] == "append" else "cas"]
    if transaction["manifest_list_mode"] == "append" and "append" not in used:
        used.append("append")
    pointers = catalog["num_tables"] if catalog.get("conflict_granularity") == "table" else 1
    return (
        *doubts_of_store(storage["provider"], used),
        *doubts_of_crowd(calls_in_progress / pointers),
        *doubts_of_latencies(storage),
    )


def doubts_of_store(provider: str, operations: Sequence[str]) -> list[Doubt]:
    """Whether a profile stands for measured operations."""
    store = provider.removesuffix(SUFFIX)
    found = [
        Doubt(f"{operation} of {provider} was never measured", True)
        for operation in operations
        if (store, operation) not in measured()
    ]
    if found or provider in FITTED:
        return found
    fitted = f"{store}{SUFFIX}"
    if fitted in FITTED:
        words = f"{provider} is the specification's profile; {fitted} is the one that fits failure rate and throughput as measured"
        return [Doubt(words, False)]
    words = f"no profile reproduces what was measured on {store} with {THREADS[0]} to {THREADS[-1]} clients"
    return [Doubt(words, True)]


def doubts_of_crowd(calls_on_a_pointer: float) -> list[Doubt]:
    """Whether more commit calls meet on a pointer than clients were measured."""
    crowd = calls_on_a_pointer + _CROWDED * math.sqrt(calls_on_a_pointer)
    if crowd <= THREADS[-1]:
        return []
    words = (
        f"{calls_on_a_pointer:.3g} commit calls at a time on a pointer, at times {crowd:.0f}; "
        f"measured were {THREADS[0]} to {THREADS[-1]} clients"
    )
    return [Doubt(words, True)]


def doubts_of_latencies(storage: Mapping[str, Any]) -> list[Doubt]:
    """Whether latencies are somebody's own."""
    if not storage.get("latency"):
        return []
    given = ", ".join(sorted(storage["latency"]))
    words = f"latencies of {given} are those of the configuration, not of a measured store"
    return [Doubt(words, True)]
