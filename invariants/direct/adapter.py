"""How a catalog, Endive's or anybody's, is presented to the direct properties.

A *target* is an object with two methods, made fresh for every trial by `make_catalog(num_tables)` of its module:

    read() -> Seen                                          what the catalog shows now
    commit(seen, tables, txn_id) -> bool                    +1 on each of `tables`, if nothing has changed since `seen`

Either may be a generator instead. Each `yield` is then a place at which others may come in between; what it yields is ignored,
what it returns counts. A catalog without generators may have, in the place of `commit`,

    begin_commit(seen, tables, txn_id) -> handle            the part before the outcome is decided
    finish_commit(handle) -> bool                           the rest

A synchronous target is fine: others then come in between its calls, not inside them.

What a target promises besides, it says by attributes; all of them have defaults:

    granularity = "catalog"         which commits exclude each other: any two, or (`"table"`) two that share a table
    tables_per_commit = None        the most tables that one commit may write
    refuses_only_changed = True     whether a commit is refused only if something it depends on has changed
    look() -> Seen                  what is there, at once and for the referee alone (default: a read with nobody else about)
    fingerprint() -> Hashable       all of the state: interleavings that come to the same one are merged
    close()                         called when a trial is over
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from inspect import isgenerator
from typing import Any, TypeVar

_T = TypeVar("_T")
Steps = Generator[Any, None, _T]
MakeTarget = Callable[[int], Any]

# All sets of tables that a direct property lets a transaction write.
GRANULARITIES = ("catalog", "group", "table", "partition")


@dataclass(frozen=True)
class Seen:
    """What a read shows: how many commits there have been, and the version of each table."""

    seq: int
    versions: tuple[int, ...]
    partition_versions: tuple[tuple[int, ...], ...] = ()
    """Per table, for catalogs that track partitions."""
    handle: Any = field(default=None, compare=False)
    """Whatever the target needs to commit against what was seen."""


class BadTargetError(Exception):
    """A module that cannot be driven: a mistake of usage, and no counterexample."""


def steps_of(answer: Any) -> Steps[Any]:
    """The steps of a call: those of its generator, or a single one."""
    if isgenerator(answer):
        return (yield from answer)
    return answer


def read_steps(target: Any) -> Steps[Seen]:
    """The steps of a read."""
    return (yield from steps_of(target.read()))


def commit_steps(
    target: Any,
    seen: Seen,
    tables: Iterable[int],
    txn_id: int,
    partitions: dict[int, tuple[int, ...]] | None = None,
) -> Steps[bool]:
    """The steps of a commit, whichever way the target has of doing it."""
    if hasattr(target, "begin_commit"):
        handle = yield from steps_of(target.begin_commit(seen, tuple(tables), txn_id))
        yield
        return (yield from steps_of(target.finish_commit(handle)))
    if partitions is not None:
        return (yield from target.commit(seen, tuple(tables), txn_id, partitions))
    return (yield from steps_of(target.commit(seen, tuple(tables), txn_id)))


def finish(steps: Steps[_T]) -> _T:
    """Run a call to its end with nobody else about."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: _T = end.value
            return answer


def close(target: Any) -> None:
    """Let a target go."""
    if hasattr(target, "close"):
        target.close()


def load_target(module_name: str) -> MakeTarget:
    """`make_catalog` of a module, checked as far as that is possible without a trial."""
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BadTargetError(f"--target {module_name}: cannot be imported: {error}") from error
    make: MakeTarget | None = getattr(module, "make_catalog", None)
    if not callable(make):
        raise BadTargetError(
            f"--target {module_name}: has no make_catalog(num_tables); see invariants/direct/adapter.py"
        )
    target = make(1)
    try:
        ways = ("commit",) if hasattr(target, "commit") else ("begin_commit", "finish_commit")
        missing = [name for name in ("read", *ways) if not callable(getattr(target, name, None))]
        if missing:
            raise BadTargetError(
                f"--target {module_name}: what make_catalog(1) returns has no {' and no '.join(missing)};"
                " see invariants/direct/adapter.py"
            )
        scope = getattr(target, "granularity", "catalog")
        if scope not in GRANULARITIES:
            raise BadTargetError(
                f"--target {module_name}: granularity is one of {', '.join(GRANULARITIES)}, not {scope!r}"
            )
    finally:
        close(target)
    return make
