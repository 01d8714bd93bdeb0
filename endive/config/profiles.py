"""The provider profiles that a configuration can name (§1.4)."""

from __future__ import annotations

from endive.profiles import ProviderProfile, load_fitted_profiles, load_profiles

PROVIDER_PROFILES: dict[str, ProviderProfile] = load_profiles() | load_fitted_profiles()
"""Every shipped profile by its short name: the specification's, then the fitted ones."""
