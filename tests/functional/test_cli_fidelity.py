"""`endive fidelity` on the command line: what is wrong with what was asked for is told at once, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.main import main

_BAD_INPUT = 2


def test_everything_that_is_wrong_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text("waivers:\n  - rows: [x]\n", encoding="utf-8")
    code = main(
        [
            *("fidelity", "--out", str(out), "--today", "tomorrow", "--jobs", "0"),
            *("--runs", str(tmp_path / "none"), "--waivers", str(waivers)),
        ]
    )
    told = capsys.readouterr()
    assert code == _BAD_INPUT
    assert told.out == ""
    assert "--today: 'tomorrow' is no day" in told.err
    assert "--jobs: must be at least 1, not 0" in told.err
    assert "--runs:" in told.err
    assert "waivers.yaml:2: waivers[0].found: missing; add it" in told.err
    assert "Traceback" not in told.err
    assert not out.exists()


def test_a_cost_table_that_does_not_exist_is_told_with_one_that_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    code = main(["fidelity", "--out", str(out), "--cost-table", "iceberg-jav"])
    assert code == _BAD_INPUT
    assert "did you mean 'iceberg-java'?" in capsys.readouterr().err
    assert not out.exists()


def test_two_tables_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["fidelity", "--out", str(tmp_path / "r"), *(["--cost-table", "legacy"] * 2)])
    assert code == _BAD_INPUT
    assert "rename one" in capsys.readouterr().err


def test_a_last_report_that_is_none_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "fidelity.json"
    kept.write_text("precious", encoding="utf-8")
    assert main(["fidelity", "--out", str(tmp_path)]) == _BAD_INPUT
    assert "it is no fidelity report" in capsys.readouterr().err
    assert kept.read_text(encoding="utf-8") == "precious"


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", "--help"]) == 0
    assert "endive fidelity --runs experiments --json" in capsys.readouterr().out
