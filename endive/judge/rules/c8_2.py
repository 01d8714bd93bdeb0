"""§8.2 Snapshot isolation: what a transaction sees is one state of the past, and the work makes it stale."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import CLOSE_MS, Replay, read_end_ms, read_only
from endive.trace import CatalogRead, Submitted


def snapshots_are_past_states(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Every read shows exactly the state at its number, and no number that was not there at its instant."""
    history = replay.history
    for read in replay.of(CatalogRead):
        submitted = replay.lives[read.txn_id].submitted
        if submitted is None:
            continue
        tally.look()
        began_ms, ended_ms = read.t_called_ms, read_end_ms(read)
        if not began_ms - CLOSE_MS <= read.t_ms <= ended_ms + CLOSE_MS:
            story = f"T{read.txn_id} called for a read at {began_ms} ms that took {read.read_ms} ms, yet its snapshot is of {read.t_ms} ms"
            yield Violation(replay.tell("8.2", story), (read,))
        # Commits of the same instant may or may not be seen; all before are, none after.
        least = history.applied_before(read.t_ms - CLOSE_MS)
        most = history.applied_by(read.t_ms + CLOSE_MS)
        if not least <= read.seq <= most:
            story = (
                f"T{read.txn_id} captured a snapshot at {read.t_ms} ms, when {most} commits had been "
                f"applied, and saw seq {read.seq}: {'a commit of the future' if read.seq > most else 'a state gone by'}"
            )
            yield Violation(replay.tell("8.2", story), (read,))
            continue
        expected = _state(replay, submitted, read.seq)
        shown = (read.versions, read.partition_versions, read.versions_read)
        if shown != expected:
            story = (
                f"T{read.txn_id} read seq {read.seq}, at which tables {submitted.tables_written} had versions "
                f"{expected[0]}, partitions {expected[1]} and tables only read {expected[2]}, and saw {shown[0]}, {shown[1]} and {shown[2]}"
            )
            yield Violation(replay.tell("8.2", story), (read,))


def _state(replay: Replay, submitted: Submitted, seq: int) -> tuple[object, ...]:
    history, partitions = replay.history, None
    if submitted.partitions is not None:
        partitions = tuple(
            tuple([history.partition_version(table, part, seq) for part in parts])
            for table, parts in zip(submitted.tables_written, submitted.partitions, strict=True)
        )
    return (
        tuple([history.version(table, seq) for table in submitted.tables_written]),
        partitions,
        tuple([history.version(table, seq) for table in read_only(submitted)]),
    )


def work_starts_from_a_snapshot(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """The start snapshot is captured before the work begins, never after; that is what makes it stale."""
    for life in replay.lives.values():
        for run in life.runs:
            worked, start = run.worked, run.start
            if worked is None:
                continue
            tally.look()
            began_ms = worked.t_ms - worked.runtime_ms
            if start is None:
                story = f"{life.name} worked from {began_ms} ms to {worked.t_ms} ms without a snapshot to start from"
                yield Violation(replay.tell("8.2", story), (worked,))
            elif start.t_ms > began_ms + CLOSE_MS:
                story = f"{life.name} began to work at {began_ms} ms and captured its start snapshot at {start.t_ms} ms, after that"
                yield Violation(replay.tell("8.2", story), (start, worked))
            for each in run.rounds[:1]:
                if start is None or each.called is None or each.read is not None:
                    continue
                if each.called.expected_seq != start.seq:
                    story = f"{life.name} started from seq {start.seq} and read nothing since, yet its first commit expects seq {each.called.expected_seq}"
                    yield Violation(replay.tell("8.2", story), (start, each.called))


def some_stale_snapshot(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Others commit while a transaction works."""
    for _life, _submitted, each in replay.rounds():
        if each.called is not None:
            tally.look(replay.history.applied_before(each.called.t_ms) > each.called.expected_seq)
    return iter(())


INVARIANTS = (
    Invariant(
        id="snapshot-is-a-past-state",
        clause="8.2",
        kind=Kind.ALWAYS,
        statement="A snapshot shows exactly the state of its instant: all commits applied before it, none after, no mixture.",
        check=snapshots_are_past_states,
    ),
    Invariant(
        id="snapshot-before-runtime",
        clause="8.2",
        kind=Kind.ALWAYS,
        statement="The start snapshot is captured before the work begins, and the first commit is made against it.",
        check=work_starts_from_a_snapshot,
    ),
    Invariant(
        id="some-stale-snapshot",
        clause="8.2",
        kind=Kind.SOMETIMES,
        statement="Some snapshots are stale by the time of the commit.",
        check=some_stale_snapshot,
    ),
)
