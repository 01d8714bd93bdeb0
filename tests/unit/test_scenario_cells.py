"""Every clause of §8 is shown under every cost table and every catalog where that means something, and docs/SCENARIOS.md says where."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from endive.config import resolve_config
from endive.experiment import trace_header
from endive.judge.model import Invariant, Kind, Scope
from endive.judge.registry import INVARIANTS
from endive.scenario.model import Scenario
from endive.scenario.reading import find_scenarios, read_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "SCENARIOS.md"
BEGIN, END = "<!-- cells: begin -->", "<!-- cells: end -->"

CLAUSES = tuple(f"8.{number}" for number in range(1, 13))
TABLES = tuple(sorted(path.stem for path in (ROOT / "endive" / "cost_tables").glob("*.yaml")))
CATALOGS = ("cas", "instant", "append")
# The page names the scenarios that fill the cells of a clause, not each that touches one.
_MANY_CELLS = 5


class Cell(NamedTuple):
    """One clause under one cost table and one catalog."""

    clause: str
    table: str
    catalog: str


class Exemption(NamedTuple):
    """Cells that mean nothing, and why."""

    clause: str
    tables: tuple[str, ...]
    catalogs: tuple[str, ...]
    reason: str

    def cells(self) -> Iterator[Cell]:
        for table in self.tables:
            for catalog in self.catalogs:
                yield Cell(self.clause, table, catalog)


EXEMPT = (
    Exemption(
        "8.7",
        TABLES,
        CATALOGS,
        "is about the signatures of `read` and `commit`, which no run can show: `endive invariants` reads them in the code, whatever things "
        "cost. What follows from it, the same retries and the same I/O under every catalog, is `transactions_do_not_know_their_catalog`",
    ),
    Exemption(
        "8.9",
        TABLES,
        ("cas", "instant"),
        "needs a log: where a pointer is swapped the answer to the swap is the outcome, and there is no record to discover",
    ),
    Exemption(
        "8.12",
        ("legacy",),
        CATALOGS,
        "says that a loss to another table is free; this table is older than the clause and prices every loss alike (Append Simulation Design, "
        "CAS mode). Under `append` nothing is lost to another table in the first place",
    ),
)


@lru_cache(maxsize=1)
def scenarios() -> tuple[Scenario, ...]:
    return tuple(read_scenario(path) for path in find_scenarios([ROOT / "scenarios"]))


@lru_cache(maxsize=1)
def shown() -> Mapping[Cell, tuple[str, ...]]:
    """The scenarios that show a cell: they claim the clause, and have a variant with that table and that catalog."""
    found: dict[Cell, list[str]] = {}
    for scenario in scenarios():
        settings = {
            (
                variant.config.values["transaction"]["cost_table"],
                variant.config.values["catalog"]["type"],
            )
            for variant in scenario.variants
        }
        for clause in scenario.clauses:
            for table, catalog in settings:
                found.setdefault(Cell(clause, table, catalog), []).append(scenario.name)
    return {cell: tuple(sorted(names)) for cell, names in found.items()}


def exempt() -> dict[Cell, str]:
    return {cell: exemption.reason for exemption in EXEMPT for cell in exemption.cells()}


@pytest.mark.parametrize("clause", CLAUSES)
def test_every_cell_that_means_something_is_shown_by_a_scenario(clause: str) -> None:
    cells = [Cell(clause, table, catalog) for table in TABLES for catalog in CATALOGS]
    missing = [cell for cell in cells if cell not in shown() and cell not in exempt()]
    assert not missing, f"write a scenario that claims {clause} for {missing}"


def test_only_cells_without_an_invariant_that_applies_are_said_to_mean_nothing() -> None:
    """Were there a trace invariant for them, a run could show them."""
    wrong = [cell for cell in exempt() if any(map(_applies(cell), _of_traces(cell.clause)))]
    assert not wrong


def _of_traces(clause: str) -> list[Invariant]:
    return [
        each
        for each in INVARIANTS
        if each.clause == clause and each.scope is Scope.TRACE and each.kind is Kind.ALWAYS
    ]


def _applies(cell: Cell) -> Callable[[Invariant], bool]:
    """Whether an invariant looks at runs of this kind."""
    raw = {
        "simulation": {"duration_ms": 1000},
        "storage": {"provider": "instant"},
        "catalog": {"type": cell.catalog},
        "transaction": {"cost_table": cell.table},
    }
    header = trace_header(resolve_config(raw), 1)
    return lambda invariant: invariant.applies_when(header)


def test_an_exempt_clause_without_any_run_is_judged_by_its_interfaces() -> None:
    never_run = {clause for clause in CLAUSES if not any(cell.clause == clause for cell in shown())}
    by_interface = {each.clause for each in INVARIANTS if each.scope is Scope.API}
    assert never_run <= by_interface


def test_scenarios_name_only_tables_and_catalogs_that_have_a_cell() -> None:
    """A table or catalog that is new must have a row of cells, too."""
    assert {cell.table for cell in shown() if not cell.table.endswith(".yaml")} <= set(TABLES)
    assert {cell.catalog for cell in shown()} == set(CATALOGS)


def test_the_page_of_scenarios_has_the_cells_as_they_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text
    assert END in text
    written = text.partition(BEGIN)[2].partition(END)[0]
    assert written.strip() == render_cells().strip(), (
        "run: python tests/unit/test_scenario_cells.py"
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def render_cells() -> str:
    """The cells as a table: under which catalogs each clause is shown, and by whom."""
    letters = {"cas": "c", "instant": "i", "append": "a"}
    reasons = list(dict.fromkeys(exemption.reason for exemption in EXEMPT))
    skipped = exempt()
    lines = [
        "A cell is a clause of §8 under one cost table and one catalog. A letter stands for a catalog under which a scenario shows the clause:",
        "`c` for `cas`, `i` for `instant`, `a` for `append`; a number for why the cell means nothing. `python tests/unit/test_scenario_cells.py`",
        "writes this section, and the tests fail if a cell is missing or this section is behind. The last column names the scenarios that show five cells or more.",
        "",
        "The invariants of 8.3 and 8.12 know the prices of `spec-2.0` by hand and apply to it alone; under the other tables it is the exact numbers in the scenario that show the clause.",
        "",
        f"| clause | {' | '.join(f'`{table}`' for table in TABLES)} | shown by |",
        f"|---|{'---|' * (len(TABLES) + 1)}",
    ]
    for clause in CLAUSES:
        row = []
        for table in TABLES:
            cells = [Cell(clause, table, catalog) for catalog in CATALOGS]
            marks = [
                letters[cell.catalog] for cell in cells if cell in shown() and cell not in skipped
            ]
            why = {skipped[cell] for cell in cells if cell in skipped}
            numbers = sorted(reasons.index(reason) + 1 for reason in why)
            row.append(" ".join([*marks, *(f"({number})" for number in numbers)]))
        counted = Counter(
            name for cell, found in shown().items() if cell.clause == clause for name in found
        )
        names = sorted(name for name, cells in counted.items() if cells >= _MANY_CELLS)
        by = ", ".join(f"`{name}`" for name in names) or "–"
        lines.append(f"| {clause} | {' | '.join(row)} | {by} |")
    lines.append("")
    for number, reason in enumerate(reasons, start=1):
        clause = next(each.clause for each in EXEMPT if each.reason == reason)
        lines.append(f"{number}. {clause} {reason}.")
    return "\n".join(lines)


def _write_page() -> None:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Scenarios\n"
    if BEGIN not in text:
        heading = "" if "\n## Cells" in text else "\n## Cells\n"
        text = f"{text.rstrip()}\n{heading}\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{render_cells()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    _write_page()
    sys.stdout.write(f"wrote the cells into {PAGE.relative_to(ROOT)}\n")
