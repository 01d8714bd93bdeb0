"""Hypothesis strategies for whole valid configurations, as a TOML file would parse to.

Every configuration is made contended: gaps between arrivals are of the size of one storage operation, so transactions meet. Half of them
have constants on a grid for all times, so that many effects fall on the same instant; the others draw distributions. A property that
needs something particular asks for it by `focus`; everything else is drawn around it. Hypothesis likes the first of several choices best,
so the one that makes for a crowd stands first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Config = dict[str, Any]
Draw = Any
"""What Hypothesis hands to a composite strategy."""

PROVIDERS = ("s3", "s3x", "azure", "azurex", "gcp", "instant")
APPENDING_PROVIDERS = ("s3x", "azure", "azurex", "instant")
# What each cost table prices.
PRICED: dict[str, tuple[str, ...]] = {
    "spec-2.0": ("validated_overwrite", "fast_append", "merge_append"),
    "legacy": ("validated_overwrite", "fast_append", "merge_append"),
    "iceberg-review": ("validated_overwrite", "fast_append", "merge_append", "overwrite_unvalidated"),
    "iceberg-java": (
        "validated_overwrite",
        "fast_append",
        "merge_append",
        "rewrite_files",
        "row_delta",
        "replace_partitions_validated",
    ),
    "pyiceberg": ("fast_append", "validated_overwrite", "merge_append", "delete_partition"),
}  # fmt: skip

seeds = st.integers(0, 2**32 - 1) | st.sampled_from((0, 1, 42))


def fixed(value_ms: float) -> Config:
    """The table of a constant."""
    return {"distribution": "fixed", "value": value_ms}


@st.composite
def times(draw: Draw, scale_ms: float, *, on_grid: bool) -> Config:
    """A distribution of about this size: on the grid a constant, else of any family."""
    if on_grid:
        return fixed(draw(st.sampled_from((1, 2, 0.5, 4))) * scale_ms)
    centre_ms = scale_ms * draw(st.floats(0.5, 3.0))
    family = draw(st.sampled_from(("exponential", "lognormal", "uniform", "normal")))
    if family == "exponential":
        return {"distribution": family, "scale": centre_ms}
    if family == "lognormal":
        return {"distribution": family, "median": centre_ms, "sigma": draw(st.floats(0.05, 0.9))}
    if family == "uniform":
        return {"distribution": family, "low": centre_ms / 2, "high": centre_ms * 2}
    return {"distribution": family, "mean": centre_ms, "std_dev": centre_ms / 4}


@st.composite
def topologies(draw: Draw) -> Config:
    """Tables, and in half of the cases partitions."""
    num_tables = draw(st.sampled_from((2, 1, 3, 6)))
    catalog: Config = {"num_tables": num_tables}
    if draw(st.booleans()):
        if draw(st.booleans()):
            catalog["partitions"] = {"num_partitions": draw(st.sampled_from((2, 1, 3, 8)))}
        else:
            sizes = st.lists(st.integers(1, 6), min_size=num_tables, max_size=num_tables)
            catalog["partitions"] = {"per_table": draw(sizes)}
    return catalog


def kind_of(config: Config) -> str:
    """The kind of catalog that a configuration asks for, or has by default."""
    default = "instant" if config["storage"]["provider"] == "instant" else "cas"
    return str(config["catalog"].get("type", default))


def _catalog(draw: Draw, config: Config, *, options: bool) -> None:
    catalog = config["catalog"]
    kind, num_tables = kind_of(config), catalog["num_tables"]
    if kind == "append":
        if draw(st.booleans()):
            catalog["append_max_physical_retries"] = draw(st.sampled_from((0, 1, 100)))
        if options and draw(st.booleans()):
            catalog["append_offset"] = draw(st.sampled_from(("latest", "snapshot")))
        if options and draw(st.booleans()):
            catalog["compaction_max_entries"] = draw(st.sampled_from((2, 1, 5, 20)))
        if options and draw(st.booleans()):
            catalog["compaction_threshold"] = draw(st.sampled_from((500, 1, 2_000)))
    if not options:
        return
    per_txn = config["transaction"].get("tables_per_txn", 1)
    groups = [g for g in range(num_tables, 1, -1) if num_tables // g >= per_txn]
    is_grouped = bool(groups) and draw(st.booleans())
    if is_grouped:
        catalog["num_groups"] = draw(st.sampled_from(groups))
    scopes = ("table", "partition", "catalog", *(("group",) if is_grouped else ()))
    if kind != "append" and draw(st.booleans()):
        catalog["conflict_granularity"] = draw(st.sampled_from(scopes))
    if draw(st.booleans()):
        catalog["history_scope"] = draw(st.sampled_from(scopes))
    if draw(st.integers(0, 2)) == 0:
        catalog["manifests_per_table"] = draw(st.sampled_from((98, 0, 1)))
    if draw(st.integers(0, 2)) == 0:
        catalog["table_metadata_inlined"] = False
    if draw(st.integers(0, 2)) == 0:
        config["transaction"]["isolation"] = "serializable"
        if num_tables > 1 and not is_grouped:
            config["transaction"]["tables_per_txn"] = num_tables
            config["transaction"]["table_selector"] = {"write_fraction": 0.5}


def _behaviour(draw: Draw, config: Config, *, on_grid: bool, options: bool) -> None:
    transaction, catalog = config["transaction"], config["catalog"]

    def maybe(name: str, strategy: st.SearchStrategy[Any]) -> None:
        if name not in transaction and draw(st.booleans()):
            transaction[name] = draw(strategy)

    table = transaction.get("cost_table", "spec-2.0")
    if "cost_table" not in transaction and options and draw(st.booleans()):
        table = transaction["cost_table"] = draw(st.sampled_from(tuple(PRICED)))
    if "operation_types" not in transaction:
        weights = st.sampled_from((1, 0.1, 2.5))
        names = st.sampled_from(PRICED[table])
        transaction["operation_types"] = draw(
            st.dictionaries(names, weights, min_size=1, max_size=3)
        )
    maybe("retry", st.sampled_from((3, 0, 1, 6, 12)))
    maybe("tables_per_txn", st.sampled_from(range(catalog["num_tables"], 0, -1)))
    partitions = catalog.get("partitions")
    if partitions is not None:
        smallest = min(partitions.get("per_table", [partitions.get("num_partitions")]))
        maybe("partitions_per_txn", st.integers(1, smallest))
    maybe("manifests_per_concurrent_commit", st.sampled_from((7, 0.4, 1.5, 0)))
    if config["storage"]["provider"] in APPENDING_PROVIDERS:
        maybe("manifest_list_mode", st.sampled_from(("append", "rewrite")))
    if "real_conflict_probability" not in transaction and draw(st.integers(0, 2)) == 0:
        transaction.setdefault("conflict_detector", "partition_overlap")
    elif "conflict_detector" not in transaction:
        maybe("real_conflict_probability", st.sampled_from((0.3, 0, 0.05, 1)))
    if draw(st.booleans()):
        base_ms = draw(st.sampled_from((1, 0.5, 8)))
        transaction.setdefault(
            "retry_backoff",
            {
                "enabled": True,
                "base_ms": base_ms,
                "multiplier": draw(st.sampled_from((2, 1, 1.5))),
                "max_ms": base_ms * draw(st.sampled_from((4, 1, 64))),
                "jitter": 0 if on_grid else draw(st.sampled_from((0.1, 0, 0.5, 1))),
            },
        )
    if options and draw(st.integers(0, 2)) == 0:
        transaction["retry_timeout_ms"] = draw(st.sampled_from((16, 100, 1_000)))
    if options and draw(st.integers(0, 2)) == 0:
        transaction["on_validation_exception"] = "restart"


def _load_class(draw: Draw, index: int, gap_ms: float, *, on_grid: bool) -> Config:
    kind = draw(
        st.sampled_from(("background", "closed", "open", "periodic") if index else ("open",))
    )
    found: Config = {"name": f"class {index}", "kind": kind}
    if kind in ("open", "background"):
        found["inter_arrival"] = draw(times(gap_ms * 2, on_grid=on_grid))
    elif kind == "closed":
        found["clients"] = draw(st.sampled_from((3, 1, 8)))
        found["think_time"] = draw(times(gap_ms, on_grid=on_grid))
    else:
        found["interval_ms"] = gap_ms * draw(st.sampled_from((4, 8)))
    return found


@st.composite
def configs(
    draw: Draw, focus: Mapping[str, Mapping[str, Any]] | None = None, *, options: bool = True
) -> Config:
    """A whole configuration, with `focus` (by section) as it is; `options`: also beyond the specification."""
    wanted = {name: copy.deepcopy(dict(table)) for name, table in (focus or {}).items()}
    on_grid = draw(st.booleans())
    is_append = wanted.get("catalog", {}).get("type") == "append"
    lists_grow = wanted.get("transaction", {}).get("manifest_list_mode") == "append"
    providers = APPENDING_PROVIDERS if is_append or lists_grow else PROVIDERS
    provider = draw(st.sampled_from(providers))
    config: Config = {
        "simulation": {},
        "storage": {"provider": provider, **wanted.get("storage", {})},
        "catalog": {**draw(topologies()), **wanted.get("catalog", {})},
        "transaction": wanted.get("transaction", {}),
    }
    if len(config["catalog"].get("partitions", {}).get("per_table", ())) not in (0, config["catalog"]["num_tables"]):  # fmt: skip
        config["catalog"]["partitions"] = {"num_partitions": 2}
    if "type" not in config["catalog"]:
        kinds = ("cas", "instant", *(("append",) if provider in APPENDING_PROVIDERS else ()))
        config["catalog"]["type"] = draw(st.sampled_from(kinds))
    storage, transaction = config["storage"], config["transaction"]
    if draw(st.booleans()):
        storage.setdefault("effect_point", draw(st.sampled_from((0.5, 0, 0.25, 1))))
    if draw(st.booleans()):
        storage.setdefault("min_latency_ms", draw(st.sampled_from((1, 0.25, 16))))
    if draw(st.booleans()):
        storage.setdefault("max_parallel", draw(st.integers(1, 6)))
    _behaviour(draw, config, on_grid=on_grid, options=options)
    _catalog(draw, config, options=options)
    if (
        options
        and draw(st.integers(0, 3)) == 0
        and transaction.get("manifest_list_mode") == "append"
    ):
        transaction["manifest_list_append"] = "offset"
        transaction["manifest_list_seal_threshold"] = draw(st.sampled_from((100, 600)))
    # A gap that leaves two or three others time to come in between, whatever the store.
    gap_ms = 1.0 if provider == "instant" else 16.0
    transactions = draw(st.sampled_from((80, 40, 20, 5, 1)))
    config["simulation"]["duration_ms"] = gap_ms * transactions * 2
    transaction.setdefault("runtime", draw(times(gap_ms * 4, on_grid=on_grid)))
    if options and "workload" not in wanted and draw(st.integers(0, 3)) == 0:
        count = draw(st.sampled_from((2, 3)))
        config["workload"] = {
            "class": [_load_class(draw, i, gap_ms, on_grid=on_grid) for i in range(count)]
        }
    else:
        transaction.setdefault("inter_arrival", draw(times(gap_ms, on_grid=on_grid)))
    return config
