"""The naive run itself: arrivals, the clock that lets waits pass, and the result (MODEL.md 1).

This is the only module that knows SimPy.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy
from simpy.events import EventPriority

from .config import settings_from
from .draws import Streams, draw_inter_arrival_ms, draw_plan
from .transaction import Transaction
from .world import Store, create_catalog

# SimPy breaks ties by priority. Its own bookkeeping (the start and the end of a process) uses 0
# and 1, so all that a step sets off at its instant is done before the next transaction's step.
ARRIVAL_PRIORITY = 1
FIRST_TRANSACTION_PRIORITY = 2


@dataclass
class NaiveResult:
    """Rows by txn_id, and the catalog at the end: (version, partition versions) per table."""

    rows: list[dict[str, Any]]
    seq: int
    tables: list[tuple[int, tuple[int, ...]]]


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


def drive(
    env: simpy.Environment, waits: Generator[float, None, None], priority: int
) -> SimPyProcess:
    """Let the waits of a generator pass; one that does not move the clock is no wait at all."""
    for delay_ms in waits:
        if env.now + delay_ms != env.now:
            yield env.process(pause(env, delay_ms, priority))


def run_naive(config: dict[str, Any], seed: int) -> NaiveResult:
    """Run a parsed, valid configuration with a seed and report what happened."""
    settings = settings_from(config)
    streams = Streams(seed)
    env = simpy.Environment()
    store = Store(settings.store, streams.storage)

    def now_ms() -> float:
        return float(env.now)

    catalog = create_catalog(settings.catalog, store, now_ms)
    launched: list[Transaction] = []

    def arrivals() -> Generator[float, None, None]:
        while True:
            yield draw_inter_arrival_ms(settings, streams)
            plan = draw_plan(settings, streams)
            txn = Transaction(
                len(launched), plan, now_ms(), settings, streams, store, catalog, now_ms
            )
            launched.append(txn)
            env.process(drive(env, txn.execute(), FIRST_TRANSACTION_PRIORITY + txn.txn_id))

    env.process(drive(env, arrivals(), ARRIVAL_PRIORITY))
    # SimPy's own stop comes before all else that is due at the same instant.
    env.run(until=settings.duration_ms)
    tables = [
        (version, tuple(partitions))
        for version, partitions in zip(
            catalog.table_versions, catalog.partition_versions, strict=True
        )
    ]
    rows = [txn.row(settings.duration_ms) for txn in launched]
    return NaiveResult(rows=rows, seq=catalog.seq, tables=tables)
