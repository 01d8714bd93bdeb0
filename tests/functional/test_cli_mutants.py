"""`endive mutants` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from endive.main import main


def test_chosen_mutants_are_run_and_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mutants", "--only", "n-plus-one", "benign-short-slots"]) == 0
    shown = capsys.readouterr().out
    assert "n-plus-one" in shown
    assert "lists-exact" in shown
    assert "2 mutants: 1 killed, 1 survived" in shown
    # A part of the matrix does not take the place of the whole.
    assert not (tmp_path / "reports").exists()


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["mutants", "--only", "seq-plus-two", "table:spec-2.0:merge_append.attempt.*", "--json"]
    )
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (code, document["holds"]) == (0, True)
    assert "seq-adds-one" in document["mutants"][0]["killed_by"]
    assert set(document["table_mutants"].values()) == {"killed"}
    assert captured.err == ""


def test_json_goes_to_a_file_and_the_table_to_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, matrix = tmp_path / "found.json", tmp_path / "matrix.json"
    arguments = ["mutants", "--only", "ids-skipped", "--json", str(file), "--matrix", str(matrix)]
    assert main(arguments) == 0
    assert json.loads(file.read_text())["killers"]["flow-balance"] == ["ids-skipped"]
    assert file.read_text() == matrix.read_text()
    assert "ids-skipped" in capsys.readouterr().out


def test_several_processes_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mutants", "--only", "n-*-one", "ids-skipped", "--quiet-check", "1", "--json"]
    code = main(arguments)
    alone = capsys.readouterr().out
    assert main([*arguments, "--jobs", "2"]) == code
    assert capsys.readouterr().out == alone


def test_a_mutant_nobody_notices_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from endive.mutants import matrix
    from endive.mutants.trial import Trial

    survivor = Trial("n-plus-one", "one too many", True, (), ("lists-exact",))
    monkeypatch.setattr(matrix, "try_one", lambda _name: survivor)
    assert main(["mutants", "--only", "n-plus-one"]) == 1
    shown = capsys.readouterr().out
    assert "survivor: n-plus-one" in shown
    assert "endive mutants --only 'n-plus-one'" in shown


def test_an_unknown_mutant_is_bad_input_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--only", "n-plus-on"]) == 2
    assert "did you mean 'n-plus-one'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--quiet-check", "-1"], ["--jobs", "x"]])
def test_bad_numbers_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", *arguments]) == 2
    assert "must be" in capsys.readouterr().err


def test_the_list_shows_every_mutant_without_running_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mutants", "--list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert len(entries) >= 30
    assert all(entry["source"] for entry in entries)
