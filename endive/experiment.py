"""Experiments (§7.3): where results go, and which runs are still to be done.

    experiments/<label>-<hash>/cfg.toml              the configuration, all defaults filled in
                               cost_table.yaml       the cost table, where it is the user's own
                               version.txt           the code that made the results
                               <seed>/results.parquet
                               <seed>/attempts.parquet, trace.parquet    where they are asked for

A results file appears under its name only when it is whole, so a file that is there is a finished
run and need not be made again. It carries its own summary, hash, seed and version, which tell
whether it is the run that is asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive import __version__
from endive.config import (
    ResolvedConfig,
    build_simulation_config,
    compute_experiment_hash,
    load_config,
    render_config,
)
from endive.config.identity import COST_TABLE_FILE
from endive.config.prices import is_file
from endive.errors import InputError, Problem
from endive.utils import draw_seed, get_git_sha, whole_file

if TYPE_CHECKING:
    from endive.simulation import Progress
    from endive.trace import Header

DEFAULT_ROOT = "experiments"
SUMMARY_KEY = "endive.summary"

_CIRCUMSTANCES = frozenset({"cpu_s", "peak_rss_mib"})
"""What a summary says of the machine, and another process would say otherwise of the same run."""
_PART_FILE = re.compile(r"\..+\.(\d+)\.part")


@dataclass(frozen=True)
class Experiment:
    """One configuration, the seeds asked for and the place of the results."""

    config: ResolvedConfig
    config_hash: str
    version: str
    seeds: Sequence[int]
    directory: Path | None
    """The experiment's directory, or None where a single run writes to `simulation.output_path`."""
    records_attempts: bool = False
    """Whether every commit attempt gets a row in a table of its own."""
    records_trace: bool = False
    """Whether everything that happens is kept, event by event."""

    def results_path(self, seed: int) -> Path:
        """Where the results of one seed go."""
        if self.directory is None:
            return Path(self.config.output_path)
        return self.directory / str(seed) / "results.parquet"

    def attempts_path(self, seed: int) -> Path:
        """Where the attempts of one seed go, if they are recorded."""
        results = self.results_path(seed)
        if self.directory is None:
            return results.with_name(f"{results.stem}.attempts.parquet")
        return results.with_name("attempts.parquet")

    def trace_path(self, seed: int) -> Path:
        """Where the trace of one seed goes, if there is one."""
        results = self.results_path(seed)
        if self.directory is None:
            return results.with_name(f"{results.stem}.trace.parquet")
        return results.with_name("trace.parquet")


def plan_experiment(
    config_path: str | Path,
    *,
    seeds: Sequence[int] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    records_attempts: bool = False,
    records_trace: bool = False,
) -> Experiment:
    """Read and check everything a run needs. Nothing is written.

    A label, `out` or several seeds ask for an experiment directory; without any of them the one run
    writes the single file `simulation.output_path`. Without a seed in either place one is drawn.
    """
    config = load_config(config_path)
    config_hash = compute_experiment_hash(config)
    if seeds is None:
        seeds = [draw_seed() if config.seed is None else config.seed]
    directory = None
    if config.label is not None or out is not None or len(seeds) > 1:
        name = config.label if config.label is not None else Path(config_path).stem
        directory = Path(DEFAULT_ROOT if out is None else out) / f"{name}-{config_hash}"
    experiment = Experiment(
        config, config_hash, code_version(), seeds, directory, records_attempts, records_trace
    )
    # Parts that refuse to work together say so here, before anything is written.
    build_simulation_config(config, seeds[0])
    check_directory(experiment, force=force)
    return experiment


def check_directory(experiment: Experiment, *, force: bool = False) -> None:
    """Find out, before anything is written, whether results can be written and may stand beside what is there."""
    _check_place(experiment)
    if not force:
        _check_version(experiment)


def prepare_directory(experiment: Experiment) -> None:
    """Write `cfg.toml` and `version.txt`, and clear away what killed runs left behind."""
    if experiment.directory is None:
        Path(experiment.config.output_path).parent.mkdir(parents=True, exist_ok=True)
        return
    experiment.directory.mkdir(parents=True, exist_ok=True)
    _remove_stale_parts(experiment.directory)
    _write_text(experiment.directory / "cfg.toml", render_config(experiment.config))
    if is_file(experiment.config.values["transaction"]["cost_table"]):
        _write_text(experiment.directory / COST_TABLE_FILE, experiment.config.cost_table.text)
    _write_text(experiment.directory / "version.txt", experiment.version + "\n")


