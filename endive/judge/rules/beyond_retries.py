"""Beyond §8: how often, how long and how patiently a transaction tries."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.lives import Run
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import CLOSE_MS, Replay
from endive.judge.settings import has_config, section
from endive.trace import CommitReturned, Finished, Header, IoPaid, StorageUsed

BEYOND = "beyond §8"
OUT_OF_RETRIES = "max_retries"
OUT_OF_TIME = "retry_timeout"


def _failures(run: Run) -> list[CommitReturned]:
    return [r.returned for r in run.rounds if r.returned is not None and not r.returned.success]


def retries_are_limited(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """One call and at most as many retries as configured; giving up for that reason only then."""
    allowed = replay.settings.max_retries + 1
    for life in replay.lives.values():
        number = 0
        for run in life.runs:
            calls = [each.called for each in run.rounds if each.called is not None]
            tally.look(len(calls))
            for called in calls:
                if called.attempt != number:
                    story = f"{life.name} made commit call {number} and called it {called.attempt}"
                    yield Violation(replay.tell(BEYOND, story), (called,))
                number += 1
            if len(calls) > allowed:
                story = f"{life.name} called for a commit {len(calls)} times, and {allowed} are allowed: one, and {allowed - 1} retries"
                yield Violation(replay.tell(BEYOND, story), tuple(calls))
        finished = life.finished
        if finished is None or not life.runs:
            continue
        failed = _failures(life.runs[-1])
        gave_up = finished.abort_reason == OUT_OF_RETRIES
        if gave_up != (len(failed) == allowed and finished.status != "in_flight"):
            story = f"{life.name} had lost {len(failed)} of {allowed} permitted commit calls and ended as {finished.status} ({finished.abort_reason})"
            yield Violation(replay.tell(BEYOND, story), (*failed[-1:], finished))


def budgets_are_kept(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """After a lost call the budget decides whether there is another one."""
    budget_ms = replay.settings.retry_timeout_ms
    for life in replay.lives.values():
        for run in life.runs:
            if not run.rounds or run.rounds[0].called is None:
                continue
            first_ms = run.rounds[0].called.t_ms
            for each in run.rounds:
                lost = each.returned
                if lost is None or lost.success or each.place == replay.settings.max_retries:
                    continue
                tally.look()
                spent_ms = lost.t_ms - first_ms
                is_over = budget_ms is not None and spent_ms >= budget_ms
                is_last = run is life.runs[-1] and each is run.rounds[-1]
                gave_up = (
                    is_last
                    and life.finished is not None
                    and (life.finished.abort_reason == OUT_OF_TIME)
                )
                is_tight = budget_ms is not None and abs(spent_ms - budget_ms) <= CLOSE_MS
                if is_over != gave_up and not is_tight:
                    story = f"{life.name} lost a commit call {spent_ms} ms after its first one, with a budget of {budget_ms} ms, and {'gave up' if gave_up else 'went on'}"
                    yield Violation(replay.tell(BEYOND, story), (lost,))


def nothing_comes_after_the_end(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Whoever has lost for good neither reads nor pays nor waits; a winner installs at most."""
    for life in replay.lives.values():
        finished = life.finished
        if finished is None or finished.status == "in_flight":
            continue
        ends_with_call = finished.status == "committed" or (
            finished.abort_reason in (OUT_OF_RETRIES, OUT_OF_TIME)
        )
        if not ends_with_call:
            continue
        tally.look()
        after = []
        for event in reversed(life.events):
            if isinstance(event, CommitReturned):
                break
            if not isinstance(event, Finished):
                after.append(event)
        if finished.status == "committed":
            rest = [e for e in after if not (isinstance(e, IoPaid) and e.reason == "install")]
            if len(rest) < len(after):
                # What the store did for that payment; `storage-explains-payments` holds it to the payment.
                rest = [e for e in rest if not isinstance(e, StorageUsed)]
            after = rest
        if after:
            done = ", ".join(type(event).__name__ for event in reversed(after))
            story = f"{life.name} was through with its last commit call ({finished.abort_reason or 'committed'}), and went on: {done}"
            yield Violation(replay.tell(BEYOND, story), tuple(reversed(after)))


def backoff_has_its_shape(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Exponential up to a cap, with jitter after the cap; before every retry, or never."""
    backoff = replay.settings.backoff
    is_on = bool(backoff.get("enabled"))
    for life, _submitted, each in replay.rounds():
        waited = each.backed_off
        if waited is None:
            if is_on and each.place > 0:
                tally.look()
                story = (
                    f"{life.name} made retry {each.place} without the wait that backoff asks for"
                )
                yield Violation(replay.tell(BEYOND, story), tuple(filter(None, (each.read,))))
            tally.look(not is_on and each.place > 0)
            continue
        tally.look()
        if not is_on or waited.retry != each.place:
            story = f"{life.name} waited {waited.backoff_ms} ms before retry {each.place}, {'as if it were retry ' + str(waited.retry) if is_on else 'though backoff is off'}"
            yield Violation(replay.tell(BEYOND, story), (waited,))
            continue
        least_ms, most_ms = _bounds(replay, each.place)
        if not least_ms - CLOSE_MS <= waited.backoff_ms <= most_ms + CLOSE_MS:
            story = f"{life.name} waited {waited.backoff_ms} ms before retry {each.place}, which is not between {least_ms} and {most_ms} ms"
            yield Violation(replay.tell(BEYOND, story), (waited,))


def _bounds(replay: Replay, retry: int) -> tuple[float, float]:
    backoff = replay.settings.backoff
    try:
        wait_ms = min(backoff["max_ms"], backoff["base_ms"] * backoff["multiplier"] ** (retry - 1))
    except OverflowError:
        wait_ms = backoff["max_ms"]
    swing_ms = wait_ms * backoff["jitter"]
    lower_ms = 0.0 if backoff.get("jitter_mode") == "up" else swing_ms
    return wait_ms - lower_ms, wait_ms + swing_ms


def _has_budget(header: Header) -> bool:
    return section(header, "transaction").get("retry_timeout_ms") is not None


INVARIANTS = (
    Invariant(
        id="retry-limit",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A run of attempts makes one commit call and at most the configured number of retries, and gives up with max_retries exactly then.",
        check=retries_are_limited,
        applies_when=has_config,
    ),
    Invariant(
        id="retry-budget",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A lost commit call is the last one iff the retry budget is used up by then.",
        check=budgets_are_kept,
        applies_when=_has_budget,
    ),
    Invariant(
        id="nothing-after-last-attempt",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="After its last commit call a transaction reads nothing, pays nothing and waits for nothing; a winner may install metadata.",
        check=nothing_comes_after_the_end,
    ),
    Invariant(
        id="backoff-shape",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Waits before retries grow exponentially up to the cap, within their jitter; without backoff there are none.",
        check=backoff_has_its_shape,
        applies_when=has_config,
    ),
)
