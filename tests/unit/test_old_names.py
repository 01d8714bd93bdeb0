"""The `T_*` latencies of the Append Simulation Design: old names that mean exactly what the new ones say."""

from __future__ import annotations

from typing import Any

import pytest

from endive.config import build_simulation_config, compute_experiment_hash, resolve_config
from endive.config.resolve import ResolvedConfig
from endive.errors import InputError
from endive.simulation import Simulation

OLD = {"mean": 40.0, "stddev": 4.0}
NEW = {"distribution": "normal", "mean": 40.0, "std_dev": 4.0}
LOG = {"type": "append", "compaction_max_entries": 3}
APART = {"table_metadata_inlined": False}
Aliases = list[tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]]
# The old name, what it is called now, and the catalog in which it is read.
ALIASES: Aliases = [
    (("T_CAS",), ("catalog.cas", "catalog.read"), {"type": "cas"}),
    # A log has no pointer to swap, so here it is the latency of reads alone.
    (("T_CAS",), ("catalog.read",), LOG),
    (("T_APPEND",), ("catalog.append",), LOG),
    (("T_COMPACTION",), ("catalog.compaction",), LOG),
    (("T_MANIFEST_LIST", "read"), ("manifest_list.read",), {}),
    (("T_MANIFEST_LIST", "write"), ("manifest_list.write",), {}),
    (("T_MANIFEST_FILE", "read"), ("manifest_file.read",), {}),
    (("T_MANIFEST_FILE", "write"), ("manifest_file.write",), {}),
    (("T_TABLE_METADATA", "read"), ("table_metadata.read",), APART),
    (("T_TABLE_METADATA", "write"), ("table_metadata.write",), APART),
]
EACH_ALIAS = pytest.mark.parametrize(
    ("old", "new", "catalog"), ALIASES, ids=lambda value: ".".join(value)
)


def resolve(storage: dict[str, Any], catalog: dict[str, Any]) -> ResolvedConfig:
    """A small, busy run: appends that merge, so that all kinds of objects are read and written."""
    raw = {
        "simulation": {"duration_ms": 5_000.0, "seed": 1},
        "storage": {"provider": "s3x", **storage},
        "catalog": catalog,
        "transaction": {
            "runtime": {"distribution": "fixed", "value": 100.0},
            "inter_arrival": {"scale": 50.0},
            "operation_types": {"merge_append": 1.0},
        },
    }
    return resolve_config(raw, file="old.toml")


