"""Many traces in files: found, judged one by one wherever there is room, and told together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.errors import InputError, Problem
from endive.judge.engine import judge
from endive.judge.model import Outcome, Verdict, Violation
from endive.judge.registry import INVARIANTS
from endive.trace.files import NDJSON_SUFFIXES, read_trace

# What a trace is called in a directory of results, where other Parquet files stand beside it.
_NAMES = ("trace.parquet",)
_SUFFIXES = (".trace.parquet", *NDJSON_SUFFIXES)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace that is to be judged; where its path cannot be reached, it brings its bytes along."""

    path: str
    data: bytes | None = None

    @property
    def num_bytes(self) -> int:
        """How much there is to carry."""
        return 0 if self.data is None else len(self.data)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said about one trace."""

    path: str
    seed: int
    cost_table: str | None
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The same as it travels between processes: invariants hold functions, so they go by their names; events stay behind."""

    path: str
    seed: int
    cost_table: str | None
    verdicts: tuple[tuple[str, str, int, tuple[str, ...], str], ...]

    def judged(self) -> Judged:
        """What was said, in full."""
        by_id = {invariant.id: invariant for invariant in INVARIANTS}
        verdicts = tuple(
            Verdict(by_id[id], Outcome(outcome), exercised, tuple(map(Violation, stories)), detail)
            for id, outcome, exercised, stories, detail in self.verdicts
        )
        return Judged(self.path, self.seed, self.cost_table, verdicts)


def find_traces(paths: Sequence[str]) -> list[str]:
    """The traces among these paths; directories are searched, and one without any is a mistake."""
    found: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        if not Path(path).is_dir():
            found.append(path)
            continue
        inside = [
            str(Path(folder) / name)
            for folder, _, names in os.walk(path)
            for name in names
            if (name in _NAMES or name.endswith(_SUFFIXES)) and not name.startswith(".")
        ]
        if not inside:
            message = (
                "holds no trace; endive run --trace and a sweep with `trace = true` write them"
            )
            problems.append(Problem(message, file=path))
        found += sorted(inside)
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(found))


def judge_file(file: TraceFile) -> Sentence | tuple[Problem, ...]:
    """Judge one trace, or say why it is none."""
    if file.data is None:
        return _judge_at(file.path, file.path)
    with tempfile.TemporaryDirectory(prefix="endive-trace-") as place:
        # The name says what kind of file it is.
        here = Path(place) / Path(file.path).name
        here.write_bytes(file.data)
        return _judge_at(str(here), file.path)


def _judge_at(place: str, path: str) -> Sentence | tuple[Problem, ...]:
    try:
        trace = read_trace(place)
    except InputError as error:
        return tuple(
            Problem(each.message, each.key, path, each.line, each.column) for each in error.problems
        )
    header = trace.header
    table: Any = header.cost_table.get("name")
    said = tuple(
        (
            verdict.invariant.id,
            verdict.outcome.value,
            verdict.exercised,
            tuple(violation.story for violation in verdict.violations),
            verdict.detail,
        )
        for verdict in judge(trace)
    )
    return Sentence(path, header.seed, table, said)
