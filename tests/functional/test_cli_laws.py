"""`endive laws` as a user runs it."""

from __future__ import annotations

import json

import pytest

from endive.laws import registry, runner
from endive.laws.model import Measure, Trial
from endive.main import main


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few trials that take no time."""
    names = ("balance-once", "serial-erratum", "hammer-half-5")
    few = {name: registry.trials()[name] for name in names}
    monkeypatch.setattr(registry, "trials", lambda: few)
    monkeypatch.setattr(runner, "trials", lambda: few)


@pytest.mark.usefixtures("small")
def test_table_shows_what_the_law_says_and_what_runs_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["laws", "--jobs", "1"]) == 0
    captured = capsys.readouterr()
    for word in ("analytic", "simulated", "interval", "seeds", "5.714", "holds"):
        assert word in captured.out
    assert "4 rows, seed 1: 4 holds" in captured.out
    assert captured.err == ""


@pytest.mark.usefixtures("small")
def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["laws", "--only", "L6,L1", "--json", "--jobs", "1", "--seed", "3"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["holds"], document["seed"]) == (True, 3)
    assert [law["id"] for law in document["laws"]] == ["L1", "L6"]
    assert [row["law"] for row in document["rows"]] == ["L1", "L6"]
    ceiling = document["rows"][1]
    assert ceiling["analytic"] == pytest.approx(1000.0 / 175.0, rel=1e-6)
    assert ceiling["interval"][0] <= ceiling["analytic"] <= ceiling["interval"][1]
    assert ceiling["verdict"] == "holds"
    assert captured.err == ""


def test_several_processes_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["laws", "--only", "L6", "--json"]
    assert main([*arguments, "--jobs", "2"]) == 0
    together = capsys.readouterr().out
    assert main([*arguments, "--jobs", "1"]) == 0
    assert capsys.readouterr().out == together


@pytest.mark.parametrize(
    ("spread", "analytic", "code", "word"),
    [(0.0, 1.1, 1, "fails"), (0.5, 1.0, 3, "undecided")],
)
def test_what_does_not_hold_and_what_is_open_have_exit_codes_of_their_own(
    spread: float,
    analytic: float,
    code: int,
    word: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(seed: int) -> float:
        return 1.0 + spread * (1 if seed % 2 else -1)

    few = {"odd": Trial("odd", run, (Measure("L4", "odd", analytic, float),), 4)}
    monkeypatch.setattr(registry, "trials", lambda: few)
    monkeypatch.setattr(runner, "trials", lambda: few)
    assert main(["laws", "--jobs", "1"]) == code
    shown = capsys.readouterr().out
    assert f"{word}: L4, odd: the law says {analytic:g}" in shown
    assert "Replay: endive laws --only L4 --seed 1" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "L12"], "L12: there is no such law; there are L1"),
        (["--only", ","], "no law"),
        (["--jobs", "0"], "at least 1"),
        (["--seed", "x"], "whole number"),
        (["--seed", "-1"], "at least 0"),
    ],
)
def test_bad_input_is_refused_with_a_fix(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["laws", *arguments]) == 2
    assert said in capsys.readouterr().err
