"""Why a transaction took so long, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from endive.cli.words import duration
from endive.trace.text import counts_in_words, touched_in_words, transaction_name
from endive.why import Loss, Rival, Telling
from endive.why.finding import OTHER_TABLE, RELATIONS

_SHOWN_CALLS = 12


def lines(telling: Telling, *, all_calls: bool = False) -> Iterator[str]:
    """The whole story: what became of it, the bill, then call by call who was faster."""
    yield from headline(telling)
    yield ""
    yield from bill(telling)
    if not telling.losses:
        yield ""
        yield "No commit call of its own was lost."
        return
    yield ""
    losses = telling.losses
    shown = losses if all_calls or len(losses) <= _SHOWN_CALLS else losses[: _SHOWN_CALLS - 2]
    for loss in shown:
        yield from _call(loss)
    if len(shown) < len(losses):
        yield f"… and {len(losses) - len(shown)} more lost calls of the same kind; --all shows them"
    yield ""
    yield from advice(telling)


def headline(telling: Telling) -> Iterator[str]:
    """What it was and what became of it."""
    submitted = telling.submitted
    end = telling.status.replace("_", " ")
    if telling.abort_reason is not None:
        end += f" ({telling.abort_reason})"
    retries = "1 retry" if telling.retries == 1 else f"{telling.retries} retries"
    yield (
        f"{transaction_name(telling.txn_id)}, {submitted.operation} of class {submitted.class_name} on "
        f"{touched_in_words(submitted.tables_written, submitted.partitions)}: {end} after "
        f"{duration(telling.total_ms)} and {retries}"
    )


def bill(telling: Telling) -> Iterator[str]:
    """Its time: what it needed anyway, and what rivals cost it."""
    needed: dict[str, float] = {}
    for step in telling.steps:
        if step.needed:
            needed[step.what] = needed.get(step.what, 0.0) + step.took_ms
    yield f"needed anyway   {duration(telling.needed_ms):>9}   {_parts(needed)}"
    yield f"lost to rivals  {duration(telling.lost_ms):>9}   {_parts(telling.lost_by_kind())}"
    if any(telling.lost_counts()):
        yield f"                            read and written in vain: {counts_in_words(telling.lost_counts())}"


def advice(telling: Telling) -> Iterator[str]:
    """What its losses have in common."""
    rivals = [rival for loss in telling.losses for rival in loss.rivals]
    where = Counter(rival.relation for rival in rivals)
    shares = ", ".join(f"{where[name]} to {name}" for name in RELATIONS if where[name])
    if rivals:
        yield f"{_many(len(rivals), 'commit')} beat it: {shares}."
    elsewhere = telling.lost_to_other_tables()
    if elsewhere and telling.granularity == "catalog":
        lost = _many(len(telling.losses), "lost call")
        yield (
            f"{elsewhere} of {lost} lost to {OTHER_TABLE} alone, because one pointer serves them all: "
            "with catalog.conflict_granularity = 'table' those would not have been lost."
        )


def table_rows(tellings: Sequence[Telling]) -> Iterator[tuple[str, ...]]:
    """A line for each of several transactions."""
    for telling in tellings:
        yield (
            str(telling.txn_id),
            telling.submitted.operation,
            telling.status.replace("_", " "),
            str(len(telling.losses)),
            duration(telling.needed_ms),
            duration(telling.lost_ms),
            next(iter(telling.lost_by_kind()), "nothing"),
        )


def _call(loss: Loss) -> Iterator[str]:
    first = loss.rivals[0] if loss.rivals else None
    yield (
        f"call {loss.attempt} at {loss.called_ms:.3f} ms, against seq {loss.expected_seq} as of {loss.seen_ms:.3f} ms: lost"
        + (
            f"; its record missed the end of the log {_times(loss.missed_end)}"
            if loss.missed_end
            else ""
        )
    )
    if first is not None:
        yield f"    beaten by {_rival(first, loss)}{_others(loss.rivals)}"
    if loss.is_real:
        yield "    what had changed was a real conflict, so there was no next call"
    if loss.steps:
        parts: dict[str, float] = {}
        for step in loss.steps:
            parts[step.what] = parts.get(step.what, 0.0) + step.took_ms
        yield f"    cost {duration(loss.cost_ms)}: {_parts(parts)}"


def _rival(rival: Rival, loss: Loss) -> str:
    what = rival.operation or "a commit"
    later_ms = rival.t_ms - loss.seen_ms
    return (
        f"{transaction_name(rival.txn_id)} ({what} to {rival.relation}), which committed seq {rival.seq} "
        f"{duration(later_ms)} after the snapshot"
    )


def _others(rivals: Sequence[Rival]) -> str:
    if len(rivals) < 2:
        return ""
    where = Counter(rival.relation for rival in rivals[1:])
    each = ", ".join(f"{where[name]} to {name}" for name in RELATIONS if where[name])
    return f"; then {len(rivals) - 1} more: {each}"


def _parts(parts: dict[str, float], most: int = 6) -> str:
    largest = sorted(parts.items(), key=lambda item: -item[1])
    shown = [f"{what} {duration(spent_ms)}" for what, spent_ms in largest[:most] if spent_ms > 0.0]
    return ", ".join(shown) or "nothing"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
