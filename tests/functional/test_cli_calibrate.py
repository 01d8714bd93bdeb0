"""`endive calibrate`: what it shows, writes and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from endive.calibration.data import packaged_file
from endive.calibration.recorded import packaged_fits
from endive.config import load_simulation_config
from endive.main import main
from endive.profiles import load_fitted_profiles
from endive.simulation import Simulation


def test_one_store_is_shown_with_errors_verdicts_and_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calibrate", "--store", "s3"]) == 0
    shown = capsys.readouterr().out
    for words in ("s3: CAS", "8*", "held out", "s3-2025 is offered", "as specified", "fitted"):
        assert words in shown
    table = shown.partition("Verdicts")[0]
    assert "…" not in table


def test_a_store_that_nothing_fits_is_told_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--store", "gcp", "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (case,) = document["cases"]
    assert case["fitted"]["load"] == "does not fit"
    assert case["fitted"]["held_out"] == "does not fit"
    assert case["specified"]["tail"] == "does not fit"
    assert document["stores"]["gcp"]["offered"] is False
    assert [row["threads"] for row in case["fitted"]["rows"] if row["held_out"]] == [2, 8]


def test_one_operation_alone_says_nothing_of_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--store", "azurex", "--operation", "append"]) == 0
    shown = capsys.readouterr().out
    assert "only part of it was looked at" in shown
    assert "azurex-2025" not in shown


def test_a_shipped_profile_that_breaks_its_word_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from endive.calibration import report

    profile = load_fitted_profiles()["s3-2025"]
    boast = replace(profile, fit={**profile.fit, "cas_held_out_failure_error_pct": 0.1})
    monkeypatch.setattr(report, "load_fitted_profiles", lambda: {"s3-2025": boast})
    assert main(["calibrate", "--store", "s3"]) == 1
    assert "s3-2025 does not hold" in capsys.readouterr().out


def test_own_measurements_are_fitted_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = packaged_file().read_text("utf-8").splitlines()
    mine = tmp_path / "mine.csv"
    mine.write_text("\n".join(line for line in lines if "(Standard)" in line or "store," in line))
    out = tmp_path / "out"
    assert main(["calibrate", "--fit", "--data", str(mine), "--out", str(out)]) == 0
    assert "s3-2025 is offered" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {"report.json", "fits.toml", "s3-2025.toml"}
    assert json.loads((out / "report.json").read_text("utf-8"))["holds"]


def test_bad_measurements_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = packaged_file().read_text("utf-8").replace(",71.5,", ",oops,")
    mine = tmp_path / "mine.csv"
    mine.write_text(text, encoding="utf-8")
    assert main(["calibrate", "--data", str(mine)]) == 2
    assert "mine.csv:4: failure_pct: must be a number, not 'oops'" in capsys.readouterr().err
    assert main(["calibrate", "--data", str(tmp_path / "none.csv")]) == 2
    assert main(["calibrate", "--client", "told"]) == 2
    assert main(["calibrate", "--store", "gcp", "--operation", "append"]) == 2


@pytest.mark.parametrize("name", list(load_fitted_profiles()))
def test_a_fitted_profile_can_be_named_in_a_configuration(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(
        f"simulation.duration_ms = 20000\nsimulation.seed = 1\nstorage.provider = '{name}'\n"
        "transaction.runtime = {distribution = 'fixed', value = 100}\n",
        encoding="utf-8",
    )
    config = load_simulation_config(str(path))
    assert config.storage_provider.name == name
    # Refused swaps have a latency of their own, which the catalog draws.
    assert getattr(config.catalog, "draw_failure_ms", None) is not None
    assert Simulation(config).run().committed > 0
    assert packaged_fits()[name.removesuffix("-2025")].effect_point == pytest.approx(
        load_fitted_profiles()[name].effect_point.value
    )
