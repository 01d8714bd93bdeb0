"""Good configurations: defaults, what is built from them, and the reference page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endive.catalog import AppendCatalog, CASCatalog, InstantCatalog
from endive.config import (
    PROVIDER_PROFILES,
    ResolvedConfig,
    build_simulation_config,
    load_config,
    load_simulation_config,
    resolve_config,
)
from endive.config.reference import render_reference
from endive.config.schema import load_schema, node_at, nodes
from endive.conflict_detector import (
    PartitionOverlapConflictDetector,
    ProbabilisticConflictDetector,
)
from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)
from endive.simulation import Simulation, SimulationConfig
from endive.storage import PROFILE_LATENCY, ProfileStorageProvider
from endive.workload import (
    UniformPartitionSelector,
    UniformTableSelector,
    ZipfPartitionSelector,
    ZipfTableSelector,
)

SPECIFICATION_EXAMPLE = """\
[simulation]
duration_ms = 3600000
seed = 42                              # Optional; overridable via seed_override
output_path = "results.parquet"

[experiment]
label = "exp_baseline"                 # Optional; enables directory structure

[storage]
provider = "s3x"                       # s3, s3x, azure, azurex, gcp, instant

[catalog]
num_tables = 1
# type = "cas"                         # Inferred from provider capabilities

[catalog.partitions]
num_partitions = 100                   # Uniform across tables
# per_table = [10, 20, 30]            # Or explicit per-table

[transaction]
retry = 10
runtime.mean = 180000
runtime.sigma = 1.5
inter_arrival.distribution = "exponential"
inter_arrival.scale = 100.0
real_conflict_probability = 0.0
manifest_list_mode = "rewrite"         # "rewrite" or "append" (ML+ mode)

[transaction.operation_types]
fast_append = 0.7
merge_append = 0.2
validated_overwrite = 0.1

