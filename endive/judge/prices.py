"""What things cost by the cost table in a trace's header: a small evaluator of its own (docs/MODEL.md, section 7).

It shares nothing with the simulator's: a wrong cell, or a right one read wrongly, shows as a payment that is not the price.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from endive.judge.history import Behind
from endive.trace import COUNTS

Counts = tuple[int, ...]
NOTHING: Counts = (0,) * len(COUNTS)

_PLACE = {name: place for place, name in enumerate(COUNTS)}
_TOKEN = re.compile(r"\s*(\d+|[A-Za-z]+|[-+*(),])")
_VARIABLES = "NRKTC"


def add(*several: Counts) -> Counts:
    """Counts added up, kind by kind."""
    return tuple(map(sum, zip(NOTHING, *several, strict=True)))


def counts(**named: int) -> Counts:
    """Counts by name, as results count them; everything else is 0."""
    each = [0] * len(COUNTS)
    for name, value in named.items():
        each[_PLACE[name]] = value
    return tuple(each)


def in_words(paid: Iterable[int]) -> str:
    """Counts as a person says them; historical manifest lists are among the manifest lists."""
    named = [f"{n} {COUNTS[place].replace('_', ' ')}" for place, n in enumerate(paid) if n]
    return ", ".join(named) or "nothing"


def evaluate(expression: str | int, values: Mapping[str, int]) -> int:
    """The value of an expression of a cost table; never below 0."""
    value, rest = _sum(_tokens(str(expression)), values)
    if rest:
        raise ValueError(f"{expression!r} does not end where it should, at {rest[0]!r}")
    return max(0, value)


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[str, ...]:
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text!r} is no expression: {text[at:]!r}")
        tokens.append(match[1])
        at = match.end()
    return tuple(tokens)


_Tokens = tuple[str, ...]


def _sum(tokens: _Tokens, values: Mapping[str, int]) -> tuple[int, _Tokens]:
    total, tokens = _product(tokens, values)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens[0] == "+" else -1
        value, tokens = _product(tokens[1:], values)
        total += sign * value
    return total, tokens


def _product(tokens: _Tokens, values: Mapping[str, int]) -> tuple[int, _Tokens]:
    total, tokens = _atom(tokens, values)
    while tokens and tokens[0] == "*":
        value, tokens = _atom(tokens[1:], values)
        total *= value
    return total, tokens


def _atom(tokens: _Tokens, values: Mapping[str, int]) -> tuple[int, _Tokens]:
    if not tokens:
        raise ValueError("an expression ends too early")
    head, rest = tokens[0], tokens[1:]
    if head.isdigit():
        return int(head), rest
    if head in values:
        return values[head], rest
    if head == "(":
        value, rest = _sum(rest, values)
        return value, _after(rest, ")")
    if head in ("max", "min"):
        left, rest = _sum(_after(rest, "("), values)
        right, rest = _sum(_after(rest, ","), values)
        return (max if head == "max" else min)(left, right), _after(rest, ")")
    raise ValueError(f"{head!r} has no meaning in an expression")


def _after(tokens: _Tokens, sign: str) -> _Tokens:
    if not tokens or tokens[0] != sign:
        raise ValueError(f"an expression lacks {sign!r}")
    return tokens[1:]


class Prices:
    """The cost table of one run, asked by operation, step and class."""

    def __init__(
        self, table: Mapping[str, Any], manifests_per_concurrent_commit: float, appends: bool
    ) -> None:
        self._table = table
        self._remerged_per_commit = manifests_per_concurrent_commit
        self._appends = appends

    def setting(self, name: str, default: Any = None) -> Any:
        """A setting of the table."""
        return self._table.get("settings", {}).get(name, {}).get("is", default)

    def operation(self, name: str) -> Mapping[str, Any]:
        """All prices of an operation."""
        found: Mapping[str, Any] = self._table["operations"][name]
        return found

    def attempt(self, operation: str, behind: Behind, manifests: int) -> Counts:
        """The price of attempt 0 for one table."""
        price = self._price(self.operation(operation)["attempt"], behind, manifests)
        return self._with_merging(operation, price, manifests)

    def validate(
        self, operation: str, conflict_class: str, behind: Behind, manifests: int
    ) -> Counts:
        """The price of finding out whether a conflict of this class is real."""
        listed = self.operation(operation).get("validate", {})
        return self._price(listed.get(conflict_class, {}), behind, manifests)

    def rebuild(
        self, operation: str, conflict_class: str, behind: Behind, manifests: int
    ) -> Counts:
        """The price of a retry for one table of this class."""
        listed = self.operation(operation).get("rebuild", {})
        price = self._price(listed.get(conflict_class, {}), behind, manifests)
        return self._with_merging(operation, price, manifests)

    def merge(self, operation: str, behind: Behind, manifests: int, conflicting: int) -> Counts:
        """The price of merging so many manifests that are in real conflict."""
        listed = self.operation(operation).get("merge_on_real_conflict", {})
        return self._price(listed, behind, manifests, conflicting)

    def merges(self, operation: str, price: Counts, manifests: int) -> bool:
        """Whether paying this price merges the manifests of a table by threshold."""
        merging = self.operation(operation).get("merging")
        return merging is not None and price != NOTHING and manifests + 1 >= merging["min_count"]

    def _with_merging(self, operation: str, price: Counts, manifests: int) -> Counts:
        if not self.merges(operation, price, manifests):
            return price
        return add(price, counts(manifest_file_reads=manifests + 1, manifest_file_writes=1))

    def _price(
        self, listed: Mapping[str, Any], behind: Behind, manifests: int, conflicting: int = 0
    ) -> Counts:
        if not listed:
            return NOTHING
        remerged = math.floor(behind.commits * self._remerged_per_commit)
        numbers = (behind.commits, behind.replaced, remerged, manifests, conflicting)
        values = dict(zip(_VARIABLES, numbers, strict=True))
        each = {name: evaluate(listed[name], values) for name in COUNTS if name in listed}
        # As results count them: historical lists are lists, too.
        historical = each.get("historical_ml_reads", 0)
        if historical:
            each["manifest_list_reads"] = each.get("manifest_list_reads", 0) + historical
        if self._appends and "manifest_list_writes" in each:
            each["manifest_list_appends"] = each.pop("manifest_list_writes")
        return counts(**each)
