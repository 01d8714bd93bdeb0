"""Endive's own catalogs as targets, with every setting that changes which commit wins.

All latencies are constants and effects come half-way, so each operation has two waits: one before its effect, one after it.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from endive.catalog import (
    AppendCatalog,
    CASCatalog,
    Catalog,
    CatalogSnapshot,
    InstantCatalog,
    IntentionRecord,
)
from endive.catalog.log import CatalogLog
from endive.latency import FixedLatency
from endive.profiles import load_profiles
from endive.storage import ProfileStorageProvider
from invariants.direct.adapter import Seen

_DATA = (bool, int, float, str, tuple, list, dict, set, frozenset, CatalogSnapshot)
RECORD_BYTES = 100
PARTITIONS_PER_TABLE = 2
READ_MS = 4.0
APPEND_MS = 10.0
_PROFILE = load_profiles()["instant"]
_LATENCY = {
    "catalog.read": FixedLatency(READ_MS),
    "catalog.cas": FixedLatency(10.0),
    "catalog.cas_failure": FixedLatency(14.0),
    "catalog.append": FixedLatency(APPEND_MS),
    "catalog.append_failure": FixedLatency(30.0),
    "catalog.compaction": FixedLatency(20.0),
}


class PassingThrough(ProfileStorageProvider):
    """Somebody's own store: overrides what a catalog uses and changes nothing, so that no short cut is taken."""

    def read(self, key: str, expected_size_bytes: int, **more: Any) -> Any:
        return super().read(key, expected_size_bytes, **more)

    def cas(self, key: str, expected_version: int, size_bytes: int, **more: Any) -> Any:
        return super().cas(key, expected_version, size_bytes, **more)

    def append(self, key: str, offset: int, size_bytes: int, **more: Any) -> Any:
        return super().append(key, offset, size_bytes, **more)


@dataclass(frozen=True)
class Kind:
    """One of Endive's catalogs with its settings; the reference model is made from the same."""

    catalog: str
    granularity: str = "catalog"
    store: type[ProfileStorageProvider] = ProfileStorageProvider
    settings: Mapping[str, Any] = field(default_factory=dict)

    def group_of(self, num_tables: int) -> tuple[int, ...]:
        """Even tables are one group, odd ones the other."""
        return tuple(t % 2 for t in range(num_tables)) if self.granularity == "group" else ()

    def make(self, num_tables: int) -> OwnTarget:
        """A fresh catalog."""
        partitions = (PARTITIONS_PER_TABLE,) * num_tables
        pointer: dict[str, Any] = {
            "granularity": self.granularity,
            "group_of": self.group_of(num_tables),
        }
        catalog: Catalog
        if self.catalog == "instant":
            catalog = InstantCatalog(num_tables, partitions, **pointer)
        else:
            store = self.store(
                np.random.RandomState(0),
                _PROFILE,
                latency=_LATENCY,
                effect_point=0.5,
                min_latency_ms=0.0,
            )
            if self.catalog == "cas":
                catalog = CASCatalog(store, num_tables, partitions, **pointer)
            else:
                catalog = AppendCatalog(store, num_tables, partitions, **self.settings)
        return OwnTarget(self, catalog, num_tables)


class OwnTarget:
    """An Endive catalog behind the adapter."""

    def __init__(self, kind: Kind, catalog: Catalog, num_tables: int) -> None:
        self.kind = kind
        self.catalog = catalog
        # Records of a log are judged table by table.
        self.granularity = "table" if kind.catalog == "append" else kind.granularity
        self.group_of = kind.group_of(num_tables)
        self._seals = any(name.startswith("compaction") for name in kind.settings)
        self.refuses_only_changed = "max_physical_retries" not in kind.settings

    def passes_over(self, is_commit: bool, waits_ms: list[float]) -> bool:
        """Whether nothing that others can change is looked at between a call's last wait and its next one.

        `waits_ms` are the waits of the call so far. The even ones come after an effect.
        """
        if len(waits_ms) % 2 == 0:
            # A commit finds out when it begins whether the log is sealed: then it matters when a read ends.
            return is_commit or not self._seals
        # The discovery read comes after an append that landed; the outcome is settled by then.
        return is_commit and waits_ms[-2:] == [APPEND_MS / 2, READ_MS / 2]

    def look(self) -> Seen:
        """What is there; whether reads show it is for the transactions to find out."""
        return as_seen(self.catalog.state.capture(0.0))

    def fingerprint(self) -> Hashable:
        """All that a call can look at. Latencies are constants, so streams count for nothing; nor do counters, which nobody reads."""
        state = self.catalog.state
        log = getattr(self.catalog, "log", None)
        store = getattr(self.catalog, "_storage", None)
        return (
            state.seq,
            tuple(state.tables),
            state.details,
            tuple(state._table_changed_at),
            frozenset(state._partition_changed_at.items()),
            None if log is None else _plain(log),
            None if store is None else (*store._versions.items(), *store._lengths.items()),
            # Whatever else a catalog keeps for itself, such as what somebody read last.
            *(repr(each) for each in vars(self.catalog).values() if isinstance(each, _DATA)),
        )

    def read(self) -> Generator[float, None, Seen]:
        """A read, wait by wait."""
        snapshot = yield from self.catalog.read()
        return as_seen(snapshot)

    def commit(
        self,
        seen: Seen,
        tables: tuple[int, ...],
        txn_id: int,
        partitions: dict[int, tuple[int, ...]] | None = None,
    ) -> Generator[float, None, bool]:
        """A commit, wait by wait; `partitions` None: they are not tracked."""
        writes = {table: seen.versions[table] + 1 for table in tables}
        record = IntentionRecord(txn_id, seen.seq, writes, partitions, RECORD_BYTES)
        result = yield from self.catalog.commit(seen.seq, writes, 0.0, record)
        return result.success


def _plain(log: CatalogLog) -> Hashable:
    """Every attribute of a log but its counters, so that a new one is not forgotten."""
    names = [name for name in log.__slots__ if name != "counters"]
    values = [getattr(log, name) for name in names]
    return tuple(tuple(each) if isinstance(each, list | array) else each for each in values)


def as_seen(snapshot: CatalogSnapshot) -> Seen:
    """A snapshot as the properties know it."""
    return Seen(
        snapshot.seq,
        tuple(table.version for table in snapshot.tables),
        tuple(table.partition_versions for table in snapshot.tables),
        snapshot,
    )


KINDS: dict[str, Kind] = {
    "cas": Kind("cas"),
    "cas-own-store": Kind("cas", store=PassingThrough),
    "cas-table": Kind("cas", "table"),
    "cas-partition": Kind("cas", "partition"),
    "instant": Kind("instant"),
    "instant-group": Kind("instant", "group"),
    "instant-table": Kind("instant", "table"),
    "instant-partition": Kind("instant", "partition"),
    "append": Kind("append"),
    "append-own-store": Kind("append", store=PassingThrough),
    "append-latest": Kind("append", settings={"append_offset": "latest"}),
    "append-sealing": Kind("append", settings={"compaction_max_entries": 2}),
    "append-sealing-bytes": Kind(
        "append",
        store=PassingThrough,
        settings={"compaction_threshold": RECORD_BYTES, "append_offset": "latest"},
    ),
    "append-impatient": Kind("append", settings={"max_physical_retries": 0}),
}
