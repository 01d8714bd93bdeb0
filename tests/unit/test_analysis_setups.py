"""What experiments are set to, as the analysis sees it: loads, axes, names."""

from __future__ import annotations

import pytest
from analysis_tables import MAINTENANCE, all_studies, at_rate, outcome, setup, study

from endive.analysis.setups import CATALOG_LATENCY, LOAD, MIX, Setup, in_words, varied_axes
from endive.analysis.study import Study, spread
from endive.analysis.words import duration, listed, number, percent, whole_numbers


def told(setup: Setup, seed: int, class_name: str, operation: str) -> dict[str, float]:
    return dict(outcome(10, 0))


def quiet(*setups: Setup) -> Study:
    return study(setups, told)


def test_the_rate_of_open_arrivals_is_that_of_their_mean_gap() -> None:
    assert at_rate(4.0).load.per_s == 4.0
    gaps = {"distribution": "lognormal", "median": 100.0, "sigma": 1.0}
    assert setup(transaction__inter_arrival=gaps).load.per_s == pytest.approx(10 / 1.6487212707)


def test_background_and_what_is_submitted_are_told_apart() -> None:
    load = setup(base=MAINTENANCE).load
    assert (load.submitted_per_s, load.background_per_s, load.clients) == (1.0, 1.0, 0)


def test_clients_are_counted_where_nobody_knows_their_rate() -> None:
    clients = {
        "name": "clients",
        "kind": "closed",
        "clients": 7,
        "think_time": {"distribution": "fixed", "value": 100.0},
    }
    document = {**MAINTENANCE, "workload": {"class": [clients]}}
    assert setup(base=document).load.clients == 7


def test_keys_that_set_the_load_are_one_axis_and_no_name_of_a_curve() -> None:
    found = quiet(
        at_rate(1.0),
        at_rate(2.0),
        setup(transaction__inter_arrival={"distribution": "fixed", "value": 250.0}),
    )
    assert found.axes == (LOAD,)
    (series,) = found.series()
    assert [found.load(one) for one in series.setups] == [1.0, 2.0, 4.0]
    assert series.name == ""


def test_weights_of_operations_are_one_axis() -> None:
    setups = [
        setup(transaction__operation_types={"fast_append": 3.0, "merge_append": 1.0}),
        setup(transaction__operation_types={"validated_overwrite": 1.0}),
    ]
    assert varied_axes(setups) == (MIX,)
    assert [in_words(MIX, one.axes[MIX]) for one in setups] == [
        "75 % fast_append, 25 % merge_append",
        "validated_overwrite",
    ]


def test_latencies_of_the_catalog_are_one_axis() -> None:
    setups = [setup(storage__T_CAS={"mean": ms, "stddev": 0.0}) for ms in (10.0, 50.0)]
    assert varied_axes(setups) == (CATALOG_LATENCY,)
    assert [one.catalog_latency_ms for one in setups] == [10.0, 50.0]
    assert setup().catalog_latency_ms is None


def test_series_have_the_names_of_what_differs_in_order_of_its_value() -> None:
    setups = [
        at_rate(rate, catalog__num_tables=tables, catalog__conflict_granularity="table")
        for rate in (2.0, 1.0)
        for tables in (16, 1, 4)
    ]
    found = quiet(*setups)
    assert [one.name for one in found.series()] == ["1 table", "4 tables", "16 tables"]
    assert [one.name for one in found.series(without=["catalog.num_tables"])] == [""]


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({}, "one pointer"),
        ({"catalog__conflict_granularity": "table"}, "per table"),
        ({"catalog__type": "append"}, "log of records"),
    ],
)
def test_every_catalog_has_the_name_of_its_model(settings: dict[str, str], model: str) -> None:
    one = setup(**settings)
    assert one.catalog_model == model
    assert f"Catalog model: {model}." in quiet(one).basis([one])


def test_what_a_plot_rests_on_is_told_with_what_was_cut_off() -> None:
    one = setup()
    found = study([one], lambda *_: outcome(50, 25, 25), seeds=[1, 2, 3, 7])
    assert found.basis([one]) == (
        "Submitted from the end of the warm-up (5 s) to the end of the run (60 s). Seeds 1–3, 7. Catalog model: one pointer. "
        "Still in flight at the end, counted as neither success nor failure: 25 %."
    )


def test_runs_that_never_settled_are_told() -> None:
    one = setup()
    found = study([one], lambda *_: outcome(50, 0, steady=False))
    assert "No steady state found in 3 of 3 runs" in found.basis([one])


def test_experiments_of_one_label_are_one_study_and_the_others_another() -> None:
    setups = [
        at_rate(rate, label=label)
        for rate, label in ((1.0, "a"), (2.0, "a"), (3.0, "b"), (4.0, "c"))
    ]
    found = all_studies(setups, told)
    assert {one.name: len(one.setups) for one in found} == {"a": 2, "single experiments": 2}
    assert [set(one.runs["experiment"]) for one in found] == [
        {setup.name for setup in one.setups} for one in found
    ]


def test_a_few_of_many_are_spread_and_have_both_ends() -> None:
    setups = [at_rate(float(rate)) for rate in range(1, 21)]
    rates = [one.load.per_s for one in spread(setups, 5)]
    assert len(rates) == 5
    assert (rates[0], rates[-1]) == (1.0, 20.0)
    assert list(spread(setups[:3], 5)) == setups[:3]


def test_numbers_have_as_many_digits_as_count() -> None:
    assert [number(value) for value in (0.0, 3, 3.0, 0.123456, 12345.6, float("nan"), None)] == [
        "0", "3", "3", "0.1235", "12,346", "–", "–",
    ]  # fmt: skip
    assert [percent(share) for share in (0.0, 1.0, 0.00001, 0.99999, 0.123, None)] == [
        "0 %", "100 %", "<0.1 %", ">99.9 %", "12.3 %", "–",
    ]  # fmt: skip
    assert [duration(ms) for ms in (12.0, 1500.0, 180_000.0, 7.2e6)] == [
        "12 ms",
        "1.5 s",
        "3 min",
        "2 h",
    ]
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert whole_numbers([3, 1, 2, 9]) == "1–3, 9"
