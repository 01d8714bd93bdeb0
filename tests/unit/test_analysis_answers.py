"""Answers about studies whose figures are known: what is drawn, what stands in the tables, and what cannot be answered."""

from __future__ import annotations

import math
from typing import Any

import pytest
from analysis_tables import MAINTENANCE, at_rate, outcome, setup, study
from matplotlib.figure import Figure

from endive.analysis.answers import Answer, LeftOut
from endive.analysis.curves import knee_of, latency_throughput, price_ms, success_load
from endive.analysis.distributions import quantile, retries, snapshots_behind
from endive.analysis.heatmaps import LOW_SUCCESS, load_catalog_latency, load_tables
from endive.analysis.report import QUESTIONS
from endive.analysis.setups import Setup
from endive.analysis.study import Study
from endive.analysis.time_parts import PARTS, time_parts
from endive.analysis.timelines import commit_rate
from endive.analysis.uncommittable import rivals_per_s, uncommittable
from endive.plots import LIGHT
from endive.summary import TIME_PARTS

RATES = (1.0, 2.0, 4.0, 8.0, 16.0)
KINDS = (("default", "fast_append"), ("default", "validated_overwrite"))


def told(one: Setup, seed: int, class_name: str, operation: str) -> dict[str, float]:
    """Saturates at 4/s per table; seeds differ a little."""
    rate, ceiling = one.load.per_s, 4.0 * one.tables
    offered = round(60 * rate)
    committed = min(offered, round(60 * ceiling)) - (seed - 2)
    return dict(
        outcome(
            committed,
            offered - committed - 2 if offered > committed + 2 else 0,
            2 if offered > committed + 2 else 0,
            commit_latency_mean_ms=100.0 * max(1.0, rate / ceiling) + seed,
        )
    )


def tables_study() -> Study:
    setups = [
        at_rate(rate, catalog__num_tables=tables, catalog__conflict_granularity="table")
        for rate in RATES
        for tables in (1, 2)
    ]
    return study(setups, told)


def answered(answer: Answer | LeftOut) -> Answer:
    assert isinstance(answer, Answer), answer
    return answer


def painted(answer: Answer) -> Figure:
    figure = Figure(figsize=answer.size_in, layout="constrained")
    answer.paint(figure, LIGHT)
    return figure


def as_number(text: object) -> float:
    """A cell of a table, read back."""
    word = str(text).replace(",", "").replace("<", "").replace(">", "")
    if word == "–":
        return math.nan
    return float(word.removesuffix(" %")) / 100.0 if word.endswith(" %") else float(word)


# -- curves ------------------------------------------------------------------------------------------------------------


def test_the_knee_is_found_for_each_number_of_tables_and_marked() -> None:
    found = tables_study()
    answer = answered(latency_throughput(found))
    knees = {one["series"]: one["knee"] for one in answer.data}
    assert {name: knee["load"] for name, knee in knees.items()} == {"1 table": 4.0, "2 tables": 8.0}
    assert (knees["1 table"]["low"], knees["1 table"]["high"]) == (2.0, 8.0)
    assert "1 table: knee at 4/s offered" in answer.findings[0]
    rings = [
        line.get_xydata().tolist()
        for axes in painted(answer).axes
        for line in axes.lines
        if line.get_fillstyle() == "none"
    ]
    assert len(rings) == 2
    marked = [knee_of(found, one) for one in found.series()]
    assert [ring[0][0] for ring in rings] == [
        knee.point.throughput_per_s for knee in marked if knee
    ]


def test_a_knee_beyond_the_loads_is_not_marked_and_says_what_to_do() -> None:
    answer = answered(latency_throughput(study([at_rate(rate) for rate in (0.5, 1.0, 2.0)], told)))
    assert "knee above 1/s" in answer.findings[0]
    assert "Offer more." in answer.findings[0]
    assert not [
        line
        for axes in painted(answer).axes
        for line in axes.lines
        if line.get_fillstyle() == "none"
    ]


