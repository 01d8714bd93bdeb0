"""What `endive run` tells a person: what ran, how it fared, where time went, how to replay it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endive.cli.words import count, duration, number, percent
from endive.experiment import Experiment

_DIGEST_DIGITS = 12
# What a commit competes for, by the kind of catalog or else by the granularity of its conflicts.
_CATALOG_MODELS = {
    "append": "log of records",
    "catalog": "one pointer",
    "group": "pointer per group",
    "table": "pointer per table",
    "partition": "pointer per partition",
}
# From this width on tables can afford wide gaps.
_WIDE = 100

_FATE_NOTE = "in flight: cut off by the end · p50 to p99: latency of the committed"
_CLASS_NOTE = "offered, commits: per second of simulated time · background commits always land"
_TIME_NOTE = "work, rest: shares of a transaction's time · others: shares of the rest"

# The parts of the time after the runtime, under names short enough for a column.
_OVERHEAD = {
    "catalog_read": "reads",
    "per_attempt_io": "manifests",
    "conflict_io": "conflicts",
    "catalog_commit": "commit",
    "backoff": "backoff",
}


def print_run(experiment: Experiment, summary: Mapping[str, Any], replay: str) -> None:
    """The whole report of one run."""
    console = _console()
    seed = f" · seed {summary['seed']}"
    console.print(f"{_header(experiment)}{seed}", soft_wrap=True)
    operations: Mapping[str, Any] = summary["operations"]
    if operations:
        console.print()
        console.print(_fate_table(operations, console.width))
        console.print(f"[dim]{_FATE_NOTE}[/dim]\n", soft_wrap=True)
        if any(operation["committed"] + operation["aborted"] for operation in operations.values()):
            console.print(_time_table(operations, console.width))
            console.print(f"[dim]{_TIME_NOTE}[/dim]\n", soft_wrap=True)
    else:
        console.print("\nNo transaction arrived in that time.\n")
    classes = _classes(experiment)
    if len(classes) > 1:
        console.print(_class_table(classes, summary, console.width))
        console.print(f"[dim]{_CLASS_NOTE}[/dim]\n", soft_wrap=True)
    for line in _totals(summary):
        console.print(line, soft_wrap=True)
    skipped = "  (finished earlier; --force runs it again)" if summary["skipped"] else ""
    console.print(f"results  {escape(summary['results_path'])}{skipped}", soft_wrap=True)
    console.print(f"digest   {summary['digest'][:_DIGEST_DIGITS]}", soft_wrap=True)
    console.print(f"replay   {escape(replay)}", soft_wrap=True)


def print_header(experiment: Experiment) -> None:
    """One line on what runs, for several seeds."""
    seeds = f" · seeds {experiment.seeds[0]}..{experiment.seeds[-1]}"
    _console().print(f"{_header(experiment)}{seeds}\n", soft_wrap=True)


_SEED_LINE = "{:>8} {:>11} {:>9} {:>10} {:>10} {:>9}  {:<12} {}"


def print_seed_heading() -> None:
    """What the columns of `print_seed` mean."""
    names = ("seed", "committed", "aborted", "in flight", "commits/s", "success", "digest", "")
    _console().print(f"[bold]{_SEED_LINE.format(*names).rstrip()}[/bold]", soft_wrap=True)


def print_seed(summary: Mapping[str, Any]) -> None:
    """One line on one of several runs."""
    line = _SEED_LINE.format(
        summary["seed"],
        count(summary["committed"]),
        count(summary["aborted"]),
        count(summary["in_flight"]),
        number(summary["commits_per_s"]),
        percent(summary["success_rate"]),
        summary["digest"][:_DIGEST_DIGITS],
        "skipped" if summary["skipped"] else "",
    )
    # A plain print, because that is what a progress bar on the same terminal makes room for.
    print(line.rstrip(), flush=True)


def print_seeds_end(
    experiment: Experiment, summaries: Sequence[Mapping[str, Any]], replay: str
) -> None:
    """The closing lines after several runs."""
    console = _console()
    rates = [float(summary["commits_per_s"]) for summary in summaries]
    spread = f"{number(min(rates))}..{number(max(rates))}"
    mean = number(statistics.fmean(rates))
    console.print(f"\n{len(rates)} runs: mean [bold]{mean}[/bold] commits/s, {spread}")
    console.print(f"results  {escape(str(experiment.directory))}", soft_wrap=True)
    console.print(f"replay   {escape(replay)}", soft_wrap=True)


def _console() -> Console:
    return Console(highlight=False)


def _header(experiment: Experiment) -> str:
    values = experiment.config.values
    catalog = values["catalog"]
    model = _CATALOG_MODELS[catalog.get("conflict_granularity", "append")]
    parts = (
        f"[bold]{escape(str(experiment.config.file))}[/bold]",
        f"{values['storage']['provider']}, {model}",
        f"{duration(experiment.config.duration_ms)} simulated",
    )
    return " · ".join(parts)


def _new_table(first: str, others: Iterable[str], width: int) -> Table:
    # Narrow terminals get narrow gaps; if even that is too wide, the names of the operations wrap.
    gap = 1 if width >= _WIDE else 0
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, gap))
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _fate_table(operations: Mapping[str, Any], width: int) -> Table:
    headings = ("count", "success", "in flight", "retries", "p50", "p95", "p99")
    table = _new_table("operation", headings, width)
    for name, operation in operations.items():
        latency = operation["latency_ms"]
        table.add_row(
            _words(name),
            count(operation["count"]),
            percent(operation["success_rate"]),
            percent(operation["censored_share"]),
            number(operation["retries_mean"]),
            *(duration(latency[quantile]) for quantile in ("p50", "p95", "p99")),
        )
    return table


def _classes(experiment: Experiment) -> Mapping[str, str]:
    """The kind of each class of load by name, in the order of the file; none if there are no classes."""
    classes = experiment.config.values.get("workload", {}).get("class", ())
    return {load["name"]: load["kind"] for load in classes}


def _class_table(classes: Mapping[str, str], summary: Mapping[str, Any], width: int) -> Table:
    """What each class asked for and what it got."""
    headings = ("kind", "offered/s", "commits/s", "success", "in flight", "retries")
    table = _new_table("class", headings, width)
    background = [name for name, kind in classes.items() if kind == "background"]
    for name, kind in classes.items():
        load = summary["classes"].get(name, _IDLE)
        if kind != "background":
            table.add_row(
                escape(name),
                kind,
                number(load["offered_per_s"]),
                number(load["commits_per_s"]),
                percent(load["success_rate"]),
                percent(load["censored_share"]),
                number(load["retries_mean"]),
            )
    if background:
        # They have no rows, so they are counted in all.
        rate = number(_background_per_s(summary))
        names = escape(", ".join(background))
        table.add_row(names, "background", rate, rate, *map(percent, (None, None)), number(None))
    return table


# What a class comes to that submitted nothing.
_IDLE: Mapping[str, Any] = {
    "offered_per_s": 0.0,
    "commits_per_s": 0.0,
    "success_rate": None,
    "censored_share": None,
    "retries_mean": None,
}


def _background_per_s(summary: Mapping[str, Any]) -> float:
    return float(summary["background_commits"]) / (float(summary["duration_ms"]) / 1000.0)


def _time_table(operations: Mapping[str, Any], width: int) -> Table:
    """Where the time went: the work itself, and how the rest divides.

    Shares of the whole would all be nothing beside a runtime of minutes, so the parts are shares
    of the rest.
    """
    table = _new_table("where time went", ("work", "rest", *_OVERHEAD.values()), width)
    for name, operation in operations.items():
        share: Mapping[str, float | None] = operation["time_share"]
        if share["runtime"] is None:
            continue
        overhead = [share[part] or 0.0 for part in _OVERHEAD]
        rest = math.fsum(overhead)
        parts = [part / rest if rest else None for part in overhead]
        table.add_row(_words(name), percent(share["runtime"]), percent(rest), *map(percent, parts))
    return table


def _totals(summary: Mapping[str, Any]) -> list[str]:
    fate = f"{count(summary['aborted'])} aborted"
    if summary["validation_exceptions"]:
        fate += f" ({count(summary['validation_exceptions'])} failed validation)"
    fate += f", {count(summary['in_flight'])} in flight"
    lists = f"{count(summary['manifest_list_reads'])} read"
    lists += f", {count(summary['manifest_list_writes'])} written"
    if summary["manifest_list_appends"]:
        lists += f", {count(summary['manifest_list_appends'])} appended"
    files = f"{count(summary['manifest_file_reads'])} read"
    files += f", {count(summary['manifest_file_writes'])} written"
    rate = f"[bold]{number(summary['commits_per_s'])}[/bold] commits/s"
    offered = f"{number(summary['offered_per_s'])} offered/s"
    success = f"success {percent(summary['success_rate'])}"
    others = ""
    if summary["background_commits"]:
        others = f", and {number(_background_per_s(summary))} background commits/s"
    return [
        f"total    [bold]{count(summary['committed'])}[/bold] committed, {fate}",
        f"rate     {rate} of {offered}, {success}, {count(summary['total_retries'])} retries{others}",
        f"lists    manifest lists: {lists}",
        f"files    manifest files: {files}",
        f"cost     {number(summary['cpu_s'])} s CPU, {number(summary['peak_rss_mib'])} MiB",
    ]


def _words(operation: str) -> str:
    return operation.replace("_", " ")
