"""Consolidation: every run of an experiments tree, verified, in one partitioned dataset (§7.3, docs/PIPELINE.md).

The driver lists directories and decides; the executors read, verify and write. What has been consolidated before and has not
changed since is neither read nor written again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from endive.errors import InputError, Problem
from endive.pipeline import places
from endive.pipeline.columns import (
    ATTEMPT_KIND,
    ATTEMPT_ROW_COLUMNS,
    ATTEMPTS,
    EXPERIMENT,
    TRANSACTION_COLUMNS,
    TRANSACTIONS,
    config_column,
)
from endive.pipeline.configs import config_types
from endive.pipeline.files import Expected, RunFacts, unified_types, verify_run
from endive.pipeline.manifest import Manifest, WrittenPart, load_manifest
from endive.pipeline.parts import Part, packed, partition_directory, write_part
from endive.pipeline.tree import Found, RunFiles, read_tree
from endive.results import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_T = TypeVar("_T")
_R = TypeVar("_R")
_ARROW_OF = {"boolean": "bool", "long": "int64", "double": "double", "string": "string"}
_SPARK_OF = {"bool": "boolean", "int64": "bigint", "double": "double", "string": "string"}
_ATTEMPT_WORDS = (
    "operation_type",
    "class_name",
    "conflict_class",
    "outcome",
    "status",
    ATTEMPT_KIND,
)
_RUN_TYPES = {
    "config_hash": "string",
    "label": "string",
    "seed": "int64",
    "duration_ms": "double",
    "code_version": "string",
}


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What consolidating a tree came to."""

    directory: Path
    """Where the two datasets stand."""
    manifest: Manifest
    read: int
    """How many runs were read and verified this time; the others had been before."""
    written: int
    """How many parts were written this time."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The consolidated datasets as data frames, for as long as they are held."""

    transactions: DataFrame
    attempts: DataFrame | None
    """None where no run recorded its attempts."""
    manifest: Manifest


def consolidate(
    spark: SparkSession,
    tree: str | Path,
    out: str | Path | None = None,
    *,
    anew: bool = False,
) -> Consolidation:
    """Put every finished run of a tree into the datasets of `out`, which is the tree itself unless another is named.

    Bad input of any kind is told at once and leaves what stood there as it was. `anew` reads and writes everything again.
    """
    tree = Path(tree)
    out = tree if out is None else Path(out)
    read_tree(tree)
    _check_place(out)
    with places.writing(out):
        # Looked at again: the one before may have taken a while, and what is there now is what counts.
        found = read_tree(tree)
        version = None if anew else places.current(out)
        before = load_manifest(version) if version else None
        return _consolidated(spark, tree, out, found, before, version)


@contextmanager
def open_frames(spark: SparkSession, directory: str | Path) -> Iterator[Frames]:
    """The datasets of a directory, which stay as they are until the block ends, whoever consolidates meanwhile."""
    directory = Path(directory)
    with places.reading(directory) as version:
        manifest = load_manifest(version) if version else None
        if version is None or manifest is None:
            message = f"holds no consolidated data; make it with consolidate(spark, tree, {str(directory)!r})"
            raise InputError([Problem(message, file=str(directory))])
        transactions = _frame(spark, version / TRANSACTIONS, manifest.types)
        attempts = None
        if manifest.has_attempts:
            attempts = _frame(spark, version / ATTEMPTS, manifest.attempt_types)
        yield Frames(transactions, attempts, manifest)


def _frame(spark: SparkSession, path: Path, types: Any) -> DataFrame:
    # Told the columns, Spark need not guess: neither that a label is a date, nor that a file lacks a column.
    columns = [f"`{name}` {_SPARK_OF[kind]}" for name, kind in types.items()]
    # A path is a pattern to Spark, and nothing in it is decoded.
    place = "file://" + re.sub(r"([{}\[\]*?\\])", r"\\\1", str(path.resolve()))
    return spark.read.schema(", ".join([*columns, f"`{EXPERIMENT}` string"])).parquet(place)


