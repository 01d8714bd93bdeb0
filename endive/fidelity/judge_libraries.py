"""Each measurement of a real library, held against the runs of the cost table that stands for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from endive.fidelity.context import SITUATIONS, Context, attempt_counts, unlike_default
from endive.fidelity.evidence import Series, map_points
from endive.fidelity.judge_retries import NOT_ENOUGH, NOT_PRICED, points_of
from endive.fidelity.model import Finding, Row, Source, Verdict
from endive.fidelity.standard import CONFLICTING_APPENDS, CONFLICTING_OVERWRITES, MANY_MANIFESTS
from endive.oracle.measurement import Cell, Measurement, spelled

TABLE = "libraries"
COUNTED = (
    "metadata_reads",
    "metadata_writes",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
)
_SHORT = {
    "metadata_reads": "metadata read",
    "metadata_writes": "metadata written",
    "manifest_list_reads": "lists read",
    "manifest_list_writes": "lists written",
    "manifest_file_reads": "files read",
    "manifest_file_writes": "files written",
}
_CLASS_OF = {there: here for here, there in SITUATIONS.items()}


def library_rows(context: Context) -> Iterator[Row]:
    """One row for each operation and situation that was measured on a library of which there is a cost table."""
    for library in context.libraries():
        measurement = context.measurements.get(library.id)
        model = next((one for one in context.models() if one.name == library.name), None)
        if measurement is None or model is None:
            continue
        groups: dict[tuple[str, ...], list[Cell]] = {}
        for cell in measurement.cells:
            groups.setdefault(_group(cell), []).append(cell)
        for group, cells in groups.items():
            yield _row(context, library, measurement, model, group, cells)


_MODELLED_RIVALS = ("overwrites", "conflicting_appends")


def _group(cell: Cell) -> tuple[str, ...]:
    unlike = unlike_default(cell)
    rivals = unlike.pop("rivals", "")
    if rivals and rivals not in _MODELLED_RIVALS:
        unlike["rivals"] = rivals
    unlike.pop("replaced", None)
    if cell.base_manifests >= MANY_MANIFESTS and cell.situation not in ("fresh", "retry"):
        unlike["base_manifests"] = cell.base_manifests
    if unlike:
        # What the model has no setting for is told at once, not cell by cell.
        return _UNLIKE, " ".join(f"{key} {spelled(unlike[key])}" for key in sorted(unlike))
    base = f"{cell.base_manifests} manifests"
    group = cell.operation, cell.situation, f"{cell.partitions} partitions", base
    return (*group, f"rivals {spelled(rivals)}") if rivals else group


_UNLIKE = "other settings"


def _row(
    context: Context,
    library: Source,
    measurement: Measurement,
    model: Source,
    group: tuple[str, ...],
    cells: list[Cell],
) -> Row:
    if group[0] == _UNLIKE:
        claimed = f"{len(cells)} measurements of {', '.join(sorted({c.operation for c in cells}))}"
        found = "no run of the model is like it"
        finding = Finding(model.id, "", Verdict.NOT_MODELLED, claimed, found)
        told = claimed
    else:
        finding, told = _finding(context, model, cells), _claim(cells)
    return Row(
        id=".".join([TABLE, library.name, *(part.replace(" ", "_") for part in group)]),
        table=TABLE,
        title=", ".join(group).replace("_", " "),
        section=f"{measurement.library} {measurement.version}",
        line=0,
        document={"measured": told},
        findings=(finding,),
    )


def _told(cell: Cell) -> str:
    attempt = cell.attempts[-1] if cell.situation != "fresh" else cell.attempts[0]
    counts = ", ".join(
        f"{value} {_SHORT[name]}" for name, value in attempt.as_dict().items() if value
    )
    return f"N = {cell.n}: {counts or 'nothing'}, {cell.outcome.replace('_', ' ')}"


def _finding(context: Context, model: Source, cells: list[Cell]) -> Finding:
    first = cells[0]
    if first.operation not in context.tables[model.id].operations:
        return Finding(model.id, "", Verdict.NOT_MODELLED, _claim(cells), NOT_PRICED)
    judges = {
        "fresh": _counts,
        "retry": _counts,
        "stale": _stale,
        "repeated": _repeated,
        "conflict": _conflict,
        "exhausted": _exhausted,
    }
    return judges[first.situation](context, model, cells)


def _claim(cells: list[Cell]) -> str:
    return "; ".join(_told(cell) for cell in cells)


def _predictions(context: Context, model: Source, cell: Cell) -> Series:
    """What the model's attempts counted in the situation of a measurement."""
    where, evidence = _CLASS_OF[cell.partitions], context.evidence
    if cell.situation == "fresh":
        return evidence.series(model.id, cell.operation, "", kind="first", roles=("fresh",))
    # There every retry commits, as it does in the measurements.
    roles = ("costs",)
    if cell.base_manifests >= MANY_MANIFESTS:
        roles = ("many manifests",)
    elif cell.settings.get("rivals") == "overwrites":
        roles = ("replaced",)
    return evidence.series(model.id, cell.operation, where, roles=roles)


