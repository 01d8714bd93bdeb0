"""What a cost table says of the attempts that were measured, and where the two differ.

A price knows N (commits in between), R (those of them that replaced data) and T (manifests); a cell knows what it was made of. So
each measured attempt has its counterpart. A few differences are known and cannot be told apart by any price; each is named
here with its reason, and a difference without a reason is an error of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from endive.cost_model import ConflictCost, CostTable
from endive.oracle.measurement import COUNTERS, AttemptCounts, Cell, Measurement

DELETING_RIVALS = (
    "rivals that only delete are read less often than the overwriting ones that R prices"
)
STOPS_EARLY = "a validation that fails stops at its first finding; the price is for all of it"
COMMIT_READS = "the commit call of attempt 0 reads metadata once; the model has no such read"
LOST_IN_SWAP = "rivals came between check and swap, so metadata was written in vain"
REASONS = (DELETING_RIVALS, STOPS_EARLY, COMMIT_READS, LOST_IN_SWAP)

_NOT_PRICED = ("api", "isolation")
"""Settings of cells for which cost tables have no operation of their own."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A count of which table and library say different things; the reason is empty where none is known."""

    cell: Cell
    attempt: int
    counter: str
    priced: int
    measured: int
    reason: str

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return (
            f"{self.cell.label}: attempt {self.attempt}, {self.counter}: "
            f"the table says {self.priced}, measured were {self.measured}{why}"
        )


def is_priced(table: CostTable, cell: Cell) -> bool:
    """Whether the table has a price for what the cell did."""
    return cell.operation in table.operations and not any(
        name in cell.settings for name in _NOT_PRICED
    )


def commits_before(cell: Cell, attempt: int) -> int:
    """How many commits lie between the start and this attempt."""
    if attempt == 0:
        return 0
    return cell.n * (attempt if cell.situation in ("repeated", "exhausted") else 1)


def replaced_before(cell: Cell, attempt: int) -> int:
    """How many of those replaced data."""
    return int(cell.settings.get("replaced", 0)) if attempt else 0


def priced_attempts(table: CostTable, cell: Cell) -> tuple[AttemptCounts, ...]:
    """What the table says that each attempt of the cell reads and writes."""
    prices = table.operations[cell.operation]
    # A cell says for itself from how many manifests on it merged; that is a setting of the table of data.
    least = cell.settings.get("min_count_to_merge", prices.min_count_to_merge)
    prices = replace(prices, min_count_to_merge=None if least is None else int(least))
    conflict_class = "overlap" if cell.partitions == "same" else "disjoint_partitions"
    found = []
    for number in range(len(cell.attempts)):
        n, r = commits_before(cell, number), replaced_before(cell, number)
        looks_first = table.refresh_before_first_attempt and cell.situation == "stale"
        if looks_first:
            n, r = cell.n, int(cell.settings.get("replaced", 0))
        manifests = cell.base_manifests + n
        is_abort = cell.outcome == "validation_exception" and number == len(cell.attempts) - 1
        is_success = cell.outcome == "committed" and number == len(cell.attempts) - 1
        cost = ConflictCost()
        if number or n:
            cost = prices.validate[conflict_class].cost(n, r, 0, manifests)
        if not is_abort:
            due = prices.rebuild[conflict_class] if number else prices.attempt
            cost = cost.plus(due.cost(n, r, 0, manifests))
        minimum = prices.min_count_to_merge
        if minimum is not None and manifests + 1 >= minimum and not is_abort:
            cost = cost.plus(
                ConflictCost(manifest_file_reads=manifests + 1, manifest_file_writes=1)
            )
        writes = is_success or (table.writes_metadata_every_attempt and not is_abort)
        # The first read of a retry looks again; any other belongs to the commit call, which an abort never makes.
        reads = (
            min(1, table.metadata_reads_per_retry) if is_abort else table.metadata_reads_per_retry
        )
        reads = reads if number or looks_first else 0
        found.append(
            AttemptCounts(
                metadata_reads=reads,
                metadata_writes=int(writes),
                manifest_list_reads=cost.manifest_list_reads + cost.historical_ml_reads,
                manifest_list_writes=cost.manifest_list_writes,
                manifest_file_reads=cost.manifest_file_reads,
                manifest_file_writes=cost.manifest_file_writes,
            )
        )
    return tuple(found)


Reasons = Callable[[Cell, int, str, int, int], str]
"""Why a cell's attempt has another count than its price: cell, attempt, counter, priced and measured; empty if nobody knows."""


def deviations(
    table: CostTable, measurement: Measurement, reasons: Reasons | None = None
) -> Iterator[Deviation]:
    """Where the table says something else than was measured, cell by cell; with the reason, if there is a known one."""
    for cell in measurement.cells:
        if not is_priced(table, cell):
            continue
        pairs = zip(priced_attempts(table, cell), cell.attempts, strict=True)
        for number, (priced, measured) in enumerate(pairs):
            for counter in COUNTERS:
                says, was = getattr(priced, counter), getattr(measured, counter)
                if says != was:
                    reason = (reasons or _reason)(cell, number, counter, says, was)
                    yield Deviation(cell, number, counter, says, was, reason)


def _reason(cell: Cell, attempt: int, counter: str, priced: int, measured: int) -> str:
    is_last = attempt == len(cell.attempts) - 1
    if counter == "metadata_reads":
        return COMMIT_READS if (attempt, priced, measured) == (0, 0, 1) else ""
    if counter == "metadata_writes":
        lost = not is_last or cell.outcome == "commit_failed"
        came_late = cell.situation != "stale"
        return LOST_IN_SWAP if lost and came_late and (priced, measured) == (0, 1) else ""
    if not attempt or not counter.endswith("reads") or measured > priced:
        return ""
    if cell.outcome == "validation_exception" and is_last:
        return STOPS_EARLY
    return DELETING_RIVALS if cell.settings.get("rivals") == "deletes" else ""
