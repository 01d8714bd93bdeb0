"""§8.5 Determinism: the same seed and configuration give the same run, and all randomness is seeded."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import ModuleType

from endive.judge.model import Invariant, Kind, Scope, Tally, Violation
from endive.judge.settings import section
from endive.judge.sources import trees_of
from endive.trace import Event, Header, Submitted, Trace

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
    """Another store or catalog leaves what is submitted, and when, as it was."""
    a, b = pair
    if a.header.seed != b.header.seed or _load(a.header) != _load(b.header):
        return
    if _waits_for_its_own(a.header):
        # Clients that wait for their own transactions submit when those end, whatever was drawn.
        return
    tally.look()
    first = [event for event in a.events if isinstance(event, Submitted)]
    second = [event for event in b.events if isinstance(event, Submitted)]
    yield from _first_difference(pair, first, second, "the same seed and workload")


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


def _load(header: Header) -> object:
    """All that decides what is submitted and when."""
    transaction = section(header, "transaction")
    names = (
        "runtime",
        "inter_arrival",
        "operation_types",
        "tables_per_txn",
        "partitions_per_txn",
        "table_selector",
        "partition_selector",
    )
    return (
        {name: transaction.get(name) for name in names},
        section(header, "workload"),
        header.duration_ms,
        header.num_tables,
        header.partitions_per_table,
        header.group_of,
    )


def _waits_for_its_own(header: Header) -> bool:
    return any(
        each.get("kind") == "closed" for each in section(header, "workload").get("class", ())
    )


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
        statement="Another store or catalog leaves all submissions as they were.",
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
