"""§8.11 Topology ownership: tables and partitions are fixed at the start, and the catalog cannot be asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType

from endive.judge.model import Invariant, Kind, Scope, Tally, Violation
from endive.judge.replay import Replay
from endive.judge.rules.c8_7 import catalogs_of
from endive.trace import CommitApplied, ListAppended, ListRewritten, Submitted

TOPOLOGY = ("num_tables", "partitions_per_table")
_QUERIES = {*TOPOLOGY, "num_partitions", "topology", "get_tables", "list_tables", "table_count"}


def topology_is_fixed(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """No event names a table or partition that the run did not start with."""
    for submitted in replay.of(Submitted):
        tally.look()
        tables = tuple(dict.fromkeys(submitted.tables_read + submitted.tables_written))
        what = _beyond(replay, tables, submitted.tables_written, submitted.partitions)
        if what is not None:
            story = f"T{submitted.txn_id} accesses {what}"
            yield Violation(replay.tell("8.11", story), (submitted,))
        elif not submitted.tables_written:
            story = f"T{submitted.txn_id} writes no table at all"
            yield Violation(replay.tell("8.11", story), (submitted,))
    for commit in replay.of(CommitApplied):
        tally.look()
        what = _beyond(replay, commit.tables, commit.tables, commit.partitions)
        if what is not None:
            story = f"T{commit.txn_id} committed to {what}"
            yield Violation(replay.tell("8.11", story), (commit,))
    touched: list[ListAppended | ListRewritten] = [
        *replay.of(ListAppended),
        *replay.of(ListRewritten),
    ]
    for event in touched:
        if not 0 <= event.table < replay.header.num_tables:
            story = f"T{event.txn_id} touched the manifest list of table {event.table}, and there are {replay.header.num_tables}"
            yield Violation(replay.tell("8.11", story), (event,))


def _beyond(
    replay: Replay,
    tables: tuple[int, ...],
    written: tuple[int, ...],
    partitions: tuple[tuple[int, ...], ...] | None,
) -> str | None:
    """What of these the run did not start with, in words."""
    header = replay.header
    for table in tables:
        if not 0 <= table < header.num_tables:
            return f"table {table}, and there are {header.num_tables}"
    for table, parts in zip(written, partitions or (), strict=False):
        for part in parts:
            if not 0 <= part < header.partitions_per_table[table]:
                return f"partition {part} of table {table}, which has {header.partitions_per_table[table]}"
    return None


def workload_owns_topology(modules: Mapping[str, ModuleType], tally: Tally) -> Iterator[Violation]:
    """The workload is told of tables and partitions; no catalog answers questions about them."""
    for cls in catalogs_of(modules):
        tally.look()
        asked = sorted(name for name in dir(cls) if name in _QUERIES)
        if asked:
            yield Violation(f"{cls.__name__} can be asked for {', '.join(asked)} (§8.11)")
    for module in modules.values():
        config = getattr(module, "WorkloadConfig", None)
        if config is None or not is_dataclass(config):
            continue
        tally.look()
        missing = set(TOPOLOGY) - {field.name for field in fields(config)}
        if missing:
            yield Violation(f"WorkloadConfig does not say {', '.join(sorted(missing))} (§8.11)")


INVARIANTS = (
    Invariant(
        id="topology-fixed",
        clause="8.11",
        kind=Kind.ALWAYS,
        statement="Every table and partition that is read or written is one that the run started with.",
        check=topology_is_fixed,
    ),
    Invariant(
        id="topology-owned-by-workload",
        clause="8.11",
        kind=Kind.ALWAYS,
        statement="The workload is told the topology; no catalog answers questions about it.",
        check=workload_owns_topology,
        scope=Scope.API,
    ),
)
