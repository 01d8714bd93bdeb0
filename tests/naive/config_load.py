"""What the load of a naive run is made of: transactions, backoff, classes (MODEL.md 6, 8, 12, 13)."""

from dataclasses import dataclass
from typing import Any

# A distribution is the plain table it is written as: its name under "distribution" and its
# parameters beside it.
Distribution = dict[str, Any]

# The order in which the weights of operations add up when one is drawn (MODEL.md 7).
OPERATIONS = (
    "fast_append",
    "merge_append",
    "validated_overwrite",
    "row_delta",
    "rewrite_files",
    "replace_partitions",
    "replace_partitions_validated",
    "overwrite_unvalidated",
    "delete_partition",
)
APPENDS = ("fast_append", "merge_append")

NO_PRESET: dict[str, Any] = {
    "retry": 10,
    "retry_timeout_ms": None,
    "backoff": {
        "enabled": False,
        "base_ms": 10.0,
        "multiplier": 2.0,
        "max_ms": 5000.0,
        "jitter": 0.1,
        "jitter_mode": "both",
    },
}
ICEBERG_PRESET: dict[str, Any] = {
    "retry": 4,
    "retry_timeout_ms": 1_800_000.0,
    "backoff": {
        "enabled": True,
        "base_ms": 100.0,
        "multiplier": 2.0,
        "max_ms": 60_000.0,
        "jitter": 0.1,
        "jitter_mode": "up",
    },
}


@dataclass(frozen=True, slots=True)
class SelectorSettings:
    """How tables or partitions are chosen."""

    kind: str
    alpha: float
    write_fraction: float


@dataclass(frozen=True, slots=True)
class BackoffSettings:
    """The wait before each retry."""

    enabled: bool
    base_ms: float
    multiplier: float
    max_ms: float
    jitter: float
    jitter_mode: str


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """How transactions of all classes commit; `retry_timeout_ms` is None where there is no budget."""

    cost_table: str
    max_retries: int
    retry_timeout_ms: float | None
    backoff: BackoffSettings
    manifests_per_concurrent_commit: float
    serializable: bool
    conflict_detector: str
    real_conflict_probability: float
    real_conflict_unit: str
    restarts_on_validation_exception: bool
    max_restarts: int
    ml_append_mode: bool
    ml_append_at_offset: bool
    manifest_list_entry_size_bytes: int
    manifest_list_seal_threshold_bytes: int


@dataclass(frozen=True, slots=True)
class ClassSettings:
    """One class of load; what only another kind of class has is left at a value nobody reads."""

    name: str
    kind: str
    inter_arrival: Distribution
    think_time: Distribution
    clients: int
    interval_ms: float
    offset_ms: float
    end_ms: float
    replaces_data: bool
    runtime: Distribution
    runtime_min_ms: float
    weights: dict[str, float]
    tables_per_txn: int
    partitions_per_txn: int
    table_selector: SelectorSettings
    partition_selector: SelectorSettings
    overlap_probability: float | None


def transaction_settings(transaction: dict[str, Any]) -> TransactionSettings:
    """The commit protocol of `[transaction]`."""
    preset = ICEBERG_PRESET if transaction.get("retry_preset") == "iceberg" else NO_PRESET
    backoff = preset["backoff"] | transaction.get("retry_backoff", {})
    timeout_ms = transaction.get("retry_timeout_ms", preset["retry_timeout_ms"])
    return TransactionSettings(
        cost_table=transaction.get("cost_table", "spec-2.0"),
        max_retries=transaction.get("retry", preset["retry"]),
        retry_timeout_ms=None if timeout_ms is None else float(timeout_ms),
        backoff=BackoffSettings(
            enabled=backoff["enabled"],
            base_ms=float(backoff["base_ms"]),
            multiplier=float(backoff["multiplier"]),
            max_ms=float(backoff["max_ms"]),
            jitter=float(backoff["jitter"]),
            jitter_mode=backoff["jitter_mode"],
        ),
        manifests_per_concurrent_commit=float(
            transaction.get("manifests_per_concurrent_commit", 1.5)
        ),
        serializable=transaction.get("isolation", "snapshot") == "serializable",
        conflict_detector=transaction.get("conflict_detector", "probabilistic"),
        real_conflict_probability=float(transaction.get("real_conflict_probability", 0.0)),
        real_conflict_unit=transaction.get("real_conflict_unit", "attempt"),
        restarts_on_validation_exception=(
            transaction.get("on_validation_exception", "abort") == "restart"
        ),
        max_restarts=transaction.get("max_restarts", 3),
        ml_append_mode=transaction.get("manifest_list_mode", "rewrite") == "append",
        ml_append_at_offset=transaction.get("manifest_list_append", "tail") == "offset",
        manifest_list_entry_size_bytes=transaction.get("manifest_list_entry_size", 50),
        manifest_list_seal_threshold_bytes=transaction.get("manifest_list_seal_threshold", 0),
    )


