"""One run's files, read and verified: are they whole, are they Endive's, and are the rows those that were written?

This runs where the files are read, in Spark's Python workers; nothing here knows of Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from endive.errors import Problem
from endive.experiment import SUMMARY_KEY
from endive.pipeline.schemas import IO_COUNTERS
from endive.pipeline.tree import FileState, RunFiles
from endive.results import IN_FLIGHT

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_QUANTA_PER_MS = 1e6
# Words that a run always knows, whether a row has them or not; they are part of its digest.
_ALWAYS_KNOWN = {"status": ("committed", "aborted", IN_FLIGHT), "abort_reason": ("None",)}
_NEEDED = ("txn_id", "t_submit", "status", "operation_type", "class_name", "commit_latency")
_MEND = "remove it and run that seed again"
_FOREIGN = "move it out of the tree"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run's files must say of themselves."""

    config_hash: str
    version: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of one run's files once they are verified."""

    files: RunFiles
    rows: int
    attempt_rows: int
    duration_ms: float
    digest: str
    columns: dict[str, str]
    """The columns of the results and their types in Arrow's words."""
    attempt_columns: dict[str, str]


class _BadFileError(Exception):
    """What is wrong with one file, without its name."""


def verify_run(run: RunFiles, expected: Expected) -> RunFacts | list[Problem]:
    """The facts of a run, or all that is wrong with its files."""
    problems = []
    facts = None
    file = run.results.path
    try:
        facts, summary = _verify_results(run, expected)
    except _BadFileError as error:
        problems.append(Problem(str(error), file=file))
    else:
        if run.attempts is not None:
            file = run.attempts.path
            try:
                facts = _with_attempts(facts, summary)
            except _BadFileError as error:
                problems.append(Problem(str(error), file=file))
    for state in (run.results, run.attempts):
        if not problems and state is not None and not state.is_unchanged():
            problems.append(changed(state))
    return problems if problems or facts is None else facts


def changed(state: FileState) -> Problem:
    """That a file is being written to."""
    return Problem("was replaced while it was read; wait until the run has ended", file=state.path)


def digest_of(file: pq.ParquetFile) -> str:
    """The digest that `endive.results.digest` gives the same rows, recomputed from what the file holds."""
    names = file.schema_arrow.names
    order = _order(_column(file, "txn_id"))
    hasher = hashlib.sha256()
    for name in names:
        column = file.read(columns=[name]).column(0)
        values = _hashed(hasher, name, column)
        hasher.update(name.encode())
        ordered = values if order is None else values[order]
        hasher.update(np.ascontiguousarray(ordered, dtype="<i8").tobytes())
    return hasher.hexdigest()


