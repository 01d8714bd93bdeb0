"""Several generators of milliseconds under one clock, so that tests can let writers meet where they want them to."""

from __future__ import annotations

from collections.abc import Generator
from heapq import heapify, heappop, heappush
from typing import TypeVar

_T = TypeVar("_T")


def interleave(*writers: tuple[float, Generator[float, None, _T]]) -> list[tuple[_T, float]]:
    """Run each writer from its start to its end; returns (result, end_ms) of each, in the order given.

    At one instant the writer named first has its turn first.
    """
    due = [(start_ms, place) for place, (start_ms, _) in enumerate(writers)]
    heapify(due)
    ended: dict[int, tuple[_T, float]] = {}
    while due:
        now_ms, place = heappop(due)
        try:
            heappush(due, (now_ms + next(writers[place][1]), place))
        except StopIteration as stop:
            ended[place] = (stop.value, now_ms)
    return [ended[place] for place in range(len(writers))]
