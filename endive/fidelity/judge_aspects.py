"""The third table: the eleven aspects of the document's summary, each judged again from evidence (Fidelity Report, §5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from endive.fidelity.context import (
    SITUATIONS,
    Context,
    attempt_counts,
    cells_as_series,
    is_plain,
    not_run,
    unlike_default,
)
from endive.fidelity.evidence import Series
from endive.fidelity.judge_convoys import growing, unit_cost
from endive.fidelity.judge_dynamics import convoy_mixed, occ, retries_and_waits
from endive.fidelity.judge_retries import NOT_ENOUGH, points_of
from endive.fidelity.model import Finding, Kind, Row, Source, Verdict, spelled
from endive.fidelity.standard import CONFLICTING_OVERWRITES, FAR_BEHIND, MANY_MANIFESTS
from endive.fidelity.steps import UNITS, VALIDATING, Step, steps_of
from endive.fidelity.transcription import DocumentRow, transcription

TABLE = "aspects"
_NEAR = 0.01
_UNREALISTIC = 10.0
"""A convoy is not a matter of a few reads: ten times the cost of a retry without one."""

Judge = Callable[[Context, Source, DocumentRow], Iterator[Finding]]


def aspect_rows(context: Context) -> Iterator[Row]:
    """One row for each aspect."""
    table = transcription().tables[TABLE]
    for document_row in table.rows:
        findings: list[Finding] = []
        for source in context.sources:
            if source.kind is Kind.LIBRARY and source.id not in context.measurements:
                findings.append(not_run(source, document_row.cells[2]))
            else:
                findings += _JUDGES[document_row.id](context, source, document_row)
        yield Row(
            id=f"{TABLE}.{document_row.id}",
            table=TABLE,
            title=document_row.cells[0],
            section=table.section,
            line=document_row.line,
            document=dict(zip(table.head.cells[1:], document_row.cells[1:], strict=True)),
            findings=tuple(findings),
        )


def _series(context: Context, source: Source, operation: str, where: str) -> Series:
    return context.retries(source, operation, where) or Series({})


def _open(
    source: Source, where: str, claimed: str, series: Series, found: str = NOT_ENOUGH
) -> Finding:
    verdict = Verdict.UNKNOWN
    if source.kind is Kind.LIBRARY and series.is_empty:
        verdict = Verdict.NOT_MEASURED
    return Finding(source.id, where, verdict, claimed, found, runs=series.runs())


def _fast_append(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    wanted = {
        "metadata_reads": 1,
        "historical_list_reads": 0,
        "validated_file_reads": 0,
        "current_list_reads": 1,
        "filtered_file_reads": 0,
        "merged_file_reads": 0,
        "merged_file_writes": 0,
        "new_file_writes": 0,
        "list_writes": 1,
    }
    claimed = spelled(wanted, UNITS)
    for where in SITUATIONS:
        series = _series(context, source, "fast_append", where)
        steps = steps_of(series)
        cost_ms = _far_behind_ms(context, source, series, where)
        if _is_open(steps) or cost_ms is None:
            yield _open(source, where, claimed, series)
            continue
        factor = cost_ms / _constant_ms()
        agrees = all(str(steps[name]) == str(count) for name, count in wanted.items())
        judgement = "correct" if agrees else _sized(factor)
        note = f"{FAR_BEHIND:,} commits behind, {factor:.3g} times the document's 160 ms"
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claimed,
            spelled(steps, UNITS),
            note,
            points_of(series),
            series.runs(),
            judgement,
        )


def _is_open(steps: Mapping[str, Step]) -> bool:
    return any(step.formula is None and not step.irregular for step in steps.values())


def _constant_ms() -> float:
    says = transcription().tables[TABLE].row("convoy_appends").says
    return float(says["constant_ms"])


def _sized(factor: float) -> str:
    if abs(factor - 1.0) <= _NEAR:
        return "other counts, same size"
    return "overstated" if factor > 1.0 else "understated"


def _far_behind_ms(context: Context, source: Source, series: Series, where: str) -> float | None:
    """What a fast append's retry costs, 3,750 commits behind and four operations at a time."""
    if source.kind is not Kind.LIBRARY:
        times = context.evidence.io_ms(source.id, "fast_append", where, roles=("far behind",))
        if FAR_BEHIND in times:
            return times[FAR_BEHIND][1]
    cost = unit_cost(series)
    return None if cost is None else cost.at_ms(FAR_BEHIND)


def _merge_append(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    claimed = "K files to merge"
    for where in SITUATIONS:
        series = _series(context, source, "merge_append", where)
        steps = steps_of(series)
        if _is_open(steps):
            yield _open(source, where, claimed, series)
            continue
        grows = growing(series)
        merged = steps["merged_file_reads"]
        agrees = grows == {"manifest files"} and str(merged) == "K"
        judgement = "correct" if agrees else "missing"
        if "manifest lists" in grows:
            judgement = "wrong artifact"
        words = {name: steps[name] for name in ("historical_list_reads", "merged_file_reads")}
        found = spelled(words, UNITS)
        note = _magnitude(steps) or _with_many(context, source, where)
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claimed,
            "nothing that grows with N" if found == "nothing" else found,
            note,
            points_of(series),
            series.runs(),
            judgement,
        )


