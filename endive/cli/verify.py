"""`endive verify`: run golden scenarios and say whether what they promise still comes out."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endive.scenario.model import Scenario
    from endive.scenario.running import Outcomes, Task
    from endive.scenario.verifying import Report

_EPILOG = """\
examples:
  endive verify scenarios/io_convoy.yaml
  endive verify scenarios --jobs 2 --junit reports/scenarios.xml --html reports/scenarios.html
  endive verify scenarios/io_convoy.yaml --seed 17     make one run again
  endive verify --metrics                              what can be measured

exit codes: 0 all held, 1 something failed, 2 bad input (nothing ran), 3 something stays open
"""


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "verify",
        help="run golden scenarios and compare with what they expect",
        description="Run scenarios, hold every run against the invariants, and compare with what is expected.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a scenario, or a directory of them"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="this seed only, to see one run again"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (1)")
    parser.add_argument(
        "--update", action="store_true", help="write golden digests, old and new shown"
    )
    parser.add_argument("--junit", metavar="FILE", help="a report for CI, in JUnit's form")
    parser.add_argument("--html", metavar="FILE", help="a page for people")
    parser.add_argument("--github", action="store_true", help="annotations for GitHub Actions")
    parser.add_argument("--json", action="store_true", help="one JSON document, nothing else")
    parser.add_argument(
        "--metrics", action="store_true", help="list what can be measured, and stop"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read everything, then run everything, then tell."""
    from endive.errors import InputError, Problem

    if arguments.metrics:
        return _print_metrics(as_json=arguments.json)
    problems = []
    if not arguments.paths:
        problems.append(Problem("name a scenario or a directory, like scenarios", key="PATH"))
    if arguments.jobs < 1:
        problems.append(Problem(f"must be at least 1, not {arguments.jobs}", key="--jobs"))
    if arguments.seed is not None and arguments.seed < 0:
        problems.append(Problem(f"must be at least 0, not {arguments.seed}", key="--seed"))
    if arguments.update and arguments.seed is not None:
        problems.append(
            Problem("cannot go with --seed: digests belong to the file's seeds", key="--update")
        )
    for name in ("junit", "html", "github"):
        if arguments.update and getattr(arguments, name):
            problems.append(
                Problem(f"cannot go with --{name}: it tells old and new", key="--update")
            )
    if problems:
        raise InputError(problems)

    from endive.scenario import golden
    from endive.scenario.reading import find_scenarios, read_scenarios

    scenarios = read_scenarios(find_scenarios(arguments.paths))
    _check_places(arguments, scenarios)
    if arguments.update and (reason := golden.refusal([])):
        raise InputError([Problem(reason, key="--update")])
    started_s = time.monotonic()
    reports = list(_verified(scenarios, arguments.jobs, arguments.seed, told=not arguments.json))
    elapsed_s = time.monotonic() - started_s
    if arguments.update:
        return _update(reports, as_json=arguments.json)
    return _tell(arguments, reports, len(scenarios), elapsed_s)


def _check_places(arguments: argparse.Namespace, scenarios: Sequence[Scenario]) -> None:
    """Find out that a report has no place before the time to make it is spent."""
    from endive.errors import InputError, Problem
    from endive.utils import why_unwritable

    taken = {Path(scenario.file).resolve(): "a scenario" for scenario in scenarios}
    problems = []
    for name in ("junit", "html"):
        file = getattr(arguments, name)
        if not file:
            continue
        place = Path(file).resolve()
        reason = why_unwritable(place)
        if place in taken:
            reason = f"{file} is {taken[place]}; choose another place"
        if reason:
            problems.append(Problem(reason, key=f"--{name}"))
        taken[place] = f"the place of --{name}"
    if problems:
        raise InputError(problems)


def _verified(
    scenarios: Sequence[Scenario], jobs: int, seed: int | None, *, told: bool
) -> Iterator[Report]:
    """Verify scenarios in order; a line for each as it is done."""
    from endive.cli.progress import progress_of_scenarios
    from endive.cli.render_scenarios import print_line
    from endive.scenario.verifying import verify

    with progress_of_scenarios(len(scenarios)) as bar, _performer(jobs) as perform:
        if jobs == 1:
            for scenario in scenarios:
                report = verify(scenario, perform, seed=seed, on_runs=bar.expect)
                bar.done()
                if told:
                    print_line(report)
                yield report
            return
        # Threads only wait for the pool: a scenario of one run does not keep the others from theirs.
        from concurrent.futures import ThreadPoolExecutor

        threads = ThreadPoolExecutor(2 * jobs)
        try:
            pending = [
                threads.submit(verify, scenario, perform, seed=seed, on_runs=bar.expect)
                for scenario in scenarios
            ]
            for future in pending:
                report = future.result()
                bar.done()
                if told:
                    print_line(report)
                yield report
        except BaseException:
            # Nobody waits for what is under way: its processes are about to be ended.
            threads.shutdown(wait=False, cancel_futures=True)
            raise
        threads.shutdown()


@contextlib.contextmanager
def _performer(jobs: int) -> Iterator[Callable[[Sequence[Task]], Iterator[Outcomes]]]:
    from endive.scenario.running import perform

    if jobs == 1:
        yield lambda tasks: map(perform, tasks)
        return
    from endive.pool import processes

    with processes(jobs) as pool:
        yield lambda tasks: pool.map(perform, tasks)


def _tell(
    arguments: argparse.Namespace, reports: Sequence[Report], selected: int, elapsed_s: float
) -> int:
    from endive.scenario.reporting import describe, exit_code, github_annotations, write_junit

    if arguments.junit:
        write_junit(reports, arguments.junit)
    if arguments.html:
        from endive.scenario.page import write_page

        write_page(reports, arguments.html)
    if arguments.json:
        print(json.dumps(describe(reports, selected, elapsed_s), allow_nan=False))
    else:
        from endive.cli.render_scenarios import print_summary

        print_summary(reports, selected, elapsed_s)
        for name, path in (("JUnit", arguments.junit), ("page", arguments.html)):
            if path:
                print(f"{name}: {path}")
    if arguments.github:
        for line in github_annotations(reports):
            # Beside the one JSON document there is nothing else on stdout.
            print(line, file=sys.stderr if arguments.json else sys.stdout)
    return exit_code(reports)


def _update(reports: Sequence[Report], *, as_json: bool) -> int:
    from endive.scenario import golden

    reason = golden.refusal(reports)
    if reason:
        print(f"endive: --update: {reason}", file=sys.stderr)
        return 1
    found = golden.changes(reports)
    golden.write(found)
    if as_json:
        print(json.dumps({"changes": [dataclasses.asdict(change) for change in found]}))
        return 0
    for change in found:
        print(
            f"{change.file}: {change.variant}, seed {change.seed}: {change.old or 'none'} → {change.new}"
        )
    if not any(report.scenario.golden is not None for report in reports):
        print("no scenario here keeps golden digests; add `golden: {}` to one that shall")
        return 0
    print(
        f"{len(found)} golden digests written" if found else "all golden digests are as they were"
    )
    return 0


def _print_metrics(*, as_json: bool) -> int:
    from endive.scenario.metrics import METRICS

    if as_json:
        rows = [
            {
                "metric": each.name,
                "of": each.level.value,
                "statement": each.statement,
                "needs": each.needs,
            }
            for each in METRICS.values()
        ]
        print(json.dumps(rows))
        return 0
    from endive.cli.render_scenarios import print_metrics

    print_metrics(METRICS.values())
    return 0
