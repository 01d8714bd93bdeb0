"""What the fidelity report takes for the documents' word is the documents' word, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.fidelity.transcription import FILE, TABLES, DocumentRow, transcription

_SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def _document() -> list[str]:
    seed = transcription().seed
    found = sorted(_SEEDS.glob(f"{seed}_*.txt"))
    if not found:
        pytest.skip(f"the documents are not beside this checkout: {_SEEDS} has no {seed}_*.txt")
    return found[0].read_text(encoding="utf-8").splitlines()


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


@pytest.mark.parametrize(
    "row", list(transcription().lines()), ids=lambda row: f"line {row.line}, {row.id}"
)
def test_every_cell_stands_in_its_line_of_the_document(row: DocumentRow) -> None:
    assert _cells(_document()[row.line - 1]) == row.cells


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_is_transcribed(name: str) -> None:
    lines, table = _document(), transcription().tables[name]
    first = table.head.line + 1
    end = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    # The line between head and rows is the rule.
    assert [row.line for row in table.rows] == list(range(first + 1, end + 1))


def test_every_cell_of_the_retry_costs_claims_something() -> None:
    table = transcription().tables["retry_costs"]
    for row in table.rows:
        assert set(row.says) == set(table.operations)


def test_numbers_that_a_claim_repeats_stand_in_the_cell() -> None:
    aspects = transcription().tables["aspects"]
    factor = aspects.row("false_conflict_fast_append")
    assert f"~{factor.says['factor']}×" in factor.cells[3]
    convoy = aspects.row("convoy_appends")
    assert f"{convoy.says['review_s']}s" in convoy.cells[1]
    assert f"~{convoy.says['constant_ms']}ms" in convoy.cells[2]
    for row in transcription().tables["convoy_costs"].rows:
        if "constant_ms" in row.says:
            assert f"~{row.says['constant_ms']}ms" in row.cells[1]


def test_the_transcription_ships_with_the_package() -> None:
    assert FILE.parent.name == "fidelity"
