"""The experiment hash and the configuration that is kept beside the results."""

from __future__ import annotations

import copy
import re
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from schema_keys.cases import all_changes, nested_config

from endive.config import (
    PROVIDER_PROFILES,
    compute_experiment_hash,
    render_config,
    resolve_config,
    schema_keys,
)
from endive.config.toml_lines import KeyPath

BASE: dict[str, Any] = {"simulation": {"duration_ms": 1000}, "storage": {"provider": "s3x"}}
NOT_IN_THE_HASH = ("simulation.seed", "simulation.output_path", "experiment.label")


def hash_of(raw: dict[str, Any]) -> str:
    return compute_experiment_hash(resolve_config(raw))


def with_key(raw: dict[str, Any], path: KeyPath, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(raw)
    table: Any = raw
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value
    return raw


HASHED = [key for key in schema_keys() if key not in NOT_IN_THE_HASH]


def two_configs(key: str) -> list[dict[str, Any]]:
    """Two valid configurations that differ in this key."""
    name, change = all_changes()[key]
    return [
        nested_config(change.base, change.where, {name: value})
        for value in (change.before, change.after)
    ]


@pytest.mark.parametrize("key", HASHED)
def test_every_key_that_shapes_results_changes_the_hash(key: str) -> None:
    one, other = two_configs(key)
    assert hash_of(one) != hash_of(other)


@pytest.mark.parametrize(
    ("key", "value"),
    [("simulation.seed", 5), ("simulation.output_path", "x.parquet"), ("experiment.label", "x")],
)
def test_seed_path_and_label_do_not_change_the_hash(key: str, value: Any) -> None:
    assert hash_of(with_key(BASE, tuple(key.split(".")), value)) == hash_of(BASE)


def test_the_hash_has_six_hex_digits() -> None:
    assert re.fullmatch("[0-9a-f]{6}", hash_of(BASE))


def test_the_order_of_keys_does_not_matter() -> None:
    text = "simulation.duration_ms = 5\nstorage.provider = 's3'\ncatalog.num_tables = 2\n"
    turned = "".join(reversed(text.splitlines(keepends=True)))
    assert hash_of(tomllib.loads(text)) == hash_of(tomllib.loads(turned))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("transaction.inter_arrival.scale = 50", "transaction.inter_arrival.scale = 50.0"),
        ("catalog.num_tables = 2", "catalog.num_tables = 2.0"),
        (
            "transaction.real_conflict_probability = 0.0",
            "transaction.real_conflict_probability = -0.0",
        ),
        ("catalog.type = 'append'", "catalog.mode = 'append'"),
        ("", "catalog.type = 'cas'"),
        ("", "[experiment]"),
        ("", "[storage.latency.catalog]"),
        ("", "transaction.retry = 10"),
        ("", "transaction.runtime.mean = 180000"),
    ],
)
def test_two_spellings_of_one_experiment_hash_alike(one: str, other: str) -> None:
    head = "simulation.duration_ms = 5\nstorage.provider = 's3x'\n"
    if other.startswith("[storage"):
        head = "simulation.duration_ms = 5\n[storage]\nprovider = 's3x'\n"
    assert hash_of(tomllib.loads(f"{head}{one}\n")) == hash_of(tomllib.loads(f"{head}{other}\n"))


def test_the_profile_of_the_provider_is_part_of_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = hash_of(BASE)
    profile = PROVIDER_PROFILES["s3x"]
    monkeypatch.setitem(PROVIDER_PROFILES, "s3x", replace(profile, text=f"{profile.text}\n"))
    assert hash_of(BASE) != before


@pytest.mark.parametrize("key", HASHED)
def test_what_is_rendered_loads_again_as_the_same_experiment(key: str) -> None:
    raw = two_configs(key)[1]
    raw["simulation"] |= {"seed": 5, "output_path": "x.parquet"}
    raw["experiment"] = {"label": 'quotes " and ünïcode'}
    first = resolve_config(raw)
    text = render_config(first)
    second = resolve_config(tomllib.loads(text), text=text)
    assert compute_experiment_hash(second) == compute_experiment_hash(first)
    assert render_config(second) == text
    assert (second.label, second.seed, second.output_path) == (
        first.label,
        None,
        "results.parquet",
    )


def test_the_empty_tables_of_a_hashless_rest_are_not_rendered() -> None:
    assert "experiment" not in tomllib.loads(render_config(resolve_config(BASE)))