def _consolidated(
    spark: SparkSession,
    tree: Path,
    out: Path,
    found: Sequence[Found],
    before: Manifest | None,
    version: Path | None,
) -> Consolidation:
    place = os.path.relpath(tree, out)
    if before is not None and before.tree != place:
        message = (
            f"holds the consolidation of {before.tree!r}, seen from there; choose another place"
        )
        raise InputError([Problem(message, file=str(out))])
    known = {run.files: run for run in before.runs} if before else {}
    facts, read = _facts(spark, found, known, before)
    experiments = {
        one.name: {
            "label": one.label,
            "config_hash": one.config_hash,
            "version": one.version,
            "config": one.config,
        }
        for one in found
        if one.runs
    }
    types, attempt_types = _types(found, facts)
    kept = _kept(before, experiments, facts, (types, attempt_types))
    parts = _new_parts(found, facts, kept)
    manifest = Manifest(
        place,
        experiments,
        types,
        attempt_types,
        tuple(
            sorted(
                [*kept, *(WrittenPart(part.experiment, part.name, part.runs) for part in parts)],
                key=lambda part: (part.experiment, part.runs[0].files.seed, part.name),
            )
        ),
        tuple(place for one in found for place in one.unfinished),
    )
    if before is not None and manifest.parts == before.parts and manifest == before:
        return Consolidation(out, manifest, read, 0)
    staging = places.new_version(out)
    try:
        jobs = [(part, str(staging.resolve()), types, attempt_types) for part in parts]
        problems = [p for told in _on_executors(spark, jobs, _write) for p in told]
        if problems:
            raise InputError(problems)
        for part in kept:
            assert version is not None
            _take_over(part, version, staging)
        manifest.save(staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    places.publish(out, staging)
    return Consolidation(out, manifest, read, len(parts))


def _check_place(out: Path) -> None:
    problems = [
        Problem("was not made by consolidating; move it out of the way", file=str(path))
        for path in places.occupied(out)
    ]
    if problems:
        raise InputError(problems)


def _facts(
    spark: SparkSession,
    found: Sequence[Found],
    known: dict[RunFiles, RunFacts],
    before: Manifest | None,
) -> tuple[dict[RunFiles, RunFacts], int]:
    """The facts of every run: as they were told before, or by reading its files now."""
    facts = {}
    jobs = []
    for one in found:
        # Another version.txt casts doubt on files that are as they were.
        is_as_before = (
            before is not None
            and one.name in before.experiments
            and before.experiments[one.name]["version"] == one.version
        )
        for run in one.runs:
            if is_as_before and run in known:
                facts[run] = known[run]
            else:
                jobs.append((run, Expected(one.config_hash, one.version)))
    problems: list[Problem] = []
    for told in _on_executors(spark, jobs, _verify):
        if isinstance(told, RunFacts):
            facts[told.files] = told
        else:
            problems += told
    if problems:
        raise InputError(problems)
    return facts, len(jobs)


def _verify(job: tuple[RunFiles, Expected]) -> RunFacts | list[Problem]:
    return verify_run(*job)


def _write(job: tuple[Part, str, dict[str, str], dict[str, str]]) -> list[Problem]:
    return write_part(*job)


def _on_executors(spark: SparkSession, jobs: Sequence[_T], work: Callable[[_T], _R]) -> list[_R]:
    """Do each job in a Python worker, one task per job so that none waits behind another."""
    if not jobs:
        return []
    return spark.sparkContext.parallelize(jobs, len(jobs)).map(work).collect()


def _types(
    found: Sequence[Found], facts: dict[RunFiles, RunFacts]
) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of the two datasets: those of this version, those only some files have, and the configuration's."""
    with_runs = [one for one in found if one.runs]
    keys, problems = config_types(
        {one.name: one.config for one in with_runs},
        {one.name: one.config_file for one in with_runs},
    )
    configured = {config_column(key): _ARROW_OF[kind] for key, kind in keys.items()}
    results = [("", _own_types())]
    attempts = [("", _own_attempt_types())]
    for run in facts.values():
        results.append((run.files.results.path, run.columns))
        if run.files.attempts is not None:
            attempts.append((run.files.attempts.path, run.attempt_columns))
    types, wrong = unified_types(results)
    attempt_types, wrong_too = unified_types(attempts)
    if problems := [*problems, *wrong, *wrong_too]:
        raise InputError(problems)
    return {**types, **configured}, {**attempt_types, **configured}


def _own_types() -> dict[str, str]:
    kinds = {field.name: str(field.type) for field in arrow_schema(plain_words=True)}
    return {name: _RUN_TYPES.get(name) or kinds[name] for name in TRANSACTION_COLUMNS}


def _own_attempt_types() -> dict[str, str]:
    def kind(name: str) -> str:
        if name in _ATTEMPT_WORDS:
            return "string"
        return "double" if name.endswith("_ms") or name.startswith("t_") else "int64"

    return {name: _RUN_TYPES.get(name) or kind(name) for name in ATTEMPT_ROW_COLUMNS}


def _kept(
    before: Manifest | None,
    experiments: dict[str, Any],
    facts: dict[RunFiles, RunFacts],
    types: tuple[dict[str, str], dict[str, str]],
) -> list[WrittenPart]:
    """The parts that are still right: of the same runs, told the same, with the same columns."""
    if before is None or (dict(before.types), dict(before.attempt_types)) != types:
        return []
    return [
        part
        for part in before.parts
        if before.experiments[part.experiment] == experiments.get(part.experiment)
        and all(facts.get(run.files) == run for run in part.runs)
    ]


def _new_parts(
    found: Sequence[Found], facts: dict[RunFiles, RunFacts], kept: Sequence[WrittenPart]
) -> list[Part]:
    """The parts that hold the runs which no kept part holds."""
    held = {run.files for part in kept for run in part.runs}
    wanted = [
        Part(
            one.name,
            one.label,
            one.config_hash,
            one.version,
            {config_column(key): value for key, value in one.config.items()},
            tuple(facts[run] for run in one.runs if run not in held),
        )
        for one in found
    ]
    return list(packed(wanted))


def _take_over(part: WrittenPart, version: Path, staging: Path) -> None:
    """Let a part of the version before be one of the new version too."""
    for dataset in (TRANSACTIONS, ATTEMPTS):
        place = Path(dataset) / partition_directory(part.experiment) / part.name
        old, new = version / place, staging / place
        if not old.exists():
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(old, new)
        except OSError:
            # A file system without hard links.
            shutil.copyfile(old, new)
