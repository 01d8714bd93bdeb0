"""Settings of one naive run: the parsed TOML with every documented default filled in (MODEL.md 6).

The configuration is taken to be valid. What is missing gets its default, what is present is
believed; refusing bad files is the business of the shipped engine.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROVIDERS_DIR = Path(__file__).resolve().parents[2] / "endive" / "providers"

# A distribution is the plain table it is written as: its name under "distribution" and its
# parameters beside it.
Distribution = dict[str, Any]

# Which figure of a provider profile serves which operation (MODEL.md 3). There is no entry for
# `cas_failure`: no profile gives one, so only an override can bring it into being.
PROFILE_FIGURE_OF_OPERATION = {
    ("catalog", "read"): "cas",
    ("catalog", "cas"): "cas",
    ("catalog", "append"): "append",
    ("catalog", "append_failure"): "append_failure",
    ("manifest_list", "read"): "put",
    ("manifest_list", "write"): "put",
    ("manifest_list", "append"): "append",
    ("manifest_file", "read"): "put",
    ("manifest_file", "write"): "put",
}


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What the store costs: distributions by (artifact, operation), sizes, floor, effect point."""

    latencies: dict[tuple[str, str], Distribution]
    size_bytes: dict[str, int]
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
    append_max_physical_retries: int


@dataclass(frozen=True, slots=True)
class SelectorSettings:
    """How tables or partitions are chosen."""

    kind: str
    alpha: float
    write_fraction: float


@dataclass(frozen=True, slots=True)
class BackoffSettings:
    """The wait before each retry."""

    enabled: bool
    base_ms: float
    multiplier: float
    max_ms: float
    jitter: float


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """What transactions draw and how they commit."""

    max_retries: int
    runtime: Distribution
    runtime_min_ms: float
    inter_arrival: Distribution
    fast_append_weight: float
    merge_append_weight: float
    validated_overwrite_weight: float
    tables_per_txn: int
    partitions_per_txn: int
    table_selector: SelectorSettings
    partition_selector: SelectorSettings
    manifests_per_concurrent_commit: float
    ml_append_mode: bool
    conflict_detector: str
    real_conflict_probability: float
    backoff: BackoffSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """All of one run except its seed."""

    duration_ms: float
    store: StoreSettings
    catalog: CatalogSettings
    transaction: TransactionSettings


def settings_from(config: dict[str, Any]) -> Settings:
    """Fill in the defaults of a parsed configuration."""
    storage = config["storage"]
    catalog = config.get("catalog", {})
    return Settings(
        duration_ms=float(config["simulation"]["duration_ms"]),
        store=_store_settings(storage, catalog),
        catalog=_catalog_settings(catalog, storage["provider"]),
        transaction=_transaction_settings(config.get("transaction", {})),
    )


def _store_settings(storage: dict[str, Any], catalog: dict[str, Any]) -> StoreSettings:
    profile = tomllib.loads((PROVIDERS_DIR / f"{storage['provider']}.toml").read_text("utf-8"))
    latencies: dict[tuple[str, str], Distribution] = {}
    for operation, figure in PROFILE_FIGURE_OF_OPERATION.items():
        if figure in profile["latency"]:
            latencies[operation] = _figures_only(profile["latency"][figure])
    for artifact, overrides in storage.get("latency", {}).items():
        for operation_name, distribution in overrides.items():
            latencies[artifact, operation_name] = distribution
    sizes = storage.get("sizes", {})
    return StoreSettings(
        latencies=latencies,
        size_bytes={
            "catalog": sizes.get("catalog", 16_384),
            "manifest_list": sizes.get("manifest_list", 16_384),
            "manifest_file": sizes.get("manifest_file", 65_536),
        },
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
        append_max_physical_retries=catalog.get("append_max_physical_retries", 100),
    )


def _transaction_settings(transaction: dict[str, Any]) -> TransactionSettings:
    # An absent section means the default mix; in a present one, what is not named is not wanted.
    default_weights = {"fast_append": 0.7, "merge_append": 0.2, "validated_overwrite": 0.1}
    weights = transaction.get("operation_types", default_weights)
    runtime = dict(transaction.get("runtime", {}))
    runtime_min_ms = float(runtime.pop("min", 0.0))
    runtime.setdefault("distribution", "lognormal")
    if runtime["distribution"] == "lognormal":
        runtime.setdefault("sigma", 1.5)
        if "median" not in runtime:
            runtime.setdefault("mean", 180_000.0)
    inter_arrival = dict(transaction.get("inter_arrival", {}))
    inter_arrival.setdefault("distribution", "exponential")
    if inter_arrival["distribution"] == "exponential":
        inter_arrival.setdefault("scale", 100.0)
    backoff = transaction.get("retry_backoff", {})
    return TransactionSettings(
        max_retries=transaction.get("retry", 10),
        runtime=runtime,
        runtime_min_ms=runtime_min_ms,
        inter_arrival=inter_arrival,
        fast_append_weight=float(weights.get("fast_append", 0.0)),
        merge_append_weight=float(weights.get("merge_append", 0.0)),
        validated_overwrite_weight=float(weights.get("validated_overwrite", 0.0)),
        tables_per_txn=transaction.get("tables_per_txn", 1),
        partitions_per_txn=transaction.get("partitions_per_txn", 1),
        table_selector=_selector_settings(transaction.get("table_selector", {})),
        partition_selector=_selector_settings(transaction.get("partition_selector", {})),
        manifests_per_concurrent_commit=float(
            transaction.get("manifests_per_concurrent_commit", 1.5)
        ),
        ml_append_mode=transaction.get("manifest_list_mode", "rewrite") == "append",
        conflict_detector=transaction.get("conflict_detector", "probabilistic"),
        real_conflict_probability=float(transaction.get("real_conflict_probability", 0.0)),
        backoff=BackoffSettings(
            enabled=backoff.get("enabled", False),
            base_ms=float(backoff.get("base_ms", 10.0)),
            multiplier=float(backoff.get("multiplier", 2.0)),
            max_ms=float(backoff.get("max_ms", 5000.0)),
            jitter=float(backoff.get("jitter", 0.1)),
        ),
    )


def _selector_settings(selector: dict[str, Any]) -> SelectorSettings:
    return SelectorSettings(
        kind=selector.get("type", "uniform"),
        alpha=float(selector.get("alpha", 1.5)),
        write_fraction=float(selector.get("write_fraction", 1.0)),
    )
