"""Where the trace of a run comes from: its file, or the run made once more from the configuration that stands beside its results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from endive.config import build_simulation_config, compute_experiment_hash, load_config
from endive.errors import InputError, Problem
from endive.experiment import read_summary, trace_header
from endive.trace import Trace
from endive.trace.files import read_trace


def trace_of(path: str | Path) -> Trace:
    """The trace of a run, told by its trace file, its results file or the directory that holds them."""
    place = Path(path)
    if place.is_dir():
        trace, results = place / "trace.parquet", place / "results.parquet"
        if trace.is_file():
            return read_trace(trace)
        if not results.is_file():
            message = "holds no results.parquet and no trace.parquet; give the directory of one seed, such as experiments/x-1a2b3c/42"
            raise InputError([Problem(message, file=str(place))])
        return _made_again(results)
    if place.name.endswith(".parquet") and place.is_file() and read_summary(place) is not None:
        return _of_results(place)
    return read_trace(place)


def _of_results(results: Path) -> Trace:
    import pyarrow.parquet as pq

    from endive.trace.parquet import HEADER_KEY

    # A trace carries the summary of its run too.
    if HEADER_KEY.encode() in (pq.read_schema(results).metadata or {}):
        return read_trace(results)
    for beside in (
        results.with_name("trace.parquet"),
        results.with_name(f"{results.stem}.trace.parquet"),
    ):
        if beside.is_file():
            return read_trace(beside)
    return _made_again(results)


def _made_again(results: Path) -> Trace:
    """Runs are decided by configuration and seed, so that what was not recorded can be seen by running again."""
    from endive.simulation import Simulation

    summary = read_summary(results)
    if summary is None:
        message = "carries no summary of Endive's; make it again with endive run --trace"
        raise InputError([Problem(message, file=str(results))])
    file = results.parent.parent / "cfg.toml"
    if not file.is_file():
        message = f"has no trace beside it, and {file} to make one from is missing; run again with --trace"
        raise InputError([Problem(message, file=str(results))])
    config, seed = load_config(file), int(summary["seed"])
    if compute_experiment_hash(config) != summary.get("config_hash"):
        message = f"was not made from {file}, whose hash is another; run again with --trace"
        raise InputError([Problem(message, file=str(results))])
    run = replace(build_simulation_config(config, seed), records_trace=True)
    statistics = Simulation(run).run()
    if statistics.digest() != summary.get("digest"):
        message = "is not what this version of the code makes of its configuration; run again with --trace --force"
        raise InputError([Problem(message, file=str(results))])
    return Trace(trace_header(config, seed), tuple(statistics.events or ()))
