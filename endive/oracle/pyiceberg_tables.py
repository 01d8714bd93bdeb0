"""The tables on which PyIceberg is measured: one layout, and rivals that come in exactly when they are told to.

The table has the columns `p`, by which it is partitioned, and `id`, and one manifest for each of the partitions a, b, c, …
that it begins with; each manifest has one data file, with the ids 1 and 2. Every experiment works on partition a.

An experiment gets a table of its own, registered on the metadata of the base table. What N rivals leave behind is made once,
by N real commits through a second catalog to a sibling of that table; whenever they are to come in, the pointer of the table is moved
to the metadata that the N-th of them wrote. So rivals take no time and cannot come too late, and the library sees what it
would have seen.

Only the layout shapes the counts. Names, ids and timestamps differ from run to run and are never part of a result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions.parser import parse
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, clear_manifest_cache
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, StringType
from sqlalchemy import update

from endive.oracle.watched_io import watching

OWN, OTHER = "a", "b"
"""The partition of the operation that is measured, and that of rivals elsewhere."""

ROWS = pa.schema([("p", pa.string()), ("id", pa.int64())])
OWN_IDS = (1, 2)
"""The ids in every file of the base table. What operations overwrite or delete has ids below 100."""
OTHER_IDS = (1000, 1001)
"""The ids that rivals add: never those that an operation looks for, even in its own partition."""

Touch = tuple[str, str, str]
"""Kind of file, action, and the name of the thread."""

Moment = Literal["before_check", "before_swap"]
"""When rivals come in: before the commit call compares the table with what was expected, or after that and before the swap."""

# Retries are to come at once; what is counted does not depend on it.
_PROMPT = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "1"}


def partition_names(number: int) -> list[str]:
    """The partitions of a base table with so many manifests: a, b, c, …, z, z1, z2, …."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [letters[i] if i < len(letters) else f"z{i}" for i in range(number)]


def data_file(partition: str, ids: tuple[int, int]) -> DataFile:
    """A data file that exists on paper only: what commits write down of a file, without the file."""
    bounds = [{1: to_bytes(StringType(), partition), 2: to_bytes(LongType(), id)} for id in ids]
    lower, upper = bounds
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file:///on-paper/{partition}-{next(_NUMBERS)}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(partition),
        record_count=len(ids),
        file_size_in_bytes=1000,
        column_sizes={},
        value_counts={1: len(ids), 2: len(ids)},
        null_value_counts={1: 0, 2: 0},
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
    )
    file.spec_id = 1
    return file


_NUMBERS = count()


class WatchedCatalog(SqlCatalog):
    """PyIceberg's SQL catalog; lets rivals come in where they are to, and tells when a commit call is over."""

    bench: Bench | None = None

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> Any:
        """Commit, as PyIceberg does."""
        assert self.bench is not None
        self.bench.rivals_at("before_check")
        try:
            return super().commit_table(table, requirements, updates)
        finally:
            self.bench.recorder.commit_is_over()

    def _write_metadata(self, *arguments: Any, **more: Any) -> None:  # type: ignore[override]
        super()._write_metadata(*arguments, **more)
        assert self.bench is not None
        self.bench.rivals_at("before_swap")


class Recorder:
    """Keeps what was touched, commit call by commit call."""

    def __init__(self) -> None:
        self.attempts: list[list[Touch]] = [[]]

    def touched(self, kind: str, action: str) -> None:
        """Note one file, and which of PyIceberg's threads touches it."""
        # Appending to a list is one step, whoever does it.
        self.attempts[-1].append((kind, action, threading.current_thread().name))

    def begin(self) -> None:
        """An experiment begins; what was touched before is forgotten."""
        self.attempts = [[]]

    def commit_is_over(self) -> None:
        """What is touched from now on belongs to the next attempt."""
        self.attempts.append([])


