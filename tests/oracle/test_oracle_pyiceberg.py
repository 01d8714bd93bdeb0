"""PyIceberg measured again: it still does what is kept, the cost table says the same, and rivals brought in are like rivals who come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from endive.cost_model import load_cost_table, parse_cost_table
from endive.oracle.comparing import differences
from endive.oracle.cost_table import NoFormulaError, fit, table_of
from endive.oracle.measurement import Cell, Measurement, load_measured
from endive.oracle.prices import REASONS, deviations, is_priced, priced_attempts
from endive.oracle.pyiceberg import Experiment, experiments, measure, run_experiment
from endive.oracle.pyiceberg_tables import OTHER, Bench, Rival, open_bench

pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match:UserWarning")

KEPT = load_measured("pyiceberg")
_OF_RIVALS = ("appends", "conflicting_appends", "overwrites", "")


def is_quick(experiment: Experiment) -> bool:
    """A third of the experiments, with every operation and situation among them."""
    return (
        experiment.base_manifests == 3
        and experiment.rivals in _OF_RIVALS
        and (experiment.n in (0, 1, 3) or experiment.situation == "conflict")
        and not (experiment.situation == "stale" and experiment.partitions == "same")
    )


def kept_of(chosen: list[Experiment]) -> Measurement:
    """What is kept of these experiments."""
    keys = {
        (
            each.operation.name,
            each.situation,
            each.n,
            each.partitions,
            each.base_manifests,
            tuple(sorted(each.settings.items())),
        )
        for each in chosen
    }
    return replace(KEPT, cells=tuple(cell for cell in KEPT.cells if cell.key in keys))


def told(old: Measurement, new: Measurement) -> str:
    return "\n".join(map(str, differences(old, new)))


def test_pyiceberg_reads_and_writes_what_is_kept() -> None:
    chosen = list(filter(is_quick, experiments()))
    assert {each.operation.name for each in chosen} == {cell.operation for cell in KEPT.cells}
    assert {each.situation for each in chosen} == {cell.situation for cell in KEPT.cells}
    kept = kept_of(chosen)
    assert len(kept.cells) == len(chosen)
    assert told(kept, measure(chosen=is_quick)) == ""


@pytest.mark.slow
def test_pyiceberg_reads_and_writes_what_is_kept_in_every_cell() -> None:
    assert told(KEPT, measure()) == ""


def test_what_is_kept_is_every_experiment_once() -> None:
    assert kept_of(experiments()) == KEPT
    assert len(experiments()) == len(KEPT.cells)


# -- the cost table --------------------------------------------------------------------------------------------------


def test_the_shipped_table_is_made_from_what_is_kept() -> None:
    assert load_cost_table("pyiceberg").text == table_of(KEPT)


def test_the_table_prices_every_attempt_as_measured_or_it_is_known_why_not() -> None:
    found = list(deviations(load_cost_table("pyiceberg"), KEPT))
    assert [str(each) for each in found if not each.reason] == []
    assert {each.reason for each in found} == set(REASONS)
    # Those that are known are few kinds of reads and writes, never what a commit must do.
    assert {each.counter for each in found if "metadata" not in each.counter} == {
        "manifest_list_reads",
        "manifest_file_reads",
    }
    priced = [cell for cell in KEPT.cells if is_priced(load_cost_table("pyiceberg"), cell)]
    assert len(priced) > 200


def test_a_price_that_is_off_by_one_is_told_with_the_cell_and_both_numbers() -> None:
    text = load_cost_table("pyiceberg").text
    wrong = text.replace(
        'historical_ml_reads: "2 * N + 6 * R"', 'historical_ml_reads: "2 * N + 5 * R"'
    )
    assert wrong != text
    found = [
        each for each in deviations(parse_cost_table(wrong, "p.yaml"), KEPT) if not each.reason
    ]
    assert {each.cell.operation for each in found} == {"row_delta"}
    assert any(
        str(each).startswith(
            "row_delta, retry, n = 1, disjoint, 3 manifests, replaced 1, rivals overwrites: "
        )
        and "the table says 10, measured were 11" in str(each)
        for each in found
    )


def test_attempts_are_priced_by_what_lies_between_start_and_attempt() -> None:
    (cell,) = KEPT.select(operation="delete_partition", situation="repeated", partitions="disjoint")
    reads = [
        each.manifest_list_reads for each in priced_attempts(load_cost_table("pyiceberg"), cell)
    ]
    assert reads == [1, 1 + 3, 1 + 6, 1 + 9]


def test_a_formula_goes_through_all_points_or_there_is_none() -> None:
    points = [(1, 0, 3, "a"), (5, 0, 7, "b"), (5, 2, 15, "c")]
    formula = fit(points, "x")
    assert (formula.constant, formula.per_commit, formula.per_replacing) == (2, 1, 4)
    with pytest.raises(
        NoFormulaError, match=r"gives 22 at N = 20, R = 0, and measured were 23 \(d\)"
    ):
        fit([*points, (20, 0, 23, "d")], "x")


def test_a_count_that_grows_otherwise_than_a_formula_makes_no_table() -> None:
    def spoiled(cell: Cell) -> Cell:
        if (cell.operation, cell.situation, cell.n) != ("fast_append", "retry", 10):
            return cell
        first, second = cell.attempts
        return replace(cell, attempts=(first, replace(second, manifest_list_reads=2)))

    with pytest.raises(NoFormulaError, match="fast_append, retry, manifest_list_reads"):
        table_of(replace(KEPT, cells=tuple(map(spoiled, KEPT.cells))))


# -- what the ground truth says --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "first", "retry_at_5"),
    [
        ("fast_append", (1, 1, 0, 1), (1, 1, 0, 1)),
        ("merge_append", (1, 1, 0, 1), (1, 1, 0, 1)),
        ("delete_partition", (1, 1, 1, 1), (6, 1, 6, 1)),
        ("validated_overwrite", (2, 1, 2, 2), (7, 1, 7, 2)),
        ("overwrite_unvalidated", (2, 1, 2, 2), (2, 1, 2, 2)),
        ("row_delta", (4, 1, 4, 2), (13, 1, 13, 2)),
    ],
)
def test_independent_measurements_agree(
    operation: str, first: tuple[int, ...], retry_at_5: tuple[int, ...]
) -> None:
    cell = next(
        cell
        for cell in KEPT.select(operation=operation, situation="retry", n=5, partitions="disjoint")
        if cell.settings.get("rivals") == "appends" and len(cell.settings) <= 2
        if cell.settings.get("min_count_to_merge", 100) == 100 and cell.base_manifests == 3
        if "api" not in cell.settings and "isolation" not in cell.settings
    )
    counts = [
        (
            each.manifest_list_reads,
            each.manifest_list_writes,
            each.manifest_file_reads,
            each.manifest_file_writes,
        )
        for each in cell.attempts
    ]
    assert counts == [first, retry_at_5]
    assert [each.metadata_reads for each in cell.attempts] == [1, 2]


def test_exhaustion_is_five_attempts() -> None:
    for cell in KEPT.select(situation="exhausted"):
        assert (cell.outcome, len(cell.attempts)) == ("commit_failed", 5)


# -- how it is measured ----------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_bench(tmp_path) as bench:
        yield bench


def test_rivals_brought_in_are_like_rivals_who_commit_at_that_moment(bench: Bench) -> None:
    experiment = next(
        each
        for each in experiments()
        if each.operation.name == "row_delta"
        and (each.situation, each.n, each.rivals) == ("retry", 2, "overwrites")
    )
    brought, _ = run_experiment(bench, experiment)
    base = bench.base(experiment.operation.properties, experiment.base_manifests)
    table = bench.open(base)
    commit = experiment.operation.prepare(table)
    rival_table = bench.rivals.load_table(table.name())

    waiting = [1, 2]

    def come(moment: str) -> None:
        while moment == "before_swap" and waiting:
            Rival("overwrites", OTHER).commit(rival_table, waiting.pop(0))

    bench.on_moment = come
    bench.recorder.begin()
    commit()
    counted = [
        Counter((kind, action) for kind, action, _ in each)
        for each in bench.recorder.attempts
        if each
    ]
    lists = [each[("manifest_list", "read")] for each in counted]
    files = [each[("manifest_file", "read")] for each in counted]
    assert lists == [each.manifest_list_reads for each in brought.attempts]
    assert files == [each.manifest_file_reads for each in brought.attempts]


def test_one_thread_makes_all_reads_of_a_validation(bench: Bench) -> None:
    experiment = next(
        each
        for each in experiments()
        if each.operation.name == "delete_partition"
        and (each.situation, each.n, each.partitions) == ("retry", 5, "disjoint")
        and each.rivals == "appends"
    )
    _, touched = run_experiment(bench, experiment)
    by_thread = Counter((thread, kind) for kind, action, thread in touched[1] if action == "read")
    # Five lists and five manifests validate, one of each rebuilds.
    assert by_thread[("MainThread", "manifest_list")] >= 5
    assert by_thread[("MainThread", "manifest_file")] >= 5
    own = [
        kind for kind, action, thread in touched[1] if thread == "MainThread" and action == "read"
    ]
    first_list = own.index("manifest_list")
    assert own[first_list : first_list + 10] == ["manifest_list"] * 5 + ["manifest_file"] * 5
