"""The composition root (§7.1): builds all parts and hands each its own random stream."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from endive.catalog import AppendCatalog, CASCatalog, InstantCatalog, PointerCatalog
from endive.catalog.lists import ManifestLists
from endive.config.distributions import build_distribution
from endive.config.loads import build_loads, build_workload
from endive.config.profiles import PROVIDER_PROFILES
from endive.config.resolve import ResolvedConfig, load_config
from endive.conflict_detector import (
    ConflictDetector,
    PartitionOverlapConflictDetector,
    ProbabilisticConflictDetector,
)
from endive.cost_model import ConflictCost, Growth, payment
from endive.errors import InputError, Problem
from endive.simulation import SimulationConfig
from endive.storage import ObjectSizes, ProfileStorageProvider, create_provider
from endive.transaction import CommitOptions
from endive.utils import Purpose, draw_seed, random_stream
from endive.workload import assign_groups

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
    # The specification's own table is what every transaction has anyway, and the express lane knows it.
    table = None if transaction["cost_table"] == "spec-2.0" else resolved.cost_table
    built = _catalog(values, storage, partitions_per_table, seed)
    conflict_rng = random_stream(seed, Purpose.CONFLICT)
    topology = (values, partitions_per_table, seed, table)
    loads = build_loads(*topology)
    return SimulationConfig(
        duration_ms=resolved.duration_ms,
        seed=seed,
        storage_provider=storage,
        catalog=built,
        workload=loads[0].workload if loads else build_workload(*topology),
        loads=loads,
        conflict_detector=_detector(transaction, conflict_rng),
        options=_options(values, storage, built, conflict_rng),
        backoff_jitter_mode=backoff["jitter_mode"],
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
        f"{artifact}.{operation}": build_distribution(table)
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
        charges_transfer=storage["size_growth"],
    )


def _catalog(
    values: Table,
    storage: ProfileStorageProvider,
    partitions_per_table: tuple[int, ...],
    seed: int,
) -> PointerCatalog | AppendCatalog:
    catalog = values["catalog"]
    # None where objects keep their sizes.
    growth = values["storage"].get("growth", {}).get("catalog_per_table")
    num_tables, num_groups = catalog["num_tables"], catalog["num_groups"]
    group_of = assign_groups(num_tables, num_groups, seed) if num_groups > 1 else ()
    manifests = catalog["manifests_per_table"]
    if catalog["type"] == "instant":
        return InstantCatalog(
            num_tables,
            partitions_per_table,
            effect_point=storage.effect_point,
            granularity=catalog["conflict_granularity"],
            manifests_per_table=manifests,
            group_of=group_of,
        )
    if catalog["type"] == "append":
        return AppendCatalog(
            storage,
            num_tables,
            partitions_per_table,
            max_physical_retries=catalog["append_max_physical_retries"],
            append_offset=catalog["append_offset"],
            compaction_threshold=catalog["compaction_threshold"],
            compaction_max_entries=catalog["compaction_max_entries"],
            manifests_per_table=manifests,
            group_of=group_of,
            growth=growth,
        )
    return CASCatalog(
        storage,
        num_tables,
        partitions_per_table,
        granularity=catalog["conflict_granularity"],
        manifests_per_table=manifests,
        group_of=group_of,
        growth=growth,
    )


def _detector(transaction: Table, rng: np.random.RandomState) -> ConflictDetector:
    if transaction["conflict_detector"] == "partition_overlap":
        return PartitionOverlapConflictDetector()
    return ProbabilisticConflictDetector(
        transaction["real_conflict_probability"],
        rng,
        per_commit=transaction["real_conflict_unit"] == "commit",
    )


def _options(
    values: Table,
    storage: ProfileStorageProvider,
    built: PointerCatalog | AppendCatalog,
    conflict_rng: np.random.RandomState,
) -> CommitOptions:
    catalog, transaction = values["catalog"], values["transaction"]
    lists = None
    if transaction.get("manifest_list_append") == "offset":
        rewriting = ConflictCost(manifest_list_reads=1, manifest_list_writes=1)
        lists = ManifestLists(
            storage,
            built.state,
            catalog["num_tables"],
            entry_size=transaction["manifest_list_entry_size"],
            seal_threshold=transaction["manifest_list_seal_threshold"],
            rewrite=partial(payment, storage, rewriting),
        )
    restarts = transaction["on_validation_exception"] == "restart"
    return CommitOptions(
        history_scope=catalog["history_scope"],
        metadata_inlined=catalog["table_metadata_inlined"],
        serializable=transaction["isolation"] == "serializable",
        retry_timeout_ms=transaction.get("retry_timeout_ms"),
        max_restarts=transaction["max_restarts"] if restarts else 0,
        conflict_rng=conflict_rng,
        manifest_lists=lists,
        growth=_growth(values["storage"]),
    )


def _growth(storage: Table) -> Growth | None:
    growth = storage.get("growth")
    if growth is None:
        return None
    return Growth(
        growth["manifest_list_per_commit"],
        # Where metadata is inlined there are no objects that could grow.
        growth.get("table_metadata_per_snapshot", 0),
    )
