"""What the rows are judged from: the columns of the report, their cost tables and measurements, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from endive.cost_model import CostTable
from endive.fidelity.evidence import Evidence, Series, single_observations
from endive.fidelity.model import Finding, Kind, Source, Verdict
from endive.oracle.measurement import AttemptCounts, Cell, Measurement, Setting

SITUATIONS = {"disjoint_partitions": "disjoint", "overlap": "same"}
"""Classes of a lost commit, and what measurements call the partitions that rivals write."""


@dataclass(frozen=True)
class Context:
    """All that is known when the rows are judged."""

    evidence: Evidence
    sources: tuple[Source, ...]
    tables: Mapping[str, CostTable]
    """The cost table of each model, by the id of the source."""
    measurements: Mapping[str, Measurement]
    """The measurement of each library that was measured, by the id of the source."""
    _known: dict[tuple[str, str, str], Series] = field(default_factory=dict, repr=False)

    def models(self) -> Iterator[Source]:
        """The columns that were simulated, the control among them."""
        return (source for source in self.sources if source.kind is not Kind.LIBRARY)

    def libraries(self) -> Iterator[Source]:
        """The columns that are real libraries."""
        return (source for source in self.sources if source.kind is Kind.LIBRARY)

    def retries(self, source: Source, operation: str, conflict_class: str) -> Series | None:
        """What retries of an operation counted; None for a library that was not measured."""
        measurement = self.measurements.get(source.id)
        if source.kind is Kind.LIBRARY and measurement is None:
            return None
        key = source.id, operation, conflict_class
        if key not in self._known:
            self._known[key] = self._retries(measurement, source, operation, conflict_class)
        return self._known[key]

    def _retries(
        self, measurement: Measurement | None, source: Source, operation: str, conflict_class: str
    ) -> Series:
        if measurement is None:
            return self.evidence.series(source.id, operation, conflict_class)
        cells = [
            cell
            for cell in measurement.cells
            if cell.operation == operation
            and cell.situation == "retry"
            and cell.partitions == SITUATIONS[conflict_class]
            and is_plain(cell)
            and len(cell.attempts) > 1
        ]
        return cells_as_series(cells, source.name)

    def has(self, source: Source, operation: str) -> bool:
        """Whether a source knows an operation."""
        if source.kind is Kind.LIBRARY:
            measurement = self.measurements.get(source.id)
            return measurement is not None and any(
                cell.operation == operation for cell in measurement.cells
            )
        return operation in self.tables[source.id].operations


PLAIN_BASE = 3
"""Manifests of the base table in the measurements that are the counterpart of a table's default."""


_PLAIN = {"rivals": "appends", "min_count_to_merge": 100}
"""Settings of measurements that are what they are anyway: others append, and merging begins at the library's default."""


def unlike_default(cell: Cell) -> dict[str, Setting]:
    """What sets a measurement apart from the library's defaults and from rivals that append."""
    return {
        name: value
        for name, value in cell.settings.items()
        if name not in _PLAIN or value != _PLAIN[name]
    }


def is_plain(cell: Cell) -> bool:
    """Whether a measurement was made with nothing but defaults."""
    return not unlike_default(cell) and cell.base_manifests == PLAIN_BASE


def cells_as_series(cells: list[Cell], run: str) -> Series:
    """The retries of some measurements, by N."""
    observed = ((cell.n, attempt_counts(cell.attempts[1])) for cell in cells)
    return Series(single_observations(observed, run))


def attempt_counts(attempt: AttemptCounts) -> dict[str, int]:
    """What an attempt counted, by the names of counters."""
    return dict(attempt.as_dict())


def not_run(source: Source, claimed: str, where: str = "") -> Finding:
    """The finding of a library that was not measured."""
    return Finding(source.id, where, Verdict.NOT_RUN, claimed, "not run")


def not_modelled(source: Source, where: str, claimed: str, found: str) -> Finding:
    """The finding of a model that has no such thing; of a library that nobody asked."""
    verdict = Verdict.NOT_MEASURED if source.kind is Kind.LIBRARY else Verdict.NOT_MODELLED
    return Finding(source.id, where, verdict, claimed, found)
