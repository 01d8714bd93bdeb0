"""Runs and what is read of them: the standard set made here, or a tree of runs that somebody has."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.cost_model import CostTable
from endive.experiment import Experiment, plan_experiment, prepare_directory, run_seed
from endive.fidelity.model import Run, Source
from endive.fidelity.standard import Plan, standard_plans
from endive.pool import applying
from endive.utils import whole_file

if TYPE_CHECKING:
    from endive.pipeline.tree import Found

CONFIGS = "configs"
TREE = "experiments"
GIVEN = "given"
"""The role of runs that were not made for the report."""


@dataclass(frozen=True, slots=True)
class Column:
    """A cost table that is to be a column of the report."""

    source: Source
    table: CostTable
    reference: str
    """How a configuration names it: its name, or the whole path of its file."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One experiment of the standard set, ready to run."""

    run: Run
    experiment: Experiment


def plan_standard(columns: Sequence[Column], place: Path) -> list[Planned]:
    """Write the configurations of the standard set and plan their runs; nothing runs yet."""
    planned = []
    for number, column in enumerate(columns):
        # A table of the user's own may be called anything; a file may not.
        shipped = column.reference == column.table.name
        name = column.table.name if shipped else f"table-{number}"
        for plan in standard_plans(column.table, column.reference):
            label = "-".join(f"{name} {plan.role}".replace(",", "").replace("_", "-").split())
            planned.append(_planned(plan, column.source, label, place))
    return planned


def _planned(plan: Plan, source: Source, label: str, place: Path) -> Planned:
    config = place / CONFIGS / f"{label}.toml"
    _write_config(config, label, plan.config)
    experiment = plan_experiment(
        config, seeds=plan.seeds, out=place / TREE, force=True, records_attempts=True
    )
    assert experiment.directory is not None
    name = experiment.directory.name
    replay = replay_command(str(config), plan.seeds, str(place / TREE))
    run = Run(name, plan.role, source.id, str(config), plan.seeds, replay)
    return Planned(run, experiment)


def replay_command(config: str, seeds: Sequence[int], out: str) -> str:
    """The command that makes a run again, attempts included."""
    which = ["--seed", str(seeds[0])]
    if len(seeds) > 1:
        which = ["--seeds", f"{seeds[0]}..{seeds[-1]}"]
    return shlex.join(["endive", "run", config, *which, "--out", out, "--attempts", "--force"])


def _write_config(path: Path, label: str, config: Mapping[str, Any]) -> None:
    import tomli_w

    text = tomli_w.dumps({"experiment": {"label": label}, **config})
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8")


def make_runs(
    planned: Sequence[Planned], jobs: int, on_done: Callable[[], object] = lambda: None
) -> None:
    """Make every run anew: evidence of another version of the code would be none."""
    for plan in planned:
        prepare_directory(plan.experiment)
    tasks = [(plan.experiment, seed) for plan in planned for seed in plan.experiment.seeds]
    with applying(jobs, on_done) as apply:
        for _summary in apply(_run, tasks):
            pass


def count_runs(planned: Sequence[Planned]) -> int:
    """How many there are."""
    return sum(len(plan.experiment.seeds) for plan in planned)


def _run(task: tuple[Experiment, int]) -> None:
    experiment, seed = task
    run_seed(experiment, seed, force=True)


def given_runs(found: Sequence[Found], columns: Sequence[Column]) -> Iterator[Run]:
    """The runs of a tree that have one of the cost tables; what they were made for is not known."""
    by_reference = {column.reference: column.source.id for column in columns}
    for one in found:
        reference = one.config.get("transaction.cost_table", "spec-2.0")
        source = by_reference.get(str(reference))
        seeds = tuple(run.seed for run in one.runs)
        if source is not None and seeds:
            replay = replay_command(one.config_file, seeds, str(Path(one.config_file).parents[1]))
            yield Run(one.name, GIVEN, source, one.config_file, seeds, replay)
