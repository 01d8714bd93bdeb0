"""Every key of the configuration is read by somebody: changing it changes a run, or it is declared to be a mere label."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from endive.config import load_simulation_config, resolve_config, schema_keys
from endive.errors import InputError
from endive.simulation import Simulation

# Keys that say where results go. They must change nothing in them.
LABELS = {
    "simulation.output_path": ("a.parquet", "b.parquet"),
    "experiment.label": ("one", "two"),
}

# A crowded second in which commits fail, overlap, back off and conflict.
CROWD: Mapping[str, Any] = {
    "simulation.duration_ms": 1000.0,
    "simulation.seed": 7,
    "storage.provider": "s3x",
    "transaction.inter_arrival": {"distribution": "exponential", "scale": 20.0},
    "transaction.runtime": {"distribution": "fixed", "value": 50.0},
    "transaction.retry": 4,
    "transaction.operation_types": {
        "fast_append": 1.0,
        "merge_append": 1.0,
        "validated_overwrite": 1.0,
    },
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
SIZED_CATALOG = {
    "storage.latency.catalog.read": {
        "distribution": "size_based",
        "base": 10.0,
        "per_mib": 100.0,
        "sigma": 0.1,
    }
}


@dataclass(frozen=True, slots=True)
class Change:
    """Two values of a key, and the setting in which the difference must show."""

    before: Any
    after: Any
    where: Mapping[str, Any] = field(default_factory=dict)


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
    "catalog.num_tables": Change(1, 4),
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
    "storage.latency.manifest_list.read": {},
    "storage.latency.manifest_list.write": {},
    "storage.latency.manifest_list.append": ML_APPEND,
    "storage.latency.manifest_file.read": {},
    "storage.latency.manifest_file.write": {},
    "transaction.runtime": {},
    "transaction.inter_arrival": {},
}
FAMILIES: dict[str, Mapping[str, Any]] = {
    "fixed": {"value": 30.0},
    "lognormal": {"median": 30.0, "sigma": 0.5},
    "normal": {"mean": 30.0, "std_dev": 5.0},
    "exponential": {"scale": 30.0},
    "uniform": {"low": 20.0, "high": 40.0},
    "size_based": {"base": 30.0, "per_mib": 200.0, "sigma": 0.5},
}
# For each parameter a family that has it.
FAMILY_OF = {
    "value": "fixed",
    "mean": "normal",
    "median": "lognormal",
    "sigma": "lognormal",
    "std_dev": "normal",
    "scale": "exponential",
    "low": "uniform",
    "high": "uniform",
    "base": "size_based",
    "per_mib": "size_based",
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
    return changes


def _config(*settings: Mapping[str, Any]) -> dict[str, Any]:
    """A nested configuration from dotted keys, later ones over earlier ones."""
    config: dict[str, Any] = {}
    for dotted in settings:
        for key, value in dotted.items():
            table = config
            *names, last = key.split(".")
            for name in names:
                table = table.setdefault(name, {})
            table[last] = copy.deepcopy(value)
    return config


@pytest.fixture(scope="module")
def digest_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The fingerprint of the run that a TOML file with these settings gives."""
    path: Path = tmp_path_factory.mktemp("keys") / "cfg.toml"

    @cache
    def digest_of_text(text: str) -> str:
        path.write_text(text, encoding="utf-8")
        return Simulation(load_simulation_config(str(path))).run().digest()

    def digest(*settings: Mapping[str, Any]) -> str:
        return digest_of_text(tomli_w.dumps(_config(CROWD, *settings)))

    return digest


def test_every_key_of_the_schema_has_an_entry_here_and_no_other_has() -> None:
    assert set(schema_keys()) == all_changes().keys() | LABELS.keys()


@pytest.mark.parametrize("key", all_changes())
def test_changing_a_key_changes_the_run(key: str, digest_of: Any) -> None:
    name, change = all_changes()[key]
    before = digest_of(change.where, {name: change.before})
    after = digest_of(change.where, {name: change.after})
    assert before != after, f"{key}: {change.before!r} and {change.after!r} give the same run"


@pytest.mark.parametrize("key", LABELS)
def test_a_label_changes_nothing_in_the_run(key: str, digest_of: Any) -> None:
    one, other = LABELS[key]
    assert digest_of({key: one}) == digest_of({key: other}) == digest_of()


def _latencies_in_settings() -> Iterator[Any]:
    """Every operation of the store with every kind of catalog and manifest list."""
    for table in DISTRIBUTIONS:
        if not table.startswith("storage."):
            continue
        for kind in ("cas", "append", "instant"):
            for mode in ("rewrite", "append"):
                yield table, kind, mode


@pytest.mark.parametrize(("table", "kind", "mode"), list(_latencies_in_settings()))
def test_a_latency_is_refused_where_nothing_reads_it(
    table: str, kind: str, mode: str, digest_of: Any
) -> None:
    where = {"catalog.type": kind, "transaction.manifest_list_mode": mode}
    values = [{table: {"distribution": "fixed", "value": value}} for value in (30.0, 40.0)]
    try:
        resolve_config(_config(CROWD, where, values[0]))
    except InputError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "nothing reads it" in refusal
    else:
        assert digest_of(where, values[0]) != digest_of(where, values[1])


def test_catalog_mode_is_another_name_for_catalog_type(digest_of: Any) -> None:
    for kind in ("cas", "append"):
        assert digest_of({"catalog.mode": kind}) == digest_of({"catalog.type": kind})
