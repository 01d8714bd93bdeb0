"""What time it is, for a transaction: told by the runner, or counted from its own waits."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from endive.transaction.result import TransactionResult


class Clock(Protocol):
    """Whoever knows what time it is; a SimPy environment does."""

    @property
    def now(self) -> float:
        """Milliseconds since the start of the run."""


class ElapsedClock:
    """Tells the time by counting the waits of one transaction, where nobody else tells it."""

    def __init__(self, start_ms: float) -> None:
        self.now = start_ms

    def counting(
        self, steps: Generator[float, None, TransactionResult]
    ) -> Generator[float, None, TransactionResult]:
        """The same steps, with the clock moving on after each wait."""
        try:
            while True:
                wait_ms = next(steps)
                yield wait_ms
                self.now += wait_ms
        except StopIteration as stop:
            result: TransactionResult = stop.value
            return result
