"""Measurements of real libraries and races for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from endive.cli.words import number
from endive.oracle.measurement import AttemptCounts, Cell, Measurement
from endive.oracle.race import Race

_SHOWN_DEPTH = 5


def print_measurement(measured: Measurement, kept: Measurement, changed: Sequence[str]) -> None:
    """The first attempt of each operation, its retry past five appends, and what has changed."""
    console = Console(soft_wrap=True, highlight=False)
    table = Table(
        title=f"{measured.library} {measured.version}: metadata, lists, manifests; read / written",
        title_justify="left",
    )
    table.add_column("operation", no_wrap=True)
    for heading in ("attempt 0", "retry, 5 appends elsewhere", "retry, 5 in the same partition"):
        table.add_column(heading)
    for operation in dict.fromkeys(cell.operation for cell in measured.cells):
        elsewhere = _retry(measured, operation, "disjoint")
        same = _retry(measured, operation, "same")
        table.add_row(
            operation,
            _shown(elsewhere.attempts[0]) if elsewhere else "–",
            _shown(elsewhere.attempts[1]) if elsewhere else "–",
            _shown(same.attempts[1]) if same else "not measured",
        )
    console.print(table)
    outcomes = {cell.outcome for cell in measured.cells}
    console.print(
        f"{len(measured.cells)} cells measured, {len(outcomes)} kinds of outcome; {measured.command}"
    )
    for line in changed:
        console.print(f"changed: {line}", markup=False)
    if not changed:
        console.print(f"nothing has changed since {kept.library} {kept.version}, which is kept")


def _retry(measured: Measurement, operation: str, partitions: str) -> Cell | None:
    """The plainest cell of a retry past so many appends; the first, if there are several."""
    found = measured.select(
        operation=operation, situation="retry", n=_SHOWN_DEPTH, partitions=partitions
    )
    return next(
        (cell for cell in found if cell.settings.get("rivals", "appends") == "appends"), None
    )


def _shown(counts: AttemptCounts) -> str:
    metadata = f"{counts.metadata_reads}/{counts.metadata_writes}"
    lists = f"{counts.manifest_list_reads}/{counts.manifest_list_writes}"
    return f"{metadata}, {lists}, {counts.manifest_file_reads}/{counts.manifest_file_writes}"


def print_races(races: Sequence[Race]) -> None:
    """Each race as a table: what was seen, what was expected, and whether the one is in the band of the other."""
    console = Console(soft_wrap=True, highlight=False)
    for race in races:
        plan, overhead = race.plan, race.real.overhead
        table = Table(
            title=f"{plan.writers} writers, {plan.seconds:g} s: {race.verdict}",
            title_justify="left",
        )
        table.add_column("quantity")
        for heading in ("real", "predicted", "99 % band", "rank", ""):
            table.add_column(heading, justify="right")
        for each in race.comparisons:
            table.add_row(
                each.quantity.replace("_", " "),
                number(each.real),
                number(each.predicted),
                f"{number(each.low)} … {number(each.high)}",
                f"{each.rank:.3f}",
                "inside" if each.is_inside else "OUTSIDE",
            )
        console.print(table)
        attempts = sum(each.attempts for each in race.real.transactions) or 1
        console.print(
            f"{race.real.rows} rows for {race.real.landed} commits that landed; PyIceberg itself took "
            f"{overhead.busy_ms / attempts:.0f} ms per attempt, within the injected latencies; "
            f"{overhead.late} of {overhead.answers} answers late, the latest by {overhead.latest_ms:.0f} ms"
        )