def class_settings(load: dict[str, Any], transaction: dict[str, Any]) -> ClassSettings:
    """One class: a key of its own wins over that of `[transaction]`."""
    both = transaction | load
    # An absent section means the default mix; in a present one, what is not named is not wanted.
    default_weights = {"fast_append": 0.7, "merge_append": 0.2, "validated_overwrite": 0.1}
    weights = both.get("operation_types", default_weights)
    runtime = dict(both.get("runtime", {}))
    runtime_min_ms = float(runtime.pop("min", 0.0))
    runtime.setdefault("distribution", "lognormal")
    if runtime["distribution"] == "lognormal":
        runtime.setdefault("sigma", 1.5)
        if "median" not in runtime:
            runtime.setdefault("mean", 180_000.0)
    inter_arrival = dict(both.get("inter_arrival", {}))
    inter_arrival.setdefault("distribution", "exponential")
    if inter_arrival["distribution"] == "exponential":
        inter_arrival.setdefault("scale", 100.0)
    interval_ms = float(load.get("interval_ms", 0.0))
    overlap_probability = load.get("overlap_probability")
    return ClassSettings(
        name=load["name"],
        kind=load.get("kind", "open"),
        inter_arrival=inter_arrival,
        think_time=load.get("think_time", {"distribution": "fixed", "value": 0.0}),
        clients=load.get("clients", 1),
        interval_ms=interval_ms,
        offset_ms=float(load.get("offset_ms", interval_ms)),
        end_ms=float(load.get("end_ms", "inf")),
        replaces_data=load.get("replaces_data", False),
        runtime=runtime,
        runtime_min_ms=runtime_min_ms,
        weights={name: float(weights.get(name, 0.0)) for name in OPERATIONS},
        tables_per_txn=both.get("tables_per_txn", 1),
        partitions_per_txn=both.get("partitions_per_txn", 1),
        table_selector=_selector_settings(both.get("table_selector", {})),
        partition_selector=_selector_settings(both.get("partition_selector", {})),
        overlap_probability=None if overlap_probability is None else float(overlap_probability),
    )


def _selector_settings(selector: dict[str, Any]) -> SelectorSettings:
    return SelectorSettings(
        kind=selector.get("type", "uniform"),
        alpha=float(selector.get("alpha", 1.5)),
        write_fraction=float(selector.get("write_fraction", 1.0)),
    )


@dataclass(frozen=True, slots=True)
class ScriptedSubmission:
    """One transaction of a script; `partitions_written` is None where partitions are not tracked."""

    at_ms: float
    name: str
    operation_type: str
    tables_read: tuple[int, ...]
    tables_written: tuple[int, ...]
    partitions_written: dict[int, list[int]] | None
    runtime_ms: float
    replaces_data: bool


def submissions(script: list[dict[str, Any]]) -> list[ScriptedSubmission]:
    """All that a script submits, in the order of time; at one instant in the order of its lines."""
    found = []
    for line in script:
        written = tuple(sorted(line["tables"]))
        read = tuple(sorted({*line["tables"], *line.get("tables_read", [])}))
        partitions = None
        if "partitions" in line:
            partitions = {
                table_id: sorted(chosen)
                for table_id, chosen in zip(line["tables"], line["partitions"], strict=True)
            }
        for turn in range(line.get("times", 1)):
            found.append(
                ScriptedSubmission(
                    at_ms=float(line["at_ms"]) + turn * float(line.get("every_ms", 0.0)),
                    name=line.get("name", "script"),
                    operation_type=line["operation"],
                    tables_read=read,
                    tables_written=written,
                    partitions_written=partitions,
                    runtime_ms=float(line.get("runtime_ms", 0.0)),
                    replaces_data=line.get("replaces_data", False),
                )
            )
    # Python sorts stably, so lines stay in order.
    return sorted(found, key=lambda submission: submission.at_ms)
