"""Who beat a transaction, and the bill: every millisecond of it, divided into what it needed anyway and what each lost race cost.

Needed anyway is what the same transaction would have done with nobody else about: its reads before the first commit call, its work,
its own manifests once, and the commit call that succeeded. All else is the price of rivals, and is booked on the race that
was lost: the call itself, the wait after it, the read that shows what happened, and what is read and written again. The two
add up to the transaction's time, because a trace explains every millisecond of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from endive.errors import InputError, Problem
from endive.judge.lives import Life, Round
from endive.judge.replay import Replay
from endive.trace import (
    COUNTS,
    BackedOff,
    CatalogRead,
    CommitApplied,
    CommitReturned,
    IoPaid,
    Submitted,
    Trace,
    Worked,
)

SAME_PARTITIONS = "its partitions"
SAME_TABLE = "its tables, other partitions"
OTHER_TABLE = "other tables"
RELATIONS = (SAME_PARTITIONS, SAME_TABLE, OTHER_TABLE)

# What a payment is for when nobody else is about.
_NEEDED = frozenset({"start", "attempt", "install", "list"})


@dataclass(frozen=True, slots=True)
class Rival:
    """A commit that landed while a transaction was about to commit."""

    txn_id: int
    t_ms: float
    seq: int
    operation: str | None
    """None where the commit came from elsewhere."""
    relation: str
    """Where it wrote, seen from the transaction: one of `RELATIONS`."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of a transaction's time."""

    what: str
    start_ms: float
    took_ms: float
    counts: tuple[int, ...] = ()
    """Of I/O, in the order of `endive.trace.COUNTS`; empty where there is none."""
    needed: bool = True
    """Whether it would have been there without rivals."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One commit call that did not succeed, and what it cost until the next call was made."""

    attempt: int
    called_ms: float
    expected_seq: int
    seen_ms: float
    """When the snapshot was captured that the call was made against."""
    rivals: tuple[Rival, ...]
    """Those who committed between that snapshot and the call's effect, the earliest first."""
    missed_end: int
    """How often a record did not land, because the log had grown."""
    is_real: bool
    """Whether what had changed turned out to be a real conflict."""
    steps: tuple[Step, ...]
    """What the loss cost."""

    @property
    def cost_ms(self) -> float:
        """What the loss cost."""
        return _total_ms(self.steps)


@dataclass(frozen=True, slots=True)
class Telling:
    """Everything there is to say of one transaction."""

    submitted: Submitted
    status: str
    abort_reason: str | None
    retries: int
    total_ms: float
    steps: tuple[Step, ...]
    """All of its time, in order."""
    losses: tuple[Loss, ...]
    granularity: str
    """What a commit call competes for: `catalog`, `group`, `table` or `partition`."""

    @property
    def txn_id(self) -> int:
        """Which transaction."""
        return self.submitted.txn_id

    @property
    def needed_ms(self) -> float:
        """What it would have done without rivals, as far as it came to do it."""
        return _total_ms(step for step in self.steps if step.needed)

    @property
    def lost_ms(self) -> float:
        """What rivals cost it."""
        return _total_ms(step for step in self.steps if not step.needed)

    def lost_by_kind(self) -> dict[str, float]:
        """What rivals cost it, by what the time went into; the largest first."""
        kinds: dict[str, float] = {}
        for step in self.steps:
            if not step.needed:
                kinds[step.what] = kinds.get(step.what, 0.0) + step.took_ms
        return dict(sorted(kinds.items(), key=lambda item: -item[1]))

    def lost_counts(self) -> tuple[int, ...]:
        """The I/O that rivals cost it, in the order of `endive.trace.COUNTS`."""
        sums = [0] * len(COUNTS)
        for step in self.steps:
            if not step.needed and step.counts:
                sums = [a + b for a, b in zip(sums, step.counts, strict=True)]
        return tuple(sums)

    def lost_to_other_tables(self) -> int:
        """How many calls were lost though nobody had touched its tables."""
        return sum(
            bool(loss.rivals) and all(rival.relation == OTHER_TABLE for rival in loss.rivals)
            for loss in self.losses
        )

    def as_dict(self) -> dict[str, Any]:
        """The telling as a JSON document."""
        submitted = self.submitted
        return {
            "txn_id": self.txn_id,
            "operation": submitted.operation,
            "class": submitted.class_name,
            "tables_written": list(submitted.tables_written),
            "status": self.status,
            "abort_reason": self.abort_reason,
            "retries": self.retries,
            "total_ms": self.total_ms,
            "needed_ms": self.needed_ms,
            "lost_ms": self.lost_ms,
            "lost_by_kind_ms": self.lost_by_kind(),
            "lost_io": dict(zip(COUNTS, self.lost_counts(), strict=True)),
            "lost_to_other_tables_alone": self.lost_to_other_tables(),
            "losses": [_loss_as_dict(loss) for loss in self.losses],
        }