def _hashed(hasher: Any, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    """A column as the whole numbers that are hashed; of words, the words themselves are hashed first."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        quanta: NDArray[Any] = np.rint(column.to_numpy() * _QUANTA_PER_MS).astype("<i8")
        return quanta
    if not pa.types.is_string(column.type):
        integers: NDArray[Any] = column.to_numpy()
        return integers
    coded = column.fill_null("None").dictionary_encode().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], coded.type)
    seen = coded.dictionary.to_pylist()
    words = sorted({*seen, *_ALWAYS_KNOWN.get(name, ())})
    hasher.update("\0".join(words).encode())
    ranks = {word: rank for rank, word in enumerate(words)}
    table = np.array([ranks[word] for word in seen] or [0], dtype="<i8")
    ranked: NDArray[Any] = table[coded.indices.to_numpy()]
    return ranked


def _order(txn_ids: NDArray[Any]) -> NDArray[Any] | None:
    """The order of transaction ids; None where they are in order already."""
    if bool(np.all(txn_ids[1:] > txn_ids[:-1])):
        return None
    order: NDArray[Any] = np.argsort(txn_ids, kind="stable")
    return order


def _verify_results(run: RunFiles, expected: Expected) -> tuple[RunFacts, dict[str, Any]]:
    import pyarrow as pa

    with _opened(run.results.path) as file:
        summary = _summary(file, run, expected)
        columns = {field.name: str(field.type) for field in file.schema_arrow}
        if missing := [name for name in _NEEDED if name not in columns]:
            raise _BadFileError(f"has no column {', '.join(missing)}; {_FOREIGN}")
        rows = file.metadata.num_rows
        if rows != summary.get("launched"):
            launched = summary.get("launched")
            raise _BadFileError(
                f"has {rows} rows, and its summary speaks of {launched} transactions; {_MEND}"
            )
        try:
            digest = digest_of(file)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(error) from None
    if digest != summary.get("digest"):
        told = str(summary.get("digest"))
        raise _BadFileError(
            f"its rows have the digest {digest[:12]}, its summary says {told[:12]}: they were changed since; {_MEND}"
        )
    duration_ms = float(summary["duration_ms"])
    return RunFacts(run, rows, 0, duration_ms, digest, columns, {}), summary


def _with_attempts(facts: RunFacts, summary: dict[str, Any]) -> RunFacts:
    import dataclasses

    import pyarrow as pa

    run = facts.files
    assert run.attempts is not None
    with _opened(run.attempts.path) as file, _opened(run.results.path) as results:
        if _stored_summary(file) != summary:
            raise _BadFileError(f"belongs to another run than {run.results.path}; {_MEND}")
        columns = {field.name: str(field.type) for field in file.schema_arrow}
        try:
            _compare_counts(file, results)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(error) from None
        rows = file.metadata.num_rows
    return dataclasses.replace(facts, attempt_rows=rows, attempt_columns=columns)


def _compare_counts(attempts: pq.ParquetFile, results: pq.ParquetFile) -> None:
    """The attempts of a transaction add up to its row: there is no digest of their own."""
    of_rows = set(results.schema_arrow.names)
    counters = [name for name in attempts.schema_arrow.names if name in IO_COUNTERS]
    txn_ids = _column(attempts, "txn_id")
    known = np.sort(_column(results, "txn_id"))
    order = np.argsort(_column(results, "txn_id"), kind="stable")
    place = np.searchsorted(known, txn_ids)
    if len(txn_ids) and (
        not len(known) or not np.array_equal(known[np.minimum(place, len(known) - 1)], txn_ids)
    ):
        raise _BadFileError(f"has attempts of transactions that the results do not have; {_MEND}")
    has_attempts = np.bincount(place, minlength=len(known)) > 0
    has_ended = _word_is(results, "status", IN_FLIGHT, but=True)[order]
    calls = np.bincount(
        place[_word_is(attempts, "outcome", "committed", "failed")], minlength=len(known)
    )
    if not has_attempts[has_ended].all() or (
        "n_retries" in of_rows
        and not np.array_equal(
            np.maximum(calls - 1, 0)[has_ended], _column(results, "n_retries")[order][has_ended]
        )
    ):
        raise _BadFileError(f"lacks attempts that the results count; {_MEND}")
    for name in counters:
        if name not in of_rows:
            continue
        sums = np.bincount(place, weights=_column(attempts, name), minlength=len(known))
        if not np.array_equal(sums[has_attempts], _column(results, name)[order][has_attempts]):
            raise _BadFileError(f"its {name} do not add up to those of the results; {_MEND}")


def _column(file: pq.ParquetFile, name: str) -> NDArray[Any]:
    values: NDArray[Any] = file.read(columns=[name]).column(0).to_numpy()
    return values


def _word_is(file: pq.ParquetFile, name: str, *words: str, but: bool = False) -> NDArray[np.bool_]:
    """Which rows have one of these words in a column, or none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_in(file.read(columns=[name]).column(0), value_set=pa.array(words, pa.string()))
    is_one: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return ~is_one if but else is_one


def _opened(path: str) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise _BadFileError("is gone; wait until the run has ended") from None
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from None


def _damaged(error: Exception) -> _BadFileError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return _BadFileError(f"is no whole Parquet file ({reason}); {_MEND}")


def _stored_summary(file: pq.ParquetFile) -> dict[str, Any]:
    stored = (file.metadata.metadata or {}).get(SUMMARY_KEY.encode())
    if stored is None:
        raise _BadFileError(f"carries no summary, so it is not Endive's; {_FOREIGN}")
    try:
        summary = json.loads(stored)
    except ValueError:
        summary = None
    if not isinstance(summary, dict):
        raise _BadFileError(f"carries a summary that cannot be read; {_MEND}")
    return summary


def _summary(file: pq.ParquetFile, run: RunFiles, expected: Expected) -> dict[str, Any]:
    summary = _stored_summary(file)
    if summary.get("seed") != run.seed:
        raise _BadFileError(
            f"is the run of seed {summary.get('seed')}, its directory says {run.seed}; {_FOREIGN}"
        )
    if summary.get("config_hash") != expected.config_hash:
        raise _BadFileError(
            f"is a run of the configuration {summary.get('config_hash')}, its directory says "
            f"{expected.config_hash}; {_FOREIGN}"
        )
    if summary.get("version") != expected.version:
        raise _BadFileError(
            f"was made by version {summary.get('version')}, version.txt says {expected.version}; "
            "run the experiment again, so that all its seeds are of one version"
        )
    if not isinstance(summary.get("duration_ms"), int | float):
        raise _BadFileError(f"carries a summary without duration_ms; {_MEND}")
    return summary


def unified_types(
    columns_of: Sequence[tuple[str, dict[str, str]]],
) -> tuple[dict[str, str], list[Problem]]:
    """The union of columns over files, in order of appearance; whole numbers widen, nothing else goes together."""
    types: dict[str, str] = {}
    first: dict[str, str] = {}
    problems = []
    for path, columns in columns_of:
        for name, kind in columns.items():
            given = _WIDE.get(kind, kind)
            known = types.setdefault(name, given)
            first.setdefault(name, path)
            if known == given:
                continue
            if {known, given} == {"int64", "double"}:
                types[name] = "double"
                continue
            message = (
                f"is of type {kind} here and {known} in {first[name]}: one column cannot hold both; "
                "consolidate the two apart"
            )
            problems.append(Problem(message, key=name, file=path))
    for name, kind in types.items():
        if kind not in ("int64", "double", "string", "bool"):
            message = f"is of type {kind}, which no results of Endive's have; {_FOREIGN}"
            problems.append(Problem(message, key=name, file=first[name]))
    return types, problems


_WIDE = {
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "float": "double",
    "large_string": "string",
}
