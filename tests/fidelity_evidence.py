"""Evidence without Spark: the standard runs made in this process, and grouped as the transforms group them.

`tests/spark/test_fidelity_evidence.py` shows that both ways come to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.cost_model import CostTable, cost_table_names, load_cost_table, parse_cost_table
from endive.fidelity.context import Context
from endive.fidelity.evidence import Evidence, Fate, Mean, Seen, Wait
from endive.fidelity.model import Kind, Run, Source
from endive.fidelity.standard import Plan, standard_plans
from endive.oracle.measurement import Measurement
from endive.pipeline.schemas import IO_COUNTERS
from endive.simulation import Simulation


def source_of(table: CostTable, kind: Kind = Kind.MODEL) -> Source:
    """The column of a cost table."""
    return Source(f"model:{table.name}", kind, table.name, table.title, "0" * 64)


@cache
def shipped_evidence(name: str, roles: frozenset[str] | None = None) -> Evidence:
    """The evidence of a shipped table, made once."""
    return evidence_of(load_cost_table(name), name, roles)


def changed_evidence(
    name: str, changes: Mapping[str, str], directory: Path, roles: Collection[str] | None = None
) -> tuple[CostTable, Evidence]:
    """A shipped table with its text changed, and the evidence of that; every change must be one of exactly one place."""
    table = changed_table(name, changes)
    path = directory / "changed.yaml"
    path.write_text(table.text, encoding="utf-8")
    return table, evidence_of(table, str(path), roles)


def changed_table(name: str, changes: Mapping[str, str]) -> CostTable:
    """A shipped table with its text changed."""
    text = load_cost_table(name).text
    for was, becomes in changes.items():
        assert was in text, f"{name} does not say {was!r}"
        text = text.replace(was, becomes)
    return parse_cost_table(text, f"{name}.yaml")


def evidence_of(table: CostTable, reference: str, roles: Collection[str] | None = None) -> Evidence:
    """What the standard runs of a table show."""
    plans = [p for p in standard_plans(table, reference) if roles is None or p.role in roles]
    return joined([_evidence(plan, source_of(table).id) for plan in plans])


def joined(parts: Sequence[Evidence]) -> Evidence:
    """Several pieces of evidence as one."""
    return Evidence(
        attempts=tuple(one for part in parts for one in part.attempts),
        means=tuple(one for part in parts for one in part.means),
        waits=tuple(one for part in parts for one in part.waits),
        fates=tuple(one for part in parts for one in part.fates),
        runs=tuple(one for part in parts for one in part.runs),
        excluded={},
        metadata_apart=frozenset(run.name for part in parts for run in part.runs),
        k_per_commit={run.name: 1.5 for part in parts for run in part.runs},
    )


def context_of(
    tables: Mapping[CostTable, Evidence] | Iterable[tuple[CostTable, Evidence]],
    *,
    control: str | None = None,
    measured: Mapping[str, Measurement] | None = None,
    libraries: Sequence[str] = (),
) -> Context:
    """A context of some tables with their evidence, and of libraries, measured or not."""
    pairs = list(tables.items() if isinstance(tables, Mapping) else tables)
    sources = [
        source_of(table, Kind.CONTROL if table.name == control else Kind.MODEL)
        for table, _ in pairs
    ]
    sources += [Source(f"library:{name}", Kind.LIBRARY, name, name, "") for name in libraries]
    return Context(
        joined([evidence for _, evidence in pairs]),
        tuple(sources),
        {source_of(table).id: table for table, _ in pairs},
        {f"library:{name}": one for name, one in (measured or {}).items()},
    )


def all_shipped() -> list[tuple[CostTable, Evidence]]:
    """Every shipped table and its evidence."""
    return [(load_cost_table(name), shipped_evidence(name)) for name in cost_table_names()]


def _evidence(plan: Plan, source: str) -> Evidence:
    name = f"{source}-{plan.role}".replace(" ", "-").replace(":", "-")
    run = Run(name, plan.role, source, f"{name}.toml", plan.seeds, f"endive run {name}.toml")
    attempts: list[dict[str, Any]] = []
    transactions: list[dict[str, Any]] = []
    for seed in plan.seeds:
        config = build_simulation_config(resolve_config(dict(plan.config), file="."), seed)
        statistics = Simulation(replace(config, records_attempts=True)).run()
        assert statistics.attempts is not None
        attempts += statistics.attempts.to_arrow().to_pylist()
        transactions += statistics.to_dataframe().to_dict("records")
    finished = [row for row in attempts if row["outcome"] != "in_flight" and row["restart"] == 0]
    return Evidence(
        attempts=_grouped(finished, run),
        means=_means(finished, source),
        waits=_waits(finished, run),
        fates=_fates(transactions, run),
        runs=(run,),
        excluded={},
        metadata_apart=frozenset({name}),
        k_per_commit={name: 1.5},
    )


def _kind(row: Mapping[str, Any]) -> str:
    return "first" if row["attempt"] == 0 else "retry"


def _grouped(rows: Iterable[Mapping[str, Any]], run: Run) -> tuple[Seen, ...]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        situation = (
            row["class_name"],
            row["operation_type"],
            _kind(row),
            row["conflict_class"] or "",
            row["snapshots_behind"],
            row["outcome"] == "aborted",
        )
        groups.setdefault((*situation, *(row[name] for name in IO_COUNTERS)), []).append(row)
    seen = []
    for key, group in groups.items():
        class_name, operation, kind, conflict_class, n, gave_up, *values = key
        counts = dict(zip(IO_COUNTERS, values, strict=True))
        counts["current_list_reads"] = counts["manifest_list_reads"] - counts["historical_ml_reads"]
        times = [row["conflict_io_ms"] + row["per_attempt_io_ms"] for row in group]
        least = min(row["attempt"] for row in group)
        seen.append(
            Seen(
                run.name,
                run.source,
                run.role,
                class_name,
                operation,
                kind,
                conflict_class,
                n,
                least,
                gave_up,
                counts,
                min(times),
                max(times),
                len(group),
            )
        )
    return tuple(seen)


def _means(rows: Iterable[Mapping[str, Any]], source: str) -> tuple[Mean, ...]:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["outcome"] != "aborted":
            key = row["operation_type"], _kind(row), row["conflict_class"] or ""
            groups.setdefault(key, []).append(row)
    return tuple(
        Mean(
            source,
            *key,
            len(group),
            {name: sum(row[name] for row in group) / len(group) for name in IO_COUNTERS},
            {name: max(row[name] for row in group) for name in IO_COUNTERS},
        )
        for key, group in groups.items()
    )


def _waits(rows: Iterable[Mapping[str, Any]], run: Run) -> tuple[Wait, ...]:
    groups: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        if row["attempt"] > 0:
            groups.setdefault((row["class_name"], row["attempt"]), []).append(row["backoff_ms"])
    return tuple(
        Wait(run.name, run.source, run.role, attempt, min(ms), max(ms), len(ms))
        for (_, attempt), ms in groups.items()
    )


def _fates(rows: Iterable[Mapping[str, Any]], run: Run) -> tuple[Fate, ...]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        reason = row["abort_reason"] if isinstance(row["abort_reason"], str) else ""
        key = row["class_name"], row["operation_type"], row["status"], reason
        groups.setdefault(key, []).append(int(row["n_retries"]))
    return tuple(
        Fate(run.name, run.source, run.role, *key, min(retries), max(retries), len(retries))
        for key, retries in groups.items()
    )
