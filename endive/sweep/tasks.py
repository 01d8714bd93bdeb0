"""What one run is to an engine, on whichever machine it is done."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from endive.errors import EndiveError
from endive.experiment import Experiment, run_seed


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one cell, on its way."""

    cell: int
    """The number of the cell."""
    experiment: Experiment
    seed: int
    force: bool

    @property
    def directory(self) -> Path:
        """The cell's directory."""
        assert self.experiment.directory is not None
        return self.experiment.directory


@dataclass(frozen=True, slots=True)
class Lost:
    """A run that brought no results, and why."""

    message: str


Landing = Generator[tuple[Run, dict[str, Any] | Lost], None, None]
Work = Callable[[Iterable[Run], Callable[[int], object]], Landing]
"""An engine: takes runs as it has room for them, and yields the summary of each as it lands, in any order.

It may tell, as often as it likes, how many runs are computed that have not landed yet.
"""


def do_run(run: Run) -> dict[str, Any] | Lost:
    """Do one run and leave its files in their place."""
    try:
        return run_seed(run.experiment, run.seed, force=run.force)
    except Exception as error:
        return Lost(in_words(error))


def compute_files(run: Run) -> dict[str, bytes] | Lost:
    """Do one run where its place cannot be reached; returns its files by name."""
    try:
        with tempfile.TemporaryDirectory(prefix="endive-run-") as place:
            here = replace(run.experiment, directory=Path(place))
            run_seed(here, run.seed, force=True)
            folder = here.results_path(run.seed).parent
            return {file.name: file.read_bytes() for file in folder.iterdir()}
    except Exception as error:
        return Lost(in_words(error))


def in_words(error: BaseException) -> str:
    """Why a run failed, in one line."""
    if isinstance(error, (EndiveError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def replay_command(run: Run) -> str:
    """The command that does one run again in its place: the cell's directory holds all that it needs."""
    words = ["endive", "run", str(run.directory / "cfg.toml"), "--seed", str(run.seed)]
    words += ["--out", str(run.directory.parent)]
    if run.experiment.records_attempts:
        words.append("--attempts")
    if run.experiment.records_trace:
        words.append("--trace")
    return shlex.join([*words, "--force"])
