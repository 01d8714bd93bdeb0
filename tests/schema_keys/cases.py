"""For every key of the configuration a change that must show, and the setting in which it shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from schema_keys.change import FAMILIES, FAMILY_OF, Change
from schema_keys.loads import LOAD_CHANGES
from schema_keys.script import SCRIPT_CHANGES

# Keys that say where results go. They must change nothing in them.
LABELS = {
    "simulation.output_path": ("a.parquet", "b.parquet"),
    "experiment.label": ("one", "two"),
}

APPEND = {"catalog.type": "append", "catalog.num_tables": 3}
ML_APPEND = {"transaction.manifest_list_mode": "append"}
TABLES = {"catalog.num_tables": 4, "transaction.tables_per_txn": 2}
PARTITIONS = {"catalog.partitions": {"num_partitions": 4}, "transaction.partitions_per_txn": 2}
BACKOFF = {"transaction.retry_backoff.enabled": True}
ZIPF_TABLES = {"catalog.num_tables": 4, "transaction.table_selector.type": "zipf"}
ZIPF_PARTITIONS = {
    "catalog.partitions": {"num_partitions": 4},
    "transaction.partition_selector.type": "zipf",
}
METADATA = {"catalog.table_metadata_inlined": False}
GROWTH = {"storage.size_growth": True}
GRANULAR = {"catalog.conflict_granularity": "table"}
SERIALIZABLE = {
    "catalog.num_tables": 4,
    "transaction.tables_per_txn": 2,
    "transaction.table_selector.write_fraction": 0.5,
}
JAVA = {"transaction.cost_table": "iceberg-java"}
LIST_OFFSETS = ML_APPEND | {"transaction.manifest_list_append": "offset"}
REAL_CONFLICTS = {"transaction.real_conflict_probability": 0.5}
SIZED_CATALOG = {
    "storage.latency.catalog.read": {
        "distribution": "size_based",
        "base": 10.0,
        "per_mib": 100.0,
        "sigma": 0.1,
    }
}


CHANGES: dict[str, Change] = {
    "simulation.duration_ms": Change(1000.0, 500.0),
    "simulation.seed": Change(7, 8),
    "storage.provider": Change("s3x", "azure"),
    "storage.effect_point": Change(0.5, 1.0),
    "storage.min_latency_ms": Change(10.0, 25.0),
    "storage.max_parallel": Change(4, 1),
    "storage.sizes.catalog": Change(16_384, 2**20, SIZED_CATALOG),
    "storage.sizes.manifest_list": Change(16_384, 2**20),
    "storage.sizes.manifest_file": Change(65_536, 2**20),
    "storage.sizes.table_metadata": Change(16_384, 2**20, METADATA),
    "storage.size_growth": Change(False, True),
    "storage.growth.manifest_list_per_commit": Change(50, 2**16, GROWTH),
    "storage.growth.table_metadata_per_snapshot": Change(500, 2**16, GROWTH | METADATA),
    "storage.growth.catalog_per_table": Change(200, 2**20, GROWTH),
    "catalog.num_tables": Change(1, 4),
    "catalog.table_metadata_inlined": Change(True, False),
    "catalog.conflict_granularity": Change("catalog", "table", {"catalog.num_tables": 4}),
    "catalog.num_groups": Change(1, 2, TABLES),
    "catalog.history_scope": Change("catalog", "table", {"catalog.num_tables": 4}),
    "catalog.manifests_per_table": Change(3, 99, JAVA),
    "catalog.append_offset": Change("snapshot", "latest", APPEND),
    "catalog.compaction_threshold": Change(16_000_000, 300, APPEND),
    "catalog.compaction_max_entries": Change(0, 3, APPEND),
    "catalog.type": Change("cas", "append"),
    "catalog.mode": Change("cas", "append"),
    "catalog.partitions.num_partitions": Change(1, 8),
    "catalog.partitions.per_table": Change([4, 4], [4, 1], {"catalog.num_tables": 2}),
    "catalog.append_max_physical_retries": Change(100, 0, APPEND),
    # The size of a record matters to a latency that depends on it.
    "catalog.log_entry_size": Change(
        100,
        2**20,
        APPEND
        | {
            "storage.latency.catalog.append": {
                "distribution": "size_based",
                "base": 20.0,
                "per_mib": 100.0,
                "sigma": 0.1,
            }
        },
    ),
    "transaction.retry": Change(4, 0),
    "transaction.runtime.min": Change(0.0, 30.0),
    "transaction.conflict_detector": Change("probabilistic", "partition_overlap"),
    "transaction.real_conflict_probability": Change(0.0, 1.0),
    "transaction.manifest_list_mode": Change("rewrite", "append"),
    "transaction.manifests_per_concurrent_commit": Change(1.5, 4.0),
    "transaction.tables_per_txn": Change(1, 3, {"catalog.num_tables": 4}),
    "transaction.table_selector.type": Change("uniform", "zipf", TABLES),
    "transaction.table_selector.alpha": Change(1.5, 0.5, ZIPF_TABLES),
    "transaction.table_selector.write_fraction": Change(1.0, 0.5, TABLES),
    "transaction.partitions_per_txn": Change(1, 3, {"catalog.partitions": {"num_partitions": 4}}),
    "transaction.partition_selector.type": Change("uniform", "zipf", PARTITIONS),
    "transaction.partition_selector.alpha": Change(1.5, 0.5, ZIPF_PARTITIONS),
    "transaction.partition_selector.write_fraction": Change(1.0, 0.5, PARTITIONS),
    "transaction.operation_types.fast_append": Change(1.0, 3.0),
    "transaction.operation_types.merge_append": Change(1.0, 3.0),
    "transaction.operation_types.validated_overwrite": Change(1.0, 3.0),
    # Each needs a table that prices it; the crowd's own three are priced by it, too.
    **{
        f"transaction.operation_types.{name}": Change(0.0, 3.0, JAVA)
        for name in (
            "row_delta",
            "rewrite_files",
            "replace_partitions",
            "replace_partitions_validated",
            "overwrite_unvalidated",
        )
    },
    "transaction.operation_types.delete_partition": Change(
        0.0,
        3.0,
        {
            "transaction.cost_table": "pyiceberg",
            "transaction.operation_types": {"fast_append": 1.0},
        },
    ),
    "transaction.cost_table": Change("spec-2.0", "iceberg-java"),
    "transaction.real_conflict_unit": Change("attempt", "commit", REAL_CONFLICTS),
    "transaction.on_validation_exception": Change("abort", "restart", REAL_CONFLICTS),
    "transaction.max_restarts": Change(
        1, 3, REAL_CONFLICTS | {"transaction.on_validation_exception": "restart"}
    ),
    "transaction.retry_timeout_ms": Change(50.0, 100.0),
    "transaction.retry_preset": Change(None, "iceberg"),
    "transaction.isolation": Change("snapshot", "serializable", SERIALIZABLE | GRANULAR),
    "transaction.manifest_list_append": Change("tail", "offset", ML_APPEND),
    "transaction.manifest_list_entry_size": Change(
        50,
        2**20,
        LIST_OFFSETS
        | {
            "storage.latency.manifest_list.append": {
                "distribution": "size_based",
                "base": 20.0,
                "per_mib": 100.0,
                "sigma": 0.1,
            }
        },
    ),
    "transaction.manifest_list_seal_threshold": Change(0, 200, LIST_OFFSETS),
    "transaction.retry_backoff.jitter_mode": Change("both", "up", BACKOFF),
    "transaction.retry_backoff.enabled": Change(False, True),
    "transaction.retry_backoff.base_ms": Change(10.0, 20.0, BACKOFF),
    "transaction.retry_backoff.multiplier": Change(2.0, 3.0, BACKOFF),
    "transaction.retry_backoff.max_ms": Change(5000.0, 10.0, BACKOFF),
    "transaction.retry_backoff.jitter": Change(0.1, 0.0, BACKOFF),
}

# Where distributions stand, and the setting in which each is drawn from.
DISTRIBUTIONS: dict[str, Mapping[str, Any]] = {
    "storage.latency.catalog.read": {},
    "storage.latency.catalog.cas": {},
    "storage.latency.catalog.cas_failure": {},
    "storage.latency.catalog.append": APPEND,
    "storage.latency.catalog.append_failure": APPEND,
    "storage.latency.catalog.compaction": APPEND | {"catalog.compaction_max_entries": 3},
    "storage.latency.manifest_list.read": {},
    "storage.latency.manifest_list.write": {},
    "storage.latency.manifest_list.append": ML_APPEND,
    "storage.latency.manifest_list.append_failure": LIST_OFFSETS,
    "storage.latency.table_metadata.read": METADATA,
    "storage.latency.table_metadata.write": METADATA,
    "storage.latency.manifest_file.read": {},
    "storage.latency.manifest_file.write": {},
    "transaction.runtime": {},
    "transaction.inter_arrival": {},
}
# The old names of some of them, and the setting in which each is drawn from.
OLD_LATENCIES: dict[str, Mapping[str, Any]] = {
    "storage.T_CAS": {},
    "storage.T_APPEND": APPEND,
    "storage.T_COMPACTION": APPEND | {"catalog.compaction_max_entries": 3},
    "storage.T_MANIFEST_LIST.read": {},
    "storage.T_MANIFEST_LIST.write": {},
    "storage.T_MANIFEST_FILE.read": {},
    "storage.T_MANIFEST_FILE.write": {},
    "storage.T_TABLE_METADATA.read": METADATA,
    "storage.T_TABLE_METADATA.write": METADATA,
}


def _distribution_changes(table: str, where: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    """A change of the family, and of each parameter within a family that has it."""
    fixed = {"distribution": "fixed"} | dict(FAMILIES["fixed"])
    scaled = {"distribution": "exponential"} | dict(FAMILIES["exponential"])
    yield f"{table}.distribution", Change(fixed, scaled, where)
    for name, family in FAMILY_OF.items():
        # Only stores know sizes.
        if family == "size_based" and not table.startswith("storage."):
            continue
        parameters = {"distribution": family} | dict(FAMILIES[family])
        changed = parameters | {name: parameters[name] * 1.25}
        yield f"{table}.{name}", Change(parameters, changed, where)


def all_changes() -> dict[str, tuple[str, Change]]:
    """By key: what is set (the key itself, or the whole distribution it belongs to) and its change."""
    changes = {key: (key, change) for key, change in CHANGES.items()}
    for table, where in DISTRIBUTIONS.items():
        for key, change in _distribution_changes(table, where):
            changes[key] = (table, change)
    for key, change in LOAD_CHANGES.items():
        changes[key] = ("workload.class", change)
    for key, change in SCRIPT_CHANGES.items():
        changes[key] = ("workload.script", change)
    for table, where in OLD_LATENCIES.items():
        for name, before, after in (("mean", (30, 5), (40, 5)), ("stddev", (30, 5), (30, 9))):
            values = [{"mean": float(mean), "stddev": float(std)} for mean, std in (before, after)]
            changes[f"{table}.{name}"] = (table, Change(*values, where))
    return changes


def nested_config(*settings: Mapping[str, Any]) -> dict[str, Any]:
    """A nested configuration from dotted keys, later ones over earlier ones."""
    config: dict[str, Any] = {}
    for dotted in settings:
        for key, value in dotted.items():
            table = config
            *names, last = key.split(".")
            for name in names:
                table = table.setdefault(name, {})
            # TOML has no word for nothing: a key that is not there.
            if value is not None:
                table[last] = copy.deepcopy(value)
    return config
