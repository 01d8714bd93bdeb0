"""The second table: what a retry costs in each scenario, and whether it is a convoy (Fidelity Report, §3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from endive.fidelity.context import SITUATIONS, Context, not_modelled, not_run
from endive.fidelity.evidence import Series, without_metadata_writes
from endive.fidelity.formula import Formula, Line, fit_line
from endive.fidelity.judge_retries import NOT_ENOUGH, NOT_PRICED, points_of
from endive.fidelity.model import Finding, Kind, Point, Row, Source, Verdict
from endive.fidelity.standard import RATES, UNIT_MS
from endive.fidelity.steps import steps_of
from endive.fidelity.transcription import DocumentRow, transcription

TABLE = "convoy_costs"
MIXED = "mixed"
_TOLERANCE = 0.01
""""~160 ms": a hundredth either way, which is less than the smallest thing that could be read or written besides."""

_PRICED = {
    "metadata_reads": "table_metadata.read",
    "manifest_list_reads": "manifest_list.read",
    "manifest_list_writes": "manifest_list.write",
    "manifest_file_reads": "manifest_file.read",
    "manifest_file_writes": "manifest_file.write",
}


def convoy_rows(context: Context) -> Iterator[Row]:
    """Two rows for each scenario: the cost of a retry, and the convoy."""
    table = transcription().tables[TABLE]
    for document_row in table.rows:
        for part, place in (("cost", 1), ("convoy", 2)):
            column = table.head.cells[place]
            findings: list[Finding] = []
            for source in context.sources:
                findings += _findings(context, source, document_row, part)
            yield Row(
                id=f"{TABLE}.{document_row.id}.{part}",
                table=TABLE,
                title=f"{document_row.cells[0].strip('*')}: {column}",
                section=table.section,
                line=document_row.line,
                document={column: document_row.cells[place]},
                findings=tuple(findings),
            )


def _findings(
    context: Context, source: Source, document_row: DocumentRow, part: str
) -> Iterator[Finding]:
    judge = _rate_times_runtime if document_row.id == MIXED else _pattern
    for where in SITUATIONS:
        finding = judge(context, source, document_row, part, where)
        yield finding
        if finding.verdict is Verdict.NOT_RUN:
            return


def unit_cost(series: Series) -> UnitCost | None:
    """What a retry costs at the unit latencies, one operation after the other; None if the counts follow no formula."""
    constant_ms = per_commit_ms = per_k_ms = 0.0
    for counter, operation in _PRICED.items():
        formula = series.formula(counter)
        if formula is None:
            return None
        unit_ms = UNIT_MS[operation]
        constant_ms += unit_ms * formula.constant
        per_commit_ms += unit_ms * formula.per_commit
        per_k_ms += unit_ms * formula.per_k
    return UnitCost(constant_ms, per_commit_ms, per_k_ms, series.k_per_commit)


class UnitCost:
    """A cost in milliseconds: once, for each snapshot in between, for each manifest merged again."""

    __slots__ = ("constant_ms", "k_per_commit", "per_commit_ms", "per_k_ms")

    def __init__(
        self, constant_ms: float, per_commit_ms: float, per_k_ms: float, k_per_commit: float
    ) -> None:
        self.constant_ms = constant_ms
        self.per_commit_ms = per_commit_ms
        self.per_k_ms = per_k_ms
        self.k_per_commit = k_per_commit

    def at_ms(self, n: int) -> float:
        """The cost of a retry that is N behind."""
        k = Formula(0, 0, 1, self.k_per_commit).at(n)
        return self.constant_ms + self.per_commit_ms * n + self.per_k_ms * k

    def __str__(self) -> str:
        parts = [f"{self.constant_ms:g} ms"]
        if self.per_commit_ms:
            parts.append(f"{self.per_commit_ms:g} ms for each commit in between")
        if self.per_k_ms:
            parts.append(f"{self.per_k_ms:g} ms for each manifest merged again")
        return " + ".join(parts)


def _pattern(
    context: Context, source: Source, document_row: DocumentRow, part: str, where: str
) -> Finding:
    operation, says = document_row.operation, document_row.says
    claimed = _claim(says, part)
    series = context.retries(source, operation, where)
    if series is None:
        return not_run(source, claimed)
    if not context.has(source, operation):
        return not_modelled(source, where, claimed, NOT_PRICED)
    cost = unit_cost(series)
    steps = steps_of(series)
    history = steps["historical_list_reads"].formula
    if cost is None or history is None:
        # Nothing seen, or nothing regular: a series without a formula is a difference, one without points is none.
        irregular = "; ".join(step.irregular for step in steps.values() if step.irregular)
        is_open = not irregular
        empty = series.is_empty and source.kind is Kind.LIBRARY
        verdict = (
            Verdict.NOT_MEASURED if empty else Verdict.UNKNOWN if is_open else Verdict.DEVIATES
        )
        found = irregular or NOT_ENOUGH
        return Finding(source.id, where, verdict, claimed, found, "", series.points, series.runs())
    if part == "convoy":
        lists = history.per_commit + history.per_k
        agrees = history.per_k == 0 and history.per_commit == says["lists_per_commit"]
        found = f"{_lists(lists)} for each commit in between"
        note = f"exactly linear over N = {_range(series)}"
        verdict = Verdict.MATCH if agrees else Verdict.DEVIATES
        points = {"historical_ml_reads": _history_points(series)}
        return Finding(source.id, where, verdict, claimed, found, note, points, series.runs())
    grows = growing(series)
    agrees = _grows_as(says["grows_with"], grows)
    if "constant_ms" in says:
        agrees = agrees and abs(cost.constant_ms - says["constant_ms"]) <= (
            _TOLERANCE * says["constant_ms"]
        )
    note, measured_ok = _measured(context, source, operation, where, cost)
    verdict = Verdict.MATCH if agrees and measured_ok else Verdict.DEVIATES
    found = str(cost) if measured_ok else f"{cost}, but {note}"
    return Finding(
        source.id,
        where,
        verdict,
        claimed,
        found,
        note,
        points_of(series),
        series.runs(),
        size=cost.at_ms(20),
        unit="ms at N = 20",
    )


def _claim(says: Mapping[str, Any], part: str) -> str:
    if part == "convoy":
        return f"{_lists(says['lists_per_commit'])} for each commit in between"
    parts = [f"{says['constant_ms']} ms"] if "constant_ms" in says else []
    if says["grows_with"] != "nothing":
        parts.append(f"{says['grows_with']} in proportion to N")
    elif parts:
        parts.append("nothing that grows with N")
    return " + ".join(parts)


def _lists(count: int) -> str:
    return "1 list" if count == 1 else f"{count} lists"


def _reads(count: float) -> str:
    return "list read" if abs(count - 1.0) < 1e-9 else "list reads"


def growing(series: Series) -> set[str]:
    """What a retry reads or writes more of, the further it is behind."""
    grows = set()
    for counter, word in (
        ("manifest_list_reads", "manifest lists"),
        ("manifest_list_writes", "manifest lists"),
        ("manifest_file_reads", "manifest files"),
        ("manifest_file_writes", "manifest files"),
        ("metadata_reads", "metadata"),
    ):
        formula = series.formula(counter)
        if formula is not None and (formula.per_commit or formula.per_k):
            grows.add(word)
    return grows


def _grows_as(claim: str, grows: set[str]) -> bool:
    if claim == "nothing":
        return not grows
    if claim == "manifest lists":
        return claim in grows
    return grows == {claim}


def _measured(
    context: Context, source: Source, operation: str, where: str, cost: UnitCost
) -> tuple[str, bool]:
    """What the clock of the scripted runs says of a retry, and whether the counts explain it to the last millisecond."""
    if source.kind is Kind.LIBRARY:
        return "counted on the library, priced at the unit latencies", True
    times = context.evidence.io_ms(source.id, operation, where, roles=("costs",))
    if not times:
        return "counted in the runs, priced at the unit latencies", True
    for n, (low, high) in times.items():
        if max(abs(low - cost.at_ms(n)), abs(high - cost.at_ms(n))) > 1e-6:
            return f"a retry {n} behind took {low:g} to {high:g} ms", False
    line = fit_line({float(n): low for n, (low, _) in times.items()})
    return f"measured {_fitted(line)}" if line is not None else "", True


def _fitted(line: Line) -> str:
    exact = "exactly" if line.is_exact else f"within {line.furthest:.3g} ms"
    if abs(line.slope) < 1e-9:
        return f"{line.intercept:.4g} ms at every N, {exact}"
    return f"{line.intercept:.4g} ms + {line.slope:.4g} ms × N, {exact}"


def _range(series: Series) -> str:
    behind = series.behind()
    return f"{behind[0]} … {behind[-1]}" if behind else "nothing"


def _history_points(series: Series) -> tuple[Point, ...]:
    return series.points.get("historical_ml_reads") or series.points.get("manifest_list_reads", ())


def _rate_times_runtime(
    context: Context, source: Source, document_row: DocumentRow, part: str, where: str
) -> Finding:
    """Appends at a rate while an overwrite works: N is rate × runtime, and so are its list reads."""
    claimed = (
        "1 list read for each of rate × runtime appends"
        if part == "cost"
        else "yes: the retry itself lasts for as long as N lists take"
    )
    if source.kind is Kind.LIBRARY:
        return _from_retries(context, source, document_row, part, where, claimed)
    seen = _by_product(context, source, where)
    runs = context.evidence.runs_of(source.id, "rate and runtime")
    if len(seen) < 2:
        return Finding(source.id, where, Verdict.UNKNOWN, claimed, NOT_ENOUGH, runs=runs)
    line = fit_line({float(product): float(reads) for product, (reads, _) in seen.items()})
    assert line is not None
    points = {
        "historical_ml_reads": tuple(
            Point(product, {reads: 1}, runs) for product, (reads, _) in sorted(seen.items())
        )
    }
    if part == "cost":
        agrees = line.is_exact and abs(line.slope - 1.0) < 1e-9 and abs(line.intercept) < 1e-6
        found = f"{line.slope:.4g} {_reads(line.slope)} for each of rate × runtime appends"
        if abs(line.intercept) >= 1e-6:
            found += f", and {line.intercept:.4g} more"
        if not line.is_exact:
            found += f" (within {line.furthest:.3g})"
        note = "at " + ", ".join(f"{rate:g}/s × {ms / 1000:g} s" for rate, ms in RATES)
    else:
        most = max(seen)
        reads, io_ms = seen[most]
        agrees = reads == most
        found = f"{'yes' if agrees else 'no'}: {reads:,} lists read"
        rate = RATES[-1][0]
        note = (
            f"after {most:,} commits the retry's I/O takes {io_ms / 1000:.3g} s, "
            f"in which {rate * io_ms / 1000:,.0f} more land at {rate:g} a second"
        )
    verdict = Verdict.MATCH if agrees else Verdict.DEVIATES
    return Finding(source.id, where, verdict, claimed, found, note, points, runs)


def _by_product(context: Context, source: Source, where: str) -> dict[int, tuple[int, float]]:
    """Historical lists read and I/O time of the attempt that came back rate × runtime commits behind."""
    products = {f"{rate:g}/s for {ms / 1000:g} s": round(rate * ms / 1000) for rate, ms in RATES}
    seen: dict[int, tuple[int, float]] = {}
    attempts = context.evidence.attempts_of(source.id, "rate and runtime")
    for attempt in sorted(attempts, key=lambda one: one.n):
        product = products.get(attempt.class_name)
        if product is None or attempt.conflict_class != where or attempt.n < product:
            continue
        # The attempt that found them, be it the first one or a retry; those after it found what landed since.
        lists = attempt.counts["historical_ml_reads"]
        seen.setdefault(product, (lists, without_metadata_writes(attempt)[1]))
    return seen


def _from_retries(
    context: Context,
    source: Source,
    document_row: DocumentRow,
    part: str,
    where: str,
    claimed: str,
) -> Finding:
    """A library was not raced against rates; what it reads for each commit in between says the same."""
    series = context.retries(source, document_row.operation, where)
    if series is None:
        return not_run(source, claimed)
    history = steps_of(series)["historical_list_reads"].formula
    if history is None:
        verdict = Verdict.NOT_MEASURED if series.is_empty else Verdict.DEVIATES
        return Finding(
            source.id, where, verdict, claimed, NOT_ENOUGH, "", series.points, series.runs()
        )
    lists = history.per_commit
    agrees = lists == 1 and not history.per_k
    if part == "cost":
        found = f"{lists} {_reads(lists)} for each of rate × runtime appends"
    else:
        found = f"{'yes' if agrees else 'no'}: {_lists(lists)} for each commit in between"
    verdict = Verdict.MATCH if agrees else Verdict.DEVIATES
    note = "from its retries; rate × runtime is how many commits lie in between"
    points = {"manifest_list_reads": series.points.get("manifest_list_reads", ())}
    return Finding(source.id, where, verdict, claimed, found, note, points, series.runs())
