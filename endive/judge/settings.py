"""What a run was told to do, as its header says: the few settings that rules ask for, with the model's defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from endive.resources import package_dir
from endive.trace import Header

SPECIFIED = "spec-2.0"
"""The cost table that says what the specification says, so that its clauses can be held against it by hand."""

# A catalog without storage behind it takes this long for everything (docs/MODEL.md, section 4).
INSTANT_MS = 1.0


def has_config(header: Header) -> bool:
    """Whether the run was made from a configuration, so that there is something to hold it against."""
    return bool(header.config)


def tells_storage(header: Header) -> bool:
    """Whether the trace tells what the store was used for."""
    return bool(header.store)


def is_specified(header: Header) -> bool:
    """Whether what things cost is meant to be what the specification says."""
    return header.cost_table.get("name") == SPECIFIED


def is_append(header: Header) -> bool:
    """Whether commits are records in a log."""
    return section(header, "catalog").get("type") == "append"


def is_pointer(header: Header) -> bool:
    """Whether commits swap a pointer."""
    return has_config(header) and not is_append(header)


def appends_to_lists(header: Header) -> bool:
    """Whether manifest lists are appended to (ML+)."""
    return section(header, "transaction").get("manifest_list_mode") == "append"


def appends_at_offsets(header: Header) -> bool:
    """Whether manifest lists are appended to at an offset, step by step."""
    in_steps = section(header, "transaction").get("manifest_list_append") == "offset"
    return appends_to_lists(header) and in_steps


def section(header: Header, name: str) -> Mapping[str, Any]:
    """One section of the configuration; empty where there is none."""
    found: Mapping[str, Any] = header.config.get(name, {})
    return found


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that rules ask for."""

    catalog_type: str
    history_scope: str
    granularity: str
    serializable: bool
    manifests_per_table: int
    metadata_inlined: bool
    manifests_per_concurrent_commit: float
    max_retries: int
    max_restarts: int
    retry_timeout_ms: float | None
    backoff: Mapping[str, Any]
    detector: str
    real_conflict_probability: float
    appends_to_lists: bool
    appends_at_offsets: bool
    max_parallel: int
    floor_ms: float
    catalog_floor_ms: float


def read_settings(header: Header) -> Settings:
    """The settings of a run."""
    catalog, transaction = section(header, "catalog"), section(header, "transaction")
    storage = section(header, "storage")
    restarts = transaction.get("on_validation_exception") == "restart"
    # What the header says of the store is what the run went by; older traces leave it to the configuration.
    floor_ms = float(header.store.get("min_latency_ms", floor_of(storage)))
    is_instant = catalog.get("type") == "instant"
    return Settings(
        catalog_type=catalog.get("type", "cas"),
        history_scope=catalog.get("history_scope", "catalog"),
        granularity=catalog.get("conflict_granularity", "catalog"),
        serializable=transaction.get("isolation") == "serializable",
        manifests_per_table=catalog.get("manifests_per_table", 3),
        metadata_inlined=catalog.get("table_metadata_inlined", True),
        manifests_per_concurrent_commit=transaction.get("manifests_per_concurrent_commit", 1.5),
        max_retries=transaction.get("retry", 10),
        max_restarts=transaction.get("max_restarts", 3) if restarts else 0,
        retry_timeout_ms=transaction.get("retry_timeout_ms"),
        backoff=transaction.get("retry_backoff", {}),
        detector=transaction.get("conflict_detector", "probabilistic"),
        real_conflict_probability=transaction.get("real_conflict_probability", 0.0),
        appends_to_lists=appends_to_lists(header),
        appends_at_offsets=appends_at_offsets(header),
        max_parallel=header.store.get("max_parallel", storage.get("max_parallel", 4)),
        floor_ms=floor_ms,
        catalog_floor_ms=INSTANT_MS if is_instant else floor_ms,
    )


def floor_of(storage: Mapping[str, Any]) -> float:
    """The least that any operation takes: as configured, or as the profile of the store says; 0 if neither does."""
    if "min_latency_ms" in storage:
        return float(storage["min_latency_ms"])
    return _profile_floor(str(storage.get("provider", "")))


@lru_cache(maxsize=16)
def _profile_floor(provider: str) -> float:
    file = package_dir("providers") / f"{provider}.toml"
    if not provider.isidentifier() or not file.is_file():
        return 0.0
    profile = tomllib.loads(file.read_text(encoding="utf-8"))
    return float(profile["min_latency_ms"]["value"])
