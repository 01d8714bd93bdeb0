"""The calibration region: inside only where a profile stands for what was measured, and no more calls meet than clients were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endive.calibration.data import THREADS
from endive.calibration.region import doubts_of_crowd, doubts_of_run, measured
from endive.config import resolve_config
from endive.main import main


def values(provider: str, *, calls: float = 0.5, **catalog: Any) -> list[str]:
    raw = {
        "simulation": {"duration_ms": 1000},
        "storage": {"provider": provider},
        "catalog": {"num_tables": 4, **catalog},
    }
    found = doubts_of_run(resolve_config(raw).values, calls)
    return [doubt.words for doubt in found if doubt.extrapolates]


def test_stores_and_operations_come_from_the_measurements() -> None:
    assert ("s3", "cas") in measured()
    assert ("s3x", "append") in measured()
    assert ("instant", "cas") not in measured()


@pytest.mark.parametrize("provider", ["s3", "s3x", "s3-2025", "s3x-2025"])
def test_a_store_that_a_profile_fits_is_inside(provider: str) -> None:
    assert values(provider) == []


@pytest.mark.parametrize("provider", ["azure", "azurex", "gcp"])
def test_a_store_that_nothing_fits_is_outside(provider: str) -> None:
    (words,) = values(provider)
    assert "no profile reproduces what was measured" in words


def test_a_store_that_nobody_measured_is_outside() -> None:
    assert values("instant") == ["cas of instant was never measured"]


def test_more_calls_on_a_pointer_than_clients_were_measured_are_outside() -> None:
    assert doubts_of_crowd(THREADS[-1] / 3.0) == []
    assert len(doubts_of_crowd(float(THREADS[-1]))) == 1
    assert len(values("s3x-2025", calls=30.0)) == 1
    # The same calls on a pointer for each of four tables are seven or eight.
    assert values("s3x-2025", calls=30.0, conflict_granularity="table") == []


def test_a_log_has_no_pointers_to_divide_calls_among() -> None:
    assert values("s3x-2025", type="append") == []


def test_latencies_of_ones_own_are_outside() -> None:
    raw = {
        "simulation": {"duration_ms": 1000},
        "storage": {
            "provider": "s3x",
            "latency": {"catalog": {"cas": {"distribution": "fixed", "value": 20.0}}},
        },
    }
    doubts = doubts_of_run(resolve_config(raw).values, 0.1)
    assert [
        "those of the configuration" in doubt.words for doubt in doubts if doubt.extrapolates
    ] == [True]


def test_a_run_says_why_it_is_extrapolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "[simulation]\nduration_ms = 10000\n[storage]\nprovider = "
    for provider in ("gcp", "s3x"):
        Path(f"{provider}.toml").write_text(f'{text}"{provider}"\n')
    assert main(["run", "gcp.toml", "--seed", "1"]) == 0
    assert "extrapolated: no profile reproduces" in capsys.readouterr().out
    assert main(["run", "gcp.toml", "--seed", "1", "--force", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["extrapolated"]) == 1
    assert main(["run", "s3x.toml", "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["extrapolated"] == []