class Bench:
    """A warehouse with a watched catalog for what is measured and a plain one for rivals."""

    def __init__(
        self, folder: Path, recorder: Recorder, watcher_properties: Mapping[str, str]
    ) -> None:
        where = {"uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": folder.as_uri()}
        self.watched = WatchedCatalog("oracle", **where, **watcher_properties)
        self.watched.bench = self
        self.rivals = SqlCatalog("oracle", **where)
        self.rivals.create_namespace("n")
        self.recorder = recorder
        self._bases: dict[object, Table] = {}
        self._chains: dict[object, list[str]] = {}
        self._table: Table | None = None
        self._schedule: list[str] = []
        self._moment: Moment = "before_swap"
        self.on_moment: Callable[[Moment], object] = lambda moment: None
        """Is told of every moment at which rivals may come in."""

    def base(self, properties: Mapping[str, str], manifests: int) -> Table:
        """The base table with these properties and so many manifests, made when first asked for."""
        key = (tuple(sorted(properties.items())), manifests)
        if key not in self._bases:
            name = f"n.base{len(self._bases)}"
            table = self.rivals.create_table(name, ROWS, properties={**properties, **_PROMPT})
            with table.update_spec() as spec:
                spec.add_field("p", IdentityTransform(), "p")
            for partition in partition_names(manifests):
                with table.transaction() as transaction:
                    self._append_rows(transaction, partition)
            self._bases[key] = table
        return self._bases[key]

    def _append_rows(self, transaction: Any, partition: str) -> None:
        # With a manifest of its own whatever the properties say, and with a real file: some operations rewrite it.
        rows = pa.table({"p": [partition] * len(OWN_IDS), "id": list(OWN_IDS)}, schema=ROWS)
        with transaction.update_snapshot().fast_append() as producer:
            for file in _dataframe_to_data_files(
                table_metadata=transaction.table_metadata, df=rows, io=transaction._table.io
            ):
                producer.append_data_file(file)

    def open(self, base: Table) -> Table:
        """A table of its own for an experiment, as the watched catalog loads it."""
        clear_manifest_cache()
        name = f"n.t{next(_NUMBERS)}"
        self.rivals.register_table(name, base.metadata_location)
        self._table = self.watched.load_table(name)
        self._schedule = []
        return self._table

    def left_behind(self, base: Table, rival: Rival, number: int) -> str:
        """The metadata that so many rivals of one kind leave, made by real commits as far as they are not there yet."""
        chain = self._chains.setdefault((base.metadata_location, rival), [base.metadata_location])
        if len(chain) <= number:
            sibling = self.rivals.register_table(f"n.s{next(_NUMBERS)}", chain[-1])
            while len(chain) <= number:
                rival.commit(sibling, len(chain))
                chain.append(sibling.metadata_location)
        return chain[number]

    def let_in_now(self, metadata: str) -> None:
        """Rivals come in at once: the table's pointer now names what they left."""
        assert self._table is not None
        name = self._table.name()[-1]
        statement = (
            update(IcebergTables)
            .where(IcebergTables.table_namespace == "n", IcebergTables.table_name == name)
            .values(metadata_location=metadata)
        )
        with self.rivals.engine.begin() as connection:
            connection.execute(statement)

    def let_in_later(self, metadata: list[str], moment: Moment) -> None:
        """Rivals come in at this moment of the next commit calls, one entry of the list at each."""
        self._schedule, self._moment = list(metadata), moment

    def rivals_at(self, moment: Moment) -> None:
        """Let in whoever is waiting for this moment."""
        self.on_moment(moment)
        if self._schedule and moment == self._moment:
            self.let_in_now(self._schedule.pop(0))


@dataclass(frozen=True, slots=True)
class Rival:
    """What rivals commit, and in which partition."""

    kind: str
    partition: str

    def commit(self, table: Table, number: int) -> None:
        """Commit once, as the rival with this number; `mixed` alternates, beginning with an append."""
        kind = self.kind
        if kind == "mixed":
            kind = "appends" if number % 2 else "overwrites"
        if kind == "overwrites":
            predicate = f"p == '{self.partition}' and id < 100"
            added = [data_file(self.partition, OWN_IDS)]
            overwrite(table, predicate, files_matching(table, predicate), added)
        elif kind == "deletes":
            # Each deletes another partition, and none of them that of the operation.
            table.delete(f"p == '{partition_names(number + 1)[number]}'")
        else:
            ids = OWN_IDS if kind == "conflicting_appends" else OTHER_IDS
            with table.transaction() as tx, tx.update_snapshot().fast_append() as producer:
                producer.append_data_file(data_file(self.partition, ids))


def files_matching(table: Table, predicate: str) -> list[DataFile]:
    """The data files that may hold rows of this predicate."""
    return [task.file for task in table.scan(row_filter=predicate).plan_files()]


def overwrite(
    table: Table, predicate: str, replaced: Sequence[DataFile], added: Sequence[DataFile]
) -> None:
    """Overwrite in one snapshot: PyIceberg's own OverwriteFiles, which has to be told the files that it replaces."""
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as producer:
        producer.delete_by_predicate(parse(predicate))
        for file in replaced:
            producer.delete_data_file(file)
        for file in added:
            producer.append_data_file(file)


@contextmanager
def open_bench(folder: Path) -> Iterator[Bench]:
    """A bench in an empty folder, for as long as it is used."""
    recorder = Recorder()
    with watching(f"bench-{next(_NUMBERS)}", recorder) as properties:
        bench = Bench(folder, recorder, properties)
        try:
            yield bench
        finally:
            bench.watched.engine.dispose()
            bench.rivals.engine.dispose()
