"""How hard the property tests try: the Hypothesis profile in `HYPOTHESIS_PROFILE` (`ci`, `dev` or `nightly`).

The profiles are those of `tests/`, so that both can run together. What differs from test to test is how many examples it can
afford; a profile multiplies that.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
_FACTORS = {"dev": 0.25, "ci": 1.0, "nightly": 20.0}


def load_profile() -> None:
    """Register all profiles and choose the one asked for."""
    # `ci` has the same examples every time, on every machine; the others have fresh ones.
    settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
    settings.register_profile("dev", max_examples=25, deadline=None)
    settings.register_profile("nightly", max_examples=2_000, deadline=None, print_blob=True)
    settings.load_profile(PROFILE)


def examples(count: int) -> int:
    """How many examples under this profile, for a test that has `count` in CI."""
    return max(3, round(count * _FACTORS.get(PROFILE, 1.0)))


def rounds() -> int:
    """How often a corpus is drawn at most, until everything in it has had something to look at.

    A few fresh examples may lack what is rare, which says nothing about the code, so there are more; the same examples once more
    would be no others.
    """
    return 1 if PROFILE == "ci" else 8
