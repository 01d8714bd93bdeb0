"""The aspects of the summary that are about what happens over time: pointers, waits, and maintenance beside appends."""

from __future__ import annotations

from collections.abc import Iterator

from endive.fidelity.context import SITUATIONS, Context
from endive.fidelity.model import Finding, Kind, Source, Verdict
from endive.fidelity.standard import BUSY_RATE_PER_S, QUIET_RATE_PER_S, maintenance_role
from endive.fidelity.transcription import DocumentRow
from endive.inference import proportion_interval

_JITTER = 0.1
_CONFIDENCE = 0.95


def occ(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    """One pointer per table: commits to other tables are no loss, and those to one's own are what N counts."""
    here, elsewhere = "pointer per table", "one pointer"
    claims = {
        here: "loses no swap to commits of other tables",
        elsewhere: "3 behind after 3 commits to its own table and 4 to others",
    }
    if source.kind is Kind.LIBRARY:
        for where, claimed in claims.items():
            found = "each table has a pointer of its own, so there is nothing to measure"
            yield Finding(source.id, where, Verdict.NOT_MEASURED, claimed, found)
        return
    fates = context.evidence.fates_of(source.id, here)
    lost = [fate.retries_high for fate in fates if fate.class_name == "others write elsewhere"]
    runs = context.evidence.runs_of(source.id, here)
    if not lost:
        yield Finding(source.id, here, Verdict.UNKNOWN, claims[here], "no such run")
    else:
        agrees = max(lost) == 0
        yield Finding(
            source.id,
            here,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claims[here],
            claims[here] if agrees else f"lost {max(lost)} to commits of other tables",
            "conflict_granularity and history_scope are table",
            runs=runs,
            judgement="correct" if agrees else "wrong",
        )
    behind = [
        seen.n
        for seen in context.evidence.attempts_of(source.id, elsewhere)
        if (seen.class_name, seen.kind) == ("three here, four elsewhere", "retry")
    ]
    runs = context.evidence.runs_of(source.id, elsewhere)
    if not behind:
        yield Finding(source.id, elsewhere, Verdict.UNKNOWN, claims[elsewhere], "no such run")
        return
    n = max(behind)
    yield Finding(
        source.id,
        elsewhere,
        Verdict.MATCH if n == 3 else Verdict.DEVIATES,
        claims[elsewhere],
        f"{n} behind after 3 commits to its own table and 4 to others",
        "conflict_granularity and history_scope are catalog, the default",
        runs=runs,
    )


def retries_and_waits(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    """How often a lost commit is tried again, and how long is waited before that."""
    says = row.says
    retries = f"gives up after {says['retries']} retries"
    if source.kind is Kind.LIBRARY:
        cells = [
            cell for cell in context.measurements[source.id].cells if cell.situation == "exhausted"
        ]
        if not cells:
            yield Finding(source.id, "retries", Verdict.NOT_MEASURED, retries, "no cell")
            return
        counts = sorted({len(cell.attempts) - 1 for cell in cells})
        agrees = counts == [says["retries"]]
        found = f"gives up after {', '.join(map(str, counts))} retries"
        yield Finding(
            source.id,
            "retries",
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            retries,
            found,
            f"{len(cells)} measurements; waits were not measured",
        )
        return
    yield _retries(context, source, says["retries"], retries)
    yield _waits(context, source, row)


def _retries(context: Context, source: Source, wanted: int, claimed: str) -> Finding:
    fates = context.evidence.fates_of(source.id, "exhausted")
    runs = context.evidence.runs_of(source.id, "exhausted")
    if not fates:
        return Finding(source.id, "retries", Verdict.UNKNOWN, claimed, "no such run")
    low = min(fate.retries_low for fate in fates)
    high = max(fate.retries_high for fate in fates)
    gave_up = all(fate.abort_reason == "max_retries" for fate in fates)
    agrees = low == high == wanted and gave_up
    times = f"{low}" if low == high else f"{low} to {high}"
    return Finding(
        source.id,
        "retries",
        Verdict.MATCH if agrees else Verdict.DEVIATES,
        claimed,
        f"gives up after {times} retries" if gave_up else f"does not give up after {times} retries",
        f"{sum(fate.count for fate in fates)} writers that lost every swap, preset iceberg",
        runs=runs,
        judgement="correct" if agrees else "wrong",
    )


def _waits(context: Context, source: Source, row: DocumentRow) -> Finding:
    says = row.says
    base_ms, most_ms, factor = says["base_ms"], says["max_ms"], says["multiplier"]
    claimed = f"waits {base_ms} ms, then {factor} times as long each time, up to {most_ms:,} ms"
    waits = [
        wait
        for wait in context.evidence.waits
        if wait.source == source.id and wait.role in ("exhausted", "long backoff")
    ]
    runs = context.evidence.runs_of(source.id, "long backoff")
    longest = max((base_ms * factor ** (wait.attempt - 1) for wait in waits), default=0)
    if longest <= most_ms:
        return Finding(
            source.id, "waits", Verdict.UNKNOWN, claimed, "the longest wait was not seen"
        )
    ratios = []
    for wait in waits:
        expected_ms = min(most_ms, base_ms * factor ** (wait.attempt - 1))
        ratios += [wait.low_ms / expected_ms, wait.high_ms / expected_ms]
    agrees = all(1.0 - _JITTER - 1e-9 <= ratio <= 1.0 + _JITTER + 1e-9 for ratio in ratios)
    note = (
        f"{sum(wait.count for wait in waits)} waits, {100 * (min(ratios) - 1):+.1f} to "
        f"{100 * (max(ratios) - 1):+.1f} % off, the longest "
        f"{max(wait.high_ms for wait in waits) / 1000:.3g} s"
    )
    return Finding(
        source.id,
        "waits",
        Verdict.MATCH if agrees else Verdict.DEVIATES,
        claimed,
        claimed if agrees else "waits otherwise",
        note,
        runs=runs,
        judgement="correct" if agrees else "wrong",
    )


def convoy_mixed(context: Context, source: Source, row: DocumentRow) -> Iterator[Finding]:
    """Whether validated overwrites become un-committable beside appends, while appends as long as they go on committing."""
    claimed = "beside many appends overwrites do not commit, and appends do"
    for where in SITUATIONS:
        if source.kind is Kind.LIBRARY:
            found = "not raced against a rate of appends"
            yield Finding(source.id, where, Verdict.NOT_MEASURED, claimed, found)
            continue
        shares = {
            (load, name): _share(context, source, maintenance_role(load, where), name)
            for load in ("quiet", "busy")
            for name in ("maintenance", "long append")
        }
        runs = tuple(
            run
            for load in ("quiet", "busy")
            for run in context.evidence.runs_of(source.id, maintenance_role(load, where))
        )
        if any(total == 0 for _, total in shares.values()):
            yield Finding(source.id, where, Verdict.UNKNOWN, claimed, "no such run")
            continue
        commits_when_quiet = _mostly(shares["quiet", "maintenance"])
        fails_when_busy = _hardly(shares["busy", "maintenance"])
        appends_commit = _mostly(shares["busy", "long append"])
        agrees = commits_when_quiet and fails_when_busy and appends_commit
        found = claimed
        if not agrees:
            found = "overwrites commit" if not fails_when_busy else "appends do not commit either"
        if not commits_when_quiet:
            found = "overwrites do not commit beside few appends either"
        told = "; ".join(
            f"{name} {committed} of {total} at {rate:g} appends a second"
            for (load, name), (committed, total) in shares.items()
            for rate in ((QUIET_RATE_PER_S if load == "quiet" else BUSY_RATE_PER_S),)
        )
        yield Finding(
            source.id,
            where,
            Verdict.MATCH if agrees else Verdict.DEVIATES,
            claimed,
            found,
            told,
            runs=runs,
            judgement="captured" if agrees else "not captured",
        )


def _share(context: Context, source: Source, role: str, name: str) -> tuple[int, int]:
    fates = [
        fate
        for fate in context.evidence.fates_of(source.id, role)
        if fate.class_name == name and fate.status != "in_flight"
    ]
    committed = sum(fate.count for fate in fates if fate.status == "committed")
    return committed, sum(fate.count for fate in fates)


def _mostly(share: tuple[int, int]) -> bool:
    return proportion_interval(*share, _CONFIDENCE).low > 0.5


def _hardly(share: tuple[int, int]) -> bool:
    return proportion_interval(*share, _CONFIDENCE).high < 0.5
