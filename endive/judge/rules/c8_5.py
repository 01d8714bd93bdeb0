"""§8.5 Determinism: the same seed and configuration give the same run, and all randomness is seeded."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import ModuleType
from typing import Any

from endive.judge.model import Invariant, Kind, Scope, Tally, Violation
from endive.judge.settings import section
from endive.judge.sources import trees_of
from endive.trace import BACKGROUND_ID, CommitApplied, Event, Header, Submitted, Trace

# What of NumPy's random module has a seed, or keeps one for its owner.
_SEEDED = {"RandomState", "MT19937", "SeedSequence", "get_state", "set_state", "seed"}
# The one place where a seed comes from nowhere: it is reported and stored (docs/MODEL.md, section 2).
_SEED_MAKER = "draw_seed"
_UNSEEDED_CALLS = {"os.urandom", "uuid.uuid4", "time.time_ns"}


def runs_are_the_same(pair: tuple[Trace, Trace], tally: Tally) -> Iterator[Violation]:
    """Event by event, to the last bit."""
    a, b = pair
    if (a.header.seed, dict(a.header.config)) != (b.header.seed, dict(b.header.config)):
        return
    tally.look()
    yield from _first_difference(pair, a.events, b.events, "the same seed and configuration")


def submissions_are_the_same(pair: tuple[Trace, Trace], tally: Tally) -> Iterator[Violation]:
    """Another store, catalog, detector, cost table or class leaves what a class submits, and when, as it was."""
    a, b = pair
    if a.header.seed != b.header.seed or _world(a.header) != _world(b.header):
        return
    mine, other = _classes(a.header), _classes(b.header)
    if mine == other and _script(a.header) == _script(b.header) and not _wait(mine):
        tally.look()
        yield from _first_difference(
            pair, _submitted(a.events), _submitted(b.events), "the same seed and workload"
        )
    else:
        scripted = {line.get("name", "script") for each in pair for line in _script(each.header)}
        # The place of a class fixes its streams, so classes are compared place by place.
        for one, another in zip(mine, other, strict=False):
            name = one.get("name")
            if one != another or one.get("kind") not in _BY_DRAW or name in scripted:
                continue
            tally.look()
            told = f"the same seed and class {name!r}"
            # Ids count over all classes, so they tell of the others.
            first = [event._replace(txn_id=0) for event in _submitted(a.events, name)]
            second = [event._replace(txn_id=0) for event in _submitted(b.events, name)]
            yield from _first_difference(pair, first, second, told)
    yield from _landed_the_same(pair, mine, other, tally)


def _landed_the_same(
    pair: tuple[Trace, Trace], mine: Classes, other: Classes, tally: Tally
) -> Iterator[Violation]:
    """The same for what lands from elsewhere, if all of it comes from the same classes."""
    rivals = [
        [(place, each) for place, each in enumerate(classes) if each.get("kind") == "background"]
        for classes in (mine, other)
    ]
    if not rivals[0] or rivals[0] != rivals[1] or any(_script(each.header) for each in pair):
        return
    tally.look()
    # Which seq and versions they make depends on whom they meet.
    first, second = (
        [
            event._replace(seq_before=0, seq_after=0, versions=(), manifests=())
            for event in each.events
            if isinstance(event, CommitApplied) and event.txn_id == BACKGROUND_ID
        ]
        for each in pair
    )
    yield from _first_difference(pair, first, second, "the same seed and background load")


def _submitted(events: Sequence[Event], class_name: str | None = None) -> list[Submitted]:
    return [
        event
        for event in events
        if isinstance(event, Submitted) and class_name in (None, event.class_name)
    ]


def _first_difference(
    pair: tuple[Trace, Trace],
    first: Sequence[Event],
    second: Sequence[Event],
    alike: str,
) -> Iterator[Violation]:
    for place, (one, other) in enumerate(zip_longest(first, second)):
        if type(one) is type(other) and one == other:
            continue
        story = (
            f"Two runs with {alike} part at event {place}: one has {one or 'ended'}, the other "
            f"{other or 'has ended'} (§8.5). Replay: endive run cfg.toml --seed {pair[0].header.seed} --trace"
        )
        yield Violation(story, tuple(event for event in (one, other) if event is not None))
        return


Classes = Sequence[Mapping[str, Any]]
# Kinds of load that submit by what is drawn or by the clock, whatever becomes of their transactions.
_BY_DRAW = ("open", "periodic")


def _world(header: Header) -> object:
    """What all classes draw from: for how long, and which tables and partitions there are."""
    topology = header.num_tables, header.partitions_per_table, header.group_of
    return header.duration_ms, *topology


def _classes(header: Header) -> Classes:
    """All classes with all that decides what they submit and when; without any, the transactions are the only one."""
    workload, transaction = section(header, "workload"), section(header, "transaction")
    if "class" in workload or _script(header):
        return list(workload.get("class", ()))
    names = (
        "runtime",
        "inter_arrival",
        "operation_types",
        "tables_per_txn",
        "partitions_per_txn",
        "table_selector",
        "partition_selector",
    )
    settings = {name: transaction[name] for name in names if name in transaction}
    return [{"name": "default", "kind": "open", **settings}]


def _script(header: Header) -> Classes:
    return list(section(header, "workload").get("script", ()))


def _wait(classes: Classes) -> bool:
    """Whether clients wait for their own transactions: they submit when those end, whatever was drawn."""
    return any(each.get("kind") == "closed" for each in classes)


def all_randomness_is_seeded(
    modules: Mapping[str, ModuleType], tally: Tally
) -> Iterator[Violation]:
    """Read in the source: no draw from a stream that nobody seeded."""
    for module in modules.values():
        for name, tree in trees_of(module):
            tally.look()
            for line, what in _unseeded(tree):
                yield Violation(f"{name}, line {line}, uses {what}, which no seed governs (§8.5)")


def _unseeded(tree: ast.AST) -> Iterator[tuple[int, str]]:
    allowed = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name == _SEED_MAKER
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(
            alias.name in ("random", "secrets") for alias in node.names
        ):
            yield node.lineno, f"import of {node.names[0].name}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "secrets"):
            yield node.lineno, f"import from {node.module}"
        elif isinstance(node, ast.Attribute) and id(node) not in allowed:
            dotted = ast.unparse(node)
            head, _, last = dotted.rpartition(".")
            is_draw = head in ("np.random", "numpy.random") and last not in _SEEDED
            if is_draw or dotted in _UNSEEDED_CALLS:
                yield node.lineno, dotted
        elif isinstance(node, ast.Call) and not node.args and not node.keywords:
            called = ast.unparse(node.func)
            if called.endswith(("RandomState", "MT19937", "SeedSequence")):
                yield node.lineno, f"{called}() without a seed"


INVARIANTS = (
    Invariant(
        id="same-seed-same-run",
        clause="8.5",
        kind=Kind.ALWAYS,
        statement="The same seed and configuration give the same events.",
        check=runs_are_the_same,
        scope=Scope.PAIR,
    ),
    Invariant(
        id="fresh-process-same-run",
        clause="8.5",
        kind=Kind.ALWAYS,
        statement="A run in another process gives the same events.",
        check=runs_are_the_same,
        scope=Scope.PAIR,
    ),
    Invariant(
        id="streams-independent",
        clause="8.5",
        kind=Kind.ALWAYS,
        statement="Another store, catalog, detector, cost table or class leaves the submissions of a class as they were.",
        check=submissions_are_the_same,
        scope=Scope.PAIR,
    ),
    Invariant(
        id="no-unseeded-randomness",
        clause="8.5",
        kind=Kind.ALWAYS,
        statement="All randomness comes from seeded streams.",
        check=all_randomness_is_seeded,
        scope=Scope.API,
    ),
)
