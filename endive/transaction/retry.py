"""How a transaction retries (§3.2; docs/MODEL.md, section 8): backoff, budget, and what else shapes a commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from endive.catalog.lists import ManifestLists
    from endive.cost_model import Growth
    from endive.trace import Emit
    from endive.transaction.attempts import Attempt


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with a cap, and jitter after the cap: both ways, or upwards only."""

    rng: np.random.RandomState
    base_ms: float = 10.0
    multiplier: float = 2.0
    max_ms: float = 5000.0
    jitter: float = 0.1
    jitter_mode: str = "both"

    def wait_ms(self, retry: int) -> float:
        """How long to wait before retry 1, 2, …"""
        # Beyond this exponent a float would overflow long after the cap was reached.
        exponent = min(retry - 1, 1000)
        try:
            capped_ms = min(self.max_ms, self.base_ms * self.multiplier**exponent)
        except OverflowError:
            capped_ms = self.max_ms
        u = self.rng.random_sample()
        swing = u if self.jitter_mode == "up" else 2.0 * u - 1.0
        return capped_ms * (1.0 + self.jitter * swing)


class AttemptSink(Protocol):
    """Whoever keeps a row per commit attempt."""

    def add(self, attempt: Attempt) -> None:
        """Keep one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """What shapes a commit beyond the specification; the defaults leave the specification as it is."""

    history_scope: str = "catalog"
    metadata_inlined: bool = True
    serializable: bool = False
    retry_timeout_ms: float | None = None
    max_restarts: int = 0
    """How often the application starts again after a validation exception."""
    conflict_rng: np.random.RandomState | None = None
    """Draws how many manifests a real conflict takes to merge; the stream of the detector."""
    manifest_lists: ManifestLists | None = None
    """Where lists are appended to at an offset; None: wherever they end."""
    growth: Growth | None = None
    """How objects grow; None: they keep their sizes."""
    attempts: AttemptSink | None = None
    emit: Emit | None = None
    """Takes what happens, event by event, where a run is traced."""

    @property
    def is_plain(self) -> bool:
        """Whether this is the specification and nothing else."""
        return replace(self, conflict_rng=None, emit=None) == PLAIN


PLAIN = CommitOptions()