def test_those_who_failed_are_part_of_the_price() -> None:
    one = at_rate(1.0)
    found = study(
        [one],
        lambda *_: outcome(
            25, 75, commit_latency_mean_ms=100.0, part_backoff_ms=100.0, part_runtime_ms=9e9
        ),
    )
    assert price_ms(found, one) == pytest.approx(200.0 / 0.25)


def test_the_numbers_of_the_curve_are_those_of_the_tables() -> None:
    found = tables_study()
    answer = answered(latency_throughput(found))
    names = {
        "committed [1/s]": "achieved_per_s",
        "p95 [ms]": "commit_latency_p95_ms",
        "success": "success_rate",
        "in flight": "censored_share",
    }
    rows = iter(answer.rows)
    for series in found.series():
        for one in series.setups:
            row = dict(zip(answer.head, next(rows), strict=True))
            assert row["experiments"] == series.name
            assert as_number(row["offered load [1/s]"]) == one.load.per_s
            for column, metric in names.items():
                cells = found.cells[
                    (found.cells["experiment"] == one.name) & (found.cells["operation_type"] == "*")
                ]
                # Four digits that count, or a tenth of a per cent.
                assert as_number(row[column]) == pytest.approx(
                    cells[metric].iloc[0], rel=6e-4, abs=6e-4
                )
    assert next(rows, None) is None


def test_the_markdown_holds_every_row_and_the_basis() -> None:
    answer = answered(success_load(tables_study()))
    text = answer.markdown()
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == 1 + len(answer.rows)
    assert answer.basis in text
    for line, row in zip(lines[1:], answer.rows, strict=True):
        assert [cell.strip() for cell in line.strip("|").split("|")] == [str(cell) for cell in row]


def test_success_is_shown_by_operation_with_what_was_cut_off() -> None:
    setups = [
        at_rate(rate, transaction__operation_types={"fast_append": 0.5, "validated_overwrite": 0.5})
        for rate in (1.0, 4.0)
    ]

    def by_operation(one: Setup, seed: int, class_name: str, operation: str) -> dict[str, float]:
        return dict(outcome(40, 10, 50) if operation == "validated_overwrite" else outcome(99, 1))

    answer = answered(success_load(study(setups, by_operation, kinds=KINDS)))
    assert [row[1] for row in answer.rows] == ["fast append"] * 2 + ["validated overwrite"] * 2
    assert [row[3] for row in answer.rows] == ["99 %"] * 2 + ["80 %"] * 2
    assert [row[5:8] for row in answer.rows][-1] == ("120", "30", "150")
    (axes,) = painted(answer).axes
    ends = [
        segment[:, 1].tolist()
        for collection in axes.collections
        if hasattr(collection, "get_segments")
        for segment in collection.get_segments()
    ]
    assert [0.4, 0.9] in [[round(end, 6) for end in pair] for pair in ends]


# -- heatmaps ----------------------------------------------------------------------------------------------------------


def hatched(figure: Figure) -> list[set[tuple[int, int]]]:
    """The hatched cells of each panel, by column and row."""
    return [
        {
            (round(patch.get_x() + 0.5), round(patch.get_y() + 0.5))
            for patch in axes.patches
            if patch.get_hatch()
        }
        for axes in figure.axes
    ]


def test_cells_are_hatched_if_and_only_if_too_little_commits() -> None:
    found = tables_study()
    answer = answered(load_tables(found))
    expected = {
        (RATES.index(one.load.per_s), (1, 2).index(one.tables))
        for one in found.setups
        if found.metric(one, "success_rate").mean < LOW_SUCCESS
    }
    assert expected == {(3, 0), (4, 0), (4, 1)}
    assert hatched(painted(answer)) == [expected, expected]
    assert [row[answer.head.index("hatched")] for row in answer.rows].count("yes") == 3


@pytest.mark.parametrize(("aborted", "is_hatched"), [(10, False), (11, True)])
def test_the_limit_of_the_hatching_is_the_one_that_is_stated(
    aborted: int, is_hatched: bool
) -> None:
    setups = [at_rate(rate, catalog__num_tables=tables) for rate in (1.0, 2.0) for tables in (1, 2)]
    answer = answered(load_tables(study(setups, lambda *_: outcome(100 - aborted, aborted))))
    assert "less than 90 %" in answer.reading
    assert [len(cells) for cells in hatched(painted(answer))] == [4 * is_hatched] * 2


