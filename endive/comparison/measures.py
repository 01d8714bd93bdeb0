"""What two configurations are compared by: the metrics of scenarios, over all transactions or those of one operation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from endive.errors import InputError, Problem
from endive.scenario.metrics import METRICS, Level, Metric, Selection

_AGGREGATE = re.compile(r"mean|sum|min|max|p\d{1,2}")
# Of all transactions together: where a change may move load from one kind to another.
_OVERALL = ("commits_per_s", "success_rate", "censored_share")
# Of each operation.
_EACH = (
    ("success_rate", "mean"),
    ("commit_latency_ms", "p50"),
    ("commit_latency_ms", "p99"),
    ("retries", "mean"),
    ("conflict_io_ms", "mean"),
    ("manifest_list_reads", "mean"),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing to compare."""

    metric: Metric
    selection: Selection

    @property
    def name(self) -> str:
        """As it is written on the command line: `commit_latency_ms:p99@fast_append`."""
        name = self.metric.name
        if self.metric.takes_aggregate and self.selection.aggregate != "mean":
            name += f":{self.selection.aggregate}"
        return f"{name}@{self.selection.operation}" if self.selection.operation else name


def default_measures(operations: Sequence[str]) -> tuple[Measure, ...]:
    """What anybody would ask first."""
    overall = [Measure(METRICS[name], Selection()) for name in _OVERALL]
    each = [
        Measure(METRICS[name], Selection(aggregate=aggregate, operation=operation))
        for operation in operations
        for name, aggregate in _EACH
    ]
    return (*overall, *each)


def parse_measure(text: str, operations: Sequence[str]) -> Measure:
    """A measure as it is written on the command line; raises InputError with what is wrong with it."""
    body, at, operation = text.partition("@")
    name, colon, aggregate = body.partition(":")
    problems = []
    metric = METRICS.get(name)
    if metric is None:
        near = difflib.get_close_matches(name, METRICS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(METRICS)}"
        problems.append(f"unknown metric {name!r}; {hint}")
    if colon and not _AGGREGATE.fullmatch(aggregate):
        problems.append(f"{aggregate!r} makes no number of many; mean, sum, min, max and p50 do")
    elif colon and metric is not None and not metric.takes_aggregate:
        problems.append(f"{name!r} is one number already; remove :{aggregate}")
    if at and operation not in operations:
        problems.append(f"no {operation!r} in these runs; there are {', '.join(operations)}")
    elif at and metric is not None and metric.level is Level.RUN:
        problems.append(f"{name!r} is of the whole run; remove @{operation}")
    if problems or metric is None:
        raise InputError([Problem(problem, f"--metric {text}") for problem in problems])
    selection = Selection(aggregate=aggregate or "mean", operation=operation if at else None)
    return Measure(metric, selection)