def run_seed(
    experiment: Experiment,
    seed: int,
    *,
    force: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """The summary of one run: of the finished one if there is one, else of a new one."""
    path = experiment.results_path(seed)
    stored = None if force else stored_run(experiment, seed)
    if stored is not None:
        return stored

    from endive.simulation import Simulation
    from endive.summary import peak_rss_mib, summarise

    remove_stale_parts(experiment, seed)
    config = build_simulation_config(experiment.config, seed)
    simulation = Simulation(
        replace(
            config,
            records_attempts=experiment.records_attempts,
            records_trace=experiment.records_trace,
        )
    )
    started_s = time.process_time()
    statistics = simulation.run(on_progress=on_progress)
    cpu_s = time.process_time() - started_s
    summary = {
        **summarise(statistics),
        "config_hash": experiment.config_hash,
        "version": experiment.version,
        "cpu_s": cpu_s,
        "peak_rss_mib": peak_rss_mib(),
    }
    text = json.dumps(summary, allow_nan=False)
    if statistics.attempts is not None:
        # Before the results: what has results is finished, so it must have its attempts by then.
        statistics.attempts.write_parquet(experiment.attempts_path(seed), {SUMMARY_KEY: text})
    if statistics.recorded is not None:
        from endive.trace.files import write_recorded

        header = trace_header(experiment.config, seed)
        target = experiment.trace_path(seed)
        write_recorded(header, statistics.recorded, target, metadata={SUMMARY_KEY: text})
    statistics.export_parquet(str(path), metadata={SUMMARY_KEY: text})
    return _in_place(summary, experiment, path, skipped=False)


def store_run(experiment: Experiment, seed: int, files: Mapping[str, bytes]) -> dict[str, Any]:
    """File what a run elsewhere wrote, by name of the file, as if it had been run here; returns its summary."""
    remove_stale_parts(experiment, seed)
    path = experiment.results_path(seed)
    # The results come last here, too: what has results is finished.
    for name in sorted(files, key=lambda name: name == path.name):
        with whole_file(path.with_name(name)) as beside:
            beside.write_bytes(files[name])
    stored = finished_summary(experiment, seed)
    if stored is None:
        raise OSError(f"{path} is not the run that was asked for, though it was written just now")
    return _in_place(stored, experiment, path, skipped=False)


def stored_run(experiment: Experiment, seed: int) -> dict[str, Any] | None:
    """The summary of a run that is finished, with its place; None if it is still to be done."""
    stored = finished_summary(experiment, seed)
    if stored is None:
        return None
    return _in_place(stored, experiment, experiment.results_path(seed), skipped=True)


def remove_stale_parts(experiment: Experiment, seed: int) -> None:
    """Clear away what processes that died left unfinished of one run."""
    paths = (experiment.results_path, experiment.attempts_path, experiment.trace_path)
    for path in (each(seed) for each in paths):
        _remove_stale_parts(path.parent, path.name)


def finished_summary(experiment: Experiment, seed: int) -> dict[str, Any] | None:
    """The stored summary of a run that is already there, or None if it is still to be done."""
    path = experiment.results_path(seed)
    if not path.is_file():
        return None
    stored = read_summary(path)
    beside = []
    if experiment.records_attempts:
        beside.append(experiment.attempts_path(seed))
    if experiment.records_trace:
        beside.append(experiment.trace_path(seed))
    if any(not file.is_file() or not _same_run(read_summary(file), stored) for file in beside):
        return None
    asked_for = {
        "config_hash": experiment.config_hash,
        "seed": seed,
        # After --force a directory may still hold runs of the version before; those are done again.
        "version": experiment.version,
    }
    if stored is None or any(stored.get(key) != value for key, value in asked_for.items()):
        return None
    return stored


def _same_run(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Whether two files are of one run, or of two that cannot be told apart.

    Two processes that make the same run at the same time may each have written one of its files: only what the machine
    did meanwhile differs then.
    """
    if one is None or other is None:
        return False
    return all(
        one.get(key) == other.get(key) for key in (one.keys() | other.keys()) - _CIRCUMSTANCES
    )


def read_summary(path: Path) -> dict[str, Any] | None:
    """The summary that a results file carries; None if it is no whole results file of Endive's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
        stored = json.loads(metadata[SUMMARY_KEY.encode()])
    except (pa.ArrowException, KeyError, ValueError):
        return None
    return stored if isinstance(stored, dict) else None


def trace_header(resolved: ResolvedConfig, seed: int) -> Header:
    """What the trace of a run is a trace of: all that is needed to judge it without this code."""
    from endive.documents import read_document
    from endive.storage import ProfileStorageProvider
    from endive.trace import Header

    config = build_simulation_config(resolved, seed)
    workload, storage = config.workload, config.storage_provider
    assert isinstance(storage, ProfileStorageProvider)
    cost_table = resolved.cost_table
    return Header(
        seed=seed,
        duration_ms=resolved.duration_ms,
        config=resolved.values,
        num_tables=workload.config.num_tables,
        partitions_per_table=workload.config.partitions_per_table,
        group_of=workload.group_of,
        cost_table=read_document(cost_table.text, f"{cost_table.name}.yaml").value,
        versions={
            "endive": __version__,
            "git": get_git_sha(),
            "python": platform.python_version(),
            "numpy": metadata.version("numpy"),
            "simpy": metadata.version("simpy"),
        },
        store={
            "min_latency_ms": storage.min_latency_ms,
            "effect_point": storage.effect_point,
            "max_parallel": storage.max_parallel,
            "sizes": asdict(storage.sizes),
        },
    )


def code_version() -> str:
    """The commit of the code, `-dirty` if changed since; outside a checkout the release."""
    sha = get_git_sha()
    return f"endive {__version__}" if sha == "unknown" else sha


def _in_place(
    summary: dict[str, Any], experiment: Experiment, path: Path, *, skipped: bool
) -> dict[str, Any]:
    # Files move and labels change without changing a result, so neither is stored with it.
    place = {"results_path": str(path), "label": experiment.config.label, "skipped": skipped}
    if experiment.records_attempts:
        place["attempts_path"] = str(experiment.attempts_path(summary["seed"]))
    if experiment.records_trace:
        place["trace_path"] = str(experiment.trace_path(summary["seed"]))
    return {**summary, **place}


def _check_version(experiment: Experiment) -> None:
    """Refuse to mix the results of two versions in one directory."""
    if experiment.directory is None:
        return
    file = experiment.directory / "version.txt"
    if not file.exists():
        return
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    written_by = lines[0].strip() if lines else ""
    if written_by != experiment.version:
        message = (
            f"these results were made by version {written_by or '(none)'}, this is "
            f"{experiment.version}; use --force to make them anew, or --out for another place"
        )
        raise InputError([Problem(message, file=str(file))])


def _check_place(experiment: Experiment) -> None:
    """Find out that results cannot be written before the time to make them is spent."""
    for_file = experiment.directory is None
    target = (
        Path(experiment.config.output_path)
        if experiment.directory is None
        else experiment.directory
    )
    key = "simulation.output_path" if for_file else ""
    file = experiment.config.file if for_file else ""
    if for_file and target.is_dir():
        message = f"{str(target)!r} is a directory; name a file in it"
        raise InputError([Problem(message, key=key, file=file)])
    place = target.parent if for_file else target
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        message = f"{str(place)!r} is not a directory; choose another place than {str(target)!r}"
        raise InputError([Problem(message, key=key, file=file)])
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write to {target}: no permission to write in {place}")


def _write_text(path: Path, text: str) -> None:
    """Write a text file whole, and leave one alone that says the same already."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == text:
            return
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _remove_stale_parts(directory: Path, name: str | None = None) -> None:
    """Remove the unfinished files of dead processes; those of living ones are theirs."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for file in directory.iterdir():
            part = _PART_FILE.fullmatch(file.name)
            ours = name is None or file.name.startswith(f".{name}.")
            if part and ours and not _is_alive(int(part[1])):
                file.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
