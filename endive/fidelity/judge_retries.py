"""The first table: what a retry reads and writes, step by step (Fidelity Report, §2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from endive.cost_model.expression import parse_expression
from endive.fidelity.context import SITUATIONS, Context, not_modelled, not_run
from endive.fidelity.evidence import Series
from endive.fidelity.formula import manifests_of
from endive.fidelity.model import Finding, Point, Row, Source, Verdict, spelled
from endive.fidelity.steps import UNITS, Step, steps_of
from endive.fidelity.transcription import DocumentRow, DocumentTable, transcription

TABLE = "retry_costs"
NOT_PRICED = "the cost table has no such operation"
NOT_ENOUGH = "not seen with two different N"


def retry_rows(context: Context) -> Iterator[Row]:
    """One row for each cell of the document's table."""
    table = transcription().tables[TABLE]
    for document_row in table.rows:
        for place, operation in enumerate(table.operations):
            yield _row(context, table, document_row, operation, place)


def _row(
    context: Context, table: DocumentTable, document_row: DocumentRow, operation: str, place: int
) -> Row:
    step, column = document_row.cells[0], table.head.cells[place + 1]
    claims: Mapping[str, str] = document_row.says[operation]
    claimed = spelled(claims, UNITS)
    findings: list[Finding] = []
    for source in context.sources:
        findings += _findings(context, source, operation, claims, claimed)
    return Row(
        id=f"{TABLE}.{document_row.id}.{operation}",
        table=TABLE,
        title=f"{step}, {column}",
        section=table.section,
        line=document_row.line,
        document={column: document_row.cells[place + 1]},
        findings=tuple(findings),
    )


def _findings(
    context: Context, source: Source, operation: str, claims: Mapping[str, str], claimed: str
) -> Iterator[Finding]:
    for where in SITUATIONS:
        series = context.retries(source, operation, where)
        if series is None:
            yield not_run(source, claimed)
            return
        if not context.has(source, operation):
            yield not_modelled(source, where, claimed, NOT_PRICED)
            continue
        yield judged(source, where, series, operation, claims, claimed)


def judged(
    source: Source,
    where: str,
    series: Series,
    operation: str,
    claims: Mapping[str, str],
    claimed: str,
) -> Finding:
    """One situation of one source, held against a cell."""
    steps = steps_of(series)
    found = {step: steps[step] for step in claims}
    points = points_of(series)
    if any(step.formula is None and not step.irregular for step in found.values()):
        verdict = _without_measurement(source, series)
        return Finding(source.id, where, verdict, claimed, NOT_ENOUGH, "", points, series.runs())
    agrees = all(_agrees(found[step], claim, series) for step, claim in claims.items())
    verdict = Verdict.MATCH if agrees else Verdict.DEVIATES
    return Finding(
        source.id,
        where,
        verdict,
        claimed,
        spelled(found, UNITS),
        "",
        points,
        series.runs(),
        size=_size(found),
        unit=f"reads and writes at N = {_SIZED_AT}",
    )


_SIZED_AT = 20


def _size(steps: Mapping[str, Step]) -> float | None:
    """Everything that some steps read and write, 20 behind."""
    formulas = [step.formula for step in steps.values()]
    return sum(f.at(_SIZED_AT) for f in formulas if f is not None) if all(formulas) else None


def points_of(series: Series) -> dict[str, tuple[Point, ...]]:
    """The evidence that a finding shows: every counter that was seen."""
    return {counter: points for counter, points in series.points.items() if points}


def _without_measurement(source: Source, series: Series) -> Verdict:
    is_library = source.id.startswith("library:")
    return Verdict.NOT_MEASURED if is_library and series.is_empty else Verdict.UNKNOWN


def _agrees(step: Step, claim: str, series: Series) -> bool:
    """Whether a step counts what the document says, at every N that was seen."""
    if step.formula is None:
        return False
    evaluate = parse_expression(claim).evaluate
    k_per_commit = step.formula.k_per_commit
    return all(
        step.formula.at(n) == evaluate(n, 0, manifests_of(n, k_per_commit), 0, 0)
        for n in series.behind()
    )
