"""Configuration (§7): TOML in, a valid `SimulationConfig` out, and the experiment's identity."""

from endive.config.build import build_simulation_config, load_simulation_config
from endive.config.identity import compute_experiment_hash, render_config
from endive.config.profiles import PROVIDER_PROFILES
from endive.config.resolve import ResolvedConfig, load_config, resolve_config
from endive.config.schema import schema_keys

__all__ = [
    "PROVIDER_PROFILES",
    "ResolvedConfig",
    "build_simulation_config",
    "compute_experiment_hash",
    "load_config",
    "load_simulation_config",
    "render_config",
    "resolve_config",
    "schema_keys",
]