def digest(resolved: ResolvedConfig) -> str:
    return Simulation(build_simulation_config(resolved, 1)).run().digest()


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A value under its keys."""
    for name in reversed(path):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def as_latency(operations: tuple[str, ...]) -> dict[str, Any]:
    latency: dict[str, Any] = {}
    for operation in operations:
        artifact, _, kind = operation.partition(".")
        latency.setdefault(artifact, {})[kind] = dict(NEW)
    return {"latency": latency}


def problems(storage: dict[str, Any], catalog: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        resolve(storage, catalog)
    return [str(problem) for problem in caught.value.problems]


# -- the same under another name -----------------------------------------------------------------------------------


@EACH_ALIAS
def test_an_old_name_gives_the_results_and_the_hash_of_the_new_one(
    old: tuple[str, ...], new: tuple[str, ...], catalog: dict[str, Any]
) -> None:
    by_old, by_new = resolve(nested(old, OLD), catalog), resolve(as_latency(new), catalog)
    assert by_old.values == by_new.values
    assert compute_experiment_hash(by_old) == compute_experiment_hash(by_new)
    assert digest(by_old) == digest(by_new)


@EACH_ALIAS
def test_an_old_name_is_not_without_effect(
    old: tuple[str, ...], new: tuple[str, ...], catalog: dict[str, Any]
) -> None:
    changed, plain = resolve(nested(old, OLD), catalog), resolve({}, catalog)
    assert compute_experiment_hash(changed) != compute_experiment_hash(plain)
    assert digest(changed) != digest(plain)


def test_all_old_names_together_are_the_document_s_configuration() -> None:
    """The figures of the Append Simulation Design, each of which has arrived in the store."""
    storage = {
        "T_CAS": {"mean": 100.0, "stddev": 10.0},
        "T_APPEND": {"mean": 50.0, "stddev": 5.0},
        "T_COMPACTION": {"mean": 200.0, "stddev": 20.0},
        "T_TABLE_METADATA": {
            "read": {"mean": 20.0, "stddev": 5.0},
            "write": {"mean": 30.0, "stddev": 5.0},
        },
    }
    store = build_simulation_config(resolve(storage, LOG | APART), 1).storage_provider
    found = {
        name: (latency.mean_ms, latency.std_dev_ms)
        for name in ("catalog.read", "catalog.append", "catalog.compaction",
                     "table_metadata.read", "table_metadata.write")
        for latency in [store.distribution(name)]  # type: ignore[attr-defined]
    }  # fmt: skip
    assert found == {
        "catalog.read": (100.0, 10.0),
        "catalog.append": (50.0, 5.0),
        "catalog.compaction": (200.0, 20.0),
        "table_metadata.read": (20.0, 5.0),
        "table_metadata.write": (30.0, 5.0),
    }


def test_old_and_new_names_of_different_operations_go_together() -> None:
    mixed = {"T_MANIFEST_LIST": {"read": OLD}, **as_latency(("manifest_list.write",))}
    both_new = as_latency(("manifest_list.read", "manifest_list.write"))
    assert resolve(mixed, {}).values == resolve(both_new, {}).values


# -- what is refused -----------------------------------------------------------------------------------------------


@EACH_ALIAS
def test_both_names_at_once_are_refused_by_both_names(
    old: tuple[str, ...], new: tuple[str, ...], catalog: dict[str, Any]
) -> None:
    said = problems(nested(old, OLD) | as_latency(new), catalog)
    # The same values do not help: one of the two would go unread as soon as somebody changes the other.
    assert said == [
        f"old.toml: storage.{'.'.join(old)}: is the old name of storage.latency.{name}, "
        "which is given too; remove one of them"
        for name in sorted(new, reverse=True)
    ]


@EACH_ALIAS
@pytest.mark.parametrize("missing", ["mean", "stddev"])
def test_both_figures_are_needed(
    old: tuple[str, ...], new: tuple[str, ...], catalog: dict[str, Any], missing: str
) -> None:
    half = {name: value for name, value in OLD.items() if name != missing}
    (said,) = problems(nested(old, half), catalog)
    assert said.startswith(f"old.toml: storage.{'.'.join((*old, missing))}: missing")


@pytest.mark.parametrize(
    ("old", "catalog", "reason"),
    [
        (("T_APPEND",), {"type": "cas"}, "while catalog.type is 'cas'"),
        (("T_COMPACTION",), {"type": "cas"}, "while catalog.type is 'cas'"),
        (("T_CAS",), {"type": "instant"}, "while catalog.type is 'instant'"),
        (("T_TABLE_METADATA", "read"), {}, "while catalog.table_metadata_inlined is true"),
        (("T_TABLE_METADATA", "write"), {}, "while catalog.table_metadata_inlined is true"),
    ],
)
def test_an_old_name_that_nothing_would_read_is_refused_under_that_name(
    old: tuple[str, ...], catalog: dict[str, Any], reason: str
) -> None:
    said = problems(nested(old, OLD), catalog)
    assert any(
        line.startswith(f"old.toml: storage.{'.'.join(old)}: nothing reads it") and reason in line
        for line in said
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"mean": -1.0, "stddev": 4.0}, "storage.T_CAS.mean: must be at least 0, not -1"),
        ({"mean": 40.0, "std_dev": 4.0}, "did you mean 'stddev'?"),
        ({"mean": "fast", "stddev": 4.0}, "storage.T_CAS.mean: 'fast' is not a number"),
    ],
)
def test_wrong_figures_are_told_under_the_old_name(table: dict[str, Any], said: str) -> None:
    assert said in "\n".join(problems({"T_CAS": table}, {}))


def test_the_entry_read_that_the_document_leaves_unused_is_unknown_here_too() -> None:
    (said,) = problems({"T_LOG_ENTRY_READ": OLD}, LOG)
    assert said.startswith("old.toml: storage.T_LOG_ENTRY_READ: unknown key")


def test_an_old_name_is_refused_where_nothing_reads_the_new_one() -> None:
    raw = {
        "simulation": {"duration_ms": 1000},
        "storage": {"provider": "s3x", "T_MANIFEST_LIST": {"write": {"mean": 9, "stddev": 1}}},
        "transaction": {"manifest_list_mode": "append"},
    }
    with pytest.raises(InputError, match=r"T_MANIFEST_LIST\.write: nothing reads it"):
        resolve_config(raw)
