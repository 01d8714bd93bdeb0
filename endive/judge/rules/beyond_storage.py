"""Beyond §8: what was waited for is what a store did, operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay, is_close, read_end_ms
from endive.judge.rules.c8_6 import width_of
from endive.judge.settings import tells_storage
from endive.trace import (
    COUNTS,
    CatalogRead,
    CommitReturned,
    Event,
    IoPaid,
    LogAppended,
    LogCompacted,
    StorageUsed,
)

BEYOND = "beyond §8"
# The operation behind each count; historical lists are counted among the lists.
_COUNTED = {
    "metadata_reads": ("table_metadata", "read"),
    "manifest_list_reads": ("manifest_list", "read"),
    "manifest_file_reads": ("manifest_file", "read"),
    "manifest_file_writes": ("manifest_file", "write"),
    "manifest_list_appends": ("manifest_list", "append"),
    "manifest_list_writes": ("manifest_list", "write"),
    "metadata_writes": ("table_metadata", "write"),
}
_LIST_APPENDS = COUNTS.index("manifest_list_appends")


def storage_explains_payments(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """The operations of a store fill every read, payment and commit call, and are those that are counted."""
    for life in replay.lives.values():
        uses: list[StorageUsed] = []
        met: list[Event] = []
        for event in life.events:
            if isinstance(event, StorageUsed):
                uses.append(event)
                continue
            if isinstance(event, LogAppended | LogCompacted):
                met.append(event)
            span = _span(event)
            if span is None:
                continue
            tally.look()
            wrong = _gap(uses, *span) or _wrong_operations(replay, event, uses, met)
            if wrong is not None:
                story = f"{life.name} ended {_what(event)} at {span[1]} ms, and {wrong}"
                yield Violation(replay.tell(BEYOND, story), (*uses, event))
            uses, met = [], []
        if uses and not life.is_cut:
            story = f"{life.name} used the store at {uses[0].t_ms} ms for nothing that it tells of"
            yield Violation(replay.tell(BEYOND, story), tuple(uses))


def _span(event: Event) -> tuple[float, float] | None:
    """From when to when something lasted that a store explains."""
    if isinstance(event, CatalogRead):
        return event.t_called_ms, read_end_ms(event)
    if isinstance(event, IoPaid):
        return event.t_ms - event.paid_ms, event.t_ms
    if isinstance(event, CommitReturned):
        return event.t_ms - event.commit_ms, event.t_ms
    return None


def _what(event: Event) -> str:
    if isinstance(event, IoPaid):
        return f"a payment ({event.reason}, call {event.attempt})"
    return "a catalog read" if isinstance(event, CatalogRead) else "a commit call"


def _gap(uses: list[StorageUsed], begin_ms: float, end_ms: float) -> str | None:
    """What is wrong with the times: each operation begins where the one before ended."""
    now_ms = begin_ms
    for use in uses:
        began_ms = use.t_ms - use.took_ms
        if not is_close(began_ms, now_ms):
            return f"its {_named(use)} began at {began_ms} ms, though what came before was over at {now_ms} ms"
        now_ms = use.t_ms
    if not is_close(now_ms, end_ms):
        return f"the store was done with its part at {now_ms} ms: the rest is nobody's"
    return None


def _wrong_operations(
    replay: Replay, event: Event, uses: list[StorageUsed], met: list[Event]
) -> str | None:
    """What is wrong with the operations: not those that such a step is made of, or in other batches."""
    width = width_of(replay, event) if isinstance(event, IoPaid) else 1
    for use in uses:
        batches = -(-use.operations // width)
        if use.batches != batches:
            return f"did its {_named(use)} in {use.batches} batches, which {width} at a time makes {batches}"
    done: Counter[tuple[str, str]] = Counter()
    for use in uses:
        done[use.artifact, use.action] += use.operations
    if isinstance(event, IoPaid):
        due = Counter(_due(event))
    elif isinstance(event, CatalogRead):
        due = Counter({("catalog", "read"): 1})
    else:
        due = Counter(_commit_operations(replay, met))
    if +due != done:
        return f"it is made of {_listed(due)}, while the store did {_listed(done)}"
    return None


def _due(paid: IoPaid) -> dict[tuple[str, str], int]:
    if paid.reason == "list" and not any(paid.counts):
        # An entry that did not land counts for nothing, and was tried all the same.
        return {_COUNTED[COUNTS[_LIST_APPENDS]]: 1}
    return {
        _COUNTED[name]: count
        for name, count in zip(COUNTS, paid.counts, strict=True)
        if name in _COUNTED
    }


def _commit_operations(replay: Replay, met: list[Event]) -> dict[tuple[str, str], int]:
    """A swap is one operation; the log itself tells how often a record met it, and who compacted it."""
    if replay.settings.catalog_type != "append":
        return {("catalog", "cas"): 1}
    appends = [event for event in met if isinstance(event, LogAppended)]
    asks = replay.header.config["catalog"].get("append_offset") == "latest"
    discovers = any(event.landed for event in appends)
    return {
        ("log", "append"): len(appends),
        ("catalog", "read"): int(asks) + int(discovers),
        ("checkpoint", "cas"): len(met) - len(appends),
    }


def _named(use: StorageUsed) -> str:
    return f"{use.operations} × {use.artifact} {use.action}"


def _listed(operations: Counter[tuple[str, str]]) -> str:
    named = [f"{n} × {artifact} {action}" for (artifact, action), n in operations.items() if n]
    return ", ".join(named) or "nothing"


INVARIANTS = (
    Invariant(
        id="storage-explains-payments",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="The storage operations of a catalog read, payment or commit call follow one another without a gap from its beginning to its end, and are those that it counts.",
        check=storage_explains_payments,
        applies_when=tells_storage,
    ),
)
