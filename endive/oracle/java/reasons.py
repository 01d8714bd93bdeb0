"""Where the cost table of Iceberg Java is known to say something else than was measured, and why no price can say it."""

from __future__ import annotations

from endive.oracle.measurement import Cell

NEWEST_REPLACES = (
    "the newest commit replaced data, so its list has been read; the price assumes an append"
)
FINDING = (
    "a conflict with replaced data is found in a manifest of deleted entries, which is opened then"
)
STOPS_EARLY = "a validation that fails stops at its first finding; the price is for all of it"
KEPT_FILTERED = (
    "what earlier attempts filtered is kept, so only rivals since the last attempt are read and "
    "written; N counts from the start"
)
NOT_BY_CLASS = (
    "attempt 0 has one price for all classes, and filters rivals' manifests of its own partition"
)
LIST_AT_HAND = (
    "attempt 0 has one price for all classes; the newest of the lists that it validated is the "
    "current one, and is not read again"
)
REASONS = (NEWEST_REPLACES, FINDING, STOPS_EARLY, KEPT_FILTERED, NOT_BY_CLASS, LIST_AT_HAND)

_FILTERS_PARTITION = ("replace_partitions", "delete_partition")


def reason(cell: Cell, attempt: int, counter: str, priced: int, measured: int) -> str:
    """The reason for a difference; empty if there is none that is known."""
    rivals = cell.settings.get("rivals")
    if (counter, rivals) == ("manifest_list_reads", "three_appends_then_overwrites"):
        return NEWEST_REPLACES if measured == priced - 1 else ""
    if counter == "manifest_list_reads" and cell.situation == "stale":
        return LIST_AT_HAND if measured == priced - 1 else ""
    if counter == "manifest_file_reads" and rivals == "conflicting_overwrites":
        if cell.situation != "conflict" or attempt == 0:
            return ""
        return FINDING if measured == priced + 1 else STOPS_EARLY if measured < priced else ""
    is_filtering = cell.operation in _FILTERS_PARTITION and cell.partitions == "same"
    if not is_filtering or not counter.startswith("manifest_file_"):
        return ""
    if cell.situation == "repeated" and attempt > 1 and measured == cell.n:
        return KEPT_FILTERED
    return NOT_BY_CLASS if cell.situation == "stale" and measured == priced + cell.n else ""