def test_a_heatmap_of_catalog_latencies_has_a_row_for_each() -> None:
    setups = [
        at_rate(rate, storage__T_CAS={"mean": ms, "stddev": 0.0})
        for rate in (1.0, 2.0)
        for ms in (10.0, 100.0, 400.0)
    ]
    answer = answered(load_catalog_latency(study(setups, told)))
    labels = [tick.get_text() for tick in painted(answer).axes[0].get_yticklabels()]
    assert labels == ["10", "100", "400"]


# -- time --------------------------------------------------------------------------------------------------------------


def test_every_part_of_the_time_is_drawn_or_in_the_table() -> None:
    assert {"runtime", *PARTS} == set(TIME_PARTS)


def test_bars_are_as_high_as_the_parts_together() -> None:
    figures = {f"part_{part}_ms": 10.0 * place for place, part in enumerate(PARTS, 1)}
    one = at_rate(1.0)
    found = study([one], lambda *_: outcome(10, 0, part_runtime_ms=7.0, **figures))
    answer = answered(time_parts(found))
    (axes,) = painted(answer).axes
    assert max(bar.get_y() + bar.get_height() for bar in axes.patches) == pytest.approx(280.0)
    row = dict(zip(answer.head, answer.rows[0], strict=True))
    assert (row["work [ms]"], row["all but work [ms]"]) == ("7", "280")


def test_the_commit_rate_is_the_count_by_the_length_of_a_bin() -> None:
    one = at_rate(4.0)
    bins = [(one.name, seed, 1000.0 * k, 1000.0, 3 + seed, 1) for seed in (1, 2) for k in range(60)]
    found = study([one], lambda *_: outcome(300, 60), seeds=[1, 2], timeline=bins)
    answer = answered(commit_rate(found))
    assert len(answer.rows) == 30
    assert {row[answer.head.index("committed [1/s]")] for row in answer.rows} == {"4.5"}
    assert {row[answer.head.index("aborted [1/s]")] for row in answer.rows} == {"1"}


def test_too_few_commits_make_no_rate() -> None:
    one = at_rate(4.0)
    bins = [(one.name, 1, 1000.0 * k, 1000.0, 0, 0) for k in range(60)]
    answer = commit_rate(study([one], lambda *_: outcome(8, 0), timeline=bins))
    assert isinstance(answer, LeftOut)
    assert "simulation.duration_ms" in answer.why


# -- distributions -----------------------------------------------------------------------------------------------------


def test_quantiles_of_retries_are_exact() -> None:
    one = at_rate(1.0)
    counts = [
        (one.name, "n_retries", value, count) for value, count in ((0, 50), (1, 40), (4, 9), (7, 1))
    ]
    answer = answered(retries(study([one], told, histograms=counts)))
    row = dict(zip(answer.head, answer.rows[0], strict=True))
    assert row == {
        "experiments": "study",
        "offered load [1/s]": "1",
        "transactions": "100",
        "none": "50 %",
        "mean": "0.83",
        "50% at most": "0",
        "90% at most": "1",
        "95% at most": "4",
        "99% at most": "4",
        "largest": "7",
    }


def test_a_quantile_is_the_smallest_value_that_the_share_does_not_exceed() -> None:
    import numpy as np

    counted = np.array([2, 5, 9]), np.array([1, 1, 2])
    assert [quantile(counted, share) for share in (0.0, 0.25, 0.26, 0.5, 0.51, 1.0)] == [
        2,
        2,
        5,
        5,
        9,
        9,
    ]


def test_the_distribution_is_drawn_as_it_is() -> None:
    one = at_rate(1.0)
    counts = [(one.name, "snapshots_behind", value, 25) for value in (0, 1, 2, 3)]
    answer = answered(snapshots_behind(study([one], told, histograms=counts)))
    (line,) = painted(answer).axes[0].lines
    assert line.get_ydata()[-2] == 1.0
    assert dict(line.get_xydata()[1:-1].tolist()) == {0.0: 0.25, 1.0: 0.5, 2.0: 0.75, 3.0: 1.0}


