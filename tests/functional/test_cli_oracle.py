"""`endive oracle`: what it shows, what it writes, and what it says when there is nothing to measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from endive.cli.render_oracle import print_measurement
from endive.cost_model import load_cost_table
from endive.main import main
from endive.oracle.comparing import differences
from endive.oracle.measurement import load_measured, load_measurement

KEPT = load_measured("pyiceberg")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["oracle", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


@pytest.mark.parametrize("oracle", ["pyiceberg", "race"])
def test_help_has_an_example_and_the_exit_codes(
    oracle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["oracle", oracle, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"example: endive oracle {oracle}" in shown
    assert "Exit code 1" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["race", "--writers", "2,0"], "must be whole numbers from 1 to 16 with commas between"),
        (["race", "--writers", "17"], "not '17'"),
        (["race", "--seconds", "0"], "must be a number above 0, not '0'"),
        (["race", "--latency-ms", "nan"], "must be a number above 0, not 'nan'"),
        (["race", "--runs", "many"], "must be a whole number from 1, not 'many'"),
        (["trino"], "invalid choice: 'trino'"),
        ([], "the following arguments are required: ORACLE"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, *arguments)


def test_places_where_nothing_can_be_written_are_told_together_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    told = refused(
        capsys,
        *("pyiceberg", "--out", str(tmp_path), "--cost-table", str(tmp_path / "file" / "t.yaml")),
    )
    assert f"--out {tmp_path}: is a directory; name a file in it" in told
    assert "--cost-table" in told
    assert "is not a directory; choose another place" in told


@pytest.mark.parametrize("oracle", ["pyiceberg", "race"])
def test_without_pyiceberg_the_extra_is_named(oracle: str, tmp_path: Path) -> None:
    # The import of what is None fails, as that of a package that is not there does.
    program = (
        "import sys; sys.modules['pyiceberg'] = None; from endive.main import main; "
        f"sys.exit(main(['oracle', {oracle!r}, '--out', {str(tmp_path / 'out.json')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "is not installed" in done.stderr
    assert "install endive[oracle]" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_does_not_import_pyiceberg() -> None:
    program = (
        "import sys; from endive.main import main; main(['oracle', '--help']); "
        "sys.exit('pyiceberg' in sys.modules or 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0


def test_people_see_each_operation_and_what_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    newer = replace(KEPT, version="0.13.0", cells=KEPT.cells[1:])
    print_measurement(newer, KEPT, [str(each) for each in differences(KEPT, newer)])
    shown = capsys.readouterr().out
    for operation in {cell.operation for cell in KEPT.cells}:
        assert operation in shown
    # Table metadata, lists and manifests of the retry of a delete past five appends.
    assert "2/1, 6/1, 6/1" in shown
    assert "changed: fast_append, fresh" in shown
    assert "measured → not measured (PyIceberg 0.12.0 → PyIceberg 0.13.0)" in shown


@pytest.mark.slow
def test_a_measurement_is_told_and_written_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / "m.json", tmp_path / "t.yaml"
    code = main(["oracle", "pyiceberg", "--json", "--out", str(out), "--cost-table", str(table)])
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changed"] == []
    assert document["version"] == KEPT.version
    assert load_measurement(out).cells == KEPT.cells
    assert table.read_text(encoding="utf-8") == load_cost_table("pyiceberg").text


@pytest.mark.slow
def test_a_race_is_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "race.json"
    arguments = ["--writers", "2,1", "--seconds", "6", "--latency-ms", "60", "--runs", "20"]
    # Whether it is inside the band is a matter of this machine; that it is told is not.
    code = main(["oracle", "race", *arguments, "--json", "--out", str(out)])
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(out.read_text(encoding="utf-8"))
    assert [race["plan"]["writers"] for race in document["races"]] == [2, 1]
    assert all(race["accounted"] for race in document["races"])
    verdicts = {race["verdict"] for race in document["races"]}
    assert code == (1 if "outside" in verdicts else 3 if "inconclusive" in verdicts else 0)
