"""Fitted profiles have a latency of refused swaps, which the specification's have not: both engines draw it alike."""

from __future__ import annotations

import pytest

from differential.compare import assert_engines_agree
from endive.profiles import load_fitted_profiles

PLACES = [
    (name, catalog)
    for name, profile in load_fitted_profiles().items()
    for catalog in ("cas", *(("append",) if profile.supports_append else ()))
]


@pytest.mark.parametrize(("name", "catalog"), PLACES)
def test_engines_agree_on_a_fitted_profile(name: str, catalog: str) -> None:
    pair = assert_engines_agree(
        {
            "simulation": {"duration_ms": 20_000},
            "storage": {"provider": name},
            "catalog": {"type": catalog, "num_tables": 2},
            "transaction": {
                "runtime": {"distribution": "fixed", "value": 50},
                "inter_arrival": {"distribution": "exponential", "scale": 60},
            },
        },
        seed=11,
    )
    assert any(row["n_retries"] for row in pair.rows)