# -- the threshold -----------------------------------------------------------------------------------------------------


def maintenance(committed: dict[float, int]) -> Study:
    setups = [
        setup(base=MAINTENANCE, **{"workload__class__appends__inter_arrival__scale": 1000.0 / rate})
        for rate in committed
    ]

    def overwrites(one: Setup, seed: int, class_name: str, operation: str) -> dict[str, float]:
        won = committed[round(one.load.background_per_s, 6)]
        return dict(outcome(won, 20 - won, 5))

    return study(
        setups, overwrites, kinds=[("maintenance", "validated_overwrite")], seeds=range(1, 6)
    )


def test_the_threshold_lies_where_half_of_the_overwrites_commit() -> None:
    found = maintenance({0.25: 20, 0.5: 18, 1.0: 10, 2.0: 2, 4.0: 0})
    answer = answered(uncommittable(found))
    (case,) = answer.data
    even, hardly = case["thresholds"]
    assert even["is_bracketed"]
    assert even["low_per_s"] < 1.0 < even["high_per_s"]
    assert even["rate_per_s"] == pytest.approx(1.0, rel=0.02)
    assert hardly["rate_per_s"] > even["rate_per_s"]
    assert "even odds at 1/s" in answer.findings[0]
    row = dict(zip(answer.head, answer.rows[2], strict=True))
    assert (row["committed"], row["aborted"], row["in flight"], row["success"]) == (
        "50",
        "50",
        "25",
        "50 %",
    )


def test_commits_of_others_are_the_background_and_what_others_achieve() -> None:
    found = maintenance({0.5: 20, 2.0: 0})
    for one in found.setups:
        assert (
            rivals_per_s(found, one, ("maintenance", "validated_overwrite"))
            == one.load.background_per_s
        )


@pytest.mark.parametrize(
    ("won", "words"), [(20, "do not bound it from above"), (0, "do not bound it from below")]
)
def test_rates_that_do_not_bracket_the_threshold_are_called_so(won: int, words: str) -> None:
    answer = answered(uncommittable(maintenance({10.0: won, 50.0: won, 100.0: won})))
    assert words in answer.findings[0]
    assert not answer.data[0]["thresholds"][0]["is_bracketed"]


# -- what cannot be answered -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "key"),
    [
        (latency_throughput, "transaction.inter_arrival"),
        (success_load, "transaction.inter_arrival"),
        (load_tables, "catalog.num_tables"),
        (load_catalog_latency, "storage.T_CAS"),
        (commit_rate, "simulation.duration_ms"),
        (retries, "No transaction finished"),
        (snapshots_behind, "--attempts"),
        (uncommittable, "operation_types"),
    ],
)
def test_what_one_experiment_cannot_answer_names_what_would_help(ask: Any, key: str) -> None:
    answer = ask(study([at_rate(1.0)], lambda *_: outcome(0, 0)))
    assert isinstance(answer, LeftOut)
    assert key in answer.why


def test_background_alone_is_no_load_to_find_a_knee_in() -> None:
    answer = latency_throughput(maintenance({0.5: 20, 1.0: 10, 2.0: 0}))
    assert isinstance(answer, LeftOut)
    assert "background" in answer.why


def test_every_question_stands_up_to_runs_in_which_nothing_commits() -> None:
    found = study(
        [at_rate(rate) for rate in RATES],
        lambda *_: outcome(0, 30, 3, commit_latency_mean_ms=math.nan),
    )
    for ask in QUESTIONS:
        answer = ask(found)
        if isinstance(answer, Answer):
            painted(answer)
            assert "nan" not in answer.markdown()


def test_every_plot_says_window_seeds_and_catalog_model() -> None:
    found = tables_study()
    for ask in QUESTIONS:
        answer = ask(found)
        if isinstance(answer, Answer):
            words = " ".join(painted(answer).get_supxlabel().split())
            for part in ("warm-up (5 s)", "Seeds 1–3", "Catalog model: per table", "in flight"):
                assert part in words
