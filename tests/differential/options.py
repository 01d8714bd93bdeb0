"""Options laid over the configurations of `strategies`: sections 7 to 14 of docs/MODEL.md in any combination.

Each option is drawn on its own, so that any of them meets any other. What would be refused, because nothing would read it or
because it contradicts something, is left out.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from differential.strategies import (
    APPENDING_PROVIDERS,
    Config,
    Draw,
    any_distribution,
    fixed,
    grid_configs,
    grid_ms,
    mixed_configs,
)

# What each table prices; the specification's own comes up as often as all others together.
PRICED: dict[str, tuple[str, ...]] = {
    "spec-2.0": ("fast_append", "merge_append", "validated_overwrite"),
    "legacy": ("fast_append", "merge_append", "validated_overwrite"),
    "iceberg-review": (
        "validated_overwrite",
        "fast_append",
        "merge_append",
        "overwrite_unvalidated",
    ),
    "iceberg-java": (
        "validated_overwrite",
        "fast_append",
        "rewrite_files",
        "merge_append",
        "row_delta",
        "replace_partitions",
        "replace_partitions_validated",
        "overwrite_unvalidated",
    ),
    "pyiceberg": (
        "fast_append",
        "validated_overwrite",
        "overwrite_unvalidated",
        "merge_append",
        "row_delta",
        "delete_partition",
    ),
}
KINDS = ("background", "open", "closed", "periodic")


def kind_of(config: Config) -> str:
    """The kind of catalog that a configuration asks for, under either name or by default."""
    catalog = config.get("catalog", {})
    default = "instant" if config["storage"]["provider"] == "instant" else "cas"
    return str(catalog.get("type", catalog.get("mode", default)))


@st.composite
def priced_operations(draw: Draw, table: str) -> Config:
    """Weights of operations that a cost table prices."""
    names = st.sampled_from(PRICED[table])
    weights = st.dictionaries(names, st.sampled_from((1, 0.1, 2.5)), min_size=1, max_size=4)
    found: Config = draw(weights)
    return found


def _retries(draw: Draw, transaction: Config, *, on_grid: bool) -> None:
    if draw(st.integers(0, 2)) == 0:
        budgets_ms = (16, 4, 50) if on_grid else (400, 100, 3_000)
        transaction["retry_timeout_ms"] = draw(st.sampled_from(budgets_ms))
    if draw(st.integers(0, 2)) == 0:
        transaction["on_validation_exception"] = "restart"
        if draw(st.booleans()):
            transaction["max_restarts"] = draw(st.sampled_from((1, 2)))
    if draw(st.integers(0, 3)) == 0 and transaction.get("conflict_detector") is None:
        transaction["real_conflict_unit"] = "commit"
        transaction["real_conflict_probability"] = draw(st.sampled_from((0.1, 0.5)))
    if draw(st.integers(0, 3)) == 0:
        transaction["retry_preset"] = "iceberg"
        backoff = transaction.setdefault("retry_backoff", {})
        backoff.setdefault("base_ms", 4)
        if on_grid:
            backoff["jitter"] = 0
    elif not on_grid and "retry_backoff" in transaction:
        transaction["retry_backoff"]["jitter_mode"] = draw(st.sampled_from(("up", "both")))


def _catalog(draw: Draw, config: Config) -> None:
    """Groups, granularity, history and metadata."""
    catalog = config.setdefault("catalog", {})
    catalog.setdefault("num_tables", 1)
    num_tables, kind = catalog["num_tables"], kind_of(config)
    per_txn = config["transaction"].get("tables_per_txn", 1)
    groups = [g for g in range(num_tables, 1, -1) if num_tables // g >= per_txn]
    is_grouped = bool(groups) and draw(st.booleans())
    if is_grouped:
        catalog["num_groups"] = draw(st.sampled_from(groups))
    scopes = ("table", "partition", "catalog", *(("group",) if is_grouped else ()))
    if kind != "append" and draw(st.integers(0, 2)):
        catalog["conflict_granularity"] = draw(st.sampled_from(scopes))
    if draw(st.booleans()):
        catalog["history_scope"] = draw(st.sampled_from(scopes))
    if draw(st.booleans()):
        catalog["manifests_per_table"] = draw(st.sampled_from((98, 95, 0, 1)))
    if kind == "append":
        if draw(st.booleans()):
            catalog["append_offset"] = draw(st.sampled_from(("latest", "snapshot")))
        if draw(st.booleans()):
            catalog["compaction_threshold"] = draw(st.sampled_from((500, 1, 2_000)))
        if draw(st.booleans()):
            catalog["compaction_max_entries"] = draw(st.sampled_from((2, 1, 5, 20)))
    if draw(st.integers(0, 2)) == 0:
        config["transaction"]["isolation"] = "serializable"
        if num_tables > 1 and not is_grouped:
            config["transaction"]["tables_per_txn"] = draw(st.sampled_from((2, num_tables)))
            selector = config["transaction"].setdefault("table_selector", {})
            selector["write_fraction"] = draw(st.sampled_from((0.5, 0.25)))


@st.composite
def latency_table(draw: Draw, *, on_grid: bool) -> Config:
    """The latency of one operation: on the grid, or any."""
    if on_grid:
        return fixed(draw(grid_ms(zero=True)))
    found: Config = draw(any_distribution(20.0, size_based=True))
    return found


def _metadata(draw: Draw, config: Config, *, on_grid: bool) -> None:
    config["catalog"]["table_metadata_inlined"] = False
    latency = config["storage"].setdefault("latency", {})
    if on_grid or draw(st.booleans()):
        latency["table_metadata"] = {
            name: draw(latency_table(on_grid=on_grid)) for name in ("read", "write")
        }


def _lists(draw: Draw, config: Config, *, on_grid: bool) -> None:
    """Manifest lists that are appended to at an offset, and sealed now and then."""
    transaction = config["transaction"]
    transaction["manifest_list_mode"] = "append"
    transaction["manifest_list_append"] = "offset"
    latency = config["storage"].setdefault("latency", {}).setdefault("manifest_list", {})
    latency.pop("write", None)
    transaction["manifest_list_entry_size"] = draw(st.sampled_from((50, 1, 200)))
    if draw(st.integers(0, 3)):
        transaction["manifest_list_seal_threshold"] = draw(st.sampled_from((100, 1, 600)))
    names = ["append", "append_failure"]
    if transaction.get("manifest_list_seal_threshold"):
        names.append("write")
    for name in names:
        if on_grid or draw(st.booleans()):
            latency[name] = draw(latency_table(on_grid=on_grid))


def _growth(draw: Draw, config: Config) -> None:
    storage = config["storage"]
    storage["size_growth"] = True
    growth: Config = {"manifest_list_per_commit": draw(st.sampled_from((2**16, 0, 50)))}
    if kind_of(config) != "instant":
        growth["catalog_per_table"] = draw(st.sampled_from((200, 2**20)))
    if not config["catalog"].get("table_metadata_inlined", True):
        growth["table_metadata_per_snapshot"] = draw(st.sampled_from((500, 2**18)))
    storage["growth"] = growth


@st.composite
def load_class(draw: Draw, index: int, config: Config, gap_ms: float, *, on_grid: bool) -> Config:
    """One class of a workload, of any kind, with any of its own settings."""
    # Somebody must submit; after that, every other class is background, which no other strategy has.
    kinds = ("background", *KINDS) if index else ("open", "closed", "periodic")
    kind = draw(st.sampled_from(kinds))
    table = config["transaction"].get("cost_table", "spec-2.0")
    partitions = config["catalog"].get("partitions")
    found: Config = {"name": f"class {index}", "kind": kind}

    def wait(scale_ms: float) -> Config:
        if on_grid:
            return fixed(scale_ms)
        return {"distribution": "exponential", "scale": scale_ms}

    if kind in ("open", "background"):
        found["inter_arrival"] = wait(gap_ms * draw(st.sampled_from((2, 1, 4))))
    elif kind == "closed":
        found["clients"] = draw(st.sampled_from((3, 1, 8)))
        found["think_time"] = wait(gap_ms * draw(st.sampled_from((1, 4))))
    else:
        found["interval_ms"] = gap_ms * draw(st.sampled_from((4, 8)))
        if draw(st.booleans()):
            found["offset_ms"] = draw(st.sampled_from((0, 1, gap_ms)))
    if draw(st.integers(0, 4)) == 0:
        found["end_ms"] = gap_ms * draw(st.sampled_from((20, 8, 2)))
    if kind == "background":
        if draw(st.booleans()):
            found["replaces_data"] = draw(st.booleans())
    else:
        if draw(st.booleans()):
            found["runtime"] = fixed(gap_ms * draw(st.sampled_from((4, 1))))
        if draw(st.booleans()):
            found["operation_types"] = draw(priced_operations(table))
    if draw(st.booleans()):
        found["tables_per_txn"] = 1
    if partitions is not None and draw(st.booleans()):
        found["overlap_probability"] = draw(st.sampled_from((0.5, 0, 1)))
    return found


def _loads(draw: Draw, config: Config, *, on_grid: bool) -> None:
    transaction = config["transaction"]
    gap_ms = 8.0 if on_grid else 40.0
    count = draw(st.sampled_from((2, 3, 2, 1)))
    config["workload"] = {
        "class": [
            draw(load_class(index, config, gap_ms, on_grid=on_grid)) for index in range(count)
        ]
    }
    # What every class says itself, nobody reads from [transaction].
    transaction.pop("inter_arrival", None)
    classes = [c for c in config["workload"]["class"] if c["kind"] != "background"]
    for key in ("runtime", "operation_types"):
        if all(key in c for c in classes):
            transaction.pop(key, None)
    if all("tables_per_txn" in c for c in config["workload"]["class"]):
        transaction.pop("tables_per_txn", None)
    config["simulation"]["duration_ms"] = 400.0 if on_grid else 3_000.0


@st.composite
def with_options(draw: Draw, base: st.SearchStrategy[Config], *, on_grid: bool) -> Config:
    """A configuration of `base` with any options laid over it."""
    config: Config = copy.deepcopy(draw(base))
    transaction: dict[str, Any] = config["transaction"]
    if not on_grid and draw(st.integers(0, 3)):
        # Time for a crowd to gather, whatever the store.
        transaction["runtime"] = {"distribution": "exponential", "scale": 60}
        transaction["inter_arrival"] = {"distribution": "exponential", "scale": 25}
        config["simulation"]["duration_ms"] = 3_000
    table = draw(st.sampled_from(("iceberg-java", "legacy", "iceberg-java", *PRICED)))
    if table != "spec-2.0" or draw(st.booleans()):
        transaction["cost_table"] = table
    if table != "spec-2.0":
        transaction["operation_types"] = draw(priced_operations(table))
    _catalog(draw, config)
    if table in ("iceberg-java", "pyiceberg") and draw(st.integers(0, 3)) == 0:
        # A table on the brink of merging its manifests.
        config["catalog"]["manifests_per_table"] = 98
        transaction["operation_types"] = {"merge_append": 1}
    _retries(draw, transaction, on_grid=on_grid)
    if draw(st.integers(0, 2)) == 0:
        _metadata(draw, config, on_grid=on_grid)
    if config["storage"]["provider"] in APPENDING_PROVIDERS and draw(st.integers(0, 2)) == 0:
        _lists(draw, config, on_grid=on_grid)
    if draw(st.integers(0, 3)) == 0:
        _growth(draw, config)
    if kind_of(config) == "append" and (on_grid or draw(st.booleans())):
        latency = config["storage"].setdefault("latency", {}).setdefault("catalog", {})
        latency["compaction"] = draw(latency_table(on_grid=on_grid))
    if draw(st.sampled_from((True, False))):
        _loads(draw, config, on_grid=on_grid)
    return config


def grid_options() -> st.SearchStrategy[Config]:
    """Options over runs of constants: ties everywhere."""
    return with_options(grid_configs(), on_grid=True)


def mixed_options() -> st.SearchStrategy[Config]:
    """Options over runs of any distributions."""
    return with_options(mixed_configs(), on_grid=False)
