"""Results: one packed row per transaction, turned into columns, data frames and Parquet when asked (§6.2).

A row is packed into a buffer as soon as its transaction ends, so a million of them cost a hundred bytes each and become Arrow
columns without ever being Python objects again. `Statistics.transactions` unpacks rows on demand.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from endive.transaction import TransactionResult, TransactionStatus
from endive.utils import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

IN_FLIGHT = "in_flight"
_STATUSES = ("committed", "aborted", IN_FLIGHT)
_COMMITTED, _ABORTED = TransactionStatus.COMMITTED, TransactionStatus.ABORTED

# The packed row: field, struct code, numpy type. Words (status, operation, reason) are stored as codes.
_FIELDS = (
    ("txn_id", "q", "<i8"),
    ("t_submit", "d", "<f8"),
    ("t_runtime", "d", "<f8"),
    ("t_commit", "d", "<f8"),
    ("t_abort", "d", "<f8"),
    ("commit_latency", "d", "<f8"),
    ("total_latency", "d", "<f8"),
    ("catalog_read_ms", "d", "<f8"),
    ("per_attempt_io_ms", "d", "<f8"),
    ("conflict_io_ms", "d", "<f8"),
    ("catalog_commit_ms", "d", "<f8"),
    ("backoff_ms", "d", "<f8"),
    ("unfinished_ms", "d", "<f8"),
    ("start_io_ms", "d", "<f8"),
    ("rework_ms", "d", "<f8"),
    ("n_retries", "i", "<i4"),
    ("manifest_list_reads", "i", "<i4"),
    ("manifest_list_writes", "i", "<i4"),
    ("manifest_file_reads", "i", "<i4"),
    ("manifest_file_writes", "i", "<i4"),
    ("historical_ml_reads", "i", "<i4"),
    ("manifest_list_appends", "i", "<i4"),
    ("metadata_reads", "i", "<i4"),
    ("metadata_writes", "i", "<i4"),
    ("restarts", "i", "<i4"),
    ("false_conflicts", "i", "<i4"),
    ("real_conflicts", "i", "<i4"),
    ("status", "b", "<i1"),
    ("operation_type", "b", "<i1"),
    ("abort_reason", "b", "<i1"),
    ("class_name", "b", "<i1"),
)
_ROW = struct.Struct("<" + "".join(code for _, code, _ in _FIELDS))
_DTYPE = np.dtype([(name, kind) for name, _, kind in _FIELDS])
# The same row without its fields: copied as one piece of memory.
_OPAQUE = np.dtype((np.void, _DTYPE.itemsize))

# The columns of §6.2 in its order, then ours.
COLUMNS = (
    "txn_id",
    "t_submit",
    "t_runtime",
    "t_commit",
    "commit_latency",
    "total_latency",
    "n_retries",
    "status",
    "operation_type",
    "abort_reason",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "catalog_read_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "t_abort",
    "historical_ml_reads",
    "manifest_list_appends",
    "backoff_ms",
    "unfinished_ms",
    "start_io_ms",
    "rework_ms",
    "metadata_reads",
    "metadata_writes",
    "restarts",
    "false_conflicts",
    "real_conflicts",
    "class_name",
)

_ROWS_PER_CHUNK = 8192
_ROWS_PER_GROUP = 131_072
_QUANTA_PER_MS = 1e6


class RowLog:
    """Rows in the order they were recorded."""

    def __init__(self) -> None:
        self._chunks: list[bytearray] = []
        self._count = 0
        # Code 0 is "no reason"; other words get codes as they first appear.
        self._operations: dict[str, int] = {}
        self._reasons: dict[str | None, int] = {None: 0}
        self._classes: dict[str, int] = {}

    def __len__(self) -> int:
        return self._count

    def append(self, result: TransactionResult) -> None:
        """Pack one result."""
        index = self._count % _ROWS_PER_CHUNK
        if index == 0:
            self._chunks.append(bytearray(_ROW.size * _ROWS_PER_CHUNK))
        operations, reasons, classes = self._operations, self._reasons, self._classes
        operation, reason = result.operation_type, result.abort_reason
        submit_ms = result.submit_time_ms
        if submit_ms != submit_ms:
            # A result without a submit time ended when it says it did.
            submit_ms = max(result.commit_time_ms, result.abort_time_ms) - result.total_latency_ms
        _ROW.pack_into(
            self._chunks[-1],
            index * _ROW.size,
            result.txn_id,
            submit_ms,
            result.runtime_ms,
            result.commit_time_ms,
            result.abort_time_ms,
            result.commit_latency_ms,
            result.total_latency_ms,
            result.catalog_read_ms,
            result.per_attempt_io_ms,
            result.conflict_io_ms,
            result.catalog_commit_ms,
            result.backoff_ms,
            result.unfinished_ms,
            result.start_io_ms,
            result.rework_ms,
            result.total_retries,
            result.manifest_list_reads,
            result.manifest_list_writes,
            result.manifest_file_reads,
            result.manifest_file_writes,
            result.historical_ml_reads,
            result.manifest_list_appends,
            result.metadata_reads,
            result.metadata_writes,
            result.restarts,
            result.false_conflicts,
            result.real_conflicts,
            0 if result.status is _COMMITTED else 1 if result.status is _ABORTED else 2,
            operations.setdefault(operation, len(operations)),
            reasons.setdefault(reason, len(reasons)),
            classes.setdefault(result.class_name, len(classes)),
        )
        self._count += 1

    def rows(self) -> Iterator[NDArray[Any]]:
        """The packed rows, chunk by chunk, without copying."""
        left = self._count
        for chunk in self._chunks:
            yield np.frombuffer(chunk, dtype=_DTYPE, count=min(left, _ROWS_PER_CHUNK))
            left -= _ROWS_PER_CHUNK

    def column(self, name: str) -> NDArray[Any]:
        """One packed column, in the order recorded."""
        parts = [rows[name] for rows in self.rows()]
        return np.concatenate(parts) if parts else np.empty(0, _DTYPE[name])

    def order(self) -> NDArray[np.int64]:
        """The rows in order of transaction id."""
        return np.argsort(self.column("txn_id"), kind="stable")

    def take(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Some packed rows, in the order asked for."""
        if not len(indices):
            return np.empty(0, dtype=_DTYPE)
        # Rows end roughly in the order in which they began: a run of ids touches few chunks.
        first, last = int(indices.min()) // _ROWS_PER_CHUNK, int(indices.max()) // _ROWS_PER_CHUNK
        if (last - first) * _ROWS_PER_CHUNK <= 4 * len(indices):
            rows = np.concatenate(
                [np.frombuffer(chunk, dtype=_OPAQUE) for chunk in self._chunks[first : last + 1]]
            )
            return rows[indices - first * _ROWS_PER_CHUNK].view(_DTYPE)
        taken = np.empty(len(indices), dtype=_OPAQUE)
        chunk_of, place = np.divmod(indices, _ROWS_PER_CHUNK)
        for chunk in np.unique(chunk_of):
            here = chunk_of == chunk
            taken[here] = np.frombuffer(self._chunks[chunk], dtype=_OPAQUE)[place[here]]
        return taken.view(_DTYPE)

    def words(self, name: str) -> list[str | None]:
        """What the codes of a coded column stand for."""
        if name == "status":
            return list(_STATUSES)
        if name == "operation_type":
            return list(self._operations)
        if name == "class_name":
            return list(self._classes)
        return list(self._reasons)

    def result(self, index: int) -> TransactionResult:
        """Unpack one row."""
        row = dict(zip(_DTYPE.names or (), self.take(np.array([index]))[0].tolist(), strict=True))
        statuses = (
            TransactionStatus.COMMITTED,
            TransactionStatus.ABORTED,
            TransactionStatus.COMMITTING,
        )
        return TransactionResult(
            status=statuses[row["status"]],
            txn_id=row["txn_id"],
            commit_time_ms=row["t_commit"],
            abort_time_ms=row["t_abort"],
            abort_reason=self.words("abort_reason")[row["abort_reason"]],
            total_retries=row["n_retries"],
            commit_latency_ms=row["commit_latency"],
            total_latency_ms=row["total_latency"],
            operation_type=str(self.words("operation_type")[row["operation_type"]]),
            runtime_ms=row["t_runtime"],
            submit_time_ms=row["t_submit"],
            class_name=str(self.words("class_name")[row["class_name"]]),
            **{name: row[name] for name in _SAME_NAME},
        )


