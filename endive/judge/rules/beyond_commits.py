"""Beyond §8: who has committed, and whether the catalog was right to let them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay, describe, read_only
from endive.judge.settings import is_pointer
from endive.trace import CatalogRead, CommitApplied, Header, Submitted

BEYOND = "beyond §8"


def commits_happen_at_most_once(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """No transaction is applied twice."""
    times = Counter(commit.txn_id for commit in replay.of(CommitApplied) if commit.txn_id >= 0)
    tally.look(len(times))
    for txn_id, count in times.items():
        if count > 1:
            mine = tuple(e for e in replay.of(CommitApplied) if e.txn_id == txn_id)
            numbers = ", ".join(str(replay.number_of[id(commit)]) for commit in mine)
            story = f"T{txn_id} was applied {count} times, as seq {numbers}"
            yield Violation(replay.tell(BEYOND, story), mine)


def no_commit_is_a_phantom(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Whoever is told that it has committed was applied under its own id, and nobody else."""
    for life in replay.lives.values():
        if life.finished is None:
            continue
        tally.look()
        applied = [event for event in life.events if isinstance(event, CommitApplied)]
        status = life.finished.status
        if (status == "committed" and not applied) or (status == "aborted" and applied):
            what = describe(applied[0], replay.number_of[id(applied[0])]) if applied else "nothing"
            story = f"{life.name} ended as {status}, and of it the catalog applied: {what}"
            yield Violation(replay.tell(BEYOND, story), (*applied, life.finished))
    for life, _submitted, each in replay.rounds():
        if each.returned is not None and each.returned.success != (each.applied is not None):
            answer = "success" if each.returned.success else "failure"
            story = f"{life.name} was told {answer} of commit call {each.returned.attempt}, which was {'' if each.applied else 'not '}applied"
            yield Violation(replay.tell(BEYOND, story), (*each.effects, each.returned))
    for commit in replay.of(CommitApplied):
        if commit.txn_id < 0:
            continue
        life = replay.lives[commit.txn_id]
        if life.submitted is None:
            story = f"{describe(commit, replay.number_of[id(commit)])} without ever having been submitted"
            yield Violation(replay.tell(BEYOND, story), (commit,))


