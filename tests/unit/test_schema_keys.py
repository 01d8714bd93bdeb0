"""Every key of the configuration is read by somebody: changing it changes a run, or it is declared to be a mere label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from schema_keys.cases import DISTRIBUTIONS, LABELS, all_changes, nested_config
from schema_keys.change import CROWD

from endive.config import load_simulation_config, resolve_config, schema_keys
from endive.errors import InputError
from endive.simulation import Simulation


@pytest.fixture(scope="module")
def digest_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The fingerprint of the run that a TOML file with these settings gives."""
    path: Path = tmp_path_factory.mktemp("keys") / "cfg.toml"

    @cache
    def digest_of_text(text: str) -> str:
        path.write_text(text, encoding="utf-8")
        return Simulation(load_simulation_config(str(path))).run().digest()

    def digest(*settings: Mapping[str, Any]) -> str:
        return digest_of_text(tomli_w.dumps(nested_config(*settings)))

    return digest


def test_every_key_of_the_schema_has_an_entry_here_and_no_other_has() -> None:
    assert set(schema_keys()) == all_changes().keys() | LABELS.keys()


@pytest.mark.parametrize("key", all_changes())
def test_changing_a_key_changes_the_run(key: str, digest_of: Any) -> None:
    name, change = all_changes()[key]
    before = digest_of(change.base, change.where, {name: change.before})
    after = digest_of(change.base, change.where, {name: change.after})
    assert before != after, f"{key}: {change.before!r} and {change.after!r} give the same run"


@pytest.mark.parametrize("key", LABELS)
def test_a_label_changes_nothing_in_the_run(key: str, digest_of: Any) -> None:
    one, other = LABELS[key]
    assert digest_of(CROWD, {key: one}) == digest_of(CROWD, {key: other}) == digest_of(CROWD)


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
    where: dict[str, Any] = {
        **DISTRIBUTIONS[table],
        "catalog.type": kind,
        "transaction.manifest_list_mode": mode,
    }
    if kind == "append":
        # A log that is compacted often, so that some compactions come too late.
        where["catalog.compaction_max_entries"] = 2
    values = [{table: {"distribution": "fixed", "value": value}} for value in (30.0, 40.0)]
    try:
        resolve_config(nested_config(CROWD, where, values[0]))
    except InputError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "nothing reads it" in refusal
    else:
        assert digest_of(CROWD, where, values[0]) != digest_of(CROWD, where, values[1])


def test_catalog_mode_is_another_name_for_catalog_type(digest_of: Any) -> None:
    for kind in ("cas", "append"):
        by_type, by_mode = ({name: kind} for name in ("catalog.type", "catalog.mode"))
        assert digest_of(CROWD, by_mode) == digest_of(CROWD, by_type)