def explain(replay: Replay, txn_id: int, file: str = "") -> Telling:
    """Everything there is to say of one transaction; raises InputError if the trace does not have it."""
    life = replay.lives.get(txn_id)
    if life is None or life.submitted is None:
        known = sorted(replay.lives)
        there = f"there are {known[0]} to {known[-1]}" if known else "there are none"
        raise InputError([Problem(f"no transaction {txn_id} in the trace; {there}", "TXN", file)])
    return _telling(replay, life, life.submitted)


def most_costly(trace: Trace, count: int) -> list[Telling]:
    """The transactions that lost the most time to rivals, the worst first."""
    replay = Replay(trace)
    lives = [life for life in replay.lives.values() if life.submitted is not None]
    # How much of its time was not work tells enough to choose whom to look at closely.
    lives.sort(key=lambda life: (-_beside_work_ms(life), life.txn_id))
    tellings = [explain(replay, life.txn_id) for life in lives[: 4 * count]]
    tellings.sort(key=lambda telling: (-telling.lost_ms, telling.txn_id))
    return tellings[:count]


def _beside_work_ms(life: Life) -> float:
    if life.finished is None:
        return 0.0
    worked = max((e.runtime_ms for e in life.events if isinstance(e, Worked)), default=0.0)
    return life.finished.total_ms - worked


def _telling(replay: Replay, life: Life, submitted: Submitted) -> Telling:
    steps = tuple(_steps(life))
    finished = life.finished
    end_ms = steps[-1].start_ms + steps[-1].took_ms if steps else submitted.t_ms
    return Telling(
        submitted=submitted,
        status=finished.status if finished is not None else "in_flight",
        abort_reason=finished.abort_reason if finished is not None else None,
        retries=finished.retries if finished is not None else 0,
        total_ms=finished.total_ms if finished is not None else end_ms - submitted.t_ms,
        steps=steps,
        losses=tuple(_losses(replay, life, submitted)),
        granularity=replay.settings.granularity,
    )


# -- where the time went ---------------------------------------------------------------------------------------------


def _steps(life: Life) -> Iterator[Step]:
    """All of a transaction's time, stretch by stretch."""
    last_run = len(life.runs) - 1
    calls = [each for each in life.rounds if each.called is not None]
    won = calls[-1].returned if calls and _succeeded(calls[-1]) else None
    run, has_called = 0, False
    ended_ms = life.submitted.t_ms if life.submitted is not None else 0.0
    for event in life.events:
        # What an application does that starts all over later is done for nothing.
        first = run == last_run and not has_called
        step: Step | None = None
        if isinstance(event, CatalogRead):
            step = Step("catalog reads", event.t_called_ms, event.read_ms, needed=first)
        elif isinstance(event, Worked):
            begun_ms = event.t_ms - event.runtime_ms
            step = Step("work", begun_ms, event.runtime_ms, needed=run == last_run)
        elif isinstance(event, IoPaid):
            step = _payment(event, first=first)
        elif isinstance(event, CommitReturned):
            has_called = True
            begun_ms = event.t_ms - event.commit_ms
            step = Step("commit calls", begun_ms, event.commit_ms, needed=event is won)
        elif isinstance(event, BackedOff):
            step = Step("backoff", event.t_ms - event.backoff_ms, event.backoff_ms, needed=False)
        if step is not None:
            ended_ms = step.start_ms + step.took_ms
            yield step
        if life.restarts and event in life.restarts:
            run, has_called = run + 1, False
    if life.finished is not None and life.finished.t_ms - ended_ms > 1e-6:
        # What the end of the run cut off in the middle.
        yield Step("cut off by the end", ended_ms, life.finished.t_ms - ended_ms)


