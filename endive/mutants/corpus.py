"""Configurations without number, for finding out whether the judge can keep silent.

Each index gives one configuration, always the same. All features take part in any combination that makes sense; the runs are
short and crowded.
"""

from __future__ import annotations

import random
from typing import Any

Config = dict[str, Any]

_OPERATIONS: dict[str, tuple[str, ...]] = {
    "spec-2.0": ("fast_append", "merge_append", "validated_overwrite"),
    "legacy": ("fast_append", "merge_append", "validated_overwrite"),
    "iceberg-review": (
        "validated_overwrite",
        "fast_append",
        "merge_append",
        "overwrite_unvalidated",
    ),
    "iceberg-java": (
        "fast_append",
        "merge_append",
        "validated_overwrite",
        "row_delta",
        "rewrite_files",
        "replace_partitions",
        "replace_partitions_validated",
        "overwrite_unvalidated",
    ),
    "pyiceberg": (
        "fast_append",
        "merge_append",
        "validated_overwrite",
        "row_delta",
        "overwrite_unvalidated",
        "delete_partition",
    ),
}
_APPENDING = ("s3x", "azure", "azurex", "instant")


def generated(index: int) -> tuple[Config, int, bool]:
    """The configuration of this index, its seed, and whether it may take the express lane."""
    pick = random.Random(index)
    provider = pick.choice(("s3x", "instant", "s3", "azurex", "azure", "gcp"))
    tables = pick.choice((1, 2, 3, 6))
    catalog: Config = {"num_tables": tables}
    transaction: Config = {"retry": pick.choice((0, 1, 3, 6))}
    storage: Config = {"provider": provider}
    config: Config = {"storage": storage, "catalog": catalog, "transaction": transaction}
    kind = _catalog(pick, provider, catalog, transaction)
    gap_ms = 4.0 if provider == "instant" else 40.0
    _times(pick, config, gap_ms)
    _prices(pick, catalog, transaction)
    _retries(pick, transaction, gap_ms)
    if provider in _APPENDING and pick.random() < 0.4:
        _lists(pick, transaction)
    if pick.random() < 0.3:
        storage["effect_point"] = pick.choice((0, 0.25, 1))
    if pick.random() < 0.3:
        storage["max_parallel"] = pick.choice((1, 2, 6))
    if pick.random() < 0.3:
        storage["min_latency_ms"] = pick.choice((0.5, 16, 64))
    if pick.random() < 0.2:
        storage["size_growth"] = True
        if kind != "instant":
            storage["growth"] = {"catalog_per_table": pick.choice((200, 2**18))}
    if pick.random() < 0.3:
        _loads(pick, config, gap_ms)
    return config, pick.randrange(2**32), pick.random() < 0.7


def _exponential(scale_ms: float) -> Config:
    return {"distribution": "exponential", "scale": scale_ms}


def _times(pick: random.Random, config: Config, gap_ms: float) -> None:
    transaction = config["transaction"]
    if pick.random() < 0.3:
        # Constants make ties, of which many effects at one instant are made.
        transaction["inter_arrival"] = {"distribution": "fixed", "value": gap_ms / 2}
        transaction["runtime"] = {"distribution": "fixed", "value": gap_ms * pick.choice((0, 2, 4))}
    else:
        transaction["inter_arrival"] = _exponential(gap_ms)
        transaction["runtime"] = _exponential(gap_ms * pick.choice((1, 3, 8)))
    config["simulation"] = {"duration_ms": gap_ms * pick.choice((1, 20, 60))}


