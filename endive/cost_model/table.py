"""Cost tables as data: what an attempt and a retry cost, by operation and class (docs/MODEL.md, section 7).

A table is a YAML file in `endive/cost_tables/`. Every price and every setting names its source.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from endive.cost_model.check import check_table
from endive.cost_model.expression import Expression, parse_expression
from endive.cost_model.payment import NO_COST, ConflictCost
from endive.documents import read_document
from endive.errors import InputError, Problem
from endive.resources import package_dir

CLASSES = ("cross_table", "read_set", "disjoint_partitions", "overlap")
"""What a lost commit can find about a table, in rising order of severity."""

OPERATIONS = (
    "fast_append",
    "merge_append",
    "validated_overwrite",
    "row_delta",
    "rewrite_files",
    "replace_partitions",
    "replace_partitions_validated",
    "overwrite_unvalidated",
    "delete_partition",
)
"""Every operation, in the order in which weights are compared with the operation draw."""

COUNTS = (
    "manifest_list_reads",
    "historical_ml_reads",
    "manifest_file_reads",
    "manifest_file_writes",
    "manifest_list_writes",
)
"""What a price counts, in the order in which it is paid."""

SETTINGS = (
    "validate_from",
    "refresh_before_first_attempt",
    "validation_io",
    "on_real_conflict",
    "conflicting_manifests",
    "metadata_reads_per_retry",
    "metadata_writes",
    "real_conflicts",
    "real_against_replaced_only",
)
"""What a table says beside its prices."""

_SHIPPED = ("spec-2.0", "legacy", "iceberg-review", "iceberg-java", "pyiceberg")


@dataclass(frozen=True, slots=True)
class Price:
    """Counts of I/O, each an expression, and where they come from."""

    counts: Mapping[str, Expression]
    source: str
    is_free: bool = field(init=False)
    _evaluate: Callable[[int, int, int, int, int], ConflictCost] = field(
        init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_free", all(count.is_zero for count in self.counts.values()))
        object.__setattr__(self, "_evaluate", _evaluator(self.counts))

    def cost(self, n: int, r: int, k: int, t: int, c: int = 0) -> ConflictCost:
        """The counts at these values of N, R, K, T and C; a constant price is one shared object."""
        return self._evaluate(n, r, k, t, c)

    def __reduce__(self) -> tuple[object, ...]:
        return Price, (dict(self.counts), self.source)


def _evaluator(
    counts: Mapping[str, Expression],
) -> Callable[[int, int, int, int, int], ConflictCost]:
    if all(count.is_constant for count in counts.values()):
        cost = ConflictCost(
            **{name: count.evaluate(0, 0, 0, 0, 0) for name, count in counts.items()}
        )
        shared = NO_COST if cost == NO_COST else cost
        return lambda n, r, k, t, c: shared
    parts = tuple((name, count.evaluate) for name, count in counts.items())

    def evaluate_all(n: int, r: int, k: int, t: int, c: int) -> ConflictCost:
        cost = ConflictCost(**{name: evaluate(n, r, k, t, c) for name, evaluate in parts})
        # Nothing is always the same nothing, so that it is told at a glance.
        return NO_COST if cost == NO_COST else cost

    return evaluate_all


FREE = Price(MappingProxyType({}), "")
"""The price of a class that a table does not list."""


@dataclass(frozen=True, slots=True)
class OperationPrices:
    """What one operation pays for each written table; `validate` and `rebuild` have every class."""

    attempt: Price
    validate: Mapping[str, Price]
    rebuild: Mapping[str, Price]
    merge_on_real_conflict: Price | None
    min_count_to_merge: int | None
    merging_source: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        return OperationPrices, (
            self.attempt,
            dict(self.validate),
            dict(self.rebuild),
            self.merge_on_real_conflict,
            self.min_count_to_merge,
            self.merging_source,
        )


@dataclass(frozen=True, slots=True)
class CostTable:
    """A named set of prices and settings. Two tables are equal if they are spelled alike."""

    name: str
    version: int = field(compare=False)
    title: str = field(compare=False)
    summary: str = field(compare=False)
    source: str = field(compare=False)
    validate_from: str = field(compare=False)
    refresh_before_first_attempt: bool = field(compare=False)
    sequential_validation: bool = field(compare=False)
    merges_real_conflicts: bool = field(compare=False)
    conflicting_manifests: int = field(compare=False)
    metadata_reads_per_retry: int = field(compare=False)
    writes_metadata_every_attempt: bool = field(compare=False)
    real_conflicts: frozenset[str] = field(compare=False)
    real_against_replaced_only: frozenset[str] = field(compare=False)
    operations: Mapping[str, OperationPrices] = field(compare=False, repr=False)
    text: str = field(repr=False)
    setting_sources: Mapping[str, str] = field(compare=False, repr=False)

    def settings(self) -> dict[str, Any]:
        """The settings as the file spells them; those that nothing reads are left out."""
        values: dict[str, Any] = {
            "validate_from": self.validate_from,
            "refresh_before_first_attempt": self.refresh_before_first_attempt,
            "validation_io": "sequential" if self.sequential_validation else "parallel",
            "on_real_conflict": "merge" if self.merges_real_conflicts else "abort",
            "conflicting_manifests": self.conflicting_manifests,
            "metadata_reads_per_retry": self.metadata_reads_per_retry,
            "metadata_writes": (
                "every_attempt" if self.writes_metadata_every_attempt else "successful_attempt"
            ),
            "real_conflicts": [name for name in OPERATIONS if name in self.real_conflicts],
            "real_against_replaced_only": [
                name for name in OPERATIONS if name in self.real_against_replaced_only
            ],
        }
        return {name: values[name] for name in SETTINGS if name in self.setting_sources}

    def __reduce__(self) -> tuple[object, ...]:
        return parse_cost_table, (self.text, f"{self.name}.yaml")


def cost_table_names() -> tuple[str, ...]:
    """The names of the tables that ship with Endive; the default comes first."""
    return _SHIPPED


@cache
def load_cost_table(name: str) -> CostTable:
    """A shipped table by name, read once."""
    if name not in _SHIPPED:
        close = difflib.get_close_matches(name.lower(), _SHIPPED, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_SHIPPED)}"
        raise InputError([Problem(f"no cost table is called {name!r}; {hint}")])
    return load_cost_table_file(package_dir("cost_tables") / f"{name}.yaml")


def load_cost_table_file(path: str | Path) -> CostTable:
    """A table from a file; raises `InputError` with everything that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError([Problem("not UTF-8 text; save it as UTF-8", file=str(path))]) from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError([Problem(f"cannot be read: {reason}", file=str(path))]) from None
    return parse_cost_table(text, str(path))


