"""`python -m benchmarks`: measure, print one table, exit 1 if a target is missed."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from benchmarks import parquet, pipeline, report, simulations, startup, sweeps
from benchmarks.measure import Options
from benchmarks.verdict import Row, exit_code

Benchmark = Callable[[Options], list[Row]]

BENCHMARKS: Mapping[str, Benchmark] = {
    "spec": simulations.spec_example,
    "fast-hour": simulations.fast_append_hour,
    "contention": simulations.contention,
    "large": simulations.large_catalog,
    "trace": simulations.traced_runs,
    "help": startup.help_text,
    "tiny": startup.tiny_run,
    "parquet": parquet.million_rows,
    "pipeline": pipeline.ten_million_rows,
    "sweep": sweeps.sixteen_cells,
}

_FAILED = 1


def main(
    argv: Sequence[str] | None = None, *, benchmarks: Mapping[str, Benchmark] = BENCHMARKS
) -> int:
    """Run the benchmarks asked for; 0 if all targets held, 1 if one was missed or nothing could be said."""
    arguments = _parser(benchmarks).parse_args(argv)
    default = Options(repeat=1, quick=True) if arguments.quick else Options()
    options = Options(arguments.repeat or default.repeat, arguments.quick)
    names = [name for name in benchmarks if arguments.only is None or name in arguments.only]
    rows: list[Row] = []
    for name in names:
        if sys.stderr.isatty():
            print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            rows += benchmarks[name](options)
        except (simulations.DisagreementError, subprocess.CalledProcessError) as error:
            print(f"benchmarks: {name}: {error}", file=sys.stderr)
            return _FAILED
    if arguments.json:
        print(report.as_json(rows, options))
    else:
        report.print_table(rows, options)
    return exit_code(rows)


def _parser(benchmarks: Mapping[str, Benchmark]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures Endive in CPU time, as ratios within one run, against its targets.",
        epilog="example: python -m benchmarks --only spec parquet --repeat 3",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only", nargs="+", choices=tuple(benchmarks), metavar="NAME", help=", ".join(benchmarks)
    )
    parser.add_argument(
        "--repeat", type=_repeat, metavar="N", help="turns, of which the best counts (5; quick: 1)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the size, once: shows that it works; what was cut down is not judged",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    return parser


def _repeat(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 1000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
