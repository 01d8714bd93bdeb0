"""Beyond §8: every payment is what the cost table in the header says, and comes when it should."""

from __future__ import annotations

from collections.abc import Iterator

from endive.judge.history import Behind
from endive.judge.lives import Life, Round
from endive.judge.model import Invariant, Kind, Tally, Violation
from endive.judge.prices import NOTHING, Counts, Prices, add, counts, in_words
from endive.judge.replay import Found, Replay
from endive.judge.settings import SPECIFIED
from endive.trace import COUNTS, CatalogRead, CommitApplied, Header, IoPaid, Submitted

BEYOND = "beyond §8"
_APPENDS = COUNTS.index("manifest_list_appends")
Due = tuple[str, Counts]


def prices_of(replay: Replay) -> Prices:
    """The prices of a run."""
    settings = replay.settings
    return Prices(
        replay.header.cost_table,
        settings.manifests_per_concurrent_commit,
        settings.appends_to_lists,
    )


class Dues:
    """What each step of a transaction owes, reason by reason."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._settings = replay.settings
        self.at_offsets = replay.settings.appends_at_offsets
        self._manifests = replay.history.manifests
        self.prices = prices_of(replay)

    def start(self, submitted: Submitted) -> Counts:
        """Metadata of all tables, where it is not inlined."""
        return self._metadata_reads(submitted, 1)

    def validate(self, submitted: Submitted, read: CatalogRead, found: Found) -> Counts:
        """What finding out costs: once for one history, or table by table."""
        each = self.prices.setting("metadata_reads_per_retry", 0)
        metadata = self._metadata_reads(submitted, each)
        if self._settings.history_scope in ("catalog", "group"):
            tables = {found.first_of_worst: found.worst}
        else:
            tables = dict(found.classes)
        return add(
            metadata,
            *(
                self.prices.validate(
                    submitted.operation,
                    conflict_class,
                    found.behind[table],
                    self._manifests(table, read.seq),
                )
                for table, conflict_class in tables.items()
            ),
        )

    def merge(self, submitted: Submitted, read: CatalogRead, found: Found) -> list[Counts]:
        """What merging may cost: the number of manifests in conflict is drawn, so there are several answers."""
        most = self.prices.setting("conflicting_manifests", 10)
        manifests = self._manifests(found.overlapping[0], read.seq)
        return [
            self.prices.merge(submitted.operation, found.validated, manifests, conflicting)
            for conflicting in range(1, most + 1)
        ]

    def each_table(
        self, submitted: Submitted, each: Round, found: Found | None
    ) -> dict[int, Counts]:
        """What preparing the commit call costs for each written table, metadata left out."""
        at_hand = each.at_hand
        assert at_hand is not None
        operation, due = submitted.operation, {}
        for table in submitted.tables_written:
            manifests = self._manifests(table, at_hand.seq)
            behind = Behind() if found is None else found.behind[table]
            if found is None or each.place == 0:
                due[table] = self.prices.attempt(operation, behind, manifests)
            else:
                conflict_class = found.classes[table]
                due[table] = self.prices.rebuild(operation, conflict_class, behind, manifests)
        return due

    def merged(self, submitted: Submitted, each: Round, found: Found | None) -> set[int]:
        """The tables whose manifests this round merges by threshold."""
        assert each.at_hand is not None
        return {
            table
            for table, price in self.each_table(submitted, each, found).items()
            if self.prices.merges(
                submitted.operation, price, self._manifests(table, each.at_hand.seq)
            )
        }

    def prepare(self, submitted: Submitted, each: Round, found: Found | None) -> Counts:
        """What preparing the commit call costs in all."""
        due = add(*self.each_table(submitted, each, found).values())
        if self.prices.setting("metadata_writes") == "every_attempt":
            due = add(due, self.metadata_writes(submitted))
        return due

    def metadata_writes(self, submitted: Submitted) -> Counts:
        """One for each written table, where metadata is not inlined."""
        if self._settings.metadata_inlined:
            return NOTHING
        return counts(metadata_writes=len(submitted.tables_written))

    def _metadata_reads(self, submitted: Submitted, each: int) -> Counts:
        if self._settings.metadata_inlined:
            return NOTHING
        accessed = set(submitted.tables_read) | set(submitted.tables_written)
        return counts(metadata_reads=each * len(accessed))


def payments_are_the_prices(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Step by step, what was paid is what the table asks; nothing more, nothing less, and for the right reason."""
    dues = Dues(replay)
    for life, submitted, each in replay.rounds():
        if each.at_hand is None or each.seen is None:
            continue
        tally.look()
        found = replay.found(submitted, each)
        owed = _owed(dues, submitted, each, found)
        paid = [(p.reason, p.counts) for p in each.payments if p.reason != "list"]
        yield from _compare(replay, life, submitted, each, owed, paid)
        if replay.settings.appends_at_offsets:
            yield from _entries(replay, life, dues, submitted, each, found)
    for life in replay.lives.values():
        if life.submitted is None:
            continue
        due = dues.start(life.submitted)
        for run in life.runs:
            paid_at_start = add(*(p.counts for p in run.payments)) if run.payments else NOTHING
            if run.worked is not None and paid_at_start != due:
                story = f"{life.name} owed {in_words(due)} at the start, and paid {in_words(paid_at_start)}"
                yield Violation(replay.tell(BEYOND, story), tuple(run.payments))
    yield from _manifest_counts(replay, dues)