def versions_go_up_by_one(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Each written table gets the next version, as its writer asked; nobody ever sees one go back."""
    history = replay.history
    for commit in replay.of(CommitApplied):
        tally.look()
        number = replay.number_of[id(commit)]
        expected = tuple(history.version(table, number) for table in commit.tables)
        if commit.versions != expected:
            story = f"{describe(commit, number)}, which makes versions {expected}, and versions {commit.versions} came of it"
            yield Violation(replay.tell(BEYOND, story), (commit,))
        submitted = replay.lives[commit.txn_id].submitted if commit.txn_id >= 0 else None
        if submitted is not None and (
            (commit.tables, commit.partitions) != (submitted.tables_written, submitted.partitions)
        ):
            story = f"{describe(commit, number)}, and had said it would write tables {submitted.tables_written}, partitions {submitted.partitions}"
            yield Violation(replay.tell(BEYOND, story), (submitted, commit))
    for life, _submitted, each in replay.rounds():
        called, at_hand = each.called, each.at_hand
        if called is not None and at_hand is not None:
            wanted = tuple(version + 1 for version in at_hand.versions)
            if called.versions != wanted:
                story = f"{life.name} had seen versions {at_hand.versions} and asked to install {called.versions}, not {wanted}"
                yield Violation(replay.tell(BEYOND, story), (at_hand, called))
    for life in replay.lives.values():
        last: CatalogRead | None = None
        for event in life.events:
            if not isinstance(event, CatalogRead):
                continue
            if last is not None and (
                event.seq < last.seq
                or any(new < old for old, new in zip(last.versions, event.versions, strict=False))
            ):
                story = f"{life.name} read seq {last.seq} with versions {last.versions}, and later seq {event.seq} with versions {event.versions}"
                yield Violation(replay.tell(BEYOND, story), (last, event))
            last = event


def swaps_keep_their_promise(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """A swap succeeds iff nothing in its scope has changed since the seq that it expects."""
    for life, submitted, each in replay.rounds():
        called = each.called
        if called is None:
            continue
        if each.applied is not None:
            tally.look()
            before = replay.number_of[id(each.applied)] - 1
            rival = _rival(replay, submitted, called.expected_seq, before)
            if rival:
                story = f"{life.name} expected seq {called.expected_seq}; {describe(replay.history.commits[rival - 1], rival)}; and {life.name} was applied as seq {before + 1} on top of it"
                yield Violation(replay.tell(BEYOND, story), (called, each.applied))
        elif each.refused is not None:
            tally.look()
            refused = each.refused
            rival = _rival(replay, submitted, called.expected_seq, refused.seq)
            if not rival:
                story = f"{life.name} expected seq {called.expected_seq} and was refused at seq {refused.seq}, though nobody had committed in its scope ({replay.settings.granularity})"
                yield Violation(replay.tell(BEYOND, story), (called, refused))
            if refused.expected_seq != called.expected_seq:
                story = f"{life.name} expected seq {called.expected_seq}, and was refused as if it expected {refused.expected_seq}"
                yield Violation(replay.tell(BEYOND, story), (called, refused))
            if not _is_now(replay, refused.t_ms, refused.seq):
                story = f"{life.name} was refused at {refused.t_ms} ms because of seq {refused.seq}, which was not the current one"
                yield Violation(replay.tell(BEYOND, story), (called, refused))
        elif each.returned is not None:
            story = f"{life.name} was told {'success' if each.returned.success else 'failure'}, and the catalog neither applied nor refused its commit"
            yield Violation(replay.tell(BEYOND, story), (called, each.returned))


def _is_now(replay: Replay, t_ms: float, seq: int) -> bool:
    return replay.history.applied_before(t_ms) <= seq <= replay.history.applied_by(t_ms)


def _rival(replay: Replay, submitted: Submitted, expected: int, now: int) -> int:
    """The number of a commit in between that is within the scope of this transaction's commit; 0 if there is none."""
    history, granularity = replay.history, replay.settings.granularity
    if granularity == "catalog":
        return now if now > expected else 0
    tables = list(submitted.tables_written)
    if granularity == "group":
        groups = {replay.header.group_of[table] for table in tables}
        tables = [table for table, group in enumerate(replay.header.group_of) if group in groups]
    elif granularity == "partition" and submitted.partitions is not None:
        for table, partitions in zip(tables, submitted.partitions, strict=True):
            if history.partitions_behind(table, partitions, expected, now).commits:
                return history.last_change(table, now)
        tables = []
    if replay.settings.serializable:
        tables += read_only(submitted)
    return max(
        (n for n in (history.last_change(t, now) for t in tables) if n > expected), default=0
    )


def groups_are_never_spanned(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """All tables of a transaction are of one group."""
    group_of = replay.header.group_of
    for submitted in replay.of(Submitted):
        tally.look()
        groups = {group_of[table] for table in submitted.tables_read + submitted.tables_written}
        if len(groups) > 1:
            story = f"T{submitted.txn_id} accesses tables {submitted.tables_read}, which are of groups {sorted(groups)}"
            yield Violation(replay.tell(BEYOND, story), (submitted,))
    for commit in replay.of(CommitApplied):
        groups = {group_of[table] for table in commit.tables}
        if len(groups) > 1:
            story = f"{describe(commit, replay.number_of[id(commit)])}, which are of groups {sorted(groups)}"
            yield Violation(replay.tell(BEYOND, story), (commit,))


def _is_grouped(header: Header) -> bool:
    return bool(header.group_of)


INVARIANTS = (
    Invariant(
        id="commits-at-most-once",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="No transaction is applied more than once.",
        check=commits_happen_at_most_once,
    ),
    Invariant(
        id="no-phantom-commit",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A transaction has committed iff the catalog applied a commit of its own id.",
        check=no_commit_is_a_phantom,
    ),
    Invariant(
        id="versions-never-decrease",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Each commit gives each table it writes the next version, and nobody sees a version go back.",
        check=versions_go_up_by_one,
    ),
    Invariant(
        id="cas-expectation",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A swap is applied iff nothing in its scope has changed since the seq that it expects; else it is refused.",
        check=swaps_keep_their_promise,
        applies_when=is_pointer,
    ),
    Invariant(
        id="groups-never-spanned",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="All tables of a transaction belong to one group.",
        check=groups_are_never_spanned,
        applies_when=_is_grouped,
    ),
)