def parse_cost_table(text: str, file: str) -> CostTable:
    """A table from its text; `file` is named in messages."""
    document = read_document(text, file)
    check_table(document)
    table = document.value
    settings = {name: entry["is"] for name, entry in table["settings"].items()}
    return CostTable(
        name=table["name"],
        version=table["version"],
        title=table["title"],
        summary=" ".join(table["summary"].split()),
        source=", ".join(table["source"].values()),
        validate_from=settings["validate_from"],
        refresh_before_first_attempt=settings["refresh_before_first_attempt"],
        sequential_validation=settings["validation_io"] == "sequential",
        merges_real_conflicts=settings["on_real_conflict"] == "merge",
        conflicting_manifests=settings.get("conflicting_manifests", 0),
        metadata_reads_per_retry=settings["metadata_reads_per_retry"],
        writes_metadata_every_attempt=settings["metadata_writes"] == "every_attempt",
        real_conflicts=frozenset(settings["real_conflicts"]),
        real_against_replaced_only=frozenset(settings.get("real_against_replaced_only", ())),
        operations=MappingProxyType(
            {
                name: _operation_prices(table["operations"][name])
                for name in OPERATIONS
                if name in table["operations"]
            }
        ),
        text=text,
        setting_sources=MappingProxyType(
            {name: table["settings"][name]["source"] for name in SETTINGS if name in settings}
        ),
    )


def _operation_prices(entry: Mapping[str, Any]) -> OperationPrices:
    def by_class(step: str) -> Mapping[str, Price]:
        listed = entry.get(step, {})
        return MappingProxyType(
            {name: _price(listed[name]) if name in listed else FREE for name in CLASSES}
        )

    merge, merging = entry.get("merge_on_real_conflict"), entry.get("merging")
    return OperationPrices(
        attempt=_price(entry["attempt"]),
        validate=by_class("validate"),
        rebuild=by_class("rebuild"),
        merge_on_real_conflict=None if merge is None else _price(merge),
        min_count_to_merge=None if merging is None else merging["min_count"],
        merging_source="" if merging is None else merging["source"],
    )


def _price(entry: Mapping[str, Any]) -> Price:
    counts = {name: parse_expression(entry[name]) for name in COUNTS if name in entry}
    return Price(MappingProxyType(counts), entry["source"])
