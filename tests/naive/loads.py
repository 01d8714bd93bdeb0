"""Where transactions come from: open, closed, periodic and background classes (MODEL.md 13).

A source is a generator of waits in milliseconds, except that one of a closed class also waits for
the transactions it submits; what it yields then is whatever `submit` handed it.
"""

from collections.abc import Callable, Generator
from typing import Any

from .config_load import ClassSettings, ScriptedSubmission
from .draws import Planner, TransactionPlan
from .world import CasCatalog

# Starts a transaction and hands back something to wait for until it ends.
Submit = Callable[[str, TransactionPlan], Any]
Source = Generator[Any, None, None]


def sources_of(
    load: ClassSettings,
    planner: Planner,
    submit: Submit,
    catalog: CasCatalog,
    counters: dict[str, int],
    now_ms: Callable[[], float],
) -> list[Source]:
    """The sources of one class, in the order in which they submit at one instant."""

    def is_over() -> bool:
        return now_ms() >= load.end_ms

    if load.kind == "open":
        return [open_source(load, planner, submit, is_over)]
    if load.kind == "closed":
        return [client(load, planner, submit, is_over) for _ in range(load.clients)]
    if load.kind == "periodic":
        return [periodic_source(load, planner, submit, is_over)]
    if load.kind == "background":
        return [background_source(load, planner, catalog, counters, is_over)]
    raise ValueError(f"unknown kind of class {load.kind!r}")


def open_source(
    load: ClassSettings, planner: Planner, submit: Submit, is_over: Callable[[], bool]
) -> Source:
    """Arrivals that heed nothing but the clock."""
    while True:
        yield planner.inter_arrival_ms()
        if is_over():
            return
        submit(load.name, planner.plan())


def client(
    load: ClassSettings, planner: Planner, submit: Submit, is_over: Callable[[], bool]
) -> Source:
    """One client: it thinks, submits and waits for the end of its transaction."""
    while True:
        yield planner.think_ms()
        if is_over():
            return
        yield submit(load.name, planner.plan())


def periodic_source(
    load: ClassSettings, planner: Planner, submit: Submit, is_over: Callable[[], bool]
) -> Source:
    """Submissions at fixed intervals, whatever became of the earlier ones."""
    yield load.offset_ms
    while not is_over():
        submit(load.name, planner.plan())
        yield load.interval_ms


def background_source(
    load: ClassSettings,
    planner: Planner,
    catalog: CasCatalog,
    counters: dict[str, int],
    is_over: Callable[[], bool],
) -> Source:
    """Commits that land the instant they arrive and are nobody's transaction."""
    while True:
        yield planner.inter_arrival_ms()
        if is_over():
            return
        _, tables_written = planner.tables()
        partitions_written = planner.partitions(tables_written)
        catalog.apply_background(tables_written, partitions_written, load.replaces_data)
        counters["background_commits"] += 1


def script_sources(
    script: list[ScriptedSubmission], submit: Submit, catalog: CasCatalog, counters: dict[str, int]
) -> list[Source]:
    """What a script says, when it says so: a source for each submission, so that they take turns at one instant."""
    return [_script_source(line, submit, catalog, counters) for line in script]


def _script_source(
    line: ScriptedSubmission, submit: Submit, catalog: CasCatalog, counters: dict[str, int]
) -> Source:
    yield line.at_ms
    if line.operation_type == "background":
        catalog.apply_background(line.tables_written, line.partitions_written, line.replaces_data)
        counters["background_commits"] += 1
    else:
        plan = TransactionPlan(
            line.runtime_ms,
            line.operation_type,
            line.tables_read,
            line.tables_written,
            line.partitions_written,
        )
        submit(line.name, plan)
