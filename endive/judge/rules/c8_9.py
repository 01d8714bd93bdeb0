"""§8.9 Information asymmetry of the append protocol: landing is not committing, and only a discovery read tells."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.lives import Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import CLOSE_MS, Replay, describe, read_only
from endive.judge.settings import is_append
from endive.trace import LogAppended, Submitted


def own_records_decide(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Success iff the own record was applied; applied iff all its tables were as its writer had seen them."""
    for life, submitted, each in replay.rounds():
        landed = [event for event in each.log_appends if event.landed]
        applied = [event for event in landed if event.applied]
        if each.returned is not None:
            tally.look()
            if each.returned.success != bool(applied):
                answer = "success" if each.returned.success else "failure"
                met = "was applied" if applied else "was rejected" if landed else "never landed"
                story = f"{life.name} was told {answer} of commit call {each.returned.attempt}, and its own record {met}"
                yield Violation(replay.tell("8.9", story), (*each.log_appends, each.returned))
        if len(landed) > 1:
            story = f"{life.name} got {len(landed)} records into the log in one commit call"
            yield Violation(replay.tell("8.9", story), tuple(landed))
        if bool(applied) != (each.applied is not None):
            story = f"{life.name} had its record {'applied' if applied else 'not applied'}, and the catalog {'changed' if each.applied else 'did not change'}"
            yield Violation(replay.tell("8.9", story), (*landed, *filter(None, (each.applied,))))
        for record in landed[:1]:
            yield from _wrongly_judged(replay, submitted, each, record)


def _wrongly_judged(
    replay: Replay, submitted: Submitted, each: Round, record: LogAppended
) -> Iterator[Violation]:
    seen = each.at_hand
    if seen is None:
        return
    # Before its own commit, if it was applied; else as of then, where commits of the same instant may come first or later.
    if each.applied is not None:
        least = most = replay.number_of[id(each.applied)] - 1
    else:
        least = replay.history.applied_before(record.t_ms)
        most = replay.history.applied_by(record.t_ms)
    tables = list(submitted.tables_written)
    if replay.settings.serializable:
        tables += read_only(submitted)

    def rivals(now: int) -> list[int]:
        return [n for table in tables for n in replay.history.writers(table, seen.seq, now)]

    name = f"T{submitted.txn_id}"
    if record.applied and rivals(least):
        number = rivals(least)[-1]
        story = f"{name} had seen seq {seen.seq}; {describe(replay.history.commits[number - 1], number)}; and the record of {name} was applied all the same"
        yield Violation(replay.tell("8.9", story), (seen, record))
    elif not record.applied and not rivals(most):
        story = f"{name} had seen seq {seen.seq}, nobody wrote its tables since, and its record was rejected"
        yield Violation(replay.tell("8.9", story), (seen, record))


def outcomes_are_discovered(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Between landing and answer lies a read; a call is two round trips at least."""
    floor_ms = replay.settings.catalog_floor_ms
    for life, _submitted, each in replay.rounds():
        if each.returned is None:
            continue
        tally.look()
        landed = [event for event in each.log_appends if event.landed]
        if not each.log_appends:
            story = f"{life.name} was told the outcome of commit call {each.returned.attempt}, and no record of it ever met the log"
            yield Violation(replay.tell("8.9", story), (each.returned,))
        elif landed and each.returned.t_ms - landed[-1].t_ms < floor_ms - CLOSE_MS:
            story = f"{life.name} got its record in at {landed[-1].t_ms} ms and knew the outcome at {each.returned.t_ms} ms, faster than the {floor_ms} ms of any read"
            yield Violation(replay.tell("8.9", story), (landed[-1], each.returned))
        elif landed and each.returned.commit_ms < 2 * floor_ms - CLOSE_MS:
            story = f"{life.name} appended and discovered within {each.returned.commit_ms} ms, less than two round trips of {floor_ms} ms"
            yield Violation(replay.tell("8.9", story), (landed[-1], each.returned))


def some_rejected_record(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """A record lands and is not applied."""
    tally.look(sum(event.landed and not event.applied for event in replay.of(LogAppended)))
    return iter(())


def some_physical_failure(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """A record does not land."""
    tally.look(sum(not event.landed for event in replay.of(LogAppended)))
    return iter(())


INVARIANTS = (
    Invariant(
        id="append-outcome-by-own-record",
        clause="8.9",
        kind=Kind.ALWAYS,
        statement="An append commit succeeds iff its own record was applied, which it is iff its tables were as its writer had seen them.",
        check=own_records_decide,
        applies_when=is_append,
    ),
    Invariant(
        id="append-needs-discovery",
        clause="8.9",
        kind=Kind.ALWAYS,
        statement="The outcome of an append is known only after a discovery read.",
        check=outcomes_are_discovered,
        applies_when=is_append,
    ),
    Invariant(
        id="some-rejected-record",
        clause="8.9",
        kind=Kind.SOMETIMES,
        statement="Some record lands in the log and is not applied.",
        check=some_rejected_record,
        applies_when=is_append,
    ),
    Invariant(
        id="some-physical-failure",
        clause="8.9",
        kind=Kind.SOMETIMES,
        statement="Some record does not land, because the log had moved on.",
        check=some_physical_failure,
        applies_when=is_append,
    ),
)
