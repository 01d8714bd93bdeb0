"""The cost table of PyIceberg, made from its measurement: formulas that fit every cell exactly, or none.

What a retry reads is fitted as a + b·N + c·R, from rivals elsewhere: a is rebuilding, for it is always there; b·N + c·R is validating, for it
grows with what is validated. Where rivals wrote the same partition, what grows beyond that is rebuilding, which has their manifests
to look through, too. A count that no such formula gives in *every* cell ends in an error that names the cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from endive.cost_model import OPERATIONS
from endive.errors import EndiveError
from endive.oracle.measurement import Cell, Measurement
from endive.oracle.prices import commits_before, replaced_before

VERSION = 2
"""The version of the table that is made; it goes up when the same measurement is to give other prices."""

_COUNTS = (
    "manifest_list_reads",
    "manifest_file_reads",
    "manifest_file_writes",
    "manifest_list_writes",
)
_FITTED_RIVALS = ("appends", "overwrites", "mixed")


class NoFormulaError(EndiveError):
    """No formula gives what was measured, in every cell."""


@dataclass(frozen=True, slots=True)
class Formula:
    """a + b·N + c·R."""

    constant: int
    per_commit: int
    per_replacing: int

    def value(self, n: int, r: int) -> int:
        """The count with so many commits in between, so many of which replaced data."""
        return self.constant + self.per_commit * n + self.per_replacing * r


_Point = tuple[int, int, int, str]
"""N, R, the count, and where it was counted."""


def fit(points: Iterable[_Point], what: str) -> Formula:
    """The formula that goes through all points."""
    given = list(points)
    appended = sorted({(n, count) for n, r, count, _ in given if r == 0})
    if len(appended) < 2:
        raise NoFormulaError(f"{what}: fewer than two depths without replacing rivals")
    (n0, first), (n1, last) = appended[0], appended[-1]
    slope = (last - first) // (n1 - n0) if n1 > n0 else 0
    constant = first - slope * n0
    replacing = [(n, r, count) for n, r, count, _ in given if r]
    extra = 0
    if replacing:
        n, r, count = replacing[0]
        extra = (count - constant - slope * n) // r
    formula = Formula(constant, slope, extra)
    for n, r, count, where in given:
        if formula.value(n, r) != count:
            raise NoFormulaError(
                f"{what}: {constant} + {slope} N + {extra} R gives {formula.value(n, r)} at "
                f"N = {n}, R = {r}, and measured were {count} ({where})"
            )
    return formula


def table_of(measurement: Measurement) -> str:
    """The text of the cost table that this measurement gives."""
    return "\n".join(_Maker(measurement).lines()) + "\n"


class _Maker:
    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._source = f"{measurement.library} {measurement.version}"
        self._cells = [
            cell
            for cell in measurement.cells
            if "api" not in cell.settings and "isolation" not in cell.settings
        ]
        names = {cell.operation for cell in self._cells}
        self._operations = [name for name in OPERATIONS if name in names]
        merging = [
            int(cell.settings["min_count_to_merge"])
            for cell in self._cells
            if "min_count_to_merge" in cell.settings
        ]
        # What was measured with fewer shows how merging goes; the library begins at the largest.
        self._merges_from = max(merging, default=None)

    def lines(self) -> Iterator[str]:
        """The file, line by line."""
        library, version = self._measurement.library, self._measurement.version
        yield f"# Made by `{self._measurement.command} --cost-table pyiceberg.yaml` from what {library} {version} was seen to do, file by file, on a"
        yield "# table with 3 manifests. Do not edit it: a test makes it again from endive/oracle/measured/pyiceberg.json. What it cannot"
        yield "# express is in docs/ORACLE.md. Unlike Iceberg Java it writes the manifest of its new data again on every retry."
        yield "name: pyiceberg"
        yield f"version: {VERSION}"
        yield f"title: {library} {version}, measured"
        yield "summary: >-"
        yield "  Validates on retries only, serializable by default. A retry builds everything anew, the manifest of"
        yield "  the new data included, and reads table metadata twice; what rivals replaced is read several times over."
        yield "source:"
        yield f"  library: {library}"
        yield f"  version: {version}"
        yield ""
        yield from self._settings()
        yield ""
        yield "operations:"
        for index, operation in enumerate(self._operations):
            if index:
                yield ""
            yield from self._operation(operation)

    # -- settings ------------------------------------------------------------------------------------------------

    def _settings(self) -> Iterator[str]:
        stale = self._of(situation="stale")
        refused = self._refusing()
        only_replaced = [
            name
            for name in refused
            if not self._of(name, situation="conflict", rivals="conflicting_appends")
        ]
        late = {cell.attempts[1].metadata_reads for cell in self._of(situation="retry")}
        wins = {attempts[-1].metadata_writes for attempts in (cell.attempts for cell in stale)}
        losses = {attempts[0].metadata_writes for attempts in (cell.attempts for cell in stale)}
        looks_first = {len(cell.attempts) == 1 for cell in stale}
        yield "settings:"
        yield from _setting(
            "validate_from",
            self._validates_from(),
            self._measured("repeated: validation begins at the start again, 3, 6, 9"),
        )
        yield from _setting(
            "refresh_before_first_attempt",
            _only(looks_first),
            self._measured("stale: attempt 0 does not look again"),
        )
        yield from _setting(
            "validation_io",
            "sequential",
            f"{self._source}: one thread makes all reads of a validation, one after another",
        )
        yield from _setting(
            "on_real_conflict", "abort", self._measured("conflict: ValidationException, no retry")
        )
        yield from _setting(
            "metadata_reads_per_retry",
            _only(late),
            self._measured("retry: 1 by refresh, 1 by the commit call"),
        )
        every = (_only(losses), _only(wins)) == (1, 1)
        yield from _setting(
            "metadata_writes",
            "every_attempt" if every else "successful_attempt",
            self._measured("stale: whoever loses at the check has written none"),
        )
        yield from _setting(
            "real_conflicts",
            f"[{', '.join(refused)}]",
            self._measured("conflict: what ends in a ValidationException"),
        )
        if only_replaced:
            yield from _setting(
                "real_against_replaced_only",
                f"[{', '.join(only_replaced)}]",
                self._measured("conflict: under isolation level snapshot appends are no conflict"),
            )

    def _refusing(self) -> list[str]:
        found = {
            cell.operation
            for cell in self._of(situation="conflict")
            if cell.outcome == "validation_exception"
        }
        return [name for name in self._operations if name in found]

    def _validates_from(self) -> str:
        """Which snapshot the reads of repeated retries count from."""
        for operation in self._refusing():
            formula = self._retry_formula(operation, "manifest_list_reads")
            for cell in self._of(operation, situation="repeated", partitions="disjoint"):
                reads = [attempt.manifest_list_reads for attempt in cell.attempts[1:]]
                depths = range(1, len(reads) + 1)
                if reads != [formula.value(cell.n * depth, 0) for depth in depths]:
                    return "last_seen"
        return "start"

    # -- operations ----------------------------------------------------------------------------------------------

    def _operation(self, name: str) -> Iterator[str]:
        yield f"  {name}:"
        (fresh,) = self._of(name, situation="fresh")
        first = {count: str(getattr(fresh.attempts[0], count)) for count in _COUNTS}
        yield f"    attempt: {_price(first, self._measured('fresh'))}"
        elsewhere = {count: self._retry_formula(name, count) for count in _COUNTS}
        here = {count: self._same_formula(name, count) for count in _COUNTS}
        validates = {_historical(count): _growth(f) for count, f in elsewhere.items()}
        if any(text != "0" for text in validates.values()):
            yield "    validate:"
            yield f"      disjoint_partitions: {_price(validates, self._measured('retry, disjoint'))}"
            yield f"      overlap: {_price(validates, self._measured('conflict and retry, same'))}"
        yield "    rebuild:"
        yield f'      cross_table: {{manifest_list_reads: 0, source: "{self._source}: a commit to another table invalidates nothing"}}'
        rebuilt = {count: str(formula.constant) for count, formula in elsewhere.items()}
        yield f"      disjoint_partitions: {_price(rebuilt, self._measured('retry, disjoint'))}"
        known = all(formula is not None for formula in here.values())
        source = self._measured("retry, same")
        if not known:
            source = f"assumed: as with disjoint partitions; in {self._source} this is always a real conflict"
        for count, formula in here.items():
            if formula is not None:
                rebuilt[count] = _sum(
                    formula.constant, formula.per_commit - elsewhere[count].per_commit
                )
        yield f"      overlap: {_price(rebuilt, source)}"
        if name == "merge_append" and self._merges_from is not None:
            yield f'    merging: {{min_count: {self._merges_from}, source: "{self._measured("min count to merge 2, 8 and 100")}"}}'

    def _retry_formula(self, operation: str, count: str) -> Formula:
        cells = self._of(operation, situation="retry", partitions="disjoint")
        fitted = [cell for cell in cells if cell.settings["rivals"] in _FITTED_RIVALS]
        return fit(_points(fitted, count), f"{operation}, retry, {count}")

    def _same_formula(self, operation: str, count: str) -> Formula | None:
        cells = self._of(operation, situation="retry", partitions="same")
        return fit(_points(cells, count), f"{operation}, retry, same, {count}") if cells else None

    def _of(
        self, operation: str | None = None, *, rivals: str | None = None, **wanted: Any
    ) -> list[Cell]:
        """The cells of the usual layout; merging starts so late in them that it never does."""
        return [
            cell
            for cell in self._cells
            if operation in (None, cell.operation)
            and cell.base_manifests == self._usual_base()
            and cell.settings.get("min_count_to_merge", self._merges_from) == self._merges_from
            and rivals in (None, cell.settings.get("rivals"))
            and all(getattr(cell, name) == value for name, value in wanted.items())
        ]

    def _usual_base(self) -> int:
        return min(cell.base_manifests for cell in self._cells)

    def _measured(self, where: str) -> str:
        return f"measured, {self._source}, {self._measurement.command}: {where}"


def _points(cells: Iterable[Cell], count: str) -> Iterator[_Point]:
    for cell in cells:
        for number, attempt in enumerate(cell.attempts[1:], start=1):
            n, r = commits_before(cell, number), replaced_before(cell, number)
            yield n, r, getattr(attempt, count), cell.label


def _only(values: Iterable[Any]) -> Any:
    found = set(values)
    if len(found) != 1:
        raise NoFormulaError(f"cells disagree about a setting: {sorted(map(str, found))}")
    return found.pop()


def _setting(name: str, value: object, source: str) -> Iterator[str]:
    spelled = str(value).lower() if isinstance(value, bool) else value
    yield f"  {name}:"
    yield f"    is: {spelled}"
    yield f'    source: "{source}"'


def _historical(count: str) -> str:
    return "historical_ml_reads" if count == "manifest_list_reads" else count


def _growth(formula: Formula) -> str:
    return _sum(0, formula.per_commit, formula.per_replacing)


def _sum(constant: int, per_commit: int, per_replacing: int = 0) -> str:
    """`2 + N + 4 * R`, without what is nothing."""
    if min(constant, per_commit, per_replacing) < 0:
        raise NoFormulaError(f"a count falls: {constant} + {per_commit} N + {per_replacing} R")
    terms = [str(constant)] if constant else []
    for factor, variable in ((per_commit, "N"), (per_replacing, "R")):
        if factor:
            terms.append(variable if factor == 1 else f"{factor} * {variable}")
    return " + ".join(terms) or "0"


def _price(counts: Mapping[str, str], source: str) -> str:
    listed = [
        f"{name}: {text if text.isalnum() else _quoted(text)}"
        for name, text in counts.items()
        if text != "0"
    ]
    return f"{{{', '.join(listed)}, source: {_quoted(source)}}}"


def _quoted(text: str) -> str:
    return f'"{text}"'