def _owed(dues: Dues, submitted: Submitted, each: Round, found: Found | None) -> list[list[Due]]:
    """What a round owes, in order; each entry has all answers that are right."""
    at_offsets = dues.at_offsets

    def leave_out_entries(due: Counts) -> Counts:
        # Entries of manifest lists at offsets are paid one by one, each as a step of its own.
        if not at_offsets:
            return due
        return (*due[:_APPENDS], 0, *due[_APPENDS + 1 :])

    owed: list[list[Due]] = []
    if found is not None and each.read is not None:
        validation = leave_out_entries(dues.validate(submitted, each.read, found))
        owed.append([("validate", validation)])
        if each.is_real:
            if dues.prices.setting("on_real_conflict") != "merge":
                return [due for due in owed if due[0][1] != NOTHING]
            merges = dues.merge(submitted, each.read, found)
            owed.append([("merge", leave_out_entries(merge)) for merge in merges])
    reason = "rebuild" if each.place else "attempt"
    owed.append([(reason, leave_out_entries(dues.prepare(submitted, each, found)))])
    installs = dues.prices.setting("metadata_writes") == "successful_attempt"
    if installs and each.returned is not None and each.returned.success:
        owed.append([("install", dues.metadata_writes(submitted))])
    return [due for due in owed if due[0][1] != NOTHING]


def _compare(
    replay: Replay,
    life: Life,
    submitted: Submitted,
    each: Round,
    owed: list[list[Due]],
    paid: list[Due],
) -> Iterator[Violation]:
    is_cut = life.is_cut_in(each)
    for place, due in enumerate(owed):
        if place >= len(paid):
            # What the end of the run cut off was not paid; but nothing is left out before a commit call.
            if is_cut and (each.called is None or due[0][0] == "install"):
                return
            story = f"{_began(replay, submitted, each)}; it owed {in_words(due[0][1])} ({due[0][0]}), and paid nothing for that"
            yield Violation(replay.tell(BEYOND, story), tuple(each.payments))
            return
        if paid[place] not in due:
            reason, made = paid[place]
            story = f"{_began(replay, submitted, each)}; it owed {in_words(due[0][1])} ({due[0][0]}), and paid {in_words(made)} ({reason})"
            yield Violation(replay.tell(BEYOND, story), tuple(each.payments))
            return
    for reason, made in paid[len(owed) :]:
        story = f"{_began(replay, submitted, each)}; it owed nothing more, and paid {in_words(made)} ({reason})"
        yield Violation(replay.tell(BEYOND, story), tuple(each.payments))


def _began(replay: Replay, submitted: Submitted, each: Round) -> str:
    if each.read is not None and each.seen is not None:
        return replay.meanwhile(submitted, each)
    seq = each.at_hand.seq if each.at_hand is not None else 0
    tables = ", ".join(map(str, submitted.tables_written))
    return f"T{submitted.txn_id} ({submitted.operation}) prepared its first commit to table {tables}, having seen seq {seq}"


def _entries(
    replay: Replay,
    life: Life,
    dues: Dues,
    submitted: Submitted,
    each: Round,
    found: Found | None,
) -> Iterator[Violation]:
    if each.is_real and each.called is None:
        return
    owed = dues.prepare(submitted, each, found)[_APPENDS]
    steps = [payment for payment in each.payments if payment.reason == "list"]
    # An entry lands by an append, or by a rewrite that won, which is a list write; one that lost is a write for nothing.
    landed = sum(
        getattr(e, "landed", False) is True or _won(e) for e in each.effects if _of_list(e)
    )
    if landed == owed or (life.is_cut_in(each) and each.called is None and landed < owed):
        return
    story = f"{_began(replay, submitted, each)}; it owed {owed} entries of manifest lists, and made {landed}"
    yield Violation(replay.tell(BEYOND, story), tuple(steps))


def _of_list(event: object) -> bool:
    return type(event).__name__ in ("ListAppended", "ListRewritten")