def _counts(context: Context, model: Source, cells: list[Cell]) -> Finding:
    """Counts of a first attempt or of a retry, one by one."""
    series = _predictions(context, model, cells[0])
    told, differs, is_open = [], [], False
    for cell in cells:
        measured = attempt_counts(cell.attempts[-1])
        predicted = {name: _at(series, name, cell.n) for name in COUNTED}
        if any(value is None for value in predicted.values()):
            is_open = True
            continue
        told.append(f"N = {cell.n}: {_words(predicted)}")
        differs += [
            f"N = {cell.n}: {_SHORT[name]} {predicted[name]} in the model, {measured[name]} measured"
            for name in COUNTED
            if predicted[name] != measured[name]
        ]
    verdict = Verdict.DEVIATES if differs else Verdict.UNKNOWN if is_open else Verdict.MATCH
    found = _differences(differs) if differs else "; ".join(told) or NOT_ENOUGH
    points = points_of(series)
    return Finding(model.id, "", verdict, _claim(cells), found, "", points, series.runs())


def _differences(differs: list[str]) -> str:
    """The differences, shortened where they go on alike."""
    most = 4
    more = f"; and {len(differs) - most} more" if len(differs) > most else ""
    return "; ".join(differs[:most]) + more


def _at(series: Series, counter: str, n: int) -> int | None:
    values = series.values(counter)
    if values is None:
        return None
    if n in values:
        return values[n]
    formula = series.formula(counter)
    return None if formula is None else formula.at(n)


def _words(counts: Mapping[str, Any]) -> str:
    told = ", ".join(f"{value} {_SHORT[name]}" for name, value in counts.items() if value)
    return told or "nothing"


def _conflict(context: Context, model: Source, cells: list[Cell]) -> Finding:
    """Whether a real conflict ends both, and after the same reads."""
    claimed, operation = _claim(cells), cells[0].operation
    runs = context.evidence.runs_of(model.id, "conflicts")
    replaces = cells[0].settings.get("rivals") == "overwrites"
    name_of_load = CONFLICTING_OVERWRITES if replaces else CONFLICTING_APPENDS
    attempts = [
        seen
        for seen in context.evidence.attempts_of(model.id, "conflicts")
        if seen.operation == operation and seen.class_name == name_of_load
    ]
    if not attempts:
        return Finding(model.id, "", Verdict.UNKNOWN, claimed, "no such run", runs=runs)
    gave_up = {seen.n: seen for seen in attempts if seen.gave_up}
    outcome = "validation exception" if gave_up else "committed"
    differs = []
    for cell in cells:
        measured_outcome = cell.outcome.replace("_", " ")
        if measured_outcome != outcome:
            differs.append(f"N = {cell.n}: {outcome} in the model, {measured_outcome} measured")
        elif cell.n in gave_up:
            counts, last = gave_up[cell.n].counts, attempt_counts(cell.attempts[-1])
            differs += [
                f"N = {cell.n}: {_SHORT[name]} {counts[name]} in the model, {last[name]} measured"
                for name in ("manifest_list_reads", "manifest_file_reads")
                if counts[name] != last[name]
            ]
    verdict = Verdict.DEVIATES if differs else Verdict.MATCH
    found = _differences(differs) if differs else f"{outcome}, after the same reads"
    points = {
        name: map_points(
            (n, seen.counts[name], seen.count, seen.run) for n, seen in gave_up.items()
        )
        for name in ("manifest_list_reads", "manifest_file_reads")
        if gave_up
    }
    return Finding(model.id, "", verdict, claimed, found, "", points, runs)


