"""The kill matrix: which fault is noticed by whom, and whether the judge keeps silent where nothing is wrong."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from endive.errors import InputError, Problem
from endive.mutants.corpus import generated
from endive.mutants.registry import MUTANTS
from endive.mutants.tables import TableMutant, table_mutants
from endive.mutants.trial import Trial, alarms, alarms_about, try_mutant, try_table_mutant
from endive.mutants.witnesses import WITNESSES

Quiet = tuple[str, dict[str, str]]
"""A run of the simulator as it is, and who cried out about it."""


@cache
def _tables() -> dict[str, TableMutant]:
    return {mutant.id: mutant for mutant in table_mutants()}


def all_ids() -> list[str]:
    """The ids of all mutants, those of the code first."""
    return [*(mutant.id for mutant in MUTANTS), *_tables()]


def chosen_ids(patterns: Sequence[str]) -> list[str]:
    """The ids that are meant, in order; a pattern may have `*` in it."""
    known, chosen, problems = all_ids(), set(), []
    for pattern in patterns:
        found = [name for name in known if fnmatchcase(name, pattern)]
        if not found:
            close = difflib.get_close_matches(pattern, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else "endive mutants --list shows all"
            problems.append(Problem(f"no mutant is called {pattern!r}; {hint}"))
        chosen.update(found)
    if problems:
        raise InputError(problems)
    return [name for name in known if name in chosen]


def try_one(name: str) -> Trial:
    """Put one mutant to the test, by its id."""
    for mutant in MUTANTS:
        if mutant.id == name:
            return try_mutant(mutant)
    return try_table_mutant(_tables()[name])


def quiet_runs(generated_configs: int) -> list[str]:
    """The names of all runs in which the judge must keep silent."""
    return [*(w.name for w in WITNESSES), *(f"generated {i}" for i in range(generated_configs))]


def listen(name: str) -> Quiet:
    """Run the simulator as it is, and listen who cries out."""
    for witness in WITNESSES:
        if witness.name == name:
            return name, alarms_about(witness)
    config, seed, express_lane = generated(int(name.removeprefix("generated ")))
    try:
        return name, alarms(config, seed, express_lane)
    except Exception as error:
        return name, {"crashed": f"{type(error).__name__}: {error}"}


@dataclass(frozen=True)
class Matrix:
    """All trials, and all that was heard about the simulator as it is."""

    trials: Sequence[Trial]
    quiet: Sequence[Quiet] = field(default=())

    @property
    def failures(self) -> list[Trial]:
        """Mutants that were not treated as they should be."""
        return [trial for trial in self.trials if not trial.is_as_it_should_be]

    @property
    def false_alarms(self) -> list[Quiet]:
        """Runs of the simulator as it is that somebody cried out about."""
        return [(name, cried) for name, cried in self.quiet if cried]

    @property
    def holds(self) -> bool:
        """Whether every fault is noticed, and nothing else is."""
        return not self.failures and not self.false_alarms

    def killers(self) -> dict[str, list[str]]:
        """For each invariant the mutants of the code that it killed."""
        found: dict[str, list[str]] = {}
        for trial in self.trials:
            if not trial.id.startswith("table:"):
                for name in trial.killed_by:
                    found.setdefault(name, []).append(trial.id)
        return dict(sorted(found.items()))

    def as_dict(self) -> dict[str, Any]:
        """For machines; the same for the same code."""
        code = [trial for trial in self.trials if not trial.id.startswith("table:")]
        tables = [trial for trial in self.trials if trial.id.startswith("table:")]
        return {
            "holds": self.holds,
            "fates": dict(sorted(Counter(trial.fate for trial in self.trials).items())),
            "mutants": [trial.as_dict() for trial in code],
            "killers": self.killers(),
            "table_mutants": {trial.id: trial.fate for trial in tables},
            "quiet_runs": len(self.quiet),
            "false_alarms": dict(self.false_alarms),
        }


def build_matrix(
    ids: Sequence[str],
    runs: Sequence[str],
    apply: Callable[[Callable[[str], Any], Sequence[str]], Iterable[Any]],
) -> Matrix:
    """Try these mutants and listen to these runs; `apply` calls a function for each name, in any number of processes."""
    trials = list(apply(try_one, ids))
    return Matrix(trials, list(apply(listen, runs)))
