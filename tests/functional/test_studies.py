"""The studies: every sweep file is sound, each has a small form of the same question, and the small ones are small."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.analysis.setups import LOAD, Setup, varied_axes
from endive.sweep import Sweep, read_sweep

STUDIES = Path(__file__).resolve().parents[2] / "studies"
WHOLE = sorted(STUDIES.glob("*.toml"))
SMALL = sorted((STUDIES / "small").glob("*.toml"))


def setups(sweep: Sweep) -> list[Setup]:
    return [Setup(sweep.directory(cell), cell.config.values) for cell in sweep.cells]


def work(sweep: Sweep) -> float:
    """Transactions that the whole sweep simulates; a background commit costs hardly a twentieth of one."""
    return sum(
        len(sweep.seeds)
        * (one.load.submitted_per_s + one.load.background_per_s / 20.0)
        * (one.values["simulation"]["duration_ms"] / 1000.0)
        for one in setups(sweep)
    )


def test_every_study_of_the_documents_is_there() -> None:
    names = {"baseline", "mix", "catalog_latency", "tables", "providers", "maintenance"}
    assert {path.stem for path in WHOLE} == names
    assert {path.stem for path in SMALL} == names


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_whole_study_varies_all_that_its_small_form_does(path: Path) -> None:
    whole, small = read_sweep(path), read_sweep(path.parent / "small" / path.name)
    assert set(varied_axes(setups(small))) <= set(varied_axes(setups(whole)))
    assert LOAD in varied_axes(setups(small))
    assert whole.num_runs >= 5 * small.num_runs
    assert work(small) < min(100_000.0, work(whole) / 5.0)
    assert whole.label != small.label


@pytest.mark.parametrize("path", [*WHOLE, *SMALL], ids=lambda path: path.stem)
def test_the_rates_that_a_file_speaks_of_are_those_it_runs(path: Path) -> None:
    sweep = read_sweep(path)
    is_background = any(one.load.background_per_s for one in setups(sweep))
    rates = sorted(
        {
            round(one.load.background_per_s if is_background else one.load.submitted_per_s, 3)
            for one in setups(sweep)
        }
    )
    (told,) = [
        line.removeprefix("# ").split(" a second")[0].split(" appends")[0].split(" transactions")[0]
        for line in path.read_text().splitlines()
        if line.startswith("# ") and line[2].isdigit() and " a second" in line
    ]
    spoken = [float(word) for word in told.replace(" and", ",").replace(",", " ").split()]
    assert spoken == rates


def test_the_maintenance_study_asks_for_the_rates_of_the_report() -> None:
    rates = {
        round(one.load.background_per_s, 3)
        for one in setups(read_sweep(STUDIES / "maintenance.toml"))
    }
    assert {10.0, 50.0, 100.0, 500.0} <= rates
