"""For every key of `[[workload.script]]` two scripts that differ in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schema_keys.change import Change
from schema_keys.loads import JAVA, LOAD_BASE, PARTITIONS

# Two that meet on table 0, and one that works long enough to be overtaken by both.
LINE: Mapping[str, Any] = {
    "at_ms": 0.0,
    "operation": "validated_overwrite",
    "tables": [0],
    "runtime_ms": 300.0,
}
RIVAL: Mapping[str, Any] = {"at_ms": 100.0, "operation": "background", "tables": [0]}
COMPACTION: Mapping[str, Any] = {**LINE, "operation": "rewrite_files"}


def _change(
    lines: tuple[Mapping[str, Any], ...],
    key: str,
    before: Any,
    after: Any,
    where: Mapping[str, Any] | None = None,
) -> Change:
    """The last line is the one that changes."""
    scripts = [
        [*(dict(line) for line in lines[:-1]), {**lines[-1], key: value}]
        for value in (before, after)
    ]
    return Change(scripts[0], scripts[1], where or {}, LOAD_BASE)


def _cases() -> Iterator[tuple[str, Change]]:
    yield "at_ms", _change((LINE, RIVAL), "at_ms", 100.0, 900.0)
    yield "name", _change((RIVAL, LINE), "name", "one", "two")
    yield "operation", _change((RIVAL, LINE), "operation", "validated_overwrite", "fast_append")
    yield "tables", _change((LINE, RIVAL), "tables", [0], [1])
    readers = {"transaction.isolation": "serializable", **JAVA}
    other = {**RIVAL, "tables": [1]}
    yield "tables_read", _change((other, LINE), "tables_read", [], [1], readers)
    parts = ({**LINE, "partitions": [[0]]}, RIVAL)
    yield "partitions", _change(parts, "partitions", [[0]], [[1]], PARTITIONS)
    yield "runtime_ms", _change((RIVAL, LINE), "runtime_ms", 300.0, 50.0)
    # Compaction asks what was replaced since.
    yield "replaces_data", _change((COMPACTION, RIVAL), "replaces_data", False, True, JAVA)
    yield "times", _change((LINE, RIVAL), "times", 1, 3)
    yield "every_ms", _change((LINE, {**RIVAL, "times": 3}), "every_ms", 0.0, 500.0)


SCRIPT_CHANGES: Mapping[str, Change] = {f"workload.script.{key}": case for key, case in _cases()}
