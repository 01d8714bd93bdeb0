"""§8.1 Version monotonicity: the number of the catalog's state goes up by one with each commit, from zero."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay, describe
from endive.trace import CatalogRead, CommitApplied


def each_commit_adds_one(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Held against the numbers counted here: no commit skips a number, repeats one or goes back."""
    previous: CommitApplied | None = None
    for number, commit in enumerate(replay.of(CommitApplied), start=1):
        tally.look()
        before = number - 1 if previous is None else previous.seq_after
        if commit.seq_after != commit.seq_before + 1 or commit.seq_before != before:
            story = (
                f"{describe(commit, number)} when the catalog was at seq {before}, and took it "
                f"from {commit.seq_before} to {commit.seq_after} instead of to {before + 1}"
            )
            events = (commit,) if previous is None else (previous, commit)
            yield Violation(replay.tell("8.1", story), events)
        previous = commit


def history_starts_at_zero(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Nothing was there before the first commit."""
    commits = replay.of(CommitApplied)
    if commits:
        tally.look()
        if commits[0].seq_before != 0:
            story = f"{describe(commits[0], 1)} as the first of all, on top of seq {commits[0].seq_before}, not 0"
            yield Violation(replay.tell("8.1", story), (commits[0],))
    first_ms = commits[0].t_ms if commits else float("inf")
    for read in replay.of(CatalogRead):
        if read.t_ms >= first_ms:
            continue
        tally.look()
        if read.seq != 0 or any(read.versions) or any(read.versions_read):
            story = f"T{read.txn_id} read seq {read.seq} and versions {read.versions} at {read.t_ms} ms, before anybody had committed"
            yield Violation(replay.tell("8.1", story), (read,))


def some_commit(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """A corpus without commits shows nothing."""
    tally.look(len(replay.of(CommitApplied)))
    return iter(())


INVARIANTS = (
    Invariant(
        id="seq-adds-one",
        clause="8.1",
        kind=Kind.ALWAYS,
        statement="Each applied commit advances Catalog.seq by exactly 1: never less, never more, never back.",
        check=each_commit_adds_one,
    ),
    Invariant(
        id="seq-starts-at-zero",
        clause="8.1",
        kind=Kind.ALWAYS,
        statement="The catalog starts at seq 0, and nobody sees anything else before the first commit.",
        check=history_starts_at_zero,
    ),
    Invariant(
        id="some-commit",
        clause="8.1",
        kind=Kind.SOMETIMES,
        statement="Commits happen.",
        check=some_commit,
    ),
)
