"""From what was asked for to the report: columns, runs, evidence, verdicts."""

from __future__ import annotations

import datetime as dt
import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from endive.config.prices import is_file
from endive.cost_model import CostTable, cost_table_names, load_cost_table, load_cost_table_file
from endive.errors import InputError, Problem
from endive.experiment import code_version
from endive.fidelity import transcription as transcribed
from endive.fidelity.context import Context
from endive.fidelity.document import compare_with
from endive.fidelity.evidence import Evidence
from endive.fidelity.gathering import gather_given, gather_own
from endive.fidelity.judging import judge
from endive.fidelity.model import Kind, Source
from endive.fidelity.report import Report, make_report
from endive.fidelity.runs import TREE, Column, Planned, given_runs, make_runs, plan_standard
from endive.fidelity.waivers import Waiver
from endive.oracle.measurement import Measurement, load_measurement, measured_file
from endive.pipeline.tree import read_tree
from endive.resources import package_dir
from endive.spark import spark_session

CONTROL = "legacy"
LIBRARIES = ("pyiceberg", "iceberg-java")
_PROFILES = ("instant", "s3x")
"""The stores of the standard runs."""


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    out: Path
    tables: tuple[str, ...]
    """Cost tables by name or file; none: all but the control."""
    runs: Path | None
    waivers: tuple[Waiver, ...]
    waivers_text: str
    today: dt.date
    jobs: int
    master: str | None
    measured: Mapping[str, Path] | None = None
    """Measurements by library; absent: those that ship with Endive."""


def columns_of(request: Request) -> list[Column]:
    """The cost tables of the report; all that is wrong with what was asked for is told at once."""
    names = request.tables or tuple(name for name in cost_table_names() if name != CONTROL)
    problems: list[Problem] = []
    columns: list[Column] = []
    for name in names:
        try:
            table = _table(name)
        except InputError as error:
            problems += error.problems
            continue
        taken = next((one for one in columns if one.table.name == table.name), None)
        if taken is not None:
            message = (
                f"{name!r} is called {table.name!r}, and so is {taken.reference!r}; rename one"
            )
            problems.append(Problem(message, key="--cost-table"))
            continue
        columns.append(_column(table, name, Kind.MODEL))
    if problems:
        raise InputError(problems)
    # Given runs are of whatever they are of; the control is for the standard set.
    if request.runs is None and all(column.table.name != CONTROL for column in columns):
        columns.append(_column(load_cost_table(CONTROL), CONTROL, Kind.CONTROL))
    return columns


def _table(name: str) -> CostTable:
    if name in cost_table_names() or not name.endswith((".yaml", ".yml")):
        return load_cost_table(name)
    return load_cost_table_file(name)


def _column(table: CostTable, name: str, kind: Kind) -> Column:
    reference = str(Path(name).resolve()) if is_file(name) else name
    source = Source(f"model:{table.name}", kind, table.name, table.title, _digest(table.text))
    return Column(source, table, reference)


def libraries_of(request: Request) -> tuple[list[Source], dict[str, Measurement], dict[str, str]]:
    """The real libraries: columns, measurements by id, and the digests of their files."""
    sources, measurements, digests = [], {}, {}
    for name in LIBRARIES:
        path = measured_file(name) if request.measured is None else request.measured.get(name)
        title, digest = f"{name}, not run", ""
        if path is not None and path.is_file():
            measurement = load_measurement(path)
            digest = _digest(path.read_text(encoding="utf-8"))
            title = f"{measurement.library} {measurement.version}, measured"
            measurements[f"library:{name}"] = measurement
            digests[f"measurement {name}"] = digest
        sources.append(Source(f"library:{name}", Kind.LIBRARY, name, title, digest))
    return sources, measurements, digests


def plan(request: Request, columns: Sequence[Column]) -> list[Planned]:
    """The runs that will be made: none if there are some already."""
    return [] if request.runs is not None else plan_standard(columns, request.out)


def make(
    request: Request,
    columns: Sequence[Column],
    planned: Sequence[Planned],
    last: tuple[str, Mapping[str, Any]] | None,
    *,
    on_run: Callable[[], object] = lambda: None,
    on_step: Callable[[str], object] = lambda _step: None,
) -> tuple[Report, Context]:
    """Run, gather and judge; `last` is the last kept report and its name. The context is what plots are drawn from."""
    libraries, measurements, digests = libraries_of(request)
    if request.runs is None:
        on_step("runs")
        make_runs(planned, request.jobs, on_run)
    on_step("Spark")
    evidence = _evidence(request, columns, planned)
    on_step("verdicts")
    sources = (*(column.source for column in columns), *libraries)
    tables = {column.source.id: column.table for column in columns}
    context = Context(evidence, sources, tables, measurements)
    report = make_report(
        judge(context),
        sources,
        evidence,
        request.waivers,
        inputs={**_inputs(request, columns), **digests},
        version=code_version(),
        today=request.today,
    )
    if last is not None:
        report = replace(report, drift=compare_with(report, last[1], last[0]))
    return report, context


def _evidence(request: Request, columns: Sequence[Column], planned: Sequence[Planned]) -> Evidence:
    name = "endive-fidelity"
    # A few small files: more partitions would only be more tasks.
    with spark_session(name, master=request.master, shuffle_partitions=2) as spark:
        if request.runs is None:
            runs = [plan.run for plan in planned]
            configs = {plan.run.name: _flat(plan.experiment.config.values) for plan in planned}
            return gather_own(spark, request.out / TREE, runs, configs)
        found = read_tree(request.runs)
        runs = list(given_runs(found, columns))
        if not runs:
            raise InputError([_no_runs(request.runs, columns)])
        configs = {one.name: dict(one.config) for one in found}
        with tempfile.TemporaryDirectory(prefix="endive-fidelity-") as work:
            return gather_given(spark, request.runs, Path(work), runs, configs)


def _no_runs(tree: Path, columns: Sequence[Column]) -> Problem:
    names = ", ".join(column.table.name for column in columns)
    return Problem(
        f"holds no run under any of {names}; name others with --cost-table", file=str(tree)
    )


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _inputs(request: Request, columns: Sequence[Column]) -> dict[str, str]:
    inputs = {f"cost table {column.table.name}": column.source.digest for column in columns}
    inputs["transcription"] = _digest(transcribed.FILE.read_text(encoding="utf-8"))
    inputs["waivers"] = _digest(request.waivers_text)
    for name in _PROFILES:
        text = (package_dir("providers") / f"{name}.toml").read_text(encoding="utf-8")
        inputs[f"profile {name}"] = _digest(text)
    return inputs


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
