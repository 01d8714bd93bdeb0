"""PyIceberg's SqlCatalog on SQLite, in a directory of its own: the real thing under the direct properties.

A commit adds a snapshot to one table, on the requirement that `main` is still the snapshot that was seen. Inside `commit_table` the library
loads the table, checks the requirement, writes new metadata and then swaps the pointer in SQL. The commit runs in a thread that is stopped
after the metadata is written, so that others come in between the check and the swap: it is the swap that has to be right.

Versions are the tables' sequence numbers; SqlCatalog has no number for all tables together, so `seq` is their sum.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
)
from pyiceberg.types import LongType, NestedField

from invariants.direct.adapter import Seen
from invariants.direct.enumerate import Bound

PATIENCE_S = 60.0


class PausingCatalog(SqlCatalog):
    """Stops where others may come in: between the new metadata and the swap of the pointer."""

    pause = threading.local()

    def _write_metadata(self, *arguments: Any, **more: Any) -> None:
        super()._write_metadata(*arguments, **more)
        stop = getattr(self.pause, "stop", None)
        if stop is not None:
            stop()


class SqlTarget:
    """One catalog with some tables, without data."""

    granularity = "table"
    tables_per_commit = 1
    # A trial costs milliseconds of SQL and files, so there are fewer of them.
    bounds = (Bound(2, 1, 2, "steps"), Bound(2, 2, 1, "steps"))

    def __init__(self, num_tables: int) -> None:
        self._directory = Path(tempfile.mkdtemp())
        self._threads: list[threading.Thread] = []
        self._catalog = PausingCatalog(
            "direct",
            uri=f"sqlite:///{self._directory / 'catalog.db'}",
            warehouse=self._directory.as_uri(),
        )
        self._catalog.create_namespace("n")
        schema = Schema(NestedField(1, "a", LongType(), required=False))
        self._names = [f"n.t{table}" for table in range(num_tables)]
        for name in self._names:
            self._catalog.create_table(name, schema)

    def read(self) -> Seen:
        """Load all tables."""
        tables = [self._catalog.load_table(name) for name in self._names]
        versions = tuple(table.metadata.last_sequence_number for table in tables)
        return Seen(sum(versions), versions, handle=tables)

    def commit(
        self, seen: Seen, tables: tuple[int, ...], txn_id: int
    ) -> Generator[None, None, bool]:
        """Add a snapshot to a table; others may come in before the swap."""
        table: Table = seen.handle[tables[0]]
        outcome: list[bool | BaseException] = []
        stopped, go_on = threading.Event(), threading.Event()

        def stop() -> None:
            stopped.set()
            go_on.wait(PATIENCE_S)

        def work() -> None:
            PausingCatalog.pause.stop = stop
            try:
                outcome.append(self._add_snapshot(table, txn_id))
            except BaseException as error:
                outcome.append(error)
            finally:
                stopped.set()

        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()
        try:
            assert stopped.wait(PATIENCE_S), "the commit neither stopped nor ended"
            if not outcome:
                yield
        finally:
            go_on.set()
            thread.join(PATIENCE_S)
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def _add_snapshot(self, table: Table, txn_id: int) -> bool:
        number = table.metadata.last_sequence_number + 1
        parent = table.metadata.current_snapshot_id
        snapshot = Snapshot(
            # Ids name the writer, so that no two commits could be taken for each other.
            snapshot_id=number * 1000 + txn_id,
            parent_snapshot_id=parent,
            sequence_number=number,
            timestamp_ms=table.metadata.last_updated_ms + 1,
            manifest_list=f"{table.location()}/metadata/{txn_id}.avro",
            summary=Summary(Operation.APPEND),
            schema_id=0,
        )
        reference = SetSnapshotRefUpdate(
            ref_name="main", type="branch", snapshot_id=snapshot.snapshot_id
        )
        try:
            self._catalog.commit_table(
                table,
                (AssertRefSnapshotId(ref="main", snapshot_id=parent),),
                (AddSnapshotUpdate(snapshot=snapshot), reference),
            )
        except CommitFailedException:
            return False
        return True

    def close(self) -> None:
        """Remove everything."""
        self._catalog.engine.dispose()
        shutil.rmtree(self._directory, ignore_errors=True)


def make_catalog(num_tables: int) -> SqlTarget:
    """A fresh catalog in a new directory."""
    return SqlTarget(num_tables)


# A trial takes long enough for fewer of them to do.
make_catalog.is_quick = False  # type: ignore[attr-defined]
