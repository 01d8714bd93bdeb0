"""Reads what a scenario expects, and refuses what no run could contradict or fulfil."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Mapping, Sequence
from typing import Any

from endive.documents import Document, KeyPath
from endive.errors import Problem
from endive.scenario.composing import is_random, submitters
from endive.scenario.domains import highest_value
from endive.scenario.metrics import METRICS, Level, Metric, Selection
from endive.scenario.model import Bounds, Comparison, Expectation, Seeds, Variant
from endive.transaction.result import MAX_RETRIES_REASON, TIMEOUT_REASON, VALIDATION_REASON

_BOUNDS = ("equals", "near", "between", "above", "below", "at_least", "at_most")
_OF_TRANSACTIONS = ("operation", "named", "status", "reason")
_OF_ATTEMPTS = ("operation", "named", "attempt", "conflict_class")
_REASONS = (MAX_RETRIES_REASON, VALIDATION_REASON, TIMEOUT_REASON)
# What the selection by an outcome decides beforehand.
_KNOWN_BY_STATUS = (
    "success_rate",
    "committed",
    "aborted",
    "in_flight",
    "censored_share",
    "commits_per_s",
)
# What only transactions of one status have.
_STATUS_OF = {
    "commit_time_ms": "committed",
    "abort_time_ms": "aborted",
    "unfinished_ms": "in_flight",
}
# A tolerance of half the value passes nearly anything.
_WIDEST_SHARE = 0.5


def read_expectations(
    document: Document, variants: Sequence[Variant], seeds: Seeds
) -> tuple[list[Expectation], list[Problem]]:
    """All expectations, one per variant they are about, and everything that is wrong with them."""
    expectations: list[Expectation] = []
    problems: list[Problem] = []
    for index, given in enumerate(document.value["expect"]):
        reader = _Reader(document, ("expect", index), given, variants, seeds)
        expectations += reader.read()
        problems += reader.problems
    return expectations, problems


class _Reader:
    def __init__(
        self,
        document: Document,
        path: KeyPath,
        given: Mapping[str, Any],
        variants: Sequence[Variant],
        seeds: Seeds,
    ) -> None:
        self._document = document
        self._path = path
        self._given = given
        self._variants = {variant.name: variant for variant in variants}
        self._seeds = seeds
        self.problems: list[Problem] = []

    def read(self) -> list[Expectation]:
        metric = self._metric()
        bounds = self._bounds()
        chosen = self._chosen()
        other, comparison = self._compared()
        if metric is None or bounds is None or self.problems:
            return []
        self._check_keys(metric)
        selection = Selection(
            **{
                name: self._given[name]
                for name in ("aggregate", *_OF_TRANSACTIONS, "attempt", "conflict_class")
                if name in self._given
            }
        )
        compared = list(dict.fromkeys([*chosen, *([other] if other else [])]))
        for name in compared:
            self._check_selection(metric, selection, self._variants[name])
        self._check_domain(metric, bounds, comparison, selection, chosen)
        if not bounds.is_exact and self._is_random(compared):
            self._check_seeds()
        if comparison is not None:
            self._check_pair(chosen, str(other))
        if self.problems:
            return []
        line = self._document.problem(self._path, "").line
        return [
            Expectation(
                metric,
                selection,
                bounds,
                name,
                other,
                comparison,
                self._given.get("because", ""),
                line,
            )
            for name in chosen
            if name != other
        ]

    def _add(self, name: str, message: str) -> None:
        self.problems.append(self._document.problem((*self._path, name), message))

    def _metric(self) -> Metric | None:
        name = self._given["metric"]
        if name in METRICS:
            return METRICS[name]
        close = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"did you mean '{close[0]}'?" if close else "`endive verify --metrics` lists them"
        self._add("metric", f"unknown metric {name!r}; {hint}")
        return None

    def _bounds(self) -> Bounds | None:
        given = [name for name in _BOUNDS if name in self._given]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given" if given else "none is given"
            self._add("metric", f"give exactly one of {', '.join(_BOUNDS)}; {found}")
            return None
        (name,) = given
        value = self._given[name]
        if not all(map(math.isfinite, value if name == "between" else [value])):
            self._add(name, "is beyond all numbers; give a smaller one")
            return None
        if ("within" in self._given) != (name == "near"):
            self._add(name, "`near` and `within` go together")
            return None
        if name == "near":
            return self._near(value)
        if name == "between":
            if not value[0] < value[1]:
                self._add(name, f"{value[0]} is not below {value[1]}; put the smaller one first")
                return None
            return Bounds(value[0], value[1])
        return {
            "equals": Bounds(value, value, is_exact=True),
            "above": Bounds(low=value, has_low=False),
            "below": Bounds(high=value, has_high=False),
            "at_least": Bounds(low=value),
            "at_most": Bounds(high=value),
        }[name]

    def _near(self, value: float) -> Bounds | None:
        within = self._given["within"]
        if isinstance(within, str):
            within = abs(value) * float(within.removesuffix("%")) / 100.0
        if not 0.0 < within < _WIDEST_SHARE * abs(value):
            self._add(
                "within",
                f"{self._given['within']} of {value} passes nearly anything, or nothing; "
                "give less than half of it, and more than nothing",
            )
            return None
        return Bounds(value - within, value + within)

    def _chosen(self) -> list[str]:
        pattern = self._given.get("variant", "*")
        if pattern in self._variants:
            # A name may hold characters that mean something in a pattern.
            return [pattern]
        found = [name for name in self._variants if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            there = ", ".join(self._variants)
            self._add("variant", f"no variant is called {pattern!r}; there are {there}")
        return found

    def _compared(self) -> tuple[str | None, Comparison | None]:
        given = [each for each in Comparison if each.value in self._given]
        if not given:
            return None, None
        if len(given) == 2:
            self._add("minus", "there is `over`, too; keep one of the two")
            return None, None
        other = self._given[given[0].value]
        if other not in self._variants:
            there = ", ".join(self._variants)
            self._add(given[0].value, f"no variant is called {other!r}; there are {there}")
            return None, None
        return other, given[0]

    def _check_keys(self, metric: Metric) -> None:
        allowed = {
            Level.RUN: (),
            Level.TRANSACTIONS: _OF_TRANSACTIONS,
            Level.ATTEMPTS: _OF_ATTEMPTS,
        }[metric.level]
        for name in (*_OF_TRANSACTIONS, "attempt", "conflict_class"):
            if name in self._given and name not in allowed:
                about = {"run": "a whole run", "attempts": "attempts"}.get(
                    metric.level.value, "whole transactions"
                )
                self._add(name, f"{metric.name} is about {about}; remove {name}")
        if "aggregate" in self._given and not metric.takes_aggregate:
            self._add("aggregate", f"{metric.name} is one number already; remove aggregate")
        if metric.name in _KNOWN_BY_STATUS:
            for name in ("status", "reason"):
                if name in self._given:
                    self._add(name, f"{metric.name} of those chosen by {name} is known beforehand")
        if metric.name == "cross_table_share" and "conflict_class" in self._given:
            self._add("conflict_class", "the share among those of one class is known beforehand")
        self._check_outcome(metric)

    def _check_outcome(self, metric: Metric) -> None:
        """Whether transactions can have ended as asked for, and then have what is measured."""
        reason = self._given.get("reason")
        status = self._given.get("status", "aborted" if reason else None)
        if reason is not None and reason not in _REASONS:
            self._add(
                "reason", f"nothing is aborted for {reason!r}; there are {', '.join(_REASONS)}"
            )
        if reason is not None and status != "aborted":
            self._add("reason", f"what is {status} has no reason to be aborted; remove one of them")
        wanted = _STATUS_OF.get(metric.name)
        if status is not None and wanted is not None and status != wanted:
            name = "status" if "status" in self._given else "reason"
            self._add(name, f"only what is {wanted} has {metric.name}; remove {name}")

    def _check_selection(self, metric: Metric, selection: Selection, variant: Variant) -> None:
        """Whatever would select nothing, or measure what cannot be, is refused."""
        offered = list(submitters(variant.config))
        where = "" if len(self._variants) == 1 else f" in variant {variant.name!r}"
        if selection.named is not None and selection.named not in {name for name, _ in offered}:
            there = ", ".join(dict.fromkeys(name for name, _ in offered))
            self._add("named", f"nobody{where} is called {selection.named!r}; there are {there}")
            return
        operations = {
            operation
            for name, found in offered
            if selection.named in (None, name)
            for operation in found
        }
        if selection.operation is not None and selection.operation not in operations:
            there = ", ".join(sorted(operations))
            self._add(
                "operation", f"nothing{where} submits {selection.operation!r}; there are {there}"
            )
        retries = variant.config.values["transaction"]["retry"]
        restarts = variant.config.values["transaction"]["on_validation_exception"] == "restart"
        if selection.attempt is not None and selection.attempt > retries and not restarts:
            self._add("attempt", f"there are attempts 0 to {retries}{where}; transaction.retry")
        looks_first = variant.config.cost_table.refresh_before_first_attempt
        if selection.attempt == 0 and selection.conflict_class and not looks_first:
            self._add("conflict_class", f"the first attempt follows no conflict{where}; remove it")
        if metric.needs and not _is_met(metric.needs, variant):
            self._add(
                "metric", f"{metric.name} is always 0{where} without {metric.needs}; remove it"
            )

    def _check_domain(
        self,
        metric: Metric,
        bounds: Bounds,
        comparison: Comparison | None,
        selection: Selection,
        chosen: Sequence[str],
    ) -> None:
        """Refuse what every run fulfils, or none."""
        highest = max(
            highest_value(metric, selection, self._variants[name].config) for name in chosen
        )
        low, high = 0.0, highest
        if comparison is Comparison.DIFFERENCE:
            low, high = -metric.high, metric.high
        elif comparison is Comparison.RATIO:
            low, high = 0.0, math.inf
        key = next(name for name in _BOUNDS if name in self._given)
        reaches_low = bounds.low < low or (bounds.low == low and bounds.has_low)
        reaches_high = bounds.high > high or (bounds.high == high and bounds.has_high)
        if not bounds.is_exact and reaches_low and reaches_high:
            self._add(key, f"{metric.name} is always {bounds.words()}: this cannot fail; narrow it")
        is_above = bounds.low > high or (bounds.low == high and not bounds.has_low)
        is_below = bounds.high < low or (bounds.high == low and not bounds.has_high)
        if is_above or is_below:
            self._add(key, f"{metric.name} is never {bounds.words()}: this cannot hold; mend it")

    def _is_random(self, chosen: Sequence[str]) -> bool:
        return any(is_random(self._variants[name].config) for name in chosen)

    def _check_seeds(self) -> None:
        if self._seeds.limit < 2:
            self._add("metric", "one seed says nothing about a mean; give seeds first and limit")

    def _check_pair(self, chosen: Sequence[str], other: str) -> None:
        if set(chosen) <= {other}:
            self._add("variant", f"{other!r} compared with itself cannot fail; name another one")
            return
        for name in chosen:
            same = self._variants[name].config.values == self._variants[other].config.values
            if name != other and same:
                self._add("variant", f"{name!r} and {other!r} have the same settings")


def _is_met(needs: str, variant: Variant) -> bool:
    values: Any = variant.config.values
    if needs == "background":
        workload = values.get("workload", {})
        return any(load["kind"] == "background" for load in workload.get("class", ())) or any(
            line["operation"] == "background" for line in workload.get("script", ())
        )
    key, _, wanted = needs.partition("=")
    for name in key.split("."):
        values = values.get(name, {}) if isinstance(values, Mapping) else {}
    if wanted in ("", "true", "false"):
        return bool(values) is (wanted != "false")
    return bool(values == wanted)
