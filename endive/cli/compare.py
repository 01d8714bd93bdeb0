"""`endive compare`: two configurations under the same luck, and what the change buys."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from endive.cli.arguments import jobs, seed_range

if TYPE_CHECKING:
    from endive.comparison import Comparison, Measure
    from endive.config import ResolvedConfig

_EPILOG = """\
examples:
  endive compare pointer.toml log.toml
  endive compare mix.toml --set catalog.conflict_granularity=table --jobs 2
  endive compare a.toml b.toml --seeds 1..50 --metric commit_latency_ms:p95@fast_append --json

Both run with the same seeds, so both see the same transactions, and differences are taken seed by seed.
--metric NAME[:AGGREGATE][@OPERATION] takes the metrics of scenarios (docs/SCENARIOS.md).

exit codes: 0 compared, 2 bad input
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "compare",
        help="what a change buys, seed by seed",
        description="Compare two configurations under common random numbers, with paired intervals.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A.toml", help="the configuration to compare with")
    parser.add_argument(
        "b", nargs="?", metavar="B.toml", help="the other one (A itself if not given)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of B, as TOML spells it; may be repeated",
    )
    parser.add_argument(
        "--seeds", type=seed_range, default=range(1, 21), metavar="A..B", help="seeds (1..20)"
    )
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="pairs at a time (1)")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="M",
        help="compare by this, in place of the usual; may be repeated",
    )
    parser.add_argument(
        "--confidence",
        type=_confidence,
        default=0.95,
        metavar="C",
        help="that all intervals together hold (0.95)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Check everything, run, compare."""
    from endive.cli.progress import progress_if_watched
    from endive.comparison import compare, default_measures, parse_measure
    from endive.comparison.comparing import operations_of
    from endive.errors import InputError, Problem
    from endive.pool import applying

    a, b = _configs(arguments)
    seeds = arguments.seeds
    if len(seeds) < 2:
        message = "a single pair says nothing of its own spread; give at least two seeds"
        raise InputError([Problem(message, "--seeds")])
    operations = operations_of(a, b)
    if arguments.metric is None:
        measures = default_measures(operations)
    else:
        problems: list[Problem] = []
        asked: list[Measure] = []
        for text in arguments.metric:
            try:
                asked.append(parse_measure(text, operations))
            except InputError as error:
                problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        measures = tuple(asked)
    at_once = min(arguments.jobs, len(seeds))
    with progress_if_watched(len(seeds)) as advance, applying(at_once, advance) as apply:
        found = compare(a, b, seeds, measures, apply, confidence=arguments.confidence)
    if arguments.json:
        print(json.dumps(_document(found, arguments), allow_nan=False))
    else:
        from endive.cli.render_compare import print_comparison

        print_comparison(found, arguments.a, _name_of_b(arguments))
    return 0


def _configs(arguments: argparse.Namespace) -> tuple[ResolvedConfig, ResolvedConfig]:
    from endive.config.overriding import load_with
    from endive.errors import InputError, Problem

    problems: list[Problem] = []
    found: list[ResolvedConfig] = []
    for path, settings in ((arguments.a, []), (arguments.b or arguments.a, arguments.set)):
        try:
            found.append(load_with(path, settings))
        except InputError as error:
            problems += [each for each in error.problems if each not in problems]
    if problems:
        raise InputError(problems)
    a, b = found
    if arguments.b is None and not arguments.set:
        message = "nothing to compare with; give B.toml or --set KEY=VALUE"
        raise InputError([Problem(message)])
    return a, b


def _name_of_b(arguments: argparse.Namespace) -> str:
    parts = [arguments.b] if arguments.b else []
    return " ".join([*parts, *(f"--set {setting}" for setting in arguments.set)])


def _document(found: Comparison, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "a": arguments.a,
        "b": _name_of_b(arguments),
        "confidence": found.confidence,
        "seeds": list(found.seeds),
        "pairs_with_the_same_load": found.same_load,
        "changes": {key: list(values) for key, values in found.changes.items()},
        "biased_by_survival": found.biased_by_survival(),
        "rows": [row.as_dict() for row in found.rows],
        "digests": [list(pair) for pair in found.digests],
    }


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number from 0.5 to below 1, not {text!r}")
    return value
