"""`endive run`: simulate a configuration with one seed or many, and say what came of it."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from endive.cli.arguments import jobs, seed_range, whole_number

if TYPE_CHECKING:
    from endive.experiment import Experiment

_EPILOG = """\
examples:
  endive run experiment.toml
  endive run experiment.toml --seed 42 --json
  endive run experiment.toml --seeds 1..20 --jobs 4 --out experiments

Results go to the file simulation.output_path. With experiment.label, --out or several
seeds they go to <out>/<label>-<hash>/<seed>/results.parquet, and finished runs are skipped.
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "run",
        help="simulate a configuration",
        description="Simulate a configuration and write one row per transaction to Parquet.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config", metavar="CONFIG.toml", help="what to simulate")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=whole_number, metavar="N", help="instead of simulation.seed")
    seeds.add_argument(
        "--seeds", type=seed_range, metavar="A..B", help="one run per seed, B included"
    )
    parser.add_argument(
        "--jobs", type=jobs, default=1, metavar="N", help="how many seeds to run at a time (1)"
    )
    parser.add_argument("--out", metavar="DIR", help="where experiment directories stand")
    parser.add_argument(
        "--force", action="store_true", help="run again what is finished or of another version"
    )
    parser.add_argument(
        "--attempts",
        action="store_true",
        help="also write one row per commit attempt, beside the results",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="also write everything that happened, event by event, beside the results",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per run, on one line")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run all seeds; 1 if any of them failed."""
    from endive.experiment import plan_experiment, prepare_directory

    seeds: Sequence[int] | None = arguments.seeds
    if arguments.seed is not None:
        seeds = [arguments.seed]
    experiment = plan_experiment(
        arguments.config,
        seeds=seeds,
        out=arguments.out,
        force=arguments.force,
        records_attempts=arguments.attempts,
        records_trace=arguments.trace,
    )
    prepare_directory(experiment)
    if len(experiment.seeds) == 1:
        _run_one(experiment, arguments)
        return 0
    return _run_many(experiment, arguments)


def replay_command(experiment: Experiment, arguments: argparse.Namespace, seed: int) -> str:
    """The command that does one run of these again, in the same place."""
    words = ["endive", "run", arguments.config, "--seed", str(seed)]
    directory = experiment.directory
    if directory is not None and (arguments.out is not None or experiment.config.label is None):
        words += ["--out", str(directory.parent)]
    if arguments.attempts:
        words.append("--attempts")
    if arguments.trace:
        words.append("--trace")
    return shlex.join([*words, "--force"])


def _run_one(experiment: Experiment, arguments: argparse.Namespace) -> None:
    from endive.experiment import run_seed

    (seed,) = experiment.seeds
    replay = replay_command(experiment, arguments, seed)
    try:
        if _shows_progress(arguments):
            from endive.cli.progress import progress_of_run

            with progress_of_run() as on_progress:
                summary = run_seed(experiment, seed, force=arguments.force, on_progress=on_progress)
        else:
            summary = run_seed(experiment, seed, force=arguments.force)
    except Exception:
        # The caller tells what happened; only here is it known how to make it happen again.
        print(f"endive: seed {seed} failed; replay: {replay}", file=sys.stderr)
        raise
    if arguments.json:
        _print_json(_judged(experiment, summary))
    else:
        from endive.cli.render import print_run

        print_run(experiment, summary, replay)
        for reason in _extrapolated(experiment, summary):
            print(f"extrapolated: {reason}")
        if "trace_path" in summary:
            print(f"trace    {summary['trace_path']}")


def _run_many(experiment: Experiment, arguments: argparse.Namespace) -> int:
    from endive.pool import Failure, run_seeds

    done: list[dict[str, Any]] = []
    failed = 0
    if not arguments.json:
        from endive.cli.render import print_header, print_seed, print_seed_heading, print_seeds_end

        print_header(experiment)
        print_seed_heading()
    with (
        _progress_of_seeds(len(experiment.seeds), arguments) as on_done,
        closing(
            run_seeds(experiment, jobs=arguments.jobs, force=arguments.force, on_done=on_done)
        ) as outcomes,
    ):
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failed += 1
                replay = replay_command(experiment, arguments, outcome.seed)
                message = f"seed {outcome.seed} failed: {outcome.message}; replay: {replay}"
                print(f"endive: {message}", file=sys.stderr)
            elif arguments.json:
                _print_json(_judged(experiment, outcome))
            else:
                print_seed(outcome)
                # Only what the closing lines need is kept, however many seeds there are.
                done.append({"commits_per_s": outcome["commits_per_s"], "seed": outcome["seed"]})
    if done:
        print_seeds_end(experiment, done, replay_command(experiment, arguments, done[0]["seed"]))
    return 1 if failed else 0


def _shows_progress(arguments: argparse.Namespace) -> bool:
    return not arguments.json and sys.stderr.isatty()


@contextmanager
def _progress_of_seeds(total: int, arguments: argparse.Namespace) -> Iterator[Any]:
    if not _shows_progress(arguments):
        yield lambda: None
        return
    from endive.cli.progress import progress_of_seeds

    with progress_of_seeds(total) as on_done:
        yield on_done


def _judged(experiment: Experiment, summary: dict[str, Any]) -> dict[str, Any]:
    """The summary, and why it is outside of what was measured; an empty list if it is not."""
    return {**summary, "extrapolated": _extrapolated(experiment, summary)}


def _extrapolated(experiment: Experiment, summary: dict[str, Any]) -> list[str]:
    from endive.calibration.region import doubts_of_run

    # Runs finished by an older version do not say how crowded their pointers were.
    calls = summary.get("calls_in_progress", 0.0)
    found = doubts_of_run(experiment.config.values, calls)
    return [doubt.words for doubt in found if doubt.extrapolates]


def _print_json(summary: dict[str, Any]) -> None:
    print(json.dumps(summary, allow_nan=False), flush=True)
