"""The naive run itself: the clock that lets waits pass, ties, and the result (MODEL.md 1 and 13).

This is the only module that knows SimPy.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy
from simpy.events import EventPriority

from .config import settings_from
from .costs import load_cost_table
from .draws import Planner, Streams, TransactionPlan, draw_groups
from .lists import ManifestLists
from .loads import script_sources, sources_of
from .log_catalog import create_catalog
from .records import Record
from .store import Store
from .transaction import Surroundings, Transaction

# SimPy breaks ties by priority. Its own bookkeeping (the start and the end of a process) uses 0
# and 1, so all that a step sets off at its instant is done before the next step. Sources come
# next, in order of class and client, and then the transactions by id.
FIRST_SOURCE_PRIORITY = 2

COUNTERS = (
    "append_physical_success",
    "append_physical_failure",
    "append_logical_success",
    "append_logical_conflict",
    "append_compactions_triggered",
    "append_compactions_completed",
    "manifest_append_physical_success",
    "manifest_append_physical_failure",
    "manifest_append_sealed_rewrite",
    "false_conflicts",
    "real_conflicts",
    "background_commits",
)


@dataclass
class NaiveResult:
    """Rows by txn_id, and the catalog at the end: (version, partition versions) per table.

    `attempts` has a row per commit call, by txn_id; `counters` has every counter there is.
    """

    rows: list[dict[str, Any]]
    seq: int
    tables: list[tuple[int, tuple[int, ...]]]
    attempts: list[dict[str, Any]]
    counters: dict[str, int]


class Pause(simpy.Event):
    """A timeout with a priority of its own, which SimPy's does not have."""

    def __init__(self, env: simpy.Environment, delay_ms: float, priority: int) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, EventPriority(priority), delay_ms)


SimPyProcess = Generator[simpy.Event, Any, None]


def pause(env: simpy.Environment, delay_ms: float, priority: int) -> SimPyProcess:
    """The process of a single wait."""
    yield Pause(env, delay_ms, priority)


def drive(env: simpy.Environment, waits: Generator[Any, None, None], priority: int) -> SimPyProcess:
    """Let the waits of a generator pass; one that does not move the clock is no wait at all."""
    for wait in waits:
        if isinstance(wait, simpy.Event):
            yield wait
        elif env.now + wait != env.now:
            yield env.process(pause(env, wait, priority))


def drive_source(
    env: simpy.Environment, waits: Generator[Any, None, None], priority: int
) -> SimPyProcess:
    """Drive a source; at the very start, too, the sources take their turns in order."""
    yield Pause(env, 0.0, priority)
    yield from drive(env, waits, priority)


def run_naive(config: dict[str, Any], seed: int) -> NaiveResult:
    """Run a parsed, valid configuration with a seed and report what happened."""
    settings = settings_from(config)
    # The streams of class 0 are there even where only a script submits: groups come from one of them.
    streams = Streams(seed, max(1, len(settings.classes)))
    env = simpy.Environment()
    counters = dict.fromkeys(COUNTERS, 0)
    store = Store(settings.store, streams.storage)
    table_count = len(settings.catalog.partitions_per_table)
    lists = ManifestLists(table_count, settings.transaction, store, counters)
    # The groups are drawn before anything else that comes from the table stream of class 0.
    groups = draw_groups(settings.catalog, streams.classes[0].table)

    def now_ms() -> float:
        return float(env.now)

    catalog = create_catalog(settings.catalog, store, lists, groups, counters, now_ms)
    table = load_cost_table(settings.transaction.cost_table)
    around = Surroundings(settings, table, streams, store, lists, catalog, counters)
    source_count = sum(load.clients if load.kind == "closed" else 1 for load in settings.classes)
    source_count += len(settings.script)
    records: list[Record] = []

    def submit(class_name: str, plan: TransactionPlan) -> simpy.Event:
        record = Record(
            txn_id=len(records),
            class_name=class_name,
            operation_type=plan.operation_type,
            runtime_ms=plan.runtime_ms,
            submit_ms=now_ms(),
            now_ms=now_ms,
        )
        records.append(record)
        priority = FIRST_SOURCE_PRIORITY + source_count + record.txn_id
        return env.process(drive(env, Transaction(plan, record, around).execute(), priority))

    priority = FIRST_SOURCE_PRIORITY
    for load, own_streams in zip(settings.classes, streams.classes, strict=False):
        planner = Planner(load, own_streams, settings.catalog, groups)
        for source in sources_of(load, planner, submit, catalog, counters, now_ms):
            env.process(drive_source(env, source, priority))
            priority += 1
    for source in script_sources(settings.script, submit, catalog, counters):
        env.process(drive_source(env, source, priority))
        priority += 1
    # SimPy's own stop comes before all else that is due at the same instant.
    env.run(until=settings.duration_ms)
    for record in records:
        record.close_run()
    return NaiveResult(
        rows=[record.row(settings.duration_ms) for record in records],
        seq=catalog.seq,
        tables=[
            (version, tuple(partitions))
            for version, partitions in zip(
                catalog.table_versions, catalog.partition_versions, strict=True
            )
        ],
        attempts=[row for record in records for row in record.attempts],
        counters=counters,
    )
