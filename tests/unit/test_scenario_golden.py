"""Golden digests: written on demand, told old and new, and nothing else in the file changes by a byte."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scenario_files import EXACT, SCRIPTED, expecting, written

from endive.errors import InputError
from endive.main import main
from endive.scenario.golden import Change, write

COMMENTED = """\
# A comment at the top,   with  odd   spacing
scenario:   'Quoted'   #   why not
"""
TAIL = """\
golden: {}   # written by machines

# a last comment
"""


@pytest.fixture(autouse=True)
def _not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def _file(tmp_path: Path, *parts: str) -> Path:
    return written(tmp_path, COMMENTED, "sections: [ a,  'b' ]\n", SCRIPTED, *parts)


def test_update_shows_old_and_new_and_then_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, EXACT, TAIL)
    assert main(["verify", str(path)]) == 3
    assert "none; endive verify --update writes it" in capsys.readouterr().out
    assert main(["verify", str(path), "--update"]) == 0
    told = capsys.readouterr().out
    (new,) = re.findall(r"none → ([0-9a-f]{64})", told)
    assert "1 golden digests written" in told
    assert f'"{new}"' in path.read_text()
    assert main(["verify", str(path)]) == 0
    assert main(["verify", str(path), "--update"]) == 0
    assert "all golden digests are as they were" in capsys.readouterr().out
    path.write_text(path.read_text().replace(new, "0" * 64))
    assert main(["verify", str(path)]) == 1
    assert f"expected {'0' * 64}; seen {new}" in capsys.readouterr().out
    assert main(["verify", str(path), "--update", "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["variant"], change["seed"]) == ("default", "1")
    assert (change["old"], change["new"]) == ("0" * 64, new)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "golden",
    [
        "golden: {}   # written by machines",
        "golden:\n  default:\n    1: abc\n    # gone with the digest\n    2: def",
        "golden: {default: {1: 'abc'}}",
        "golden:\n  default: {}",
        '"golden" : {}',
    ],
)
def test_nothing_outside_changes_by_a_byte(
    tmp_path: Path, golden: str, mark: str, ending: str
) -> None:
    before = f"{mark}# odd   spacing\nscenario:   'x'   # why\nsections: [ a,  b ]\n"
    after = "\n\n# between\nexpect:   []\n\n# last, without a line's end"
    path = tmp_path / "x.yaml"
    path.write_bytes((before + golden + after).replace("\n", ending).encode())
    write([Change(str(path), "default", "1", None, "f" * 64)])
    text = path.read_bytes().decode()
    assert text.startswith(before.replace("\n", ending))
    comment = "   # written by machines" if "machines" in golden else ""
    assert text.endswith(comment + after.replace("\n", ending))
    middle = text[len(before.replace("\n", ending)) :].removesuffix(
        comment + after.replace("\n", ending)
    )
    key = golden[: golden.index(":")].strip()
    assert middle.split() == [f"{key}:", '"default":', "1:", f'"{"f" * 64}"']
    # Line ends are those of the file.
    assert text.count("\n") == text.count(ending)


def test_whole_file_in_braces_stays_in_braces(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("{scenario: x, golden: {a: {1: 'q'}}, expect: []}\n")
    write([Change(str(path), "b,c", "3", None, "7" * 64)])
    assert path.read_text() == (
        '{scenario: x, golden: {"a": {"1": "q"}, "b,c": {"3": "' + "7" * 64 + '"}}, expect: []}\n'
    )


def test_layout_that_is_not_understood_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    text = "scenario: x\n? golden\n: {}\nexpect: []\n"
    path.write_text(text)
    with pytest.raises(InputError):
        write([Change(str(path), "default", "1", None, "f" * 64)])
    assert path.read_text() == text


def test_digests_of_other_variants_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("golden:\n  a:\n    1: abc\n  b:\n    1: def\nexpect: []\n")
    write([Change(str(path), "b", "1", "def", "new")])
    assert path.read_text() == ('golden:\n  "a":\n    1: "abc"\n  "b":\n    1: "new"\nexpect: []\n')


@pytest.mark.parametrize("ci", ["true", "1", "TRUE"])
def test_ci_never_updates(
    tmp_path: Path,
    ci: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CI", ci)
    path = _file(tmp_path, EXACT, TAIL)
    text = path.read_text()
    assert main(["verify", str(path), "--update"]) == 2
    assert "not written in CI" in capsys.readouterr().err
    assert path.read_text() == text


def test_nothing_is_kept_of_a_run_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "judged_seeds: 0\n" + expecting("{metric: retries, named: overwrite, equals: 7}")
    path = _file(tmp_path, wrong, TAIL)
    text = path.read_text()
    assert main(["verify", str(path), "--update"]) == 1
    assert "retries (mean) of 'overwrite' failed" in capsys.readouterr().err
    assert path.read_text() == text


def test_violated_invariant_forbids_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from endive.judge.model import Outcome
    from endive.scenario import running
    from endive.scenario.running import Held

    violated = Held("seq-adds-one", "8.1", Outcome.FAIL, 1, False, ("T1 did it",))
    monkeypatch.setattr(running, "judge", lambda _trace: [violated])
    monkeypatch.setattr(running, "_held", lambda verdict: verdict)
    path = _file(tmp_path, EXACT.replace("judged_seeds: 0", "judged_seeds: 1"), TAIL)
    text = path.read_text()
    assert main(["verify", str(path), "--update"]) == 1
    assert "invariant seq-adds-one (§8.1) failed" in capsys.readouterr().err
    assert path.read_text() == text


def test_scenario_without_the_key_keeps_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, EXACT)
    assert main(["verify", str(path), "--update"]) == 0
    assert "no scenario here keeps golden digests" in capsys.readouterr().out
    assert "golden" not in path.read_text()


@pytest.mark.parametrize("option", ["--seed", "--junit", "--html", "--github"])
def test_update_goes_alone(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, EXACT, TAIL)
    value = [] if option == "--github" else ["7"]
    assert main(["verify", str(path), "--update", option, *value]) == 2
    assert f"--update: cannot go with {option}" in capsys.readouterr().err


def test_another_seed_has_no_digest_to_keep(tmp_path: Path) -> None:
    path = _file(tmp_path, EXACT, TAIL)
    assert main(["verify", str(path), "--seed", "7"]) == 0
