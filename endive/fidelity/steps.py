"""The steps of a retry, as the documents' table has them, told apart in what was counted.

Counters do not say why something was read. How they grow does: history and validation are paid for each snapshot in between (N),
merging for each manifest that is merged again (K), and the current list and filtering once, however far behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from endive.fidelity.evidence import Series
from endive.fidelity.formula import Formula, listed

VALIDATING = frozenset(
    {
        "validated_overwrite",
        "row_delta",
        "rewrite_files",
        "replace_partitions_validated",
        "delete_partition",
    }
)
"""The operations that look at what was committed in between."""

UNITS: Mapping[str, tuple[str, str]] = {
    "metadata_reads": ("metadata read", "metadata reads"),
    "historical_list_reads": ("historical list read", "historical list reads"),
    "validated_file_reads": ("file read to validate", "file reads to validate"),
    "current_list_reads": ("list read", "list reads"),
    "filtered_file_reads": ("file read to filter", "file reads to filter"),
    "merged_file_reads": ("file read to merge", "file reads to merge"),
    "merged_file_writes": ("merged file written", "merged files written"),
    "new_file_writes": ("new file written", "new files written"),
    "list_writes": ("list written", "lists written"),
}

_MOST_LISTED = 8

_MADE_OF = {
    "metadata_reads": "metadata_reads",
    "historical_list_reads": "manifest_list_reads",
    "current_list_reads": "manifest_list_reads",
    "validated_file_reads": "manifest_file_reads",
    "filtered_file_reads": "manifest_file_reads",
    "merged_file_reads": "manifest_file_reads",
    "merged_file_writes": "manifest_file_writes",
    "new_file_writes": "manifest_file_writes",
    "list_writes": "manifest_list_writes",
}


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a retry counts."""

    formula: Formula | None
    irregular: str = ""
    """What was counted where no formula holds; empty if too little was seen for one."""

    def __str__(self) -> str:
        return str(self.formula) if self.formula is not None else self.irregular or "?"


def steps_of(series: Series) -> dict[str, Step]:
    """Every step of a retry, by the names of `UNITS`."""
    found = {}
    for step, counter in _MADE_OF.items():
        separate = _separate(step, series)
        if separate is not None:
            formula = series.formula(separate)
            counter = separate
        else:
            formula = series.formula(counter)
            if formula is not None:
                formula = _part(step, formula)
        found[step] = Step(formula, "" if formula is not None else _irregular(series, counter))
    return found


def _separate(step: str, series: Series) -> str | None:
    """The model counts reads of history by themselves; a library only opens files."""
    own = {
        "historical_list_reads": "historical_ml_reads",
        "current_list_reads": "current_list_reads",
    }
    counter = own.get(step)
    return counter if counter is not None and series.points.get(counter) else None


def _part(step: str, whole: Formula) -> Formula:
    """The part of a counter that belongs to a step."""
    a, b, c, k = whole.constant, whole.per_commit, whole.per_k, whole.k_per_commit
    if step in ("current_list_reads", "filtered_file_reads", "new_file_writes"):
        return Formula(a, 0, 0, k)
    if step == "historical_list_reads":
        return Formula(0, b, c, k)
    if step == "validated_file_reads":
        return Formula(0, b, 0, k)
    if step == "merged_file_reads":
        return Formula(0, 0, c, k)
    if step == "merged_file_writes":
        return Formula(0, b, c, k)
    return whole


def _irregular(series: Series, counter: str) -> str:
    points = series.points.get(counter, ())
    if len(points) < 2:
        return ""
    shown = {}
    for point in points:
        single = len(point.values) == 1
        shown[point.n] = next(iter(point.values)) if single else f"{point.mean:.3g} on average"
    more = len(shown) - _MOST_LISTED
    first = dict(list(shown.items())[:_MOST_LISTED])
    return f"irregular: {listed(first)}" + (f", and {more} more" if more > 0 else "")
