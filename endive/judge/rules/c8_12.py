"""§8.12 Cross-table retry cost, by hand: losing to another table, or to other partitions, costs no manifest I/O."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.lives import Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.prices import in_words
from endive.judge.replay import Replay
from endive.judge.settings import is_specified
from endive.trace import COUNTS

MANIFEST_COUNTS = tuple(place for place, name in enumerate(COUNTS) if name.startswith("manifest"))


def _manifest_io(each: Round) -> list[int]:
    """What a round paid for manifests, metadata left out, which has its own switch."""
    totals = [0] * len(COUNTS)
    for paid in each.payments:
        for place in MANIFEST_COUNTS:
            totals[place] += paid.counts[place]
    return totals


def retries_without_overlap_are_free(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """One catalog read and one commit call are all there is."""
    for _life, submitted, each, found in replay.retries():
        if each.place == 0 or found.overlapping:
            continue
        tally.look()
        paid = _manifest_io(each)
        # A failed append to a list counts nothing, and is an attempt to pay all the same.
        if any(paid) or any(payment.reason == "list" for payment in each.payments):
            story = (
                f"{replay.meanwhile(submitted, each)}; nobody had written where it writes, so its retry "
                f"owed no manifest I/O, and it paid {in_words(paid)}"
            )
            yield Violation(replay.tell("8.12", story), tuple(each.payments))


def some_free_retry(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Somebody retries for nothing."""
    for _life, _submitted, each, found in replay.retries():
        tally.look(
            each.called is not None and not found.overlapping and not any(_manifest_io(each))
        )
    return iter(())


INVARIANTS = (
    Invariant(
        id="cross-table-retry-free",
        clause="8.12",
        kind=Kind.ALWAYS,
        statement="A retry that finds no write overlap pays no manifest I/O: one catalog read and one commit call are all it costs.",
        check=retries_without_overlap_are_free,
        applies_when=is_specified,
    ),
    Invariant(
        id="some-free-retry",
        clause="8.12",
        kind=Kind.SOMETIMES,
        statement="Some retry pays no manifest I/O.",
        check=some_free_retry,
    ),
)
