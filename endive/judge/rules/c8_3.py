"""§8.3 Manifest list exactness, by hand: N behind and overlap cost a validated overwrite exactly N historical lists.

No cost table is read here, so that a wrong cell of the specification's own table cannot hide.
"""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.replay import Replay
from endive.judge.settings import is_specified
from endive.trace import COUNTS

HISTORICAL = COUNTS.index("historical_ml_reads")
VALIDATING = "validated_overwrite"
CONVOY = 3


def lists_are_exact(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Not N − 1, not N + 1; and nobody else reads any."""
    for life, submitted, each in replay.rounds():
        read = sum(paid.counts[HISTORICAL] for paid in each.payments)
        found = replay.found(submitted, each)
        owed = 0
        if found is not None and found.overlapping and submitted.operation == VALIDATING:
            owed = found.validated.commits
        tally.look(found is not None)
        # A convoy that the end of the run cuts off counts for nothing.
        is_cut = life.is_cut_in(each) and not each.payments and not each.judged
        if read == owed or (is_cut and read == 0):
            continue
        if found is None:
            story = (
                f"{life.name} ({submitted.operation}) compared nothing before commit call {each.place}, "
                f"so it owed 0 historical manifest-list reads, and made {read}"
            )
        else:
            story = f"{replay.meanwhile(submitted, each)}; so it owed exactly {owed} historical manifest-list reads, and made {read}"
        yield Violation(replay.tell("8.3", story), tuple(each.payments))


def some_convoy(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Somebody reads a list after another."""
    for _life, _submitted, each in replay.rounds():
        tally.look(any(paid.counts[HISTORICAL] >= CONVOY for paid in each.payments))
    return iter(())


INVARIANTS = (
    Invariant(
        id="lists-exact",
        clause="8.3",
        kind=Kind.ALWAYS,
        statement="A validated overwrite that is N behind with write overlap reads exactly N historical manifest lists; everyone else reads none.",
        check=lists_are_exact,
        applies_when=is_specified,
    ),
    Invariant(
        id="some-convoy",
        clause="8.3",
        kind=Kind.SOMETIMES,
        statement="Some retry reads 3 historical manifest lists or more.",
        check=some_convoy,
    ),
)
