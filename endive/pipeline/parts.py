"""Parts: the files that the consolidated datasets consist of, each with the rows of some runs of one experiment.

Written where the runs' files are read, in Spark's Python workers, a row group at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from endive.errors import Problem
from endive.pipeline.columns import (
    ATTEMPT_KIND,
    ATTEMPTS,
    EXPERIMENT,
    FIRST,
    FROM_TRANSACTION,
    RETRY,
    TRANSACTIONS,
)
from endive.pipeline.configs import Scalar
from endive.pipeline.files import RunFacts, changed
from endive.utils import whole_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_PART = 1_000_000
"""Runs are put together until a part has this many rows; many small files are slow to read."""
_ROWS_PER_GROUP = 131_072
# What Hive, and Spark after it, write as %XX in the name of a partition's directory.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(1, 32)}

Types = Mapping[str, str]
"""Columns of a dataset in order, and their types in Arrow's words."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some runs of one experiment, and what every row of theirs is told of where it is from."""

    experiment: str
    label: str
    config_hash: str
    version: str
    config: Mapping[str, Scalar]
    """Values by column."""
    runs: tuple[RunFacts, ...]

    @property
    def name(self) -> str:
        """A name that no other content has."""
        told = repr((self.experiment, self.version, [(run.files, run.digest) for run in self.runs]))
        return f"part-{hashlib.sha256(told.encode()).hexdigest()[:16]}.parquet"

    def place(self, dataset: str) -> str:
        """Where the part stands, from the version's directory."""
        return f"{dataset}/{partition_directory(self.experiment)}/{self.name}"


def partition_directory(experiment: str) -> str:
    """The directory of one experiment in a partitioned dataset, as Hive names it."""
    escaped = "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in experiment)
    return f"{EXPERIMENT}={escaped}"


def packed(parts: Sequence[Part], largest_rows: int = ROWS_PER_PART) -> Iterator[Part]:
    """The same runs in parts of a convenient size; the runs of one part belong to one experiment."""
    import dataclasses

    for part in parts:
        runs: list[RunFacts] = []
        rows = 0
        for run in part.runs:
            if runs and rows + max(run.rows, run.attempt_rows) > largest_rows:
                yield dataclasses.replace(part, runs=tuple(runs))
                runs, rows = [], 0
            runs.append(run)
            rows += max(run.rows, run.attempt_rows)
        if runs:
            yield dataclasses.replace(part, runs=tuple(runs))


def write_part(part: Part, staging: str, types: Types, attempt_types: Types) -> list[Problem]:
    """Write the rows of a part, and those of its attempts where there are any; tells of files that changed meanwhile."""
    target = Path(staging) / part.place(TRANSACTIONS)
    with whole_file(target) as beside, _writer(beside, types) as writer:
        for run in part.runs:
            for batch in _batches(run.files.results.path):
                writer.write_batch(_completed(batch, types, part, run, {}))
    if any(run.files.attempts is not None for run in part.runs):
        target = Path(staging) / part.place(ATTEMPTS)
        with whole_file(target) as beside, _writer(beside, attempt_types) as writer:
            for run in part.runs:
                if run.files.attempts is None:
                    continue
                told = _Told(run)
                for batch in _batches(run.files.attempts.path):
                    completed = _completed(batch, attempt_types, part, run, told.of(batch))
                    writer.write_batch(completed)
    states = [state for run in part.runs for state in (run.files.results, run.files.attempts)]
    return [changed(state) for state in states if state is not None and not state.is_unchanged()]


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=_ROWS_PER_GROUP)


class _Told:
    """What attempts are told that their own file does not say: of their transactions, and whether they are first ones."""

    def __init__(self, run: RunFacts) -> None:
        import pyarrow.parquet as pq

        assert run.files.attempts is not None
        names = ["txn_id", *FROM_TRANSACTION]
        table = pq.read_table(run.files.results.path, columns=names).sort_by("txn_id")
        self._txn_ids = table.column("txn_id").to_numpy()
        self._transactions = table.select(list(FROM_TRANSACTION))
        passes = pq.read_table(run.files.attempts.path, columns=["txn_id", "restart"])
        self._is_first = np.ones(len(passes), dtype=bool)
        # The file is ordered by transaction and attempt, so a first one is where either number changes.
        columns = [passes.column(name).to_numpy() for name in ("txn_id", "restart")]
        self._is_first[1:] = np.logical_or.reduce([c[1:] != c[:-1] for c in columns])
        self._place = 0

    def of(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The columns for the next piece of the file."""
        import pyarrow as pa

        place = np.searchsorted(self._txn_ids, batch.column("txn_id").to_numpy())
        taken = self._transactions.take(place)
        first = self._is_first[self._place : self._place + len(batch)]
        self._place += len(batch)
        return {
            ATTEMPT_KIND: pa.array(np.where(first, FIRST, RETRY)),
            **{name: _one_array(taken.column(name).combine_chunks()) for name in FROM_TRANSACTION},
        }


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _completed(
    batch: pa.RecordBatch, types: Types, part: Part, run: RunFacts, told: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    """A piece of a file with the columns of the dataset: its own, those of its run, and nulls for the rest."""
    import pyarrow as pa

    constants: dict[str, Scalar] = {
        "config_hash": part.config_hash,
        "label": part.label,
        "seed": run.files.seed,
        "duration_ms": run.duration_ms,
        "code_version": part.version,
        **part.config,
    }
    own = set(batch.schema.names)
    arrays = []
    schema = _schema(types)
    for field in schema:
        if field.name in constants:
            arrays.append(_constant(constants[field.name], field.type, len(batch)))
        elif field.name in told:
            arrays.append(_cast(told[field.name], field.type))
        elif field.name in own:
            arrays.append(_cast(batch.column(field.name), field.type))
        else:
            arrays.append(pa.nulls(len(batch), field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _constant(value: Scalar, kind: pa.DataType, count: int) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(count, np.int8)), pa.array([value], kind.value_type)
        )
    if pa.types.is_floating(kind):
        value = float(value)
    return pa.repeat(pa.scalar(value, kind), count)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if not pa.types.is_dictionary(kind):
        return array.cast(kind)
    coded = array.cast(kind.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), coded.dictionary)


def _schema(types: Types) -> pa.Schema:
    """Arrow's schema while rows are written: words are coded, which saves comparing them again for each row."""
    import pyarrow as pa

    kinds = {
        "int64": pa.int64(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "string": pa.dictionary(pa.int32(), pa.string()),
    }
    return pa.schema([pa.field(name, kinds[kind]) for name, kind in types.items()])


def _writer(path: Path, types: Types) -> pq.ParquetWriter:
    import pyarrow.parquet as pq

    # Times are all different, so looking for repetitions in them is time lost; those of a configuration are all alike.
    repetitive = [
        name
        for name, kind in types.items()
        if name.startswith("cfg_") or (kind not in ("double", "string") and name != "txn_id")
    ]
    return pq.ParquetWriter(
        path, _schema(types), use_dictionary=repetitive, store_schema=False, compression="snappy"
    )
