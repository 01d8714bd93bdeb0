"""A script (docs/MODEL.md, section 13): transactions that are written down one by one, instead of being drawn.

Nothing of it is random, so with fixed latencies a run can be computed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from endive.transaction import OPERATION_CLASSES, Transaction
from endive.workload.workload import Touched, Workload, WorkloadConfig

LANDED = "background"
"""The operation of a line whose commit lands at once and costs nothing."""
SCRIPT_INDEX = -1
"""The class number of a script: no class of load has it, and no stream of random numbers belongs to it."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One transaction, or several alike at equal distances."""

    at_ms: float
    operation: str
    tables_written: tuple[int, ...]
    name: str = "script"
    tables_read: tuple[int, ...] = ()
    partitions: tuple[tuple[int, ...], ...] | None = None
    """The written partitions of each written table, in the same order; None where they are not tracked."""
    runtime_ms: float = 0.0
    replaces_data: bool = False
    times: int = 1
    every_ms: float = 0.0

    @property
    def touched(self) -> Touched:
        """Tables read, tables written, partitions written."""
        written = frozenset(self.tables_written)
        partitions = None
        if self.partitions is not None:
            pairs = zip(self.tables_written, self.partitions, strict=True)
            partitions = {table_id: frozenset(ids) for table_id, ids in pairs}
        return written.union(self.tables_read), written, partitions


class ScriptedWorkload(Workload):
    """Hands out what is written, in order of time and then of the lines."""

    def __init__(self, config: WorkloadConfig, seed: int, lines: Sequence[ScriptLine]) -> None:
        super().__init__(replace(config, class_index=SCRIPT_INDEX), seed)
        entries = [
            (line.at_ms + turn * line.every_ms, number, turn, line)
            for number, line in enumerate(lines)
            for turn in range(line.times)
        ]
        entries.sort(key=lambda entry: entry[:3])
        self.entries = tuple((at_ms, line) for at_ms, _number, _turn, line in entries)
        self._lines: Iterator[ScriptLine] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy begins with the first line, as the copy of any workload begins with its first draw.
        return {**super().__getstate__(), "_lines": None}

    def next_transaction(self, txn_id: int, submit_time_ms: float) -> Transaction:
        """The transaction of the line whose turn it is."""
        if self._lines is None:
            self._lines = (line for _, line in self.entries if line.operation != LANDED)
        line = next(self._lines)
        read, written, partitions = line.touched
        return OPERATION_CLASSES[line.operation](
            txn_id,
            submit_time_ms,
            line.runtime_ms,
            written,
            partitions,
            tables_read=None if read == written else read,
            class_name=line.name,
            cost_table=self.config.cost_table,
            manifests_per_concurrent_commit=self.config.manifests_per_concurrent_commit,
        )


@dataclass(frozen=True)
class ScriptedLoad:
    """Submits what a script says, when it says so."""

    workload: ScriptedWorkload

    @property
    def processes(self) -> int:
        """How many submit, each in its turn."""
        return 1
