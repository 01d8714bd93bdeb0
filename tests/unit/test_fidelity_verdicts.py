"""The report can say no: on the model that was reviewed, and on a table in which one number is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from fidelity_evidence import changed_evidence, context_of, shipped_evidence

from endive.cost_model import load_cost_table
from endive.fidelity.context import Context
from endive.fidelity.evidence import Evidence
from endive.fidelity.judging import judge
from endive.fidelity.model import DIFFERENCES, Row, Verdict
from endive.fidelity.report import make_report
from endive.fidelity.transcription import transcription

_REVIEW = "iceberg-review"


@cache
def _review_rows() -> dict[str, Row]:
    return _rows(context_of([(load_cost_table(_REVIEW), shipped_evidence(_REVIEW))]))


def _rows(context: Context) -> dict[str, Row]:
    return {row.id: row for row in judge(context)}


def _differing(rows: Mapping[str, Row]) -> set[str]:
    return {row.id for row in rows.values() if any(f.verdict in DIFFERENCES for f in row.findings)}


def test_there_is_a_row_for_every_cell_and_aspect_of_the_documents() -> None:
    tables = transcription().tables
    rows = _review_rows()
    costs = tables["retry_costs"]
    wanted = {f"retry_costs.{row.id}.{op}" for row in costs.rows for op in costs.operations}
    for row in tables["convoy_costs"].rows:
        wanted |= {f"convoy_costs.{row.id}.{part}" for part in ("cost", "convoy")}
    wanted |= {f"aspects.{row.id}" for row in tables["aspects"].rows}
    assert set(rows) == wanted
    assert len(wanted) == 21 + 10 + 11


def test_the_review_s_own_table_says_what_the_review_says() -> None:
    # It commits before it looks, as in the worked example, and has one pointer by default; else nothing.
    assert _differing(_review_rows()) == {"aspects.io_placement", "aspects.occ"}
    open_rows = [
        r for r in _review_rows().values() for f in r.findings if f.verdict is Verdict.UNKNOWN
    ]
    assert open_rows == []


def test_on_the_model_that_was_reviewed_every_verdict_of_the_review_is_come_to_again() -> None:
    import datetime as dt

    table = load_cost_table("legacy")
    context = context_of([(table, shipped_evidence("legacy"))], control="legacy")
    report = make_report(
        judge(context),
        context.sources,
        context.evidence,
        (),
        inputs={},
        version="",
        today=dt.date(2026, 11, 18),
    )
    assert {c.row: c.found for c in report.controls} == {c.row: c.wanted for c in report.controls}
    assert len(report.controls) == 11
    # "Overstated ~175×": 28 s where it should be 160 ms.
    overstated = next(c for c in report.controls if c.row == "aspects.false_conflict_fast_append")
    factor = float(overstated.note.split(" times")[0].split()[-1])
    assert factor == pytest.approx(175, rel=0.02)
    # As a column that is judged it would fail.
    assert report.exit_code == 0
    judged = context_of([(table, shipped_evidence("legacy"))])
    assert len(_differing(_rows(judged))) > 20


# What is changed in the review's table, the runs that are needed to see it, and the rows that must no longer match.
_MUTANTS: Mapping[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "one metadata read more": (
        {"metadata_reads_per_retry:\n    is: 1": "metadata_reads_per_retry:\n    is: 2"},
        ("costs", "far behind"),
        (
            *(
                f"retry_costs.refresh.{op}"
                for op in ("fast_append", "merge_append", "validated_overwrite")
            ),
            "convoy_costs.fast_append.cost",
            "convoy_costs.merge_append.cost",
            "convoy_costs.overwrite_unvalidated.cost",
            "aspects.false_conflict_fast_append",
        ),
    ),
    "history of N - 1": (
        {"historical_ml_reads: N": 'historical_ml_reads: "max(0, N - 1)"'},
        ("costs", "rate and runtime"),
        (
            "retry_costs.validate_history.validated_overwrite",
            "convoy_costs.mixed.cost",
            "convoy_costs.mixed.convoy",
            "aspects.false_conflict_overwrite",
        ),
    ),
    "no history": (
        {"historical_ml_reads: N, ": ""},
        ("costs", "rate and runtime"),
        (
            "convoy_costs.overwrite_validated.cost",
            "convoy_costs.overwrite_validated.convoy",
            "aspects.false_conflict_overwrite",
        ),
    ),
    "history of 2 N": (
        {"historical_ml_reads: N": 'historical_ml_reads: "2 * N"'},
        ("costs",),
        (
            "retry_costs.validate_history.validated_overwrite",
            "convoy_costs.overwrite_validated.convoy",
        ),
    ),
    "validation opens no file": (
        {"historical_ml_reads: N, manifest_file_reads: N": "historical_ml_reads: N"},
        ("costs",),
        ("retry_costs.validate_files.validated_overwrite", "aspects.false_conflict_overwrite"),
    ),
    "appends read history": (
        {
            '    rebuild:\n      cross_table: {manifest_list_reads: 0, source: "Simulator Fidelity Report, §2.5: other tables do not interfere"}\n'
            "      disjoint_partitions: {manifest_list_reads: 1, manifest_list_writes: 1": "    validate:\n      disjoint_partitions: {historical_ml_reads: N, source: x}\n      overlap: {historical_ml_reads: N, source: x}\n"
            "    rebuild:\n      cross_table: {manifest_list_reads: 0, source: x}\n"
            "      disjoint_partitions: {manifest_list_reads: 1, manifest_list_writes: 1",
        },
        ("costs", "far behind"),
        (
            "retry_costs.validate_history.fast_append",
            "convoy_costs.fast_append.convoy",
            "convoy_costs.fast_append.cost",
            "aspects.convoy_appends",
        ),
    ),
    "a list is written once more": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 1, manifest_list_writes: 2"
        },
        ("costs", "far behind"),
        ("retry_costs.write_list.fast_append", "aspects.false_conflict_fast_append"),
    ),
    "the current list is not read": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 0, manifest_list_writes: 1"
        },
        ("costs",),
        ("retry_costs.current_list.fast_append",),
    ),
    "appends open a file": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 1, manifest_file_reads: 1, manifest_list_writes: 1"
        },
        ("costs",),
        ("retry_costs.filter.fast_append",),
    ),
    "appends open N files": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 1, manifest_file_reads: N, manifest_list_writes: 1"
        },
        ("costs",),
        ("retry_costs.validate_files.fast_append", "convoy_costs.fast_append.cost"),
    ),
    "fast appends merge": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 1, manifest_file_reads: K, manifest_list_writes: 1"
        },
        ("costs",),
        ("retry_costs.merge.fast_append", "convoy_costs.fast_append.cost"),
    ),
    "merging opens N files besides": (
        {"manifest_file_reads: K": 'manifest_file_reads: "K + N"'},
        ("costs",),
        ("retry_costs.validate_files.merge_append",),
    ),
    "whoever merges writes two lists": (
        {
            "manifest_file_writes: K, manifest_list_writes: 1": "manifest_file_writes: K, manifest_list_writes: 2"
        },
        ("costs",),
        ("retry_costs.write_list.merge_append", "retry_costs.write_list.validated_overwrite"),
    ),
    "K + 1 files are read": (
        {"manifest_file_reads: K": 'manifest_file_reads: "K + 1"'},
        ("costs",),
        ("retry_costs.filter.merge_append", "retry_costs.filter.validated_overwrite"),
    ),
    "nothing is merged": (
        {"manifest_file_reads: K, manifest_file_writes: K, ": ""},
        ("costs",),
        (
            "retry_costs.merge.merge_append",
            "retry_costs.merge.validated_overwrite",
            "convoy_costs.merge_append.cost",
            "convoy_costs.overwrite_unvalidated.cost",
            "aspects.false_conflict_merge_append",
            "aspects.operation_types",
        ),
    ),
    "merging writes half": (
        {"manifest_file_writes: K": "manifest_file_writes: 1"},
        ("costs",),
        ("retry_costs.merge.merge_append",),
    ),
    "lists are merged, not files": (
        {
            "manifest_list_reads: 1, manifest_file_reads: K, manifest_file_writes: K": "manifest_list_reads: K, manifest_file_writes: K"
        },
        ("costs",),
        ("aspects.false_conflict_merge_append", "retry_costs.current_list.merge_append"),
    ),
    "new manifests are written again": (
        {
            "manifest_list_reads: 1, manifest_list_writes: 1": "manifest_list_reads: 1, manifest_file_writes: 1, manifest_list_writes: 1"
        },
        ("costs", "far behind"),
        ("aspects.manifest_caching", "convoy_costs.fast_append.cost", "aspects.convoy_appends"),
    ),
    "real conflicts are merged": (
        {
            "on_real_conflict:\n    is: abort": "on_real_conflict:\n    is: merge",
            "real_conflicts:\n    is: [validated_overwrite]": "conflicting_manifests:\n    is: 10\n    source: x\n  real_conflicts:\n    is: [validated_overwrite]",
            "  overwrite_unvalidated:\n    attempt": "    merge_on_real_conflict: {manifest_file_reads: C, source: x}\n\n  overwrite_unvalidated:\n    attempt",
        },
        ("conflicts",),
        ("aspects.real_conflict",),
    ),
    "validation forgets the start": (
        {"validate_from:\n    is: start": "validate_from:\n    is: last_seen"},
        (
            "maintenance, quiet, overlap",
            "maintenance, busy, overlap",
            "maintenance, quiet, disjoint_partitions",
            "maintenance, busy, disjoint_partitions",
        ),
        ("aspects.convoy_mixed",),
    ),
}


@pytest.mark.parametrize("name", _MUTANTS)
def test_a_number_that_is_wrong_is_seen_in_its_row(name: str, tmp_path: Path) -> None:
    changes, roles, rows = _MUTANTS[name]
    table, evidence = changed_evidence(_REVIEW, changes, tmp_path, roles)
    found = _differing(_rows(context_of([(table, evidence)])))
    assert set(rows) <= found
    assert not set(rows) & _differing(_review_rows())


def test_refreshing_before_the_first_attempt_turns_the_placement_of_io_right(
    tmp_path: Path,
) -> None:
    changes = {
        "refresh_before_first_attempt:\n    is: false": "refresh_before_first_attempt:\n    is: true"
    }
    table, evidence = changed_evidence(_REVIEW, changes, tmp_path, ("behind at start",))
    row = _rows(context_of([(table, evidence)]))["aspects.io_placement"]
    assert [finding.verdict for finding in row.findings] == [Verdict.MATCH]


def _of_evidence(evidence: Evidence, row: str) -> list[Verdict]:
    context = context_of([(load_cost_table(_REVIEW), evidence)])
    return [finding.verdict for finding in _rows(context)[row].findings]


def test_waits_and_retries_that_are_not_iceberg_s_are_seen() -> None:
    evidence = shipped_evidence(_REVIEW)
    assert _of_evidence(evidence, "aspects.backoff") == [Verdict.MATCH, Verdict.MATCH]
    longer = tuple(replace(wait, high_ms=wait.high_ms * 1.2) for wait in evidence.waits)
    assert _of_evidence(replace(evidence, waits=longer), "aspects.backoff")[1] is Verdict.DEVIATES
    five = tuple(
        replace(fate, retries_high=5) if fate.role == "exhausted" else fate
        for fate in evidence.fates
    )
    assert _of_evidence(replace(evidence, fates=five), "aspects.backoff")[0] is Verdict.DEVIATES


def test_losing_to_another_table_under_a_pointer_per_table_is_seen() -> None:
    evidence = shipped_evidence(_REVIEW)
    lost = tuple(
        replace(fate, retries_high=1) if fate.role == "pointer per table" else fate
        for fate in evidence.fates
    )
    assert _of_evidence(replace(evidence, fates=lost), "aspects.occ")[0] is Verdict.DEVIATES


def test_what_no_run_shows_is_unknown_and_not_a_match() -> None:
    nothing = shipped_evidence(_REVIEW, frozenset({"behind at start", "fresh"}))
    rows = _rows(context_of([(load_cost_table(_REVIEW), replace(nothing, attempts=()))]))
    for row in rows.values():
        shown = row.id == "aspects.io_placement"
        wanted = Verdict.DEVIATES if shown else Verdict.UNKNOWN
        assert {finding.verdict for finding in row.findings} == {wanted}, row.id


def test_a_library_that_was_not_measured_is_not_run_in_every_row() -> None:
    pairs = [(load_cost_table(_REVIEW), shipped_evidence(_REVIEW))]
    rows = _rows(context_of(pairs, libraries=("pyiceberg",)))
    for row in rows.values():
        verdicts = {f.verdict for f in row.findings if f.source == "library:pyiceberg"}
        assert verdicts == {Verdict.NOT_RUN}, row.id


def test_every_row_of_the_documents_has_been_seen_to_say_no() -> None:
    seen = {row for _, _, rows in _MUTANTS.values() for row in rows}
    seen |= {"aspects.backoff", "aspects.occ", "aspects.io_placement"}
    legacy = _rows(context_of([(load_cost_table("legacy"), shipped_evidence("legacy"))]))
    seen |= _differing(legacy)
    assert set(_review_rows()) <= seen
