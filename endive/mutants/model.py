"""What a mutant is: a named fault, where it was warned of, and who must notice it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from endive.mutants.patch import Fault


class Shows(Enum):
    """Where a fault shows."""

    TRACE = "trace"
    """In the events of one run."""
    PAIR = "pair"
    """Only in the difference between two runs."""
    API = "api"
    """In what the code offers, whether or not it runs."""
    SOURCE = "source"
    """In what the code says; what it does may look right in any one run."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A run in which a fault makes a difference."""

    name: str
    config: Mapping[str, Any]
    seed: int = 1
    express_lane: bool = False
    """Faults of the protocol are put into `endive.transaction`, so the run keeps off the flat form of it."""
    other: Mapping[str, Any] | None = None
    """A second configuration, for what two runs must have in common."""
    elsewhere: bool = False
    """Whether the second run, of the same configuration, is one in another process."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault with a name."""

    id: str
    title: str
    source: str
    """What the fault breaks: a section of a document, or a trap that simulators have fallen into."""
    killed_by: tuple[str, ...]
    """The invariants that must notice, each of them; others may."""
    witness: Witness
    apply: Fault
    shows: Shows = Shows.TRACE
    benign: bool = False
    """A change that is no fault: nobody may notice."""