def _magnitude(steps: Mapping[str, Step]) -> str:
    lists, files = steps["historical_list_reads"].formula, steps["merged_file_reads"].formula
    n = 20
    if lists is None or files is None or not lists.at(n):
        return ""
    return f"{lists.at(n)} reads where the document has {int(1.5 * n)}: comparable magnitude"


def _with_many(context: Context, source: Source, where: str) -> str:
    """What merging comes to on a table of many manifests."""
    series = many_manifests(context, source, "merge_append", where)
    reads, writes = (
        series.values(name) for name in ("manifest_file_reads", "manifest_file_writes")
    )
    if not reads or not writes:
        return ""
    told = ", ".join(
        f"N = {n}: {reads[n]} read, {writes[n]} written" for n in sorted(reads) if n in writes
    )
    return f"on a table of {MANY_MANIFESTS} manifests: {told}"


def many_manifests(context: Context, source: Source, operation: str, where: str) -> Series:
    """The retries of an operation on a table of many manifests."""
    if source.kind is not Kind.LIBRARY:
        return context.evidence.series(source.id, operation, where, roles=("many manifests",))
    cells = [
        cell
        for cell in context.measurements[source.id].cells
        if cell.operation == operation
        and cell.situation == "retry"
        and cell.base_manifests == MANY_MANIFESTS
        and not unlike_default(cell)
        and len(cell.attempts) > 1
    ]
    # Merging does not ask whose partitions they are, so one situation may stand for both.
    same = [cell for cell in cells if cell.partitions == SITUATIONS[where]]
    return cells_as_series(same or cells, source.name)


def _overwrite(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    wanted = {"historical_list_reads": "N", "validated_file_reads": "N", "list_writes": "1"}
    claimed = spelled(wanted, UNITS)
    for where in SITUATIONS:
        series = _series(context, source, "validated_overwrite", where)
        steps = steps_of(series)
        if _is_open(steps):
            yield _open(source, where, claimed, series)
            continue
        agrees = all(str(steps[name]) == count for name, count in wanted.items())
        judgement = "correct" if agrees else "different"
        if not agrees and str(steps["validated_file_reads"]) == "0":
            judgement = "understated"
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claimed,
            spelled({name: steps[name] for name in wanted}, UNITS),
            "",
            points_of(series),
            series.runs(),
            judgement,
        )


