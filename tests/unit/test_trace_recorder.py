"""What a run keeps of a trace becomes events, storage operations among them, in whichever way a run is driven."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from traces import named_trace

from endive.catalog import CASCatalog, Catalog
from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation
from endive.storage import ProfileStorageProvider
from endive.test_utils import run
from endive.trace import (
    CatalogRead,
    CommitReturned,
    Event,
    IoPaid,
    Judged,
    Recorder,
    Shape,
    StorageUsed,
    Trace,
    Witness,
    Worked,
    read_trace,
    write_ndjson,
    write_parquet,
)
from endive.trace.parquet import HEADER_KEY

CROWD = {
    "simulation": {"duration_ms": 4_000},
    "storage": {"provider": "s3x"},
    "catalog": {"num_tables": 2},
    "transaction": {
        "runtime": {"distribution": "exponential", "scale": 200},
        "inter_arrival": {"distribution": "exponential", "scale": 60},
        "operation_types": {"validated_overwrite": 1, "merge_append": 1},
    },
}


def crowd(**catalog: Any) -> list[Event]:
    """The events of a busy run."""
    config = build_simulation_config(
        resolve_config({**CROWD, "catalog": {"num_tables": 2, **catalog}}), 3
    )
    return Simulation(replace(config, records_trace=True)).run().events or []


def test_events_and_records_come_back_in_the_order_in_which_they_were_told() -> None:
    recorder = Recorder()
    twice = Shape(2, lambda events, t_ms, txn_id: events.extend([Worked(t_ms, txn_id, 1.0)] * 2))
    judged = Judged(1.0, 0, 0, False)
    recorder.emit(judged)
    recorder.record((twice, 2.0, 7))
    recorder.emit((twice, 3.0, 8))
    recorder.emit(judged)
    two, three = Worked(2.0, 7, 1.0), Worked(3.0, 8, 1.0)
    assert recorder.events() == [judged, two, two, three, three, judged]


def test_a_read_outside_of_any_transaction_is_nobodys(
    fixed_store: Any,
) -> None:
    recorder = Recorder()
    catalog = CASCatalog(fixed_store(), 1, (1,))
    catalog.state.witness = Witness(recorder, lambda: 0.0)
    run(catalog.read())
    assert recorder.events() == []


@pytest.mark.parametrize("catalog", ["cas", "instant"])
def test_every_read_payment_and_call_is_told_with_what_the_store_did_for_it(catalog: str) -> None:
    events = crowd(type=catalog)
    of_txn: dict[int, list[Event]] = {}
    for event in events:
        of_txn.setdefault(event.txn_id, []).append(event)
    explained = 0
    for mine in of_txn.values():
        took_ms = 0.0
        for event in mine:
            if isinstance(event, StorageUsed):
                took_ms += event.took_ms
            elif isinstance(event, (CatalogRead, IoPaid, CommitReturned)):
                told_ms = {CatalogRead: "read_ms", IoPaid: "paid_ms", CommitReturned: "commit_ms"}
                assert took_ms == pytest.approx(getattr(event, told_ms[type(event)]), abs=1e-6)
                took_ms, explained = 0.0, explained + 1
        assert took_ms == 0.0
    assert explained > 500


def test_a_convoy_is_read_in_batches_of_as_many_as_the_store_can() -> None:
    convoys = [
        event
        for event in crowd()
        if isinstance(event, StorageUsed)
        and event.operations > 4
        and event.artifact == "manifest_list"
    ]
    assert convoys
    assert all(each.batches == -(-each.operations // 4) for each in convoys)
    assert {each.size_bytes for each in convoys} == {16_384}


class _PassingThrough(ProfileStorageProvider):
    """A store of somebody's own: what it does is the same, but nobody may take short cuts through it."""

    def read(self, key: str, expected_size_bytes: int, **more: Any) -> Any:
        return super().read(key, expected_size_bytes, **more)


@pytest.mark.parametrize("catalog", ["cas", "append"])
def test_a_store_of_ones_own_is_told_of_like_a_built_in_one(catalog: str) -> None:
    values = {**CROWD, "catalog": {"num_tables": 2, "type": catalog}}
    if catalog == "append":
        values["storage"] = {"provider": "azurex"}
    kinds = []
    for cls in (ProfileStorageProvider, _PassingThrough):
        config = build_simulation_config(resolve_config(values), 3)
        store, own = config.storage_provider, config.catalog
        # The class is all that differs: state, profile and stream are the same.
        store.__class__ = cls
        store.is_plain = cls is ProfileStorageProvider  # type: ignore[misc]
        _bind(own)
        events = Simulation(replace(config, records_trace=True)).run().events or []
        kinds.append({(e.artifact, e.action) for e in events if isinstance(e, StorageUsed)})
    assert kinds[0] == kinds[1]
    assert ("catalog", "read") in kinds[0]


def _bind(catalog: Catalog) -> None:
    catalog._use_storage()  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", [".ndjson", ".parquet"])
def test_traces_of_the_first_format_can_still_be_read(suffix: str, tmp_path: Path) -> None:
    new = named_trace("plain")
    without = tuple(event for event in new.events if not isinstance(event, StorageUsed))
    old = Trace(new.header._replace(format=1, store={}), without)
    path = tmp_path / f"old{suffix}"
    if suffix == ".ndjson":
        write_ndjson(old, path)
        first, *rest = path.read_text("utf-8").splitlines(keepends=True)
        header = json.loads(first)
        del header["store"]
        path.write_text("".join([json.dumps(header) + "\n", *rest]), "utf-8")
    else:
        write_parquet(old, path)
        table = pq.read_table(path)
        header = json.loads(table.schema.metadata[HEADER_KEY.encode()])
        del header["store"]
        names = ["artifact", "action", "operations", "size_bytes", "batches", "took_ms"]
        table = table.drop_columns(names).replace_schema_metadata({HEADER_KEY: json.dumps(header)})
        pq.write_table(table, path)
    assert read_trace(path) == old
