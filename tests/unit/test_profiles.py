"""Provider profiles (§1.3, §1.4): the specification's two tables, and a source for every figure."""

from __future__ import annotations

import numpy as np
import pytest

from endive.profiles import Figure, ProviderProfile, load_profiles
from endive.storage import create_provider

PROFILES = load_profiles()
_EACH = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)

# §1.4: CAS median and sigma, append median, append-failure median, PUT base and per MiB.
_TABLE = {
    "s3": (61.0, 0.14, None, None, 30.0, 20.0),
    "s3x": (22.0, 0.22, 21.0, 23.0, 10.0, 10.0),
    "azure": (93.0, 0.82, 87.0, 2072.0, 50.0, 25.0),
    "azurex": (64.0, 0.73, 70.0, 2534.0, 30.0, 15.0),
    "gcp": (170.0, 0.91, None, None, 40.0, 17.0),
    "instant": (1.0, 0.1, 1.0, 1.0, 0.5, 0.1),
}


def test_there_are_six_profiles_in_the_order_of_the_specification() -> None:
    assert list(PROFILES) == list(_TABLE)
    assert all(name == profile.name for name, profile in PROFILES.items())


@_EACH
def test_latencies_are_those_of_the_specification(profile: ProviderProfile) -> None:
    def value(operation: str, parameter: str) -> float | None:
        figures = profile.latency.get(operation)
        return None if figures is None else figures.figures[parameter].value

    assert (
        value("cas", "median"),
        value("cas", "sigma"),
        value("append", "median"),
        value("append_failure", "median"),
        value("put", "base"),
        value("put", "per_mib"),
    ) == _TABLE[profile.name]


@_EACH
def test_effect_points_are_those_of_the_model(profile: ProviderProfile) -> None:
    assert profile.effect_point.value == (1.0 if profile.name == "s3" else 0.5)


def _figures(profile: ProviderProfile) -> list[Figure]:
    found = [profile.min_latency_ms, profile.effect_point]
    for latency in profile.latency.values():
        found.extend(latency.figures.values())
    return found


@_EACH
def test_every_figure_has_a_source(profile: ProviderProfile) -> None:
    assert all(figure.source.strip() for figure in _figures(profile))


@_EACH
def test_what_the_specification_does_not_give_is_marked_assumed(profile: ProviderProfile) -> None:
    assert profile.latency["put"].figures["sigma"].assumed
    for operation in ("append", "append_failure"):
        if operation in profile.latency:
            assert profile.latency[operation].figures["sigma"].assumed
    assert not profile.min_latency_ms.assumed
    assert not profile.latency["cas"].figures["median"].assumed


@_EACH
def test_a_store_without_append_has_no_append_latency(profile: ProviderProfile) -> None:
    assert profile.supports_append == ("append" in profile.latency)


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'s4'.*s3x.*instant"):
        create_provider("s4", np.random.RandomState(0), PROFILES)