_SAME_NAME = tuple(
    name
    for name, _, _ in _FIELDS
    if name.endswith(("_reads", "_writes", "_appends", "_conflicts", "_ms", "restarts"))
    and name in TransactionResult.__dataclass_fields__
)


class TransactionLog(Sequence[TransactionResult]):
    """The finished transactions of a run, unpacked one at a time."""

    def __init__(self, log: RowLog) -> None:
        self._log = log
        self.finished = 0

    def __len__(self) -> int:
        return self.finished

    @overload
    def __getitem__(self, index: int) -> TransactionResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[TransactionResult]: ...
    def __getitem__(self, index: int | slice) -> TransactionResult | list[TransactionResult]:
        if isinstance(index, slice):
            return [self._log.result(i) for i in range(self.finished)[index]]
        return self._log.result(range(self.finished)[index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __repr__(self) -> str:
        return f"<{self.finished} transaction results>"


def digest(log: RowLog) -> str:
    """SHA-256 over all columns: integers and words as they are, times quantised to 1e-6 ms."""
    order = log.order()
    hasher = hashlib.sha256()
    for name in COLUMNS:
        values = log.column(name)[order]
        if values.dtype.kind == "f":
            values = np.rint(values * _QUANTA_PER_MS).astype("<i8")
        elif values.dtype.itemsize == 1:
            words = "\0".join(str(word) for word in log.words(name))
            # Codes depend on who came first; hash the words themselves, once per distinct word.
            ranks = {word: rank for rank, word in enumerate(sorted(words.split("\0")))}
            table = np.array([ranks[str(word)] for word in log.words(name)] or [0], dtype="<i8")
            hasher.update("\0".join(sorted(words.split("\0"))).encode())
            values = table[values]
        hasher.update(name.encode())
        hasher.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
    return hasher.hexdigest()


def arrow_batches(log: RowLog) -> Iterator[pa.RecordBatch]:
    """The result table in order of transaction id, a bounded piece at a time; words are dictionary-encoded."""
    import pyarrow as pa

    schema = arrow_schema()
    order = log.order()
    for start in range(0, max(1, len(order)), _ROWS_PER_GROUP):
        columns = _columns(log, order[start : start + _ROWS_PER_GROUP])
        arrays = []
        for field in schema:
            values = columns[field.name]
            if pa.types.is_dictionary(field.type):
                words = log.words(field.name)
                nothing = np.array([word is None for word in words] or [False])[values]
                codes = pa.array(values, mask=nothing)
                named = pa.array(["" if word is None else word for word in words], pa.string())
                arrays.append(pa.DictionaryArray.from_arrays(codes, named))
            else:
                arrays.append(pa.array(values, field.type))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(log: RowLog, indices: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Rows turned into columns, in pieces that a processor can keep at hand."""
    columns = {name: np.empty(len(indices), _DTYPE[name]) for name in COLUMNS}
    for start in range(0, len(indices), _ROWS_PER_CHUNK):
        rows = log.take(indices[start : start + _ROWS_PER_CHUNK])
        for name, column in columns.items():
            column[start : start + len(rows)] = rows[name]
    return columns


def arrow_schema(*, plain_words: bool = False) -> pa.Schema:
    """Names and types of the result table; words are dictionary-encoded unless asked for as plain strings."""
    import pyarrow as pa

    words = pa.string() if plain_words else pa.dictionary(pa.int8(), pa.string())
    kinds = {"f": pa.float64(), "i": pa.int64()}

    def kind(name: str) -> pa.DataType:
        dtype = _DTYPE[name]
        return words if dtype.itemsize == 1 else kinds[dtype.kind]

    return pa.schema([pa.field(name, kind(name)) for name in COLUMNS])


def write_parquet(
    log: RowLog, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write the result table; the file appears under its name only when it is whole."""
    import pyarrow.parquet as pq

    # Times are all different, so looking for repetitions in them is time lost.
    repetitive = [
        name for name in COLUMNS if _DTYPE[name].kind == "i" and _DTYPE[name].itemsize < 8
    ]
    # Without Arrow's own schema in the file every reader sees words as plain strings.
    settings = {"use_dictionary": repetitive, "store_schema": False}
    with whole_file(path) as beside, pq.ParquetWriter(beside, arrow_schema(), **settings) as writer:
        writer.add_key_value_metadata(dict(metadata or {}))
        for batch in arrow_batches(log):
            writer.write_batch(batch)
