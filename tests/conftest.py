"""What all tests share: Hypothesis profiles, and real parts with latencies that can be added up by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import settings

from endive.latency import FixedLatency
from endive.profiles import load_profiles
from endive.storage import ProfileStorageProvider, create_provider

# `ci` is the default: the same examples every time, on every machine, however slow it is.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("nightly", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Small numbers of which no two sums coincide by accident.
FIXED_MS: Mapping[str, float] = {
    "catalog.read": 4.0,
    "catalog.cas": 10.0,
    "catalog.append": 10.0,
    "catalog.append_failure": 30.0,
    "manifest_list.read": 3.0,
    "manifest_list.write": 7.0,
    "manifest_list.append": 2.0,
    "manifest_file.read": 5.0,
    "manifest_file.write": 11.0,
}


@pytest.fixture
def fixed_store() -> Callable[..., ProfileStorageProvider]:
    """A maker of stores with all operations, whose every latency is a known constant."""

    def make(
        latency_ms: Mapping[str, float] | None = None,
        *,
        effect_point: float = 0.5,
        max_parallel: int = 4,
        provider: str = "instant",
        cls: type[ProfileStorageProvider] = ProfileStorageProvider,
    ) -> ProfileStorageProvider:
        fixed = {name: FixedLatency(ms) for name, ms in {**FIXED_MS, **(latency_ms or {})}.items()}
        rng = np.random.RandomState(0)
        if cls is ProfileStorageProvider:
            return create_provider(
                provider,
                rng,
                load_profiles(),
                latency=fixed,
                effect_point=effect_point,
                min_latency_ms=0.0,
                max_parallel=max_parallel,
            )
        return cls(
            rng,
            load_profiles()[provider],
            latency=fixed,
            effect_point=effect_point,
            min_latency_ms=0.0,
            max_parallel=max_parallel,
        )

    return make