def _real_conflict(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    claimed = "aborts with a validation exception"
    runs: tuple[str, ...] = ()
    if source.kind is Kind.LIBRARY:
        cells = [c for c in context.measurements[source.id].cells if c.situation == "conflict"]
        aborted = sum(cell.outcome == "validation_exception" for cell in cells)
        if not cells:
            yield Finding(source.id, "", Verdict.NOT_MEASURED, claimed, "no cell")
            return
        total = len(cells)
        operations = sorted({cell.operation for cell in cells})
    else:
        table = context.tables[source.id]
        # Those that may conflict at all, and the overwrite that the document speaks of whatever the table says.
        operations = [
            name
            for name in table.operations
            if name == "validated_overwrite" or name in (VALIDATING & table.real_conflicts)
        ]
        fates = context.evidence.fates_of(source.id, "conflicts")
        fates = [
            fate
            for fate in fates
            if fate.operation in operations and fate.class_name == CONFLICTING_OVERWRITES
        ]
        total = sum(fate.count for fate in fates)
        aborted = sum(f.count for f in fates if f.abort_reason == "validation_exception")
        runs = context.evidence.runs_of(source.id, "conflicts")
        if not total:
            yield Finding(source.id, "", Verdict.UNKNOWN, claimed, "no real conflict in the runs")
            return
    agrees = aborted == total
    found = claimed if agrees else f"{total - aborted} of {total} are merged and committed"
    note = f"{aborted} of {total}: {', '.join(operations)}"
    yield Finding(
        source.id,
        "",
        Verdict.MATCH if agrees else Verdict.DEVIATES,
        claimed,
        found,
        note,
        runs=runs,
        judgement="correct" if agrees else "wrong",
    )


def _io_placement(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    claimed = "reads what others committed before it swaps, so loses no swap to them"
    if source.kind is Kind.LIBRARY:
        cells = [
            cell
            for cell in context.measurements[source.id].cells
            if cell.situation == "stale" and cell.outcome == "committed" and is_plain(cell)
        ]
        total, lost = len(cells), sum(len(cell.attempts) > 1 for cell in cells)
        runs: tuple[str, ...] = ()
    else:
        fates = context.evidence.fates_of(source.id, "behind at start")
        total = sum(fate.count for fate in fates)
        lost = sum(fate.count for fate in fates if fate.retries_low > 0)
        runs = context.evidence.runs_of(source.id, "behind at start")
    if not total:
        verdict = Verdict.NOT_MEASURED if source.kind is Kind.LIBRARY else Verdict.UNKNOWN
        yield Finding(source.id, "", verdict, claimed, NOT_ENOUGH)
        return
    agrees = not lost
    yield Finding(
        source.id,
        "",
        Verdict.MATCH if agrees else Verdict.DEVIATES,
        claimed,
        claimed if agrees else "reads it only after a lost swap",
        f"{lost} of {total} writers that began behind lost their first swap",
        runs=runs,
        judgement="correct" if agrees else "inverted",
    )


def _manifest_caching(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    claimed = "the manifest of new data is written once and kept"
    for where in SITUATIONS:
        series = _series(context, source, "fast_append", where)
        written = _first_writes(context, source)
        again = steps_of(series)["new_file_writes"]
        if written is None or again.formula is None:
            yield _open(source, where, claimed, series)
            continue
        agrees, judgement, verdict = False, "missing", Verdict.DEVIATES
        found = f"written again on every retry: {again}"
        if not written:
            verdict, found = Verdict.NOT_MODELLED, "no manifest of new data at all"
        elif str(again) == "0":
            agrees, judgement, found = True, "correct", claimed
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else verdict,
            claimed,
            found,
            f"attempt 0 writes {written}, a retry {again}",
            points_of(series),
            series.runs(),
            judgement,
        )


def _first_writes(context: Context, source: Source) -> int | None:
    """How many manifests the first attempt of a fast append writes."""
    if source.kind is Kind.LIBRARY:
        counts = [
            attempt_counts(cell.attempts[0])["manifest_file_writes"]
            for cell in context.measurements[source.id].cells
            if cell.operation == "fast_append" and cell.situation == "fresh" and is_plain(cell)
        ]
        return counts[0] if counts else None
    series = context.evidence.series(source.id, "fast_append", "", kind="first")
    values = series.values("manifest_file_writes")
    return max(values.values()) if values else None


def _operation_types(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    operations = ("fast_append", "merge_append", "validated_overwrite")
    claimed = "3 kinds of retry: FastAppend, MergeAppend, validated overwrite"
    for where in SITUATIONS:
        costs, runs = [], set[str]()
        for operation in operations:
            series = _series(context, source, operation, where)
            many = many_manifests(context, source, operation, where)
            runs.update(series.runs())
            if not series.is_empty:
                costs.append((_cost_key(series), _cost_key(many) or None))
        if len(costs) < len(operations):
            yield _open(source, where, claimed, Series({}), "not all three were seen")
            continue
        distinct = len({repr(cost) for cost in costs})
        plain = len({repr(cost[0]) for cost in costs})
        note = "" if plain == distinct else f"{plain} where tables have few manifests"
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if distinct == len(operations) else Verdict.DEVIATES,
            claimed,
            f"{distinct} {'kind' if distinct == 1 else 'kinds'} of retry",
            note,
            runs=tuple(sorted(runs)),
            judgement={1: "missing", 2: "partial"}.get(distinct, "correct"),
        )


def _cost_key(series: Series) -> tuple[tuple[str, str], ...]:
    key = []
    for counter in ("manifest_list_reads", "manifest_file_reads", "manifest_file_writes"):
        values = series.values(counter)
        if values:
            formula = series.formula(counter)
            key.append((counter, str(formula if formula is not None else sorted(values.items()))))
    return tuple(key)


def _convoy_appends(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    wanted_ms = _constant_ms()
    claimed = f"{wanted_ms:g} ms, {FAR_BEHIND:,} commits behind"
    for where in SITUATIONS:
        series = _series(context, source, "fast_append", where)
        cost_ms = _far_behind_ms(context, source, series, where)
        if cost_ms is None:
            yield _open(source, where, claimed, series)
            continue
        agrees = abs(cost_ms - wanted_ms) <= _NEAR * wanted_ms
        judgement = "correct" if agrees else _sized(cost_ms / wanted_ms)
        if cost_ms >= _UNREALISTIC * wanted_ms:
            judgement = "unrealistic"
        found = f"{cost_ms:g} ms" if cost_ms < 1000.0 else f"{cost_ms / 1000.0:.3g} s"
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claimed,
            found,
            "priced at the unit latencies, four operations at a time",
            points_of(series),
            series.runs(),
            judgement,
            size=cost_ms,
            unit="ms",
        )


_JUDGES: Mapping[str, Judge] = {
    "occ": occ,
    "backoff": retries_and_waits,
    "false_conflict_fast_append": _fast_append,
    "false_conflict_merge_append": _merge_append,
    "false_conflict_overwrite": _overwrite,
    "real_conflict": _real_conflict,
    "io_placement": _io_placement,
    "manifest_caching": _manifest_caching,
    "operation_types": _operation_types,
    "convoy_appends": _convoy_appends,
    "convoy_mixed": convoy_mixed,
}
