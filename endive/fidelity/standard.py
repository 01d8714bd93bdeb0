"""The standard runs: small, mostly scripted, so that every row of the report has evidence and each N is what it is meant to be.

A scripted writer works for 100 ms; its rivals land after whatever it looks at before its first swap and before that swap, so it
loses exactly once, to exactly N of them. Latencies are fixed, and one manifest operation goes on at a time unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from endive.config import build_simulation_config, resolve_config
from endive.cost_model import CostTable
from endive.simulation import Simulation

BEHIND = (1, 2, 5, 10, 20)
"""N of the scripted retries."""
CLASSES = ("cross_table", "disjoint_partitions", "overlap")
FAR_BEHIND = 3750
"""Commits during the 150 s of the worked example of Simulator Internals, at 25 a second."""
RATES = ((2.0, 10_000.0), (10.0, 10_000.0), (50.0, 10_000.0), (50.0, 180_000.0))
"""Appends a second, and how long the overwrite works; the last is the example of the Fidelity Report, §3.3."""
MANY_MANIFESTS = 95
CONFLICTING_APPENDS = "real conflict with appends"
CONFLICTING_OVERWRITES = "real conflict with overwrites"
QUIET_RATE_PER_S, BUSY_RATE_PER_S = 0.2, 5.0

UNIT_MS: Mapping[str, float] = {
    "table_metadata.read": 70.0,
    "manifest_list.read": 30.0,
    "manifest_list.write": 60.0,
    "manifest_file.read": 20.0,
    "manifest_file.write": 40.0,
    # The Fidelity Report counts no metadata write.
    "table_metadata.write": 1.0,
    "catalog.read": 1.0,
    "catalog.cas": 1.0,
}

_SLOT_MS = 40_000.0
_WORK_MS = 100.0
_AFTER_LOOK_MS = 185.0
"""After the work (171 ms from the start) and the first look (172), before the swap (232 at the earliest)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One experiment of the standard set."""

    role: str
    """What it is evidence for."""
    config: Mapping[str, Any]
    seeds: tuple[int, ...] = (1,)


def standard_plans(table: CostTable, reference: str) -> Iterator[Plan]:
    """The experiments of one cost table; `reference` is how a configuration names it."""
    operations = tuple(table.operations)
    yield Plan("fresh", _fresh(reference, operations))
    yield Plan("costs", _costs(reference, operations))
    yield Plan("replaced", _replaced(reference, operations))
    yield Plan("conflicts", _conflicts(reference, operations))
    yield Plan("repeated", _repeated(reference, operations))
    yield Plan("exhausted", _exhausted(reference))
    yield Plan("long backoff", _long_backoff(reference))
    merging = [name for name, prices in table.operations.items() if prices.min_count_to_merge]
    if merging:
        yield Plan("many manifests", _many_manifests(reference, merging))
    yield Plan("far behind", _far_behind(reference))
    yield Plan("rate and runtime", _rate_and_runtime(reference))
    yield Plan("behind at start", _behind_at_start(reference, operations))
    yield Plan("one pointer", _pointers(reference, "catalog"))
    yield Plan("pointer per table", _pointers(reference, "table"))
    for name, rate in (("quiet", QUIET_RATE_PER_S), ("busy", BUSY_RATE_PER_S)):
        for overlap in (0, 1):
            where = "overlap" if overlap else "disjoint_partitions"
            yield Plan(maintenance_role(name, where), _maintenance(reference, rate, overlap))
    yield Plan("random", _random(reference), seeds=(1, 2))


MAINTENANCE = "maintenance"


def maintenance_role(load: str, where: str) -> str:
    """The role of the runs in which overwrites work beside appends: `quiet` or `busy`, and which partitions those write."""
    return f"{MAINTENANCE}, {load}, {where}"


def fixed_latencies() -> dict[str, Any]:
    """The unit latencies, as a configuration spells them."""
    tables: dict[str, Any] = {}
    for name, value in UNIT_MS.items():
        artifact, operation = name.split(".")
        entry = {"distribution": "fixed", "value": value}
        tables.setdefault(artifact, {})[operation] = entry
    return tables


def _config(
    reference: str,
    script: Sequence[Mapping[str, Any]],
    *,
    num_tables: int,
    duration_ms: float,
    partitions: int = 2,
    max_parallel: int = 1,
    catalog: Mapping[str, Any] | None = None,
    transaction: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "simulation": {"duration_ms": duration_ms},
        "storage": {
            "provider": "instant",
            "max_parallel": max_parallel,
            "latency": fixed_latencies(),
        },
        "catalog": {
            "type": "cas",
            "num_tables": num_tables,
            "table_metadata_inlined": False,
            "partitions": {"num_partitions": partitions},
            **(catalog or {}),
        },
        "transaction": {"cost_table": reference, **(transaction or {})},
        "workload": {"script": list(script)},
    }


def _writer(slot: int, operation: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "at_ms": slot * _SLOT_MS,
        "name": name,
        "operation": operation,
        "tables": [slot],
        "partitions": [[0]],
        "runtime_ms": _WORK_MS,
        **more,
    }


def _rivals(
    slot: int, times: int, table: int, partition: int, after_ms: float = _AFTER_LOOK_MS, **more: Any
) -> dict[str, Any]:
    return {
        "at_ms": slot * _SLOT_MS + after_ms,
        "operation": "background",
        "tables": [table],
        "partitions": [[partition]],
        "times": times,
        **more,
    }


def _place(conflict_class: str, slot: int, elsewhere: int) -> tuple[int, int]:
    """The table and the partition that rivals write so that the writer of `slot` finds this class."""
    if conflict_class == "cross_table":
        return elsewhere, 0
    return slot, 0 if conflict_class == "overlap" else 1


def _fresh(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    """Every operation by itself, so that the first attempt commits."""
    script = [_writer(slot, operation, "alone") for slot, operation in enumerate(operations)]
    count = len(operations)
    return _config(reference, script, num_tables=count, duration_ms=(count + 1) * _SLOT_MS)


def _costs(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    # A table of its own for every retry: what one adds to a table must not change the price of the next.
    cells = [(op, found, n) for op in operations for found in CLASSES for n in BEHIND]
    script: list[dict[str, Any]] = []
    for slot, (operation, conflict_class, n) in enumerate(cells):
        script.append(_writer(slot, operation, "scripted"))
        script.append(_rivals(slot, n, *_place(conflict_class, slot, len(cells))))
    return _config(
        reference, script, num_tables=len(cells) + 1, duration_ms=(len(cells) + 1) * _SLOT_MS
    )


def _replaced(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    """As the costs, with rivals that replace data."""
    cells = [(op, found, n) for op in operations for found in CLASSES[1:] for n in (1, 2, 5)]
    script: list[dict[str, Any]] = []
    for slot, (operation, conflict_class, n) in enumerate(cells):
        script.append(_writer(slot, operation, "rivals replace data"))
        table, partition = _place(conflict_class, slot, len(cells))
        script.append(_rivals(slot, n, table, partition, replaces_data=True))
    return _config(
        reference, script, num_tables=len(cells), duration_ms=(len(cells) + 1) * _SLOT_MS
    )


def _conflicts(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    """Every conflict is real, with appends and with commits that replace data: compaction is failed by those only."""
    cells = [(operation, replaces) for operation in operations for replaces in (False, True)]
    script: list[dict[str, Any]] = []
    for slot, (operation, replaces) in enumerate(cells):
        name = CONFLICTING_OVERWRITES if replaces else CONFLICTING_APPENDS
        script.append(_writer(slot, operation, name))
        script.append(_rivals(slot, 5, slot, 0, replaces_data=replaces))
    return _config(
        reference,
        script,
        num_tables=len(cells),
        duration_ms=(len(cells) + 1) * _SLOT_MS,
        transaction={"real_conflict_probability": 1.0},
    )


def _repeated(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    """Three swaps lost, each to three rivals more: what comes when follows from the prices, so it is found by simulating."""
    cells = [(operation, found) for operation in operations for found in CLASSES[1:]]
    script: list[dict[str, Any]] = [
        _writer(slot, operation, "lost three times") for slot, (operation, _) in enumerate(cells)
    ]
    for _ in range(3):
        config = _config(
            reference, script, num_tables=len(cells), duration_ms=(len(cells) + 1) * _SLOT_MS
        )
        for slot, called_ms in _last_calls(config).items():
            table, partition = _place(cells[slot][1], slot, len(cells))
            # Just before the call of a swap: after whatever was looked at, and before it takes effect.
            after_ms = called_ms - 0.5 - slot * _SLOT_MS
            script.append(_rivals(slot, 3, table, partition, after_ms=after_ms))
    return _config(
        reference, script, num_tables=len(cells), duration_ms=(len(cells) + 1) * _SLOT_MS
    )


def _last_calls(config: Mapping[str, Any]) -> dict[int, float]:
    """When each writer called its last commit so far; writers are numbered as their slots."""
    resolved = resolve_config(dict(config), file="")
    plan = replace(build_simulation_config(resolved, 1), records_attempts=True)
    attempts = Simulation(plan).run().attempts
    assert attempts is not None
    table = attempts.to_arrow()
    called = zip(table["txn_id"].to_pylist(), table["t_commit_call"].to_pylist(), strict=True)
    return {int(txn_id): float(ms) for txn_id, ms in called}


def _exhausted(reference: str) -> dict[str, Any]:
    # A swap takes at least 61 ms after what it looked at; with a rival every 50 ms all are lost.
    script: list[dict[str, Any]] = []
    for slot in range(4):
        script.append(_writer(slot, "fast_append", "exhausted"))
        script.append(_rivals(slot, 700, slot, 0, after_ms=_AFTER_LOOK_MS, every_ms=50.0))
    return _config(
        reference,
        script,
        num_tables=4,
        duration_ms=5 * _SLOT_MS,
        transaction={"retry_preset": "iceberg"},
    )


def _long_backoff(reference: str) -> dict[str, Any]:
    # Twelve retries: the tenth wait would be 51.2 s, the eleventh and later 60 s. N is kept small by rivals that come
    # just before a swap can be made, not all the time.
    script = [
        _writer(0, "fast_append", "long backoff"),
        _rivals(0, 6000, 0, 0, after_ms=_AFTER_LOOK_MS, every_ms=55.0),
    ]
    return _config(
        reference,
        script,
        num_tables=1,
        duration_ms=600_000.0,
        max_parallel=1000,
        transaction={"retry_preset": "iceberg", "retry": 12},
    )


def _many_manifests(reference: str, merging: Sequence[str]) -> dict[str, Any]:
    cells = [(op, found, n) for op in merging for found in CLASSES[1:] for n in (3, 4, 5, 10, 20)]
    script: list[dict[str, Any]] = []
    for slot, (operation, conflict_class, n) in enumerate(cells):
        script.append(_writer(slot, operation, f"{MANY_MANIFESTS} manifests"))
        script.append(_rivals(slot, n, *_place(conflict_class, slot, len(cells))))
    return _config(
        reference,
        script,
        num_tables=len(cells),
        duration_ms=(len(cells) + 1) * _SLOT_MS,
        catalog={"manifests_per_table": MANY_MANIFESTS},
    )


def _far_behind(reference: str) -> dict[str, Any]:
    cells = [("fast_append", 1), ("fast_append", 0), ("validated_overwrite", 0)]
    script: list[dict[str, Any]] = []
    for slot, (operation, partition) in enumerate(cells):
        script.append(_writer(slot, operation, "far behind", at_ms=slot * 10 * _SLOT_MS))
        rivals = _rivals(slot, FAR_BEHIND, slot, partition)
        rivals["at_ms"] = slot * 10 * _SLOT_MS + _AFTER_LOOK_MS
        script.append(rivals)
    # Four at a time, as in the worked example.
    return _config(reference, script, num_tables=3, duration_ms=30 * _SLOT_MS, max_parallel=4)


def _rate_and_runtime(reference: str) -> dict[str, Any]:
    script: list[dict[str, Any]] = []
    at_ms, slot = 0.0, 0
    for rate_per_s, runtime_ms in RATES:
        for partition in (1, 0):
            every_ms = 1000.0 / rate_per_s
            script.append(
                _writer(
                    slot,
                    "validated_overwrite",
                    f"{rate_per_s:g}/s for {runtime_ms / 1000:g} s",
                    at_ms=at_ms,
                    runtime_ms=runtime_ms,
                )
            )
            count = round(rate_per_s * runtime_ms / 1000.0)
            # Within the work, which begins 71 ms after the start: from the first rival to the last it is one gap less than the runtime.
            rivals = _rivals(slot, count, slot, partition, every_ms=every_ms)
            rivals["at_ms"] = at_ms + 72.0
            script.append(rivals)
            at_ms, slot = at_ms + 5_000_000.0, slot + 1
    return _config(reference, script, num_tables=slot, duration_ms=at_ms, max_parallel=4)


def _behind_at_start(reference: str, operations: Sequence[str]) -> dict[str, Any]:
    cells = [(op, found, n) for op in operations for found in CLASSES[1:] for n in (1, 5, 20)]
    script: list[dict[str, Any]] = []
    for slot, (operation, conflict_class, n) in enumerate(cells):
        script.append(_writer(slot, operation, "behind at start"))
        table, partition = _place(conflict_class, slot, len(cells))
        script.append(_rivals(slot, n, table, partition, after_ms=100.0))
    return _config(
        reference, script, num_tables=len(cells), duration_ms=(len(cells) + 1) * _SLOT_MS
    )


def _pointers(reference: str, scope: str) -> dict[str, Any]:
    script = [
        # Rivals on another table only.
        _writer(0, "fast_append", "others write elsewhere"),
        _rivals(0, 5, 2, 0),
        # Three on its own table, four elsewhere.
        _writer(1, "validated_overwrite", "three here, four elsewhere"),
        _rivals(1, 3, 1, 0),
        _rivals(1, 4, 2, 0),
    ]
    return _config(
        reference,
        script,
        num_tables=3,
        duration_ms=3 * _SLOT_MS,
        catalog={"conflict_granularity": scope, "history_scope": scope},
    )


def _maintenance(reference: str, rate_per_s: float, overlap: int) -> dict[str, Any]:
    """Overwrites and appends that work for three minutes each, beside appends by others at a rate, on S3 Express."""
    periodic = {
        "kind": "periodic",
        "interval_ms": 100_000.0,
        "offset_ms": 0.0,
        "end_ms": 1_000_000.0,
    }
    runtime = {"distribution": "fixed", "value": 180_000.0}
    classes = [
        {
            "name": "maintenance",
            **periodic,
            "runtime": runtime,
            "operation_types": {"validated_overwrite": 1},
            "overlap_probability": overlap,
        },
        {
            "name": "long append",
            **periodic,
            "offset_ms": 50_000.0,
            "runtime": runtime,
            "operation_types": {"fast_append": 1},
            "overlap_probability": overlap,
        },
        {
            "name": "appends",
            "kind": "background",
            "inter_arrival": {"distribution": "exponential", "scale": 1000.0 / rate_per_s},
        },
    ]
    return {
        "simulation": {"duration_ms": 1_600_000.0},
        "storage": {"provider": "s3x"},
        "catalog": {
            "type": "cas",
            "table_metadata_inlined": False,
            "partitions": {"num_partitions": 1},
        },
        "transaction": {"cost_table": reference, "retry_preset": "iceberg"},
        "workload": {"class": classes},
    }


def _random(reference: str) -> dict[str, Any]:
    """Drawn loads on a real store: appends against each other and against others', and one who overwrites beside them.

    Only one overwrites at a time, so that whoever validates finds appends; what overwrites among each other cost is scripted.
    """
    classes = [
        {
            "name": "appends",
            "kind": "open",
            "inter_arrival": {"distribution": "exponential", "scale": 250.0},
            "operation_types": {"fast_append": 1, "merge_append": 1},
        },
        {
            "name": "overwrites",
            "kind": "closed",
            "clients": 1,
            "think_time": {"distribution": "exponential", "scale": 100.0},
            "operation_types": {"validated_overwrite": 1},
        },
        {
            "name": "others",
            "kind": "background",
            "inter_arrival": {"distribution": "exponential", "scale": 400.0},
        },
    ]
    return {
        "simulation": {"duration_ms": 40_000.0},
        "storage": {"provider": "s3x"},
        "catalog": {
            "type": "cas",
            "num_tables": 4,
            "table_metadata_inlined": False,
            "partitions": {"num_partitions": 3},
        },
        "transaction": {
            "cost_table": reference,
            "retry": 20,
            "runtime": {"distribution": "exponential", "scale": 400.0},
        },
        "workload": {"class": classes},
    }