[transaction.retry_backoff]
enabled = true
base_ms = 10.0
multiplier = 2.0
max_ms = 5000.0
jitter = 0.1
"""


def resolved(provider: str = "s3x", **tables: dict[str, Any]) -> ResolvedConfig:
    storage = {"provider": provider, **tables.pop("storage", {})}
    return resolve_config({"simulation": {"duration_ms": 1000}, "storage": storage, **tables})


def built(provider: str = "s3x", **tables: dict[str, Any]) -> SimulationConfig:
    return build_simulation_config(resolved(provider, **tables), 7)


def test_the_example_of_the_specification_loads_verbatim(tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(SPECIFICATION_EXAMPLE, encoding="utf-8")
    config = load_config(file)
    assert (config.label, config.seed, config.output_path, config.duration_ms, config.file) == (
        "exp_baseline",
        42,
        "results.parquet",
        3_600_000.0,
        str(file),
    )
    simulation = load_simulation_config(str(file))
    assert (simulation.seed, simulation.workload.seed) == (42, 42)
    assert simulation.backoff_enabled
    assert simulation.workload.config.partitions_per_table == (100,)
    assert simulation.workload.config.partitions_per_txn == 1


def test_the_smallest_configuration_gets_every_default() -> None:
    assert resolved().values == {
        "simulation": {"duration_ms": 1000.0, "output_path": "results.parquet"},
        "storage": {
            "provider": "s3x",
            "max_parallel": 4,
            "sizes": {"catalog": 16384, "manifest_list": 16384, "manifest_file": 65536},
            "size_growth": False,
        },
        "catalog": {
            "num_tables": 1,
            "type": "cas",
            "table_metadata_inlined": True,
            "conflict_granularity": "catalog",
            "num_groups": 1,
            "history_scope": "catalog",
            "manifests_per_table": 3,
        },
        "transaction": {
            "retry": 10,
            "runtime": {
                "distribution": "lognormal",
                "mean": 180000.0,
                "sigma": 1.5,
                "min": 0.0,
            },
            "inter_arrival": {"distribution": "exponential", "scale": 100.0},
            "conflict_detector": "probabilistic",
            "real_conflict_probability": 0.0,
            "manifest_list_mode": "rewrite",
            "manifests_per_concurrent_commit": 1.5,
            "tables_per_txn": 1,
            "table_selector": {"type": "uniform", "write_fraction": 1.0},
            "operation_types": {
                "fast_append": 0.7,
                "merge_append": 0.2,
                "validated_overwrite": 0.1,
            },
            "retry_backoff": {
                "enabled": False,
                "base_ms": 10.0,
                "multiplier": 2.0,
                "max_ms": 5000.0,
                "jitter": 0.1,
                "jitter_mode": "both",
            },
            "cost_table": "spec-2.0",
            "real_conflict_unit": "attempt",
            "on_validation_exception": "abort",
            "isolation": "snapshot",
        },
    }


def test_defaults_appear_only_where_they_are_read() -> None:
    values = resolved(
        catalog={"type": "append", "partitions": {"num_partitions": 3}},
        transaction={
            "conflict_detector": "partition_overlap",
            "partition_selector": {"type": "zipf"},
            "runtime": {"median": 5},
            "operation_types": {"merge_append": 2},
        },
    ).values
    catalog, transaction = values["catalog"], values["transaction"]
    assert (catalog["append_max_physical_retries"], catalog["log_entry_size"]) == (100, 100)
    assert transaction["partitions_per_txn"] == 1
    assert transaction["partition_selector"] == {
        "type": "zipf",
        "alpha": 1.5,
        "write_fraction": 1.0,
    }
    assert "real_conflict_probability" not in transaction
    assert "mean" not in transaction["runtime"]
    assert transaction["operation_types"] == {
        "fast_append": 0.0,
        "merge_append": 2.0,
        "validated_overwrite": 0.0,
    }


def test_numbers_have_the_type_of_the_schema() -> None:
    values = resolved(
        catalog={"num_tables": 2.0, "partitions": {"per_table": [1.0, 2]}},
        transaction={"inter_arrival": {"scale": 5}, "real_conflict_probability": -0.0},
    ).values
    tables = values["catalog"]["num_tables"]
    scale = values["transaction"]["inter_arrival"]["scale"]
    assert (type(tables), type(scale)) == (int, float)
    assert repr(values["catalog"]["partitions"]["per_table"]) == "[1, 2]"
    assert repr(values["transaction"]["real_conflict_probability"]) == "0.0"


def test_what_is_resolved_leaves_the_input_alone() -> None:
    raw: dict[str, Any] = {"simulation": {"duration_ms": 5}, "storage": {"provider": "s3"}}
    resolve_config(raw)
    assert raw == {"simulation": {"duration_ms": 5}, "storage": {"provider": "s3"}}


@pytest.mark.parametrize(
    ("provider", "catalog", "expected"),
    [
        ("s3", {}, CASCatalog),
        ("instant", {}, InstantCatalog),
        ("instant", {"type": "cas"}, CASCatalog),
        ("s3", {"type": "instant"}, InstantCatalog),
        ("azure", {"type": "append"}, AppendCatalog),
        ("azure", {"mode": "append"}, AppendCatalog),
        ("azure", {"mode": "append", "type": "append"}, AppendCatalog),
        ("instant", {"mode": "cas"}, CASCatalog),
    ],
)
def test_the_catalog_is_of_the_type_asked_for_or_suggested_by_the_provider(
    provider: str, catalog: dict[str, Any], expected: type
) -> None:
    assert type(built(provider, catalog=catalog).catalog) is expected


def runtime(**table: Any) -> LatencyDistribution:
    return built(transaction={"runtime": table}).workload.config.runtime


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, LognormalLatency.from_mean(180000.0, 1.5, 0.0)),
        ({"median": 50, "sigma": 0.5}, LognormalLatency.from_median(50.0, 0.5, 0.0)),
        ({"distribution": "fixed", "value": 5}, FixedLatency(5.0)),
        ({"distribution": "fixed", "value": 5, "min": 3}, FixedLatency(8.0)),
        ({"distribution": "normal", "mean": 5, "std_dev": 1}, NormalLatency(5.0, 1.0)),
        ({"distribution": "exponential", "scale": 5}, ExponentialLatency(5.0)),
        ({"distribution": "uniform", "low": 1, "high": 2}, UniformLatency(1.0, 2.0)),
        (
            {"distribution": "uniform", "low": 1, "high": 2, "min": 10},
            ShiftedLatency(UniformLatency(1.0, 2.0), 10.0),
        ),
    ],
)
def test_a_distribution_table_becomes_that_distribution(
    table: dict[str, Any], expected: LatencyDistribution
) -> None:
    assert runtime(**table) == expected


def test_storage_settings_reach_the_provider() -> None:
    fixed = {"distribution": "fixed", "value": 5}
    sized = {"distribution": "size_based", "base": 20, "per_mib": 1, "sigma": 0.1}
    storage = built(
        storage={
            "effect_point": 0.25,
            "min_latency_ms": 7,
            "max_parallel": 2,
            "sizes": {"manifest_list": 1_048_576},
            "latency": {"catalog": {"cas": fixed}, "manifest_list": {"read": sized}},
        }
    ).storage_provider
    assert isinstance(storage, ProfileStorageProvider)
    assert (storage.effect_point, storage.min_latency_ms, storage.max_parallel) == (0.25, 7.0, 2)
    assert storage.sizes.manifest_list == 1_048_576
    # The store raises what replaces its latencies to its own floor.
    assert storage.distribution("catalog.cas") == FixedLatency(7.0)
    found = storage.distribution("manifest_list.read", 1_048_576)
    assert found == SizeBasedLatency(20.0, 1.0, 0.1, 7.0).at_size(1_048_576)


def test_transaction_settings_reach_the_workload_and_the_runner() -> None:
    config = built(
        "azure",
        catalog={
            "type": "append",
            "num_tables": 3,
            "partitions": {"per_table": [4, 5, 6]},
            "log_entry_size": 250,
        },
        transaction={
            "retry": 3,
            "manifest_list_mode": "append",
            "manifests_per_concurrent_commit": 2.5,
            "tables_per_txn": 2,
            "partitions_per_txn": 3,
            "table_selector": {"type": "zipf", "alpha": 0.5, "write_fraction": 0.5},
            "partition_selector": {"type": "uniform", "write_fraction": 0.25},
            "operation_types": {"validated_overwrite": 1},
            "retry_backoff": {"enabled": True, "base_ms": 1, "max_ms": 9, "jitter": 0},
        },
    )
    workload = config.workload.config
    assert (config.max_retries, config.ml_append_mode, config.log_entry_size) == (3, True, 250)
    assert (config.backoff_enabled, config.backoff_base_ms, config.backoff_max_ms) == (True, 1, 9)
    assert (config.backoff_multiplier, config.backoff_jitter) == (2.0, 0.0)
    assert (workload.num_tables, workload.partitions_per_table) == (3, (4, 5, 6))
    assert (workload.tables_per_txn, workload.partitions_per_txn) == (2, 3)
    assert (workload.fast_append_weight, workload.validated_overwrite_weight) == (0.0, 1.0)
    assert workload.manifests_per_concurrent_commit == 2.5
    assert isinstance(workload.table_selector, ZipfTableSelector)
    assert workload.table_selector.alpha == 0.5
    assert isinstance(workload.partition_selector, UniformPartitionSelector)
    assert workload.partition_selector.write_fraction == 0.25


def test_without_partitions_none_are_tracked() -> None:
    workload = built(catalog={"num_tables": 3}).workload.config
    assert (workload.partitions_per_table, workload.partitions_per_txn) == ((1, 1, 1), None)
    assert isinstance(workload.table_selector, UniformTableSelector)


def test_partitions_can_be_chosen_by_rank() -> None:
    workload = built(
        catalog={"partitions": {"num_partitions": 9}},
        transaction={"partition_selector": {"type": "zipf", "alpha": 2}},
    ).workload.config
    assert isinstance(workload.partition_selector, ZipfPartitionSelector)
    assert workload.partition_selector.alpha == 2.0


def test_both_detectors_can_be_chosen() -> None:
    overlap = built(transaction={"conflict_detector": "partition_overlap"})
    chance = built(transaction={"real_conflict_probability": 0.5})
    assert isinstance(overlap.conflict_detector, PartitionOverlapConflictDetector)
    assert isinstance(chance.conflict_detector, ProbabilisticConflictDetector)


def test_settings_of_a_backoff_that_is_off_may_stay() -> None:
    config = built(transaction={"retry_backoff": {"enabled": False, "base_ms": 50}})
    assert not config.backoff_enabled


def test_the_seed_of_the_call_wins_over_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SPECIFICATION_EXAMPLE, encoding="utf-8")
    config = load_simulation_config(str(file), seed_override=0)
    assert (config.seed, config.workload.seed) == (0, 0)


def test_a_run_without_a_seed_gets_one_that_repeats_it(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        "simulation.duration_ms = 5000\nstorage.provider = 's3x'\ntransaction.runtime.mean = 100\n",
        encoding="utf-8",
    )
    drawn = load_simulation_config(str(file))
    assert drawn.seed is not None
    again = load_simulation_config(str(file), seed_override=drawn.seed)
    first, second = Simulation(drawn).run(), Simulation(again).run()
    assert first.launched > 0
    assert first.to_dataframe().equals(second.to_dataframe())


def test_the_schema_is_a_valid_draft_07_schema() -> None:
    from jsonschema import Draft7Validator

    Draft7Validator.check_schema(load_schema())


def test_the_schema_names_the_shipped_providers_and_operations() -> None:
    assert node_at(("storage", "provider"))["enum"] == list(PROVIDER_PROFILES)
    operations = {
        f"{path[2]}.{path[3]}" for path, _node in nodes(("storage", "latency")) if len(path) == 4
    }
    assert operations == set(PROFILE_LATENCY)


def test_every_key_is_described() -> None:
    assert [path for path, node in nodes() if not node["description"].endswith(".")] == []


def test_the_reference_page_is_current() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
    assert page.read_text(encoding="utf-8") == render_reference(), (
        "run: python -m endive.config.reference > docs/configuration.md"
    )


def test_resolved_values_can_be_written_as_json() -> None:
    assert json.loads(json.dumps(resolved().values)) == resolved().values
