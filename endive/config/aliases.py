"""Old names: the `T_*` latencies of the Append Simulation Design, and what they are called now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from endive.config.findings import Findings, dotted
from endive.config.toml_lines import KeyPath

# A swap and a read of the catalog had one latency; under a log there is nothing to swap.
_OPERATIONS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("T_CAS",): ("catalog.read", "catalog.cas"),
    ("T_APPEND",): ("catalog.append",),
    ("T_COMPACTION",): ("catalog.compaction",),
    ("T_MANIFEST_LIST", "read"): ("manifest_list.read",),
    ("T_MANIFEST_LIST", "write"): ("manifest_list.write",),
    ("T_MANIFEST_FILE", "read"): ("manifest_file.read",),
    ("T_MANIFEST_FILE", "write"): ("manifest_file.write",),
    ("T_TABLE_METADATA", "read"): ("table_metadata.read",),
    ("T_TABLE_METADATA", "write"): ("table_metadata.write",),
}


def settle_old_names(config: dict[str, Any], findings: Findings) -> None:
    """Move every latency that has its old name to the new one; both at once contradict each other."""
    storage = config.get("storage", {})
    for old, operations in _OPERATIONS.items():
        table = storage
        for name in old:
            table = table.get(name, {})
        if not table:
            continue
        for operation in operations:
            if operation == "catalog.cas" and config["catalog"]["type"] != "cas":
                continue
            _move(storage, ("storage", *old), table, operation, findings)
    for name in {old[0] for old in _OPERATIONS}:
        storage.pop(name, None)


def _move(
    storage: dict[str, Any], old: KeyPath, table: Mapping[str, Any], new: str, findings: Findings
) -> None:
    artifact, _, operation = new.partition(".")
    tables = storage.setdefault("latency", {}).setdefault(artifact, {})
    if operation in tables:
        key = dotted(("storage", "latency", artifact, operation))
        findings.add(old, f"is the old name of {key}, which is given too; remove one of them")
        return
    tables[operation] = {
        "distribution": "normal",
        "mean": table.get("mean"),
        "std_dev": table.get("stddev"),
    }