def _payment(event: IoPaid, *, first: bool) -> Step:
    is_needed = event.reason in _NEEDED and (first or event.reason == "install")
    what = {
        "validate": "reading history",
        "merge": "merging after a conflict",
        "rebuild": "manifests again",
    }.get(event.reason, "its own manifests" if first else "manifests again")
    return Step(what, event.t_ms - event.paid_ms, event.paid_ms, event.counts, is_needed)


def _succeeded(each: Round) -> bool:
    return each.returned is not None and each.returned.success


def _total_ms(steps: Iterable[Step]) -> float:
    total_ms = 0.0
    for step in steps:
        total_ms += step.took_ms
    return total_ms


# -- who was faster --------------------------------------------------------------------------------------------------


def _losses(replay: Replay, life: Life, submitted: Submitted) -> Iterator[Loss]:
    rounds = list(life.rounds)
    steps = list(_steps(life))
    for place, each in enumerate(rounds):
        called, seen, returned = each.called, each.at_hand, each.returned
        if called is None or seen is None or returned is None or returned.success:
            continue
        after = rounds[place + 1 :]
        following = next((later.called for later in after if later.called is not None), None)
        until_ms = following.t_ms if following is not None else float("inf")
        effect_ms = max((effect.t_ms for effect in each.effects), default=returned.t_ms)
        mine = tuple(
            step for step in steps if not step.needed and called.t_ms <= step.start_ms < until_ms
        )
        yield Loss(
            attempt=called.attempt,
            called_ms=called.t_ms,
            expected_seq=called.expected_seq,
            seen_ms=seen.t_ms,
            rivals=tuple(_rivals(replay, submitted, seen.seq, effect_ms)),
            missed_end=sum(not append.landed for append in each.log_appends),
            is_real=any(later.is_real for later in after[:1]),
            steps=mine,
        )


def _rivals(
    replay: Replay, submitted: Submitted, seen_seq: int, effect_ms: float
) -> Iterator[Rival]:
    applied = replay.history.applied_by(effect_ms)
    for commit in replay.history.commits[seen_seq:applied]:
        if commit.txn_id == submitted.txn_id:
            continue
        life = replay.lives.get(commit.txn_id)
        known = life.submitted if life is not None else None
        yield Rival(
            txn_id=commit.txn_id,
            t_ms=commit.t_ms,
            seq=commit.seq_after,
            operation=known.operation if known is not None else None,
            relation=_relation(submitted, commit),
        )


def _relation(submitted: Submitted, commit: CommitApplied) -> str:
    touched = dict(
        zip(commit.tables, _partitions(commit.partitions, len(commit.tables)), strict=True)
    )
    written = submitted.tables_written
    found = OTHER_TABLE
    for table, own in zip(written, _partitions(submitted.partitions, len(written)), strict=True):
        if table not in touched:
            continue
        others = touched[table]
        # Where partitions are not tracked, any change of the table may be to the same rows.
        if own is None or others is None or not own.isdisjoint(others):
            return SAME_PARTITIONS
        found = SAME_TABLE
    return found


def _partitions(
    partitions: tuple[tuple[int, ...], ...] | None, tables: int
) -> list[frozenset[int] | None]:
    if partitions is None:
        return [None] * tables
    return [frozenset(each) for each in partitions]


def _loss_as_dict(loss: Loss) -> dict[str, Any]:
    relations: Mapping[str, int] = {
        relation: sum(rival.relation == relation for rival in loss.rivals) for relation in RELATIONS
    }
    return {
        "attempt": loss.attempt,
        "called_ms": loss.called_ms,
        "expected_seq": loss.expected_seq,
        "seen_ms": loss.seen_ms,
        "rivals": [
            {
                "txn_id": rival.txn_id,
                "t_ms": rival.t_ms,
                "seq": rival.seq,
                "operation": rival.operation,
                "relation": rival.relation,
            }
            for rival in loss.rivals
        ],
        "rivals_by_relation": dict(relations),
        "missed_end": loss.missed_end,
        "is_real": loss.is_real,
        "cost_ms": loss.cost_ms,
        "steps": [
            {"what": step.what, "took_ms": step.took_ms, "counts": list(step.counts)}
            for step in loss.steps
        ],
    }
