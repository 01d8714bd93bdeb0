"""Settings of one naive run: the parsed TOML with every documented default filled in (MODEL.md 6).

The configuration is taken to be valid. What is missing gets its default, what is present is
believed; refusing bad files is the business of the shipped engine. Transactions and classes of
load have a module of their own.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .config_load import (
    ClassSettings,
    Distribution,
    ScriptedSubmission,
    TransactionSettings,
    class_settings,
    submissions,
    transaction_settings,
)

PROVIDERS_DIR = Path(__file__).resolve().parents[2] / "endive" / "providers"

# Which figure of a provider profile serves which operation (MODEL.md 3), where the profile has it.
PROFILE_FIGURE_OF_OPERATION = {
    ("catalog", "read"): "cas",
    ("catalog", "cas"): "cas",
    ("catalog", "cas_failure"): "cas_failure",
    ("catalog", "append"): "append",
    ("catalog", "append_failure"): "append_failure",
    ("catalog", "compaction"): "cas",
    ("table_metadata", "read"): "put",
    ("table_metadata", "write"): "put",
    ("manifest_list", "read"): "put",
    ("manifest_list", "write"): "put",
    ("manifest_list", "append"): "append",
    ("manifest_list", "append_failure"): "append_failure",
    ("manifest_file", "read"): "put",
    ("manifest_file", "write"): "put",
}


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What the store costs: distributions by (artifact, operation), sizes, floor, effect point.

    `growth_bytes` is None where sizes are constant. `configured` are the operations whose
    distribution is not the profile's own.
    """

    latencies: dict[tuple[str, str], Distribution]
    configured: set[tuple[str, str]]
    put_ms_per_mib: float
    size_bytes: dict[str, int]
    growth_bytes: dict[str, int] | None
    log_entry_size_bytes: int
    min_latency_ms: float
    effect_point: float
    max_parallel: int


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """The kind of catalog and its topology; `tracks_partitions` is False without the section."""

    kind: str
    partitions_per_table: tuple[int, ...]
    tracks_partitions: bool
    manifests_per_table: int
    table_metadata_inlined: bool
    conflict_granularity: str
    history_scope: str
    num_groups: int
    append_max_physical_retries: int
    append_offset: str
    compaction_threshold_bytes: int
    compaction_max_entries: int


@dataclass(frozen=True, slots=True)
class Settings:
    """All of one run except its seed."""

    duration_ms: float
    store: StoreSettings
    catalog: CatalogSettings
    transaction: TransactionSettings
    classes: list[ClassSettings]
    script: list[ScriptedSubmission]


def settings_from(config: dict[str, Any]) -> Settings:
    """Fill in the defaults of a parsed configuration."""
    storage = config["storage"]
    catalog = config.get("catalog", {})
    transaction = config.get("transaction", {})
    workload = config.get("workload", {})
    # With neither classes nor a script, the transactions of `[transaction]` are the only load.
    nothing_else: list[dict[str, Any]] = [{"name": "default", "kind": "open"}]
    classes = workload.get("class", [] if "script" in workload else nothing_else)
    return Settings(
        duration_ms=float(config["simulation"]["duration_ms"]),
        store=_store_settings(storage, catalog),
        catalog=_catalog_settings(catalog, storage["provider"]),
        transaction=transaction_settings(transaction),
        classes=[class_settings(load, transaction) for load in classes],
        script=submissions(workload.get("script", [])),
    )


def _store_settings(storage: dict[str, Any], catalog: dict[str, Any]) -> StoreSettings:
    profile = tomllib.loads((PROVIDERS_DIR / f"{storage['provider']}.toml").read_text("utf-8"))
    latencies: dict[tuple[str, str], Distribution] = {}
    for operation, figure in PROFILE_FIGURE_OF_OPERATION.items():
        if figure in profile["latency"]:
            latencies[operation] = _figures_only(profile["latency"][figure])
    configured: set[tuple[str, str]] = set()
    for artifact, overrides in storage.get("latency", {}).items():
        for operation_name, distribution in overrides.items():
            latencies[artifact, operation_name] = distribution
            configured.add((artifact, operation_name))
    sizes = storage.get("sizes", {})
    growth = storage.get("growth", {})
    growth_bytes = {
        "manifest_list_per_commit": growth.get("manifest_list_per_commit", 50),
        "table_metadata_per_snapshot": growth.get("table_metadata_per_snapshot", 500),
        "catalog_per_table": growth.get("catalog_per_table", 200),
    }
    return StoreSettings(
        latencies=latencies,
        configured=configured,
        put_ms_per_mib=float(profile["latency"]["put"]["per_mib"]["value"]),
        size_bytes={
            "catalog": sizes.get("catalog", 16_384),
            "table_metadata": sizes.get("table_metadata", 16_384),
            "manifest_list": sizes.get("manifest_list", 16_384),
            "manifest_file": sizes.get("manifest_file", 65_536),
        },
        growth_bytes=growth_bytes if storage.get("size_growth", False) else None,
        log_entry_size_bytes=catalog.get("log_entry_size", 100),
        min_latency_ms=float(storage.get("min_latency_ms", profile["min_latency_ms"]["value"])),
        effect_point=float(storage.get("effect_point", profile["effect_point"]["value"])),
        max_parallel=storage.get("max_parallel", 4),
    )


def _figures_only(profile_distribution: dict[str, Any]) -> Distribution:
    # A profile wraps each figure together with its source; only the figure matters here.
    figures: Distribution = {"distribution": profile_distribution["distribution"]}
    for name, entry in profile_distribution.items():
        if name != "distribution":
            figures[name] = entry["value"]
    return figures


def _catalog_settings(catalog: dict[str, Any], provider: str) -> CatalogSettings:
    partitions = catalog.get("partitions")
    if partitions is None:
        partitions_per_table = [1] * catalog.get("num_tables", 1)
    elif "per_table" in partitions:
        partitions_per_table = list(partitions["per_table"])
    else:
        num_partitions = partitions.get("num_partitions", 1)
        partitions_per_table = [num_partitions] * catalog.get("num_tables", 1)
    default_kind = "instant" if provider == "instant" else "cas"
    return CatalogSettings(
        # `mode` is another name for `type`.
        kind=catalog.get("type", catalog.get("mode", default_kind)),
        partitions_per_table=tuple(partitions_per_table),
        tracks_partitions=partitions is not None,
        manifests_per_table=catalog.get("manifests_per_table", 3),
        table_metadata_inlined=catalog.get("table_metadata_inlined", True),
        conflict_granularity=catalog.get("conflict_granularity", "catalog"),
        history_scope=catalog.get("history_scope", "catalog"),
        num_groups=catalog.get("num_groups", 1),
        append_max_physical_retries=catalog.get("append_max_physical_retries", 100),
        append_offset=catalog.get("append_offset", "snapshot"),
        compaction_threshold_bytes=catalog.get("compaction_threshold", 16_000_000),
        compaction_max_entries=catalog.get("compaction_max_entries", 0),
    )
