"""What an experiments tree says about saturation: consolidated and aggregated on Spark, answered in plots and on one page.

    from endive.saturation_analysis import analyze

    found = analyze("experiments")
    print(found.page)

The questions are in `endive.analysis`; each is a function of a `Study`, which holds small tables, so that it can be asked without Spark.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.analysis.answers import Answer, LeftOut
from endive.analysis.knee import Knee, Point, find_knee
from endive.analysis.report import PAGE, QUESTIONS, Written, steps, write_report
from endive.analysis.setups import Setup
from endive.analysis.study import Study, studies
from endive.analysis.threshold import Threshold, Trial, find_threshold
from endive.errors import InputError, Problem
from endive.utils import why_unwritable

if TYPE_CHECKING:
    from endive.pipeline import Tables

__all__ = [
    "QUESTIONS",
    "Analysis",
    "Answer",
    "Knee",
    "LeftOut",
    "Point",
    "Setup",
    "Study",
    "Threshold",
    "Trial",
    "Written",
    "analyze",
    "find_knee",
    "find_threshold",
    "read_setups",
    "studies",
    "studies_of",
]

FOLDER = "analysis"
"""Where the answers go if nothing else is said: this folder of the tree."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What became of an analysis."""

    directory: Path
    """The experiments tree."""
    out: Path
    studies: tuple[Written, ...]

    @property
    def page(self) -> Path:
        """The page with everything on it."""
        return self.out / PAGE

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        return {
            "directory": str(self.directory),
            "page": str(self.page),
            "studies": [written.as_dict() for written in self.studies],
        }


def analyze(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> Analysis:
    """Answer what an experiments tree can answer, in `out` or in the folder `analysis` of the tree.

    The tree is consolidated on the way (§7.3): what has been consolidated before is not read again. `on_step` is told what is being
    worked on. Bad input of any kind raises InputError before anything is written.
    """
    tree = Path(directory)
    target = tree / FOLDER if out is None else Path(out)
    _check_target(target)
    tables = _tables(tree, master, conf or {}, on_step)
    found = studies_of(tables, read_setups(tree, list(tables.experiments["experiment"])))
    total, done = steps(found), 0

    def advance() -> None:
        nonlocal done
        done += 1
        on_step(f"plots: {done} of {total}")

    return Analysis(tree, target, write_report(found, target, str(tree), advance))


def studies_of(tables: Tables, setups: Sequence[Setup]) -> tuple[Study, ...]:
    """The studies of aggregated tables."""
    return studies(
        setups,
        runs=tables.runs,
        cells=tables.cells,
        timeline=tables.timeline,
        histograms=tables.histograms,
    )


def read_setups(tree: Path, names: Sequence[str]) -> list[Setup]:
    """The configurations of some experiments, as they stand complete in their directories."""
    setups = []
    for name in names:
        values = tomllib.loads((tree / name / "cfg.toml").read_text(encoding="utf-8"))
        version = (tree / name / "version.txt").read_text(encoding="utf-8").strip()
        setups.append(Setup(name, values, version))
    return setups


def _tables(
    tree: Path, master: str | None, conf: Mapping[str, str], on_step: Callable[[str], None]
) -> Tables:
    from endive.pipeline import build_tables, consolidate
    from endive.pipeline.tree import read_tree
    from endive.spark import spark_session

    # Spark takes its time to start: a tree that cannot be read is told before.
    read_tree(tree)
    on_step("starting Spark")
    with spark_session("endive analyze", master=master, conf=conf) as spark:
        on_step("consolidation")
        consolidated = consolidate(spark, tree)
        return build_tables(spark, consolidated.directory, on_step=on_step)


def _check_target(target: Path) -> None:
    """Whether files can be written there, found out before the work is done."""
    if (target / PAGE).is_dir() or (target.exists() and not target.is_dir()):
        raise InputError([Problem("is in the way; choose another place", "--out", str(target))])
    if re.fullmatch(r".+-[0-9a-f]{6}", target.name):
        message = "is named like an experiment's directory; choose another name"
        raise InputError([Problem(message, "--out", str(target))])
    if reason := why_unwritable(target / PAGE):
        raise InputError([Problem(reason, "--out", str(target))])
