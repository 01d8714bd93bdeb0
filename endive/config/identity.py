"""What makes two runs one experiment (§7.3): a hash of what shapes results, and its text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from endive.config.prices import is_file
from endive.config.profiles import PROVIDER_PROFILES
from endive.config.resolve import ResolvedConfig

_HASH_DIGITS = 6
COST_TABLE_FILE = "cost_table.yaml"
"""What a user's own cost table is called beside the configuration that is stored with results."""


def compute_experiment_hash(config: ResolvedConfig) -> str:
    """Six hex digits of every setting, the provider's profile and the cost table, without seed, path and label."""
    values = _without(config, "simulation.seed", "simulation.output_path", "experiment.label")
    if is_file(values["transaction"]["cost_table"]):
        # Its content counts, not where it lies.
        values["transaction"]["cost_table"] = COST_TABLE_FILE
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    profile = PROVIDER_PROFILES[values["storage"]["provider"]]
    digest = hashlib.sha256(f"{canonical}\n{profile.text}\n{config.cost_table.text}".encode())
    return digest.hexdigest()[:_HASH_DIGITS]


def render_config(resolved: ResolvedConfig) -> str:
    """The complete configuration as TOML, without seed and output path; it has the same hash."""
    # Needed once per experiment; `endive --help` does without.
    import tomli_w

    values = _without(resolved, "simulation.seed", "simulation.output_path")
    if is_file(values["transaction"]["cost_table"]):
        values["transaction"]["cost_table"] = COST_TABLE_FILE
    return tomli_w.dumps(values)


def _without(config: ResolvedConfig, *keys: str) -> dict[str, Any]:
    """The values except these keys, and except tables that are empty without them."""
    values = {name: dict(table) for name, table in config.values.items()}
    for key in keys:
        table, _, name = key.partition(".")
        values.get(table, {}).pop(name, None)
    return {name: table for name, table in values.items() if table}
