"""The log behind the append catalog: how long it is, when it is sealed, and how it is compacted.

Records themselves are not kept. Each is judged at the instant it lands, so all that later writers can ask for is where the log
ends and whether it takes records at all (docs/MODEL.md, sections 4 and 11).
"""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass


@dataclass(slots=True)
class LogCounters:
    """How often what happened to the log, by the names of the Append Simulation Design."""

    append_physical_success: int = 0
    append_physical_failure: int = 0
    append_logical_success: int = 0
    append_logical_conflict: int = 0
    append_compactions_triggered: int = 0
    append_compactions_completed: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counters by name."""
        return asdict(self)


class CatalogLog:
    """An append-only log with a checkpoint. A sealed log takes no record until it is compacted."""

    __slots__ = (
        "_compaction_max_entries",
        "_compaction_threshold_bytes",
        "checkpoint_offset",
        "compactions",
        "counters",
        "entries_since_checkpoint",
        "length_at_seq",
        "length_bytes",
        "sealed",
    )

    def __init__(self, compaction_threshold_bytes: int, compaction_max_entries: int) -> None:
        self._compaction_threshold_bytes = compaction_threshold_bytes
        self._compaction_max_entries = compaction_max_entries
        self.length_bytes = 0
        self.checkpoint_offset = 0
        self.entries_since_checkpoint = 0
        self.sealed = False
        self.compactions = 0
        # How long the log was when each seq came about: where a writer that saw this seq expects its end.
        self.length_at_seq = array("q", [0])
        self.counters = LogCounters()

    def extend(self, size_bytes: int, applied: bool) -> None:
        """Take a record that has just been judged, and seal the log if it has grown enough."""
        self.length_bytes += size_bytes
        self.entries_since_checkpoint += 1
        if applied:
            self.length_at_seq.append(self.length_bytes)
        # A record that lands whatever the seal says does not trigger a second compaction.
        if not self.sealed and self._is_due():
            self.sealed = True
            self.counters.append_compactions_triggered += 1

    def _is_due(self) -> bool:
        if self.length_bytes - self.checkpoint_offset > self._compaction_threshold_bytes:
            return True
        return 0 < self._compaction_max_entries <= self.entries_since_checkpoint

    def compact(self, seen_compactions: int) -> bool:
        """Start a new checkpoint, unless somebody has done so since this writer found the log sealed."""
        if self.compactions != seen_compactions:
            return False
        self.checkpoint_offset = self.length_bytes
        self.entries_since_checkpoint = 0
        self.sealed = False
        self.compactions += 1
        self.counters.append_compactions_completed += 1
        return True
