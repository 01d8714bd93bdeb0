"""Loads (docs/MODEL.md, section 13): who submits the transactions of a workload, and when.

A load says how long to wait before its next submission; the runner does the waiting and the submitting. All its waits come
from the arrival stream of its class, in the order in which they begin. From `end_ms` on it submits nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, repeat

from endive.latency import LatencyDistribution
from endive.workload.script import ScriptedLoad
from endive.workload.workload import Workload


@dataclass(frozen=True)
class OpenLoad:
    """Transactions arrive whatever became of the earlier ones: independent users without number."""

    workload: Workload
    end_ms: float = math.inf

    @property
    def processes(self) -> int:
        """How many submit, each in its turn."""
        return 1

    def waits(self) -> Callable[[], float]:
        """What draws the gap before the next arrival."""
        return self.workload.waits(self.workload.config.inter_arrival)


@dataclass(frozen=True)
class ClosedLoad:
    """Clients that think, submit, wait for the end of their transaction, and think again."""

    workload: Workload
    clients: int
    think_time: LatencyDistribution
    end_ms: float = math.inf

    def __post_init__(self) -> None:
        if self.clients < 1:
            raise ValueError(f"a closed load needs at least 1 client, not {self.clients}")

    @property
    def processes(self) -> int:
        """How many submit, each in its turn."""
        return self.clients

    def waits(self) -> Callable[[], float]:
        """What draws the next thinking time, of whichever client begins to think."""
        return self.workload.waits(self.think_time)


@dataclass(frozen=True)
class PeriodicLoad:
    """Maintenance by the clock: a transaction at every tick, even if the last one is still at work."""

    workload: Workload
    interval_ms: float
    offset_ms: float | None = None
    """When the first one comes; None: after one interval."""
    end_ms: float = math.inf

    def __post_init__(self) -> None:
        if not self.interval_ms > 0.0:
            raise ValueError(f"interval_ms must be above 0, not {self.interval_ms}")
        if self.offset_ms is not None and not self.offset_ms >= 0.0:
            raise ValueError(f"offset_ms must not be negative, not {self.offset_ms}")

    @property
    def processes(self) -> int:
        """How many submit, each in its turn."""
        return 1

    def waits(self) -> Callable[[], float]:
        """The offset, then the interval again and again."""
        first_ms = self.interval_ms if self.offset_ms is None else self.offset_ms
        return chain((first_ms,), repeat(self.interval_ms)).__next__


@dataclass(frozen=True)
class BackgroundLoad:
    """Rivals that always win and pay nothing: their commits land the moment they arrive."""

    workload: Workload
    inter_arrival: LatencyDistribution
    replaces_data: bool = False
    end_ms: float = math.inf

    @property
    def processes(self) -> int:
        """How many submit, each in its turn."""
        return 1

    def waits(self) -> Callable[[], float]:
        """What draws the gap before the next commit."""
        return self.workload.waits(self.inter_arrival)


Load = OpenLoad | ClosedLoad | PeriodicLoad | BackgroundLoad | ScriptedLoad
