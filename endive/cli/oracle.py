"""`endive oracle`: real Iceberg libraries, counted attempt by attempt, and raced against the simulator's prediction."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.cli import oracle_java

if TYPE_CHECKING:
    from endive.oracle.measurement import Measurement
    from endive.oracle.race import Race

_EPILOG = """\
examples:
  endive oracle pyiceberg
  endive oracle pyiceberg --out mine.json --cost-table mine.yaml
  endive oracle race --writers 4 --seconds 60
  endive oracle race --writers 2,4,8,16 --seconds 180 --latency-ms 300 --json --out race.json
"""
_PYICEBERG_EPILOG = """\
example: endive oracle pyiceberg --out mine.json

Every experiment is made anew and compared with what is kept, which takes about a minute. Exit code 1: the library that is installed
reads or writes something else than what is kept; each count is named, old and new.
"""
_RACE_EPILOG = """\
example: endive oracle race --writers 2,8 --seconds 60 --latency-ms 300

The writers run in real time. Everything scales with --latency-ms; it has to be well above what PyIceberg takes itself, some 20 ms of
processor time per attempt. Exit code 1: a quantity lies outside the band of the prediction, or rows are missing; 3: the machine was too slow
to keep the schedule, so nothing is said.
"""
_RUNS = 1000


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "oracle",
        help="measure real Iceberg libraries, and race them against the prediction",
        description="Drive real Iceberg libraries: count what every attempt reads and writes, or let writers race.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    kinds = parser.add_subparsers(title="oracles", metavar="ORACLE", required=True)
    _add_pyiceberg(kinds)
    oracle_java.add_kind(kinds)
    _add_race(kinds)


def _add_pyiceberg(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "pyiceberg",
        help="count reads and writes of PyIceberg",
        description="Count the files that PyIceberg reads and writes: every operation, fresh and stale, retried, refused, exhausted.",
        epilog=_PYICEBERG_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--out", metavar="FILE.json", help="write the measurement")
    parser.add_argument(
        "--cost-table", metavar="FILE.yaml", help="write the cost table that the measurement gives"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=_measure_pyiceberg)


def _add_race(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "race",
        help="let real PyIceberg writers race, and compare with the prediction",
        description="Let PyIceberg writers append to one table, with injected latencies, beside simulations of the same.",
        epilog=_RACE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--writers",
        type=_numbers,
        default=(2, 4, 8, 16),
        metavar="N,…",
        help="how many writers, one race each (default: 2,4,8,16)",
    )
    parser.add_argument(
        "--seconds", type=_positive, default=60.0, help="how long each race takes (default: 60)"
    )
    parser.add_argument(
        "--latency-ms",
        type=_positive,
        default=200.0,
        metavar="MS",
        help="the median of every injected latency (default: 200)",
    )
    parser.add_argument("--seed", type=_whole, default=1, help="of all that is drawn (default: 1)")
    parser.add_argument(
        "--runs",
        type=_whole,
        default=_RUNS,
        metavar="N",
        help=f"simulated races behind each band (default: {_RUNS})",
    )
    parser.add_argument(
        "--jobs", type=_whole, default=1, metavar="N", help="processes for them (default: 1)"
    )
    parser.add_argument("--out", metavar="FILE.json", help="write the results")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=_race)


# -- pyiceberg -------------------------------------------------------------------------------------------------------


def _measure_pyiceberg(arguments: argparse.Namespace) -> int:
    from endive.cli.progress import progress_if_watched
    from endive.oracle.comparing import differences
    from endive.oracle.measurement import load_measured, save_measurement
    from endive.oracle.pyiceberg import experiments, measure, require_pyiceberg

    _check_places(arguments, ("out", "cost_table"))
    require_pyiceberg()
    kept = load_measured("pyiceberg")
    with progress_if_watched(len(experiments())) as advance:
        measured = measure(advance)
    found = differences(kept, measured)
    if arguments.out is not None:
        save_measurement(measured, arguments.out)
    if arguments.cost_table is not None:
        from endive.oracle.cost_table import table_of

        _write(arguments.cost_table, table_of(measured))
    return _tell(measured, kept, [str(each) for each in found], arguments.json)


def _tell(measured: Measurement, kept: Measurement, changed: Sequence[str], as_json: bool) -> int:
    """Show a measurement and what sets it apart from the one that is kept; the exit code."""
    if as_json:
        document = {**measured.as_dict(), "kept_version": kept.version, "changed": list(changed)}
        print(json.dumps(document, ensure_ascii=False))
    else:
        from endive.cli.render_oracle import print_measurement

        print_measurement(measured, kept, changed)
    return 1 if changed else 0


# -- race ------------------------------------------------------------------------------------------------------------


def _race(arguments: argparse.Namespace) -> int:
    from endive.cli.progress import progress_if_watched
    from endive.oracle.pyiceberg import require_pyiceberg
    from endive.oracle.race import Race, compare, make_plan, quantities, race_document
    from endive.oracle.race_prediction import predict
    from endive.oracle.race_writers import run_race

    _check_places(arguments, ("out",))
    require_pyiceberg()
    races: list[Race] = []
    steps = len(arguments.writers) * (arguments.runs + int(arguments.seconds))
    with progress_if_watched(steps) as advance:
        for writers in arguments.writers:
            plan = make_plan(writers, arguments.seconds, arguments.seed, arguments.latency_ms)
            real = run_race(plan, _Ticks(advance, int(plan.seconds)).tell)
            simulated = predict(plan, arguments.runs, arguments.jobs, advance)
            comparisons = compare(quantities(real.transactions), simulated)
            races.append(Race(plan, real, len(simulated), comparisons))
    document = race_document(races, _command(arguments))
    if arguments.out is not None:
        _write(arguments.out, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    if arguments.json:
        print(json.dumps(document, ensure_ascii=False))
    else:
        from endive.cli.render_oracle import print_races

        print_races(races)
    verdicts = {race.verdict for race in races}
    return 1 if "outside" in verdicts else 3 if "inconclusive" in verdicts else 0


class _Ticks:
    """Steps of a bar for the seconds of a race that have passed."""

    def __init__(self, advance: Any, total: int) -> None:
        self._advance, self._total, self._told = advance, total, 0

    def tell(self, seconds: float) -> None:
        """So many have passed."""
        while self._told < min(int(seconds), self._total):
            self._told += 1
            self._advance()


def _command(arguments: argparse.Namespace) -> str:
    writers = ",".join(map(str, arguments.writers))
    return (
        f"endive oracle race --writers {writers} --seconds {arguments.seconds:g} "
        f"--latency-ms {arguments.latency_ms:g} --seed {arguments.seed} --runs {arguments.runs}"
    )


# -- what both need --------------------------------------------------------------------------------------------------


def _check_places(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse places where nothing can be written before anything is measured."""
    from endive.errors import InputError, Problem
    from endive.utils import why_unwritable

    problems = []
    for name in names:
        place = getattr(arguments, name)
        if place is not None and (why := why_unwritable(place)):
            problems.append(Problem(why, f"--{name.replace('_', '-')} {place}"))
    if problems:
        raise InputError(problems)


def _write(file: str, text: str) -> None:
    from endive.utils import whole_file

    with whole_file(Path(file)) as beside:
        beside.write_text(text, encoding="utf-8")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        values = tuple(int(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(1 <= value <= 16 for value in values):
        raise argparse.ArgumentTypeError(
            f"must be whole numbers from 1 to 16 with commas between, not {text!r}"
        )
    return values


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return value


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value