def _won(event: object) -> bool:
    return getattr(event, "won", False) is True


def _manifest_counts(replay: Replay, dues: Dues) -> Iterator[Violation]:
    """T is state of the catalog: one more with each commit, or 1 after a merge."""
    now: dict[int, int] = {}
    rounds = {
        id(each.applied): (submitted, each)
        for _life, submitted, each in replay.rounds()
        if each.applied is not None
    }
    for commit in replay.of(CommitApplied):
        merged: set[int] = set()
        if id(commit) in rounds:
            submitted, each = rounds[id(commit)]
            if each.at_hand is not None:
                merged = dues.merged(submitted, each, replay.found(submitted, each))
        for table, told in zip(commit.tables, commit.manifests, strict=True):
            before = now.get(table, replay.settings.manifests_per_table)
            expected = 1 if table in merged else before + 1
            if told != expected:
                story = f"T{commit.txn_id} committed to table {table}, which had {before} manifests and has {expected} now, not {told}"
                yield Violation(replay.tell(BEYOND, story), (commit,))
            now[table] = told


def validation_comes_before_the_abort(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Whoever aborts for a real conflict has paid to find out."""
    dues = Dues(replay)
    for _life, submitted, each, found in replay.retries():
        if not each.is_real or each.read is None:
            continue
        tally.look()
        owed = dues.validate(submitted, each.read, found)
        if replay.settings.appends_at_offsets:
            owed = (*owed[:_APPENDS], 0, *owed[_APPENDS + 1 :])
        asked_ms = each.judged[0].t_ms
        before = [p for p in each.payments if p.reason == "validate" and p.t_ms <= asked_ms]
        paid = add(*(p.counts for p in before)) if before else NOTHING
        if paid != owed:
            story = f"{replay.meanwhile(submitted, each)}; the conflict was real, and finding that out cost {in_words(owed)}, of which it had paid {in_words(paid)}"
            yield Violation(replay.tell(BEYOND, story), (*each.payments, *each.judged))


def first_attempts_are_paid(replay: Replay, tally: Tally) -> Iterator[Violation]:
    """Attempt 0 pays for each written table before it calls; for the specification's own table known by hand."""
    dues = Dues(replay)
    by_hand = replay.header.cost_table.get("name") == SPECIFIED
    for _life, submitted, each in replay.rounds():
        if each.place != 0 or each.called is None or each.at_hand is None:
            continue
        tally.look()
        found = replay.found(submitted, each)
        owed = add(*dues.each_table(submitted, each, found).values())
        if by_hand:
            tables = len(submitted.tables_written)
            added = "appends" if replay.settings.appends_to_lists else "writes"
            owed = counts(
                manifest_list_reads=tables,
                manifest_file_writes=tables,
                **{f"manifest_list_{added}": tables},
            )
        paid = add(*_for_manifests(each.payments)) if each.payments else NOTHING
        if replay.settings.appends_at_offsets:
            # Rewrites of sealed lists come on top, and take the place of appends.
            lists = (
                COUNTS.index(f"manifest_list_{kind}") for kind in ("reads", "writes", "appends")
            )
            ignored = set(lists)
            paid = tuple(0 if place in ignored else n for place, n in enumerate(paid))
            owed = tuple(0 if place in ignored else n for place, n in enumerate(owed))
        if paid != owed:
            story = f"{_began(replay, submitted, each)}; that costs {in_words(owed)}, and it paid {in_words(paid)} before it called for the commit"
            yield Violation(replay.tell("§3.2", story), (*each.payments, each.called))


def _for_manifests(payments: list[IoPaid]) -> list[Counts]:
    """The attempt's own payments, metadata left out, which has its own switch."""
    metadata = {place for place, name in enumerate(COUNTS) if name.startswith("metadata")}
    return [
        tuple(0 if place in metadata else n for place, n in enumerate(payment.counts))
        for payment in payments
        if payment.reason in ("attempt", "rebuild", "list")
    ]


def _has_table(header: Header) -> bool:
    return bool(header.cost_table.get("operations")) and bool(header.config)


INVARIANTS = (
    Invariant(
        id="costs-as-priced",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Every payment is the price that the cost table in the header asks for it.",
        check=payments_are_the_prices,
        applies_when=_has_table,
    ),
    Invariant(
        id="validation-paid-before-abort",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="A real conflict is found out only after its validation has been paid.",
        check=validation_comes_before_the_abort,
        applies_when=_has_table,
    ),
    Invariant(
        id="per-attempt-first",
        clause="beyond",
        kind=Kind.ALWAYS,
        statement="Attempt 0 pays the price of an attempt for each written table before it calls for the commit.",
        check=first_attempts_are_paid,
        applies_when=_has_table,
    ),
)
