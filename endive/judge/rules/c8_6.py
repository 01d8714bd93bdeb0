"""§8.6 Minimum latency: nothing is faster than the floor of its store."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.lives import Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import CLOSE_MS, Replay
from endive.judge.settings import has_config
from endive.trace import (
    COUNTS,
    CatalogRead,
    Event,
    IoPaid,
    LogAppended,
    LogCompacted,
    StorageUsed,
)

_LIST_READS = COUNTS.index("manifest_list_reads")
_HISTORICAL = COUNTS.index("historical_ml_reads")


def _steps(replay: Replay) -> Iterator[tuple[Event, str, float, float]]:
    """Every operation that took time: what it was, how long it took, and the least it may take."""
    settings = replay.settings
    for used in replay.of(StorageUsed):
        floor_ms = settings.floor_ms
        if used.artifact in ("catalog", "log", "checkpoint"):
            floor_ms = settings.catalog_floor_ms
        what = f"{used.operations} operations ({used.artifact} {used.action}) in {used.batches} batches"
        yield used, what, used.took_ms, used.batches * floor_ms
    for read in replay.of(CatalogRead):
        yield read, "a catalog read", read.read_ms, settings.catalog_floor_ms
    for paid in replay.of(IoPaid):
        batches = _batches(replay, paid)
        yield paid, f"a payment in {batches} batches", paid.paid_ms, batches * settings.floor_ms
    for _life, _submitted, each in replay.rounds():
        if each.returned is not None:
            operations = _catalog_operations(replay, each)
            least_ms = operations * settings.catalog_floor_ms
            what = f"a commit call of {operations} operations"
            yield each.returned, what, each.returned.commit_ms, least_ms


def width_of(replay: Replay, paid: IoPaid) -> int:
    """How many operations of a payment may run at the same time."""
    table = replay.header.cost_table.get("settings", {})
    is_sequential = table.get("validation_io", {}).get("is") == "sequential"
    return 1 if paid.reason == "validate" and is_sequential else replay.settings.max_parallel


def _batches(replay: Replay, paid: IoPaid) -> int:
    """How many operations of a payment must come after one another."""
    width = width_of(replay, paid)
    each = list(paid.counts)
    # Historical lists are a kind of their own, and counted among the lists.
    each[_LIST_READS] -= each[_HISTORICAL]
    batches = sum(-(-count // width) for count in each)
    # A failed append to a list has nothing to count, and takes its time all the same.
    return max(1, batches)


def _catalog_operations(replay: Replay, each: Round) -> int:
    if replay.settings.catalog_type != "append":
        return 1
    met = [event for event in each.effects if isinstance(event, LogAppended)]
    compactions = sum(isinstance(event, LogCompacted) for event in each.effects)
    asks = replay.header.config["catalog"].get("append_offset") == "latest"
    discovers = any(event.landed for event in met)
    return len(met) + compactions + int(asks) + int(discovers)


def nothing_is_below_the_floor(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Every catalog operation and every batch of a payment takes the floor at least."""
    for event, what, took_ms, least_ms in _steps(replay):
        tally.look()
        if took_ms < least_ms - CLOSE_MS:
            story = f"T{event.txn_id} made {what} that was over at {event.t_ms} ms after {took_ms} ms; the floor makes that {least_ms} ms at least"
            yield Violation(replay.tell("8.6", story), (event,))


def some_at_floor(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """The floor is there to be met."""
    for _event, _what, took_ms, least_ms in _steps(replay):
        tally.look(least_ms > 0 and abs(took_ms - least_ms) <= CLOSE_MS)
    return iter(())


INVARIANTS = (
    Invariant(
        id="latency-floor",
        clause="8.6",
        kind=Kind.ALWAYS,
        statement="Every catalog operation and every batch of a payment takes at least the floor of its store.",
        check=nothing_is_below_the_floor,
        applies_when=has_config,
    ),
    Invariant(
        id="some-at-floor",
        clause="8.6",
        kind=Kind.SOMETIMES,
        statement="Some operation takes exactly the floor.",
        check=some_at_floor,
        applies_when=has_config,
    ),
)
