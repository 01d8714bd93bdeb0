"""A request: the load as a configuration that no store has been chosen for, at any rate, and what must be kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.config.prices import is_file
from endive.config.resolve import read_toml
from endive.errors import InputError, Problem
from endive.sizing import load
from endive.sizing.objectives import Objective, parse_objective, with_implied
from endive.sizing.units import Unclear, hint, rate_per_s

Document = dict[str, Any]

_DEFAULT_GAPS = {"distribution": "exponential", "scale": 100.0}
_DEFAULT_RUNTIME = {"distribution": "lognormal", "mean": 10_000.0, "sigma": 1.0}
_DEFAULT_MIX = {"fast_append": 0.9, "merge_append": 0.1}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says; None: nothing."""

    slo: Sequence[str]
    rate: str | None = None
    tables: int | None = None
    mix: str | None = None
    runtime: str | None = None
    maintenance: Sequence[str] = ()
    partitions: int | None = None
    retries: int | None = None
    retry_preset: str | None = None
    cost_table: str | None = None
    table_metadata: str | None = None
    config: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A load and its objectives."""

    document: Document
    """Everything but store, catalog, manifest-list mode and duration."""
    rate_per_s: float
    """Open arrivals per second, all classes together."""
    objectives: tuple[Objective, ...]
    file: str = "<options>"

    @property
    def classes(self) -> list[Document]:
        """The classes of load."""
        found: list[Document] = self.document["workload"]["class"]
        return found

    @property
    def open_names(self) -> frozenset[str]:
        """The classes that an objective without a subject is about."""
        return frozenset(each["name"] for each in self.classes if each["kind"] == "open")

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return int(self.document["catalog"].get("num_tables", 1))

    def at(self, rate: float) -> Document:
        """The configuration with another rate of open and background arrivals; jobs and clients stay as they are."""
        document = copy.deepcopy(self.document)
        for each in document["workload"]["class"]:
            if each["kind"] in ("open", "background"):
                each["inter_arrival"] = load.scaled(each["inter_arrival"], self.rate_per_s / rate)
        return document

    def operations_of(self, each: Mapping[str, Any]) -> Mapping[str, float]:
        """Shares of the operations of a class."""
        transaction = self.document["transaction"]
        default = {"fast_append": 0.7, "merge_append": 0.2, "validated_overwrite": 0.1}
        weights = each.get("operation_types") or transaction.get("operation_types") or default
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items() if weight}

    def runtime_of(self, each: Mapping[str, Any]) -> Mapping[str, Any]:
        """How long the transactions of a class work."""
        default = {"distribution": "lognormal", "mean": 180_000.0, "sigma": 1.5}
        found = each.get("runtime") or self.document["transaction"].get("runtime")
        if not found:
            return default
        if found.get("distribution", "lognormal") == "lognormal" and not (
            "mean" in found or "median" in found
        ):
            found = {"mean": 180_000.0, **found}
        return {"distribution": "lognormal", "sigma": 1.5, **found}


class _Builder:
    """Puts a request together and collects what is wrong with it."""

    def __init__(self, options: Options, problems: Sequence[Problem]) -> None:
        self.options = options
        self.problems = list(problems)

    def reading(self, key: str, read: Callable[[str], Any], text: str) -> Any:
        try:
            return read(text)
        except Unclear as unclear:
            self.problems.append(Problem(str(unclear), key))
            return None

    def refuse(self, key: str, message: str) -> None:
        self.problems.append(Problem(message, key))


def build_request(options: Options, problems: Sequence[Problem] = ()) -> Request:
    """The request that options, or a base configuration and options over it, amount to.

    InputError with all that is wrong, `problems` that are known already among it.
    """
    builder = _Builder(options, problems)
    document = _base(options)
    _lay_options(document, builder)
    _lay_load(document, builder)
    rate = _lay_rate(document, builder)
    objectives = _objectives(document, builder)
    if builder.problems:
        raise InputError(builder.problems)
    return Request(document, rate, objectives, options.config or "<options>")


def _base(options: Options) -> Document:
    if options.config is None:
        # Iceberg as it is: what the Java library was measured to do, a metadata file per commit, history table by table.
        return {
            "storage": {},
            "catalog": {"history_scope": "table", "table_metadata_inlined": False},
            "transaction": {"cost_table": "iceberg-java", "retry_preset": "iceberg"},
            "workload": {
                "class": [
                    {
                        "name": load.WRITERS,
                        "kind": "open",
                        "inter_arrival": dict(_DEFAULT_GAPS),
                        "runtime": dict(_DEFAULT_RUNTIME),
                        "operation_types": dict(_DEFAULT_MIX),
                    }
                ]
            },
        }
    document, _text = read_toml(options.config)
    # A base that is wrong is told by its own lines, before anything is laid over it.
    from endive.config import load_config

    load_config(options.config)
    for name in ("storage", "catalog", "transaction"):
        document.setdefault(name, {})
    document.pop("simulation", None)
    document.pop("experiment", None)
    table = document["transaction"].get("cost_table")
    if table is not None and is_file(table):
        document["transaction"]["cost_table"] = str((Path(options.config).parent / table).resolve())
    workload = document.setdefault("workload", {})
    if not workload.get("class") and not workload.get("script"):
        gaps = document["transaction"].pop("inter_arrival", {})
        first = {"name": load.WRITERS, "kind": "open", "inter_arrival": gaps}
        workload["class"] = [first]
    for each in workload.setdefault("class", []):
        if each["kind"] in ("open", "background"):
            gaps = {"distribution": "exponential", **each["inter_arrival"]}
            if gaps["distribution"] == "exponential":
                gaps.setdefault("scale", 100.0)
            each["inter_arrival"] = gaps
    return document


def _lay_options(document: Document, builder: _Builder) -> None:
    options, catalog, transaction = builder.options, document["catalog"], document["transaction"]
    if options.tables is not None:
        catalog["num_tables"] = options.tables
    if options.partitions is not None:
        catalog["partitions"] = {"num_partitions": options.partitions}
    if options.table_metadata is not None:
        catalog["table_metadata_inlined"] = options.table_metadata == "inlined"
    if options.cost_table is not None:
        # A file is seen from where the command is given, not from where the base stands.
        table = options.cost_table
        transaction["cost_table"] = str(Path(table).resolve()) if is_file(table) else table
    if options.retry_preset == "none":
        transaction.pop("retry_preset", None)
    elif options.retry_preset is not None:
        transaction["retry_preset"] = options.retry_preset
    if options.retries is not None:
        transaction["retry"] = options.retries


def _lay_load(document: Document, builder: _Builder) -> None:
    options, classes = builder.options, document["workload"]["class"]
    opened = [each for each in classes if each["kind"] == "open"]
    for key, name, text, read in (
        ("--mix", "operation_types", options.mix, load.mix),
        ("--runtime", "runtime", options.runtime, load.runtime),
    ):
        if text is None:
            continue
        value = builder.reading(key, read, text)
        if len(opened) == 1:
            opened[0][name] = value
        else:
            names = ", ".join(each["name"] for each in opened) or "none"
            builder.refuse(
                key, f"needs one open class, and {options.config} has {names}; set it there"
            )
    tables = document["catalog"].get("num_tables", 1)
    taken = {each["name"] for each in classes}
    for text in options.maintenance:
        job = builder.reading("--maintenance", load.maintenance, text)
        if job is None:
            continue
        number = 1
        name = load.MAINTENANCE
        while name in taken:
            number += 1
            name = f"{load.MAINTENANCE}-{number}"
        taken.add(name)
        classes.append(job.class_of(name, tables))
        if job.overlap is None:
            continue
        if "partitions" not in document["catalog"]:
            builder.refuse("--maintenance", f"{text!r}: an overlap needs --partitions")
        # Who says how often partitions meet wants those meetings to be conflicts.
        document["transaction"]["conflict_detector"] = "partition_overlap"
        document["transaction"].pop("real_conflict_probability", None)


def _lay_rate(document: Document, builder: _Builder) -> float:
    options, classes = builder.options, document["workload"]["class"]
    opened = [each for each in classes if each["kind"] == "open"]
    if not opened:
        builder.refuse(
            "--config", f"{options.config} has no open class: there is no rate to size for"
        )
        return 1.0
    own = sum(1000.0 / load.mean_of(each["inter_arrival"]) for each in opened)
    if options.rate is None:
        if options.config is None:
            builder.refuse("--rate", "missing; give appends per second, as in --rate 50")
        return own
    rate = builder.reading("--rate", rate_per_s, options.rate)
    if rate is None:
        return own
    for each in classes:
        if each["kind"] in ("open", "background"):
            each["inter_arrival"] = load.scaled(each["inter_arrival"], own / rate)
    return float(rate)


def _objectives(document: Document, builder: _Builder) -> tuple[Objective, ...]:
    found: list[Objective] = []
    if not builder.options.slo:
        builder.refuse("--slo", "missing; give at least one objective, as in --slo 'p99<2s'")
    probe = Request(document, 1.0, ())
    known: dict[str, None] = {}
    for each in probe.classes:
        if each["kind"] != "background":
            known[each["name"]] = None
            known.update(dict.fromkeys(probe.operations_of(each)))
    for text in builder.options.slo:
        for part in text.split(","):
            objective = builder.reading("--slo", parse_objective, part)
            if objective is None:
                continue
            if objective.subject is not None and objective.subject not in known:
                builder.refuse(
                    "--slo",
                    f"{objective.text!r}: nothing here is called {objective.subject!r}; {hint(objective.subject, known)}",
                )
            elif objective.text in {each.text for each in found}:
                builder.refuse("--slo", f"{objective.text!r} is given twice")
            else:
                found.append(objective)
    return with_implied(found)
