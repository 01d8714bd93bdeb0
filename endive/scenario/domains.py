"""How large a metric can get under a configuration, so that an expectation that no run could contradict is seen for what it is.

Only what follows from how runs are measured counts here: nothing lasts longer than the run, and a script has so many transactions.
That a limit of the configuration is kept, such as that of retries, is for the simulator to show, and may well be expected.
"""

from __future__ import annotations

import math

from endive.config import ResolvedConfig
from endive.scenario.metrics import Metric, Selection

_TIMES = (
    "commit_time_ms",
    "abort_time_ms",
    "submit_time_ms",
    "call_time_ms",
    "latency_ms",
    "commit_latency_ms",
)
_COUNTED = ("count", "committed", "aborted", "in_flight")


def highest_value(metric: Metric, selection: Selection, config: ResolvedConfig) -> float:
    """The largest value that any run of the configuration can have; infinite where nothing is known."""
    if metric.name in _COUNTED:
        return _scripted(selection, config)
    if metric.name in _TIMES and selection.aggregate != "sum":
        return config.duration_ms
    return metric.high


def _scripted(selection: Selection, config: ResolvedConfig) -> float:
    """How many transactions of a selection a script has; infinite where others submit, too."""
    workload = config.values.get("workload", {})
    if "class" in workload or "script" not in workload:
        return math.inf
    return float(
        sum(
            line["times"]
            for line in workload["script"]
            if line["operation"] != "background"
            and selection.named in (None, line["name"])
            and selection.operation in (None, line["operation"])
        )
    )