def _catalog(pick: random.Random, provider: str, catalog: Config, transaction: Config) -> str:
    kinds = ["cas", "instant", *(["append"] if provider in _APPENDING else [])]
    kind = catalog["type"] = pick.choice(kinds)
    tables = catalog["num_tables"]
    per_txn = pick.choice((1, 1, min(2, tables)))
    groups = [count for count in range(2, tables + 1) if tables // count >= per_txn]
    if groups and pick.random() < 0.3:
        catalog["num_groups"] = pick.choice(groups)
    if per_txn > 1:
        transaction["tables_per_txn"] = per_txn
        transaction["table_selector"] = {"write_fraction": pick.choice((0.5, 1))}
    if pick.random() < 0.5:
        catalog["partitions"] = {"num_partitions": pick.choice((2, 3, 8))}
        transaction["partitions_per_txn"] = pick.choice((1, 2))
    scopes = ["catalog", "table", "partition", *(["group"] if "num_groups" in catalog else [])]
    if kind != "append" and pick.random() < 0.5:
        catalog["conflict_granularity"] = pick.choice(scopes)
    if pick.random() < 0.5:
        catalog["history_scope"] = pick.choice(scopes)
    if pick.random() < 0.3:
        transaction["isolation"] = "serializable"
    if pick.random() < 0.3:
        catalog["table_metadata_inlined"] = False
    if kind == "append":
        if pick.random() < 0.5:
            catalog["append_offset"] = "latest"
        if pick.random() < 0.5:
            catalog["compaction_max_entries"] = pick.choice((1, 2, 5))
        if pick.random() < 0.3:
            catalog["append_max_physical_retries"] = pick.choice((0, 1, 5))
    return str(kind)


def _prices(pick: random.Random, catalog: Config, transaction: Config) -> None:
    table = pick.choice(("spec-2.0", "spec-2.0", "spec-2.0", *_OPERATIONS))
    names = pick.sample(_OPERATIONS[table], pick.choice((1, 2, 3)))
    transaction["operation_types"] = {name: pick.choice((1, 2)) for name in names}
    # A table that is not named keeps the express lane open.
    if table != "spec-2.0":
        transaction["cost_table"] = table
    if pick.random() < 0.2:
        catalog["manifests_per_table"] = pick.choice((0, 95, 98))
    if pick.random() < 0.3:
        transaction["conflict_detector"] = "partition_overlap"
    else:
        transaction["real_conflict_probability"] = pick.choice((0, 0.1, 0.5, 1))
        if pick.random() < 0.3:
            transaction["real_conflict_unit"] = "commit"


def _retries(pick: random.Random, transaction: Config, gap_ms: float) -> None:
    if pick.random() < 0.3:
        base_ms = gap_ms / 4
        transaction["retry_backoff"] = {
            "enabled": True,
            "base_ms": base_ms,
            "max_ms": base_ms * pick.choice((1, 4, 64)),
            "jitter": pick.choice((0, 0.2, 1)),
        }
    if pick.random() < 0.2:
        transaction["retry_timeout_ms"] = gap_ms * pick.choice((1, 5, 20))
    if pick.random() < 0.2:
        transaction["on_validation_exception"] = "restart"
        transaction["max_restarts"] = pick.choice((1, 2))
    if pick.random() < 0.1:
        transaction["retry_preset"] = "iceberg"


def _lists(pick: random.Random, transaction: Config) -> None:
    transaction["manifest_list_mode"] = "append"
    if pick.random() < 0.5:
        transaction["manifest_list_append"] = "offset"
        transaction["manifest_list_seal_threshold"] = pick.choice((0, 100, 600))


def _loads(pick: random.Random, config: Config, gap_ms: float) -> None:
    del config["transaction"]["inter_arrival"]
    kinds: list[Config] = [
        {"kind": "open", "inter_arrival": _exponential(gap_ms * 2)},
        {"kind": "closed", "clients": 3, "think_time": _exponential(gap_ms)},
        {"kind": "periodic", "interval_ms": gap_ms * 4},
    ]
    rivals: Config = {"kind": "background", "inter_arrival": _exponential(gap_ms)}
    classes = [pick.choice(kinds), pick.choice((*kinds, rivals))]
    config["workload"] = {
        "class": [{"name": f"class {place}", **found} for place, found in enumerate(classes)]
    }
