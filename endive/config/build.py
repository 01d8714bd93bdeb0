"""The composition root (§7.1): builds all parts and hands each its own random stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from endive.catalog import AppendCatalog, CASCatalog, Catalog, InstantCatalog
from endive.config.profiles import PROVIDER_PROFILES
from endive.config.resolve import ResolvedConfig, load_config
from endive.conflict_detector import (
    ConflictDetector,
    PartitionOverlapConflictDetector,
    ProbabilisticConflictDetector,
)
from endive.errors import InputError, Problem
from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalDriven,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)
from endive.simulation import SimulationConfig
from endive.storage import ObjectSizes, ProfileStorageProvider, create_provider
from endive.utils import Purpose, draw_seed, random_stream
from endive.workload import (
    UniformPartitionSelector,
    UniformTableSelector,
    Workload,
    WorkloadConfig,
    ZipfPartitionSelector,
    ZipfTableSelector,
)

Table = Mapping[str, Any]


def load_simulation_config(
    config_path: str, *, seed_override: int | None = None
) -> SimulationConfig:
    """Load and validate TOML config. The ONLY entry point for configuration."""
    resolved = load_config(config_path)
    seed = resolved.seed if seed_override is None else seed_override
    return build_simulation_config(resolved, draw_seed() if seed is None else seed)


def build_simulation_config(resolved: ResolvedConfig, seed: int) -> SimulationConfig:
    """Everything a run needs, drawing from the streams of this seed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError([Problem(f"must be a whole number of at least 0, not {seed!r}", "seed")])
    values = resolved.values
    catalog, transaction = values["catalog"], values["transaction"]
    backoff = transaction["retry_backoff"]
    partitions_per_table = _partitions_per_table(catalog)
    storage = _storage(values["storage"], seed)
    return SimulationConfig(
        duration_ms=resolved.duration_ms,
        seed=seed,
        storage_provider=storage,
        catalog=_catalog(catalog, storage, partitions_per_table),
        workload=Workload(_workload(catalog, transaction, partitions_per_table), seed),
        conflict_detector=_detector(transaction, seed),
        max_retries=transaction["retry"],
        ml_append_mode=transaction["manifest_list_mode"] == "append",
        backoff_enabled=backoff["enabled"],
        backoff_base_ms=backoff["base_ms"],
        backoff_multiplier=backoff["multiplier"],
        backoff_max_ms=backoff["max_ms"],
        backoff_jitter=backoff["jitter"],
        # Only the append catalog has a log; elsewhere the size of its records is left as it is.
        **({"log_entry_size": catalog["log_entry_size"]} if "log_entry_size" in catalog else {}),
    )


def _partitions_per_table(catalog: Table) -> tuple[int, ...]:
    partitions = catalog.get("partitions", {"num_partitions": 1})
    if "per_table" in partitions:
        return tuple(partitions["per_table"])
    return (int(partitions["num_partitions"]),) * int(catalog["num_tables"])


def _storage(storage: Table, seed: int) -> ProfileStorageProvider:
    latency = {
        f"{artifact}.{operation}": _distribution(table)
        for artifact, operations in storage.get("latency", {}).items()
        for operation, table in operations.items()
    }
    return create_provider(
        storage["provider"],
        random_stream(seed, Purpose.STORAGE),
        PROVIDER_PROFILES,
        latency=latency,
        effect_point=storage.get("effect_point"),
        min_latency_ms=storage.get("min_latency_ms"),
        max_parallel=storage["max_parallel"],
        sizes=ObjectSizes(**storage["sizes"]),
    )


def _catalog(
    catalog: Table, storage: ProfileStorageProvider, partitions_per_table: tuple[int, ...]
) -> Catalog:
    num_tables = catalog["num_tables"]
    if catalog["type"] == "instant":
        return InstantCatalog(num_tables, partitions_per_table, effect_point=storage.effect_point)
    if catalog["type"] == "append":
        return AppendCatalog(
            storage,
            num_tables,
            partitions_per_table,
            max_physical_retries=catalog["append_max_physical_retries"],
        )
    return CASCatalog(storage, num_tables, partitions_per_table)


def _workload(
    catalog: Table, transaction: Table, partitions_per_table: tuple[int, ...]
) -> WorkloadConfig:
    weights = transaction["operation_types"]
    tables = transaction["table_selector"]
    # Without [catalog.partitions] there is no such table, and partitions are not tracked.
    partitions = transaction.get("partition_selector")
    return WorkloadConfig(
        inter_arrival=_distribution(transaction["inter_arrival"]),
        runtime=_runtime(transaction["runtime"]),
        num_tables=catalog["num_tables"],
        partitions_per_table=partitions_per_table,
        fast_append_weight=weights["fast_append"],
        merge_append_weight=weights["merge_append"],
        validated_overwrite_weight=weights["validated_overwrite"],
        tables_per_txn=transaction["tables_per_txn"],
        table_selector=(
            ZipfTableSelector(tables["alpha"], tables["write_fraction"])
            if tables["type"] == "zipf"
            else UniformTableSelector(tables["write_fraction"])
        ),
        partitions_per_txn=transaction.get("partitions_per_txn"),
        partition_selector=(
            None
            if partitions is None
            else ZipfPartitionSelector(partitions["alpha"], partitions["write_fraction"])
            if partitions["type"] == "zipf"
            else UniformPartitionSelector(partitions["write_fraction"])
        ),
        manifests_per_concurrent_commit=transaction["manifests_per_concurrent_commit"],
    )


def _runtime(table: Table) -> LatencyDistribution:
    variable, offset_ms = _distribution(table), float(table["min"])
    if isinstance(variable, FixedLatency):
        return FixedLatency(variable.latency_ms + offset_ms)
    return ShiftedLatency(variable, offset_ms) if offset_ms > 0.0 else variable


def _distribution(table: Table) -> NormalDriven | FixedLatency:
    """A distribution over the floor 0; a store raises it to its own."""
    family = table["distribution"]
    if family == "fixed":
        return FixedLatency(table["value"])
    if family == "normal":
        return NormalLatency(table["mean"], table["std_dev"], 0.0)
    if family == "exponential":
        return ExponentialLatency(table["scale"], 0.0)
    if family == "uniform":
        return UniformLatency(table["low"], table["high"], 0.0)
    if family == "size_based":
        return SizeBasedLatency(table["base"], table["per_mib"], table["sigma"], 0.0)
    if "median" in table:
        return LognormalLatency.from_median(table["median"], table["sigma"], min_latency_ms=0.0)
    return LognormalLatency.from_mean(table["mean"], table["sigma"], min_latency_ms=0.0)


def _detector(transaction: Table, seed: int) -> ConflictDetector:
    if transaction["conflict_detector"] == "partition_overlap":
        return PartitionOverlapConflictDetector()
    return ProbabilisticConflictDetector(
        transaction["real_conflict_probability"], random_stream(seed, Purpose.CONFLICT)
    )
