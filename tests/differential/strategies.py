"""Hypothesis strategies for whole valid configurations, as a TOML file would parse to.

Two families. On the *grid* every time is a small multiple of a power of two, so sums are exact and many effects fall on the
same instant. *Mixed* configurations draw every distribution, override anything or nothing, and leave sections out. Both are
made contended: gaps between arrivals are of the size of one storage operation. Hypothesis likes the first of several choices
best, so the one that makes for a crowd stands first.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Config = dict[str, Any]
Draw = Any
"""What Hypothesis hands to a composite strategy."""

PROVIDERS = ("s3", "s3x", "azure", "azurex", "gcp", "instant")
APPENDING_PROVIDERS = ("s3x", "azure", "azurex", "instant")
OPERATIONS = ("fast_append", "merge_append", "validated_overwrite")
EFFECT_POINTS = (0, 0.25, 0.5, 1)
# The operations whose latency every configuration reads, and those that a kind of catalog adds.
MANIFEST_OPERATIONS = ("manifest_list.read", "manifest_file.read", "manifest_file.write")
CATALOG_OPERATIONS = {
    "cas": ("catalog.read", "catalog.cas", "catalog.cas_failure"),
    "append": ("catalog.read", "catalog.append", "catalog.append_failure", "catalog.cas_failure"),
    "instant": (),
}
# Contention needs company: most runs are long enough for a crowd, some so short that nobody comes.
transaction_counts = st.sampled_from((120, 90, 60, 40, 25, 12, 3, 1))

seeds = st.integers(0, 2**32 - 1) | st.sampled_from((0, 1, 42))


def grid_ms(*, zero: bool = False) -> st.SearchStrategy[float]:
    """Times of which many are equal and all sums are exact."""
    return st.sampled_from((*((0,) if zero else ()), 0.5, 1, 1, 2, 4))


def fixed(value_ms: float) -> Config:
    """The table of a constant."""
    return {"distribution": "fixed", "value": value_ms}


@st.composite
def any_distribution(draw: Draw, scale_ms: float, *, size_based: bool) -> Config:
    """A distribution of any family whose values are of the size of `scale_ms`."""
    families = ["fixed", "lognormal", "normal", "exponential", "uniform"]
    family = draw(st.sampled_from([*families, "size_based"] if size_based else families))
    # Sigma 0 would be a constant that is not on the grid: a tie that the last bit decides.
    sigma = draw(st.floats(0.05, 0.9))
    centre_ms = draw(st.floats(0.25, 4.0)) * scale_ms
    if family == "fixed":
        return fixed(draw(grid_ms(zero=True)) * 8)
    if family == "lognormal":
        return {
            "distribution": family,
            draw(st.sampled_from(("mean", "median"))): centre_ms,
            "sigma": sigma,
        }
    if family == "normal":
        # Wide enough to run into the floor now and then, which makes constants, zero among them.
        return {
            "distribution": family,
            "mean": round(centre_ms),
            "std_dev": draw(st.sampled_from((0, 0.25, 1.0))) * centre_ms,
        }
    if family == "exponential":
        return {"distribution": family, "scale": centre_ms}
    if family == "uniform":
        low_ms = draw(st.sampled_from((0, 1, round(scale_ms))))
        return {"distribution": family, "low": low_ms, "high": low_ms + draw(st.integers(0, 30))}
    return {
        "distribution": family,
        "base": centre_ms,
        "per_mib": draw(st.sampled_from((0, 10, 400))),
        "sigma": sigma,
    }


@st.composite
def catalogs(draw: Draw, provider: str) -> Config:
    """Kind of catalog and topology; the partitions are tracked in half of them."""
    kinds = ["cas", "instant", *(["append"] * 2 if provider in APPENDING_PROVIDERS else [])]
    kind = draw(st.sampled_from(kinds))
    num_tables = draw(st.sampled_from((1, 1, 2, 2, 3, 4, 6)))
    catalog: Config = {"num_tables": num_tables}
    default = "instant" if provider == "instant" else "cas"
    if kind != default or draw(st.booleans()):
        name = "type" if kind == "instant" else draw(st.sampled_from(("type", "type", "mode")))
        catalog[name] = kind
    if draw(st.booleans()):
        if draw(st.booleans()):
            catalog["partitions"] = {"num_partitions": draw(st.sampled_from((2, 1, 3, 8)))}
        else:
            sizes = st.lists(st.integers(1, 6), min_size=num_tables, max_size=num_tables)
            catalog["partitions"] = {"per_table": draw(sizes)}
    if kind == "append" and draw(st.booleans()):
        catalog["append_max_physical_retries"] = draw(st.sampled_from((0, 1, 2, 5, 100)))
    if kind == "append" and draw(st.booleans()):
        catalog["log_entry_size"] = draw(st.sampled_from((1, 100, 4096, 2**20)))
    return catalog


@st.composite
def selectors(draw: Draw) -> Config:
    """A selector with or without each of its keys."""
    selector: Config = {}
    if draw(st.booleans()):
        selector["type"] = draw(st.sampled_from(("uniform", "zipf")))
    if selector.get("type") == "zipf" and draw(st.booleans()):
        selector["alpha"] = draw(st.sampled_from((0, 0.5, 1, 1.5, 2.5)))
    if draw(st.booleans()):
        selector["write_fraction"] = draw(st.sampled_from((0.75, 1, 0.5, 0.25, 0.1)))
    return selector


@st.composite
def retry_backoffs(draw: Draw, *, on_grid: bool) -> Config:
    """A backoff that is on or off; without jitter where all times have to stay on the grid."""
    base_ms = draw(st.sampled_from((0.5, 1, 2, 8)))
    return {
        "enabled": draw(st.sampled_from((True, True, False))),
        "base_ms": base_ms,
        "multiplier": draw(st.sampled_from((1, 1.5, 2))),
        "max_ms": base_ms * draw(st.sampled_from((1, 4, 64))),
        "jitter": 0 if on_grid else draw(st.sampled_from((0, 0.1, 0.5, 1))),
    }


@st.composite
def behaviours(draw: Draw, provider: str, catalog: Config, *, on_grid: bool) -> Config:
    """All of [transaction] except its two distributions."""
    transaction: Config = {}

    def maybe(name: str, strategy: st.SearchStrategy[Any]) -> None:
        if draw(st.booleans()):
            transaction[name] = draw(strategy)

    maybe("retry", st.sampled_from((3, 0, 1, 2, 6, 12)))
    maybe("table_selector", selectors())
    maybe("tables_per_txn", st.sampled_from(range(catalog["num_tables"], 0, -1)))
    partitions = catalog.get("partitions")
    if partitions is not None:
        smallest = min(partitions.get("per_table", [partitions.get("num_partitions")]))
        maybe("partition_selector", selectors())
        maybe("partitions_per_txn", st.integers(1, smallest))
    maybe("manifests_per_concurrent_commit", st.sampled_from((7, 0.4, 1, 1.5, 0)))
    if provider in APPENDING_PROVIDERS:
        maybe("manifest_list_mode", st.sampled_from(("append", "append", "rewrite")))
    if draw(st.integers(0, 2)) == 0:
        transaction["conflict_detector"] = "partition_overlap"
    else:
        maybe("real_conflict_probability", st.sampled_from((0, 0.05, 0.3, 1)))
    # A single operation, any mix, or the default mix; what is not named has weight 0.
    weights = st.dictionaries(
        st.sampled_from(OPERATIONS), st.sampled_from((0.1, 1, 2.5)), min_size=1, max_size=3
    )
    maybe("operation_types", weights)
    maybe("retry_backoff", retry_backoffs(on_grid=on_grid))
    if draw(st.integers(0, 4)) == 0:
        # Merges of many manifests, after one lost race already: what is drawn in bulk.
        transaction["operation_types"] = {"merge_append": 1}
        transaction["manifests_per_concurrent_commit"] = 30
    return transaction


def readable_operations(kind: str, transaction: Config) -> tuple[str, ...]:
    """The operations whose latency may be overridden here: the others nothing would read."""
    appends = transaction.get("manifest_list_mode") == "append"
    return (
        *MANIFEST_OPERATIONS,
        "manifest_list.append" if appends else "manifest_list.write",
        *CATALOG_OPERATIONS[kind],
    )


def nested(latency: dict[str, Config]) -> Config:
    """[storage.latency] from tables by dotted name."""
    tables: Config = {}
    for name, table in latency.items():
        artifact, operation = name.split(".")
        tables.setdefault(artifact, {})[operation] = table
    return tables


@st.composite
def grid_configs(draw: Draw) -> Config:
    """A run of constants on the grid: ties everywhere, zero waits, an end that falls on events."""
    provider = draw(st.sampled_from(PROVIDERS))
    catalog = draw(catalogs(provider))
    catalog.setdefault("type", catalog.pop("mode", "instant" if provider == "instant" else "cas"))
    transaction = draw(behaviours(provider, catalog, on_grid=True))
    gap_ms = draw(st.sampled_from((1, 0.5, 2, 4)))
    transaction["inter_arrival"] = fixed(gap_ms)
    transaction["runtime"] = fixed(draw(st.sampled_from((8, 2, 1, 0, 16))))
    if draw(st.booleans()):
        transaction["runtime"]["min"] = draw(grid_ms(zero=True))
    latency = {
        name: fixed(draw(grid_ms(zero=True)))
        for name in readable_operations(catalog["type"], transaction)
        # A failed swap has a latency of its own only where one is given.
        if name != "catalog.cas_failure" or draw(st.booleans())
    }
    storage: Config = {
        "provider": provider,
        "min_latency_ms": draw(st.sampled_from((0.25, 0.5, 1))),
        "latency": nested(latency),
    }
    if draw(st.integers(0, 3)):
        storage["effect_point"] = draw(st.sampled_from(EFFECT_POINTS))
    if draw(st.booleans()):
        storage["max_parallel"] = draw(st.integers(1, 6))
    duration_ms = gap_ms * draw(transaction_counts) + draw(st.sampled_from((0, 0.25, 0.5, 8)))
    return {
        "simulation": {"duration_ms": duration_ms},
        "storage": storage,
        "catalog": catalog,
        "transaction": transaction,
    }


@st.composite
def mixed_configs(draw: Draw) -> Config:
    """A run of any distributions, with any section left to its defaults."""
    provider = draw(st.sampled_from(PROVIDERS))
    catalog = draw(catalogs(provider))
    transaction = draw(behaviours(provider, catalog, on_grid=False))
    storage: Config = {"provider": provider}
    if draw(st.integers(0, 3)):
        storage["effect_point"] = draw(st.sampled_from(EFFECT_POINTS))
    if draw(st.booleans()):
        storage["min_latency_ms"] = draw(st.sampled_from((0.25, 1, 16, 64)))
    if draw(st.booleans()):
        storage["max_parallel"] = draw(st.integers(1, 6))
    default_kind = "instant" if provider == "instant" else "cas"
    kind = catalog.get("type", catalog.get("mode", default_kind))
    if draw(st.booleans()):
        # The instant catalog is no object in the store, so it has no size.
        artifacts = ("manifest_list", "manifest_file", *(("catalog",) if kind != "instant" else ()))
        byte_counts = st.integers(1, 2**22)
        storage["sizes"] = draw(
            st.dictionaries(st.sampled_from(artifacts), byte_counts, min_size=1)
        )
    if draw(st.booleans()):
        names = st.sampled_from(readable_operations(kind, transaction))
        tables = any_distribution(20.0, size_based=True)
        storage["latency"] = nested(draw(st.dictionaries(names, tables, min_size=1)))
    transactions = draw(transaction_counts)
    gap_ms = 100.0
    if draw(st.integers(0, 3)):
        gap_ms = draw(st.sampled_from((2.0, 8.0, 30.0)))
        gaps = any_distribution(gap_ms, size_based=False).filter(_lets_time_pass)
        transaction["inter_arrival"] = draw(gaps)
        gap_ms = _typical_ms(transaction["inter_arrival"])
    # The default runtime of minutes leaves everything in flight: rare is enough.
    if draw(st.integers(0, 7)):
        runtime_ms = gap_ms * draw(st.sampled_from((8, 2)))
        transaction["runtime"] = draw(any_distribution(runtime_ms, size_based=False))
        if draw(st.booleans()):
            transaction["runtime"]["min"] = draw(st.sampled_from((0, 1, 100)))
    config: Config = {
        "simulation": {"duration_ms": max(1.0, gap_ms * transactions)},
        "storage": storage,
        "transaction": transaction,
    }
    if catalog != {"num_tables": 1} or draw(st.booleans()):
        config["catalog"] = catalog
    return config


def _lets_time_pass(gaps: Config) -> bool:
    """A gap that is always, or nearly always, 0 would launch transactions without end."""
    return _typical_ms(gaps) >= 0.5


def _typical_ms(gaps: Config) -> float:
    if gaps["distribution"] == "uniform":
        return float(gaps["low"] + gaps["high"]) / 2
    names = ("value", "mean", "median", "scale")
    return float(next(gaps[name] for name in names if name in gaps))
