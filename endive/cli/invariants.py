"""`endive invariants`: what is held to be true, clause by clause, and what stands behind it."""

from __future__ import annotations

import argparse
import ast
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endive.judge.model import Invariant
    from endive.scenario.model import Scenario

_EPILOG = """\
examples:
  endive invariants
  endive invariants --matrix
  endive invariants --matrix --json
"""

FAILED = 1
CLAUSES = tuple(f"8.{number}" for number in range(1, 13))
_REPOSITORY = Path(__file__).resolve().parents[2]


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "invariants",
        help="list the invariants, and what tests stand behind each",
        description="List the invariants; with --matrix, the property tests, scenarios and mutants of each.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--matrix",
        action="store_true",
        help="clauses against tests, scenarios and mutants; exit code 1 if there is a gap",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What stands behind one invariant."""

    invariant: Invariant
    tests: tuple[str, ...]
    scenarios: tuple[str, ...]
    mutants: tuple[str, ...]


def execute(arguments: argparse.Namespace) -> int:
    """Show the list or the matrix."""
    from endive.judge.registry import INVARIANTS

    if not arguments.matrix:
        if arguments.json:
            print(json.dumps([describe(invariant) for invariant in INVARIANTS]))
        else:
            from endive.cli.render_verdicts import print_invariants

            print_invariants(INVARIANTS)
        return 0
    from endive.errors import InputError, Problem

    tests = _REPOSITORY / "invariants"
    if not tests.is_dir():
        raise InputError([Problem("the matrix needs a checkout: its tests are not installed")])
    mutants = killers()
    coverage = cover(INVARIANTS, tests, _REPOSITORY / "scenarios", mutants or {})
    gaps = find_gaps(coverage, has_mutants=mutants is not None)
    if arguments.json:
        rows = [
            {
                **describe(each.invariant),
                "property_tests": each.tests,
                "scenarios": each.scenarios,
                "mutants": each.mutants,
            }
            for each in coverage
        ]
        print(json.dumps({"matrix": rows, "gaps": gaps}))
    else:
        from endive.cli.render_verdicts import print_matrix

        print_matrix(coverage, gaps)
    return FAILED if gaps else 0


def describe(invariant: Invariant) -> dict[str, Any]:
    """An invariant for machines."""
    return {
        "id": invariant.id,
        "clause": invariant.clause,
        "scope": invariant.scope.value,
        "kind": invariant.kind.value,
        "statement": invariant.statement,
    }


def cover(
    invariants: tuple[Invariant, ...],
    tests: Path,
    scenarios: Path,
    mutants: dict[str, tuple[str, ...]],
) -> list[Coverage]:
    """Find what stands behind each invariant."""
    marked = defaultdict(list)
    for file in sorted(tests.rglob("*.py")):
        for id in sorted(marks_in(file.read_text(encoding="utf-8"))):
            marked[id].append(file.relative_to(tests).as_posix())
    told = defaultdict(list)
    for scenario in scenarios_in(scenarios):
        for invariant in invariants:
            if shows(scenario, invariant):
                told[invariant.id].append(scenario.name)
    return [
        Coverage(
            invariant,
            tuple(marked[invariant.id]),
            tuple(told[invariant.id]),
            mutants.get(invariant.id, ()),
        )
        for invariant in invariants
    ]


def scenarios_in(directory: Path) -> list[Scenario]:
    """The scenarios of a directory, read and found sound, but not run; an empty one has none."""
    from endive.scenario.reading import find_scenarios, is_scenario, read_scenarios

    if not any(is_scenario(file) for file in directory.rglob("*.yaml")):
        return []
    return read_scenarios(find_scenarios([directory]))


def shows(scenario: Scenario, invariant: Invariant) -> bool:
    """Whether a scenario names an invariant, or claims its clause and judges all that apply."""
    named = {*(scenario.invariants or ()), *scenario.sometimes}
    if invariant.id in named:
        return True
    return (
        scenario.invariants is None
        and invariant.clause in scenario.clauses
        and invariant.scope.value == "trace"
        and invariant.kind.value == "always"
    )


def marks_in(source: str) -> set[str]:
    """The ids in all `pytest.mark.invariant(…)` of a test file."""
    return {
        argument.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.invariant")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def killers() -> dict[str, tuple[str, ...]] | None:
    """The mutants that each invariant is to kill; None where there are no mutants at all."""
    try:
        from endive.mutants.registry import MUTANTS
    except ImportError:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for mutant in MUTANTS:
        for id in mutant.killed_by:
            found[id] = (*found.get(id, ()), mutant.id)
    return found


def find_gaps(coverage: list[Coverage], *, has_mutants: bool = True) -> list[str]:
    """What is missing. What must happen sometimes is no accusation, so no mutant can be convicted by it."""
    gaps = []
    by_clause = defaultdict(list)
    # Where there are no scenarios at all, that is no news about any single invariant.
    has_scenarios = any(each.scenarios for each in coverage)
    for each in coverage:
        by_clause[each.invariant.clause].append(each.invariant.kind.value)
        if not each.tests:
            gaps.append(f"{each.invariant.id} (§{each.invariant.clause}) has no property test")
        if has_mutants and each.invariant.kind.value == "always" and not each.mutants:
            gaps.append(f"{each.invariant.id} (§{each.invariant.clause}) has no mutant to kill")
        if has_scenarios and not each.scenarios and _needs_scenario(each.invariant):
            gaps.append(f"{each.invariant.id} (§{each.invariant.clause}) has no scenario")
    for clause in CLAUSES:
        if "always" not in by_clause[clause]:
            gaps.append(f"§{clause} has no invariant that always holds")
    return gaps


def _needs_scenario(invariant: Invariant) -> bool:
    """What a clause of the specification says about every run is to be seen in one."""
    is_seen_in_runs = invariant.scope.value == "trace" and invariant.kind.value == "always"
    return is_seen_in_runs and invariant.clause in CLAUSES