def _exhausted(context: Context, model: Source, cells: list[Cell]) -> Finding:
    """After how many attempts both give up."""
    claimed = "; ".join(f"N = {cell.n}: {len(cell.attempts)} attempts" for cell in cells)
    runs = context.evidence.runs_of(model.id, "exhausted")
    fates = context.evidence.fates_of(model.id, "exhausted")
    if not fates:
        return Finding(model.id, "", Verdict.UNKNOWN, claimed, "no such run", runs=runs)
    attempts = max(fate.retries_high for fate in fates) + 1
    agrees = all(len(cell.attempts) == attempts for cell in cells)
    verdict = Verdict.MATCH if agrees else Verdict.DEVIATES
    return Finding(model.id, "", verdict, claimed, f"{attempts} attempts", runs=runs)


def _stale(context: Context, model: Source, cells: list[Cell]) -> Finding:
    """Whether a writer that begins behind loses its first swap, and what the attempt that wins has read."""
    claimed = "; ".join(f"{_attempts(len(cell.attempts))}, {_told(cell)}" for cell in cells)
    runs = context.evidence.runs_of(model.id, "behind at start")
    where = _CLASS_OF[cells[0].partitions]
    winners = {
        seen.n: seen
        for seen in context.evidence.attempts_of(model.id, "behind at start")
        if (seen.operation, seen.conflict_class) == (cells[0].operation, where)
    }
    told, differs = [], []
    for cell in cells:
        winner = winners.get(cell.n)
        if winner is None:
            continue
        measured = attempt_counts(cell.attempts[-1])
        told.append(f"N = {cell.n}: {_attempts(winner.attempt + 1)}")
        if winner.attempt + 1 != len(cell.attempts):
            differs.append(
                f"N = {cell.n}: {_attempts(winner.attempt + 1)} in the model, {len(cell.attempts)} measured"
            )
            continue
        differs += [
            f"N = {cell.n}: {_SHORT[name]} {winner.counts[name]} in the model, {measured[name]} measured"
            for name in COUNTED
            if winner.counts[name] != measured[name]
        ]
    verdict = Verdict.DEVIATES if differs else Verdict.MATCH if told else Verdict.UNKNOWN
    found = _differences(differs) if differs else "; ".join(told) or "no such run"
    return Finding(model.id, "", verdict, claimed, found, runs=runs)


def _attempts(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"


def _repeated(context: Context, model: Source, cells: list[Cell]) -> Finding:
    """What a second and a third retry read: since the start, or since the one before."""
    claimed, operation = _claim_of_all(cells), cells[0].operation
    runs = context.evidence.runs_of(model.id, "repeated")
    where = _CLASS_OF[cells[0].partitions]
    retries_seen = sorted(
        (
            seen
            for seen in context.evidence.attempts_of(model.id, "repeated")
            if (seen.operation, seen.conflict_class, seen.kind) == (operation, where, "retry")
        ),
        key=lambda seen: seen.attempt,
    )
    if not retries_seen:
        return Finding(model.id, "", Verdict.UNKNOWN, claimed, "no such run", runs=runs)
    lists = [seen.counts["manifest_list_reads"] for seen in retries_seen]
    files = [seen.counts["manifest_file_reads"] for seen in retries_seen]
    differs = []
    for cell in cells:
        retries = cell.attempts[1 : 1 + len(lists)]
        measured_lists = [attempt.manifest_list_reads for attempt in retries]
        measured_files = [attempt.manifest_file_reads for attempt in retries]
        count = len(retries)
        if (lists[:count], files[:count]) != (measured_lists, measured_files):
            differs.append(f"N = {cell.n}: lists {measured_lists}, files {measured_files} measured")
    found = f"lists {lists}, files {files}"
    verdict = Verdict.DEVIATES if differs else Verdict.MATCH
    return Finding(model.id, "", verdict, claimed, found, _differences(differs), {}, runs)


def _claim_of_all(cells: list[Cell]) -> str:
    return "; ".join(
        f"N = {cell.n}: lists {[a.manifest_list_reads for a in cell.attempts[1:]]}, "
        f"files {[a.manifest_file_reads for a in cell.attempts[1:]]}"
        for cell in cells
    )
