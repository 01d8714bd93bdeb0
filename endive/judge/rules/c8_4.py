"""§8.4 Conflict types: which commits in between matter, how many there were, and what a real conflict leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from endive.judge.history import Behind
from endive.judge.lives import Life, Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import CROSS_TABLE, DISJOINT_PARTITIONS, OVERLAP, Found, Replay
from endive.judge.settings import SPECIFIED
from endive.trace import Submitted

REASON = "validation_exception"


def classes_match_history(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Each class is what the replayed versions say."""
    for life, submitted, each, found in replay.retries():
        if each.classified is None:
            if not life.is_cut_in(each) or each.called is not None:
                tally.look()
                story = f"{replay.meanwhile(submitted, each)}, and never compared the two"
                yield Violation(replay.tell("8.4", story), tuple(filter(None, (each.read,))))
            continue
        tally.look()
        expected = tuple(found.classes.values())
        if each.classified.classes != expected:
            story = (
                f"{replay.meanwhile(submitted, each)}; so tables {tuple(found.classes)} are "
                f"{_listed(expected)}, and it took them for {_listed(each.classified.classes)}"
            )
            yield Violation(replay.tell("8.4", story), (each.classified,))


def counts_match_history(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """N and R are what the replayed history counts in the configured scope, since the snapshot that is meant."""
    for _life, submitted, each, found in replay.retries():
        if each.classified is None:
            continue
        tally.look()
        told = Behind(each.classified.snapshots_behind, each.classified.replaced)
        if told != found.validated:
            since = each.run.start if replay.validates_from_start else each.seen
            seq = since.seq if since is not None else 0
            story = (
                f"{replay.meanwhile(submitted, each)}; counted by {replay.settings.history_scope} since seq {seq} it was "
                f"{found.validated.commits} behind, {found.validated.replaced} of them replacing data, and it counted {told.commits} and {told.replaced}"
            )
            yield Violation(replay.tell("8.4", story), (each.classified,))


def real_conflicts_end_or_merge(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Who may be asked is asked, nobody else; and the answer has its consequence."""
    for life, submitted, each, found in replay.retries():
        tally.look()
        expected = may_be_real(replay, submitted, found)
        began = (
            f"{replay.meanwhile(submitted, each)}; its tables are {_listed(found.classes.values())}"
        )
        if len(each.judged) > expected:
            times = f"{len(each.judged)} times" if expected else "though it can never be"
            story = f"{began}, and it asked whether the conflict is real {times}"
            yield Violation(replay.tell("8.4", story), tuple(each.judged))
        elif expected > len(each.judged) and not (life.is_cut_in(each) and each.called is None):
            story = f"{began}, and it went on without asking whether the conflict is real"
            yield Violation(replay.tell("8.4", story), tuple(filter(None, (each.classified,))))
        for judged in each.judged[:1]:
            known = _known_answer(replay, submitted, each)
            if known is not None and known != judged.is_real:
                story = f"{began}; the conflict is {'real' if known else 'not real'}, and it was called {'real' if judged.is_real else 'not real'}"
                yield Violation(replay.tell("8.4", story), (judged,))
        yield from _consequence(replay, life, each, began)
    for life in replay.lives.values():
        if life.finished is None or life.finished.abort_reason != REASON:
            continue
        if not life.runs or not life.runs[-1].rounds or not life.runs[-1].rounds[-1].is_real:
            story = f"{life.name} was aborted with {REASON}, and no conflict of its last attempt was real"
            yield Violation(replay.tell("8.4", story), (life.finished,))


def may_be_real(replay: Replay, submitted: Submitted, found: Found) -> int:
    """How often a round must ask whether its conflict is real: once or not at all."""
    table, operation = replay.header.cost_table, submitted.operation
    settings = table.get("settings", {})
    if table.get("name") == SPECIFIED:
        can_be = operation == "validated_overwrite"
    else:
        can_be = operation in settings.get("real_conflicts", {}).get("is", ())
    if not can_be or not found.overlapping:
        return 0
    only_replaced = settings.get("real_against_replaced_only", {}).get("is", ())
    return int(operation not in only_replaced or found.validated.replaced > 0)


def _known_answer(replay: Replay, submitted: Submitted, each: Round) -> bool | None:
    """What the detector must have said, where that does not depend on a draw."""
    settings, start, read = replay.settings, each.run.start, each.read
    if settings.detector == "probabilistic":
        certain = settings.real_conflict_probability
        return bool(certain) if certain in (0.0, 1.0) else None
    if settings.detector != "partition_overlap" or start is None or read is None:
        return None
    if submitted.partitions is None:
        return start.versions != read.versions
    return start.partition_versions != read.partition_versions


def _consequence(replay: Replay, life: Life, each: Round, began: str) -> Iterator[Violation]:
    table = replay.header.cost_table.get("settings", {})
    merges = table.get("on_real_conflict", {}).get("is") == "merge"
    if each.is_real and not merges:
        if each.called is not None:
            story = f"{began}, the conflict was real, and it tried to commit all the same"
            yield Violation(replay.tell("8.4", story), (*each.judged, each.called))
            return
        is_last = life.runs[-1] is each.run
        used_up = life.runs.index(each.run) >= replay.settings.max_restarts
        if is_last and not life.is_cut_in(each) and not used_up:
            story = f"{began}, the conflict was real, and it gave up instead of starting again"
            yield Violation(replay.tell("8.4", story), tuple(each.judged))
        elif not is_last and used_up:
            story = f"{began}, the conflict was real, and it started again more often than the {replay.settings.max_restarts} times allowed"
            yield Violation(replay.tell("8.4", story), tuple(each.judged))
        elif is_last and used_up and life.finished and life.finished.abort_reason != REASON:
            story = f"{began}, the conflict was real, and it ended as {life.finished.status} ({life.finished.abort_reason})"
            yield Violation(replay.tell("8.4", story), (*each.judged, life.finished))
    elif each.called is None and not life.is_cut_in(each):
        story = f"{began}, the conflict was {'to be merged' if each.is_real else 'not real'}, and it never called for a commit"
        yield Violation(replay.tell("8.4", story), tuple(filter(None, (each.classified,))))


def _listed(classes: Iterable[str]) -> str:
    return ", ".join(classes) or "none"


def _some(conflict_class: str) -> Callable[[Replay, Tally], Iterator[Violation]]:
    def check(replay: Replay, tally: Tally) -> Iterator[Violation]:
        for _life, _submitted, _each, found in replay.retries():
            tally.look(conflict_class in found.classes.values())
        return iter(())

    return check


def some_real_conflict(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Somebody's data conflicts."""
    for _life, _submitted, each in replay.rounds():
        tally.look(each.is_real)
    return iter(())


INVARIANTS = (
    Invariant(
        id="class-matches-history",
        clause="8.4",
        kind=Kind.ALWAYS,
        statement="Every retry classifies each table as the commits between the snapshot last seen and the current one have it.",
        check=classes_match_history,
    ),
    Invariant(
        id="n-matches-history",
        clause="8.4",
        kind=Kind.ALWAYS,
        statement="Every retry counts exactly the commits it is behind, and those among them that replaced data.",
        check=counts_match_history,
    ),
    Invariant(
        id="real-conflict-ends-or-merges",
        clause="8.4",
        kind=Kind.ALWAYS,
        statement="Only an overlap of an operation that validates can be real; a real conflict ends the attempts or is merged, a false one does not.",
        check=real_conflicts_end_or_merge,
    ),
    *(
        Invariant(
            id=id,
            clause="8.4",
            kind=Kind.SOMETIMES,
            statement=f"Some retry finds {words}.",
            check=_some(conflict_class),
        )
        for id, words, conflict_class in (
            ("some-overlap", "an overlap", OVERLAP),
            ("some-disjoint", "its table changed in other partitions only", DISJOINT_PARTITIONS),
            ("some-cross-table", "its table unchanged", CROSS_TABLE),
        )
    ),
    Invariant(
        id="some-real-conflict",
        clause="8.4",
        kind=Kind.SOMETIMES,
        statement="Some conflict is real.",
        check=some_real_conflict,
    ),
)
