"""Calibration: the experiment, the errors, the fit, and the table of measurements it all rests on."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from endive.calibration.compare import (
    Error,
    Fit,
    compare,
    failure_error,
    throughput_error,
)
from endive.calibration.data import (
    REFUSED_MEAN_MS,
    STORES,
    THREADS,
    Case,
    Operation,
    Row,
    packaged_file,
    read_cases,
)
from endive.calibration.experiment import Client, StoreModel, mean_ms, simulate
from endive.calibration.fit import fit_store
from endive.calibration.profiles import SUFFIX, broken_claims, claims, render_profile
from endive.calibration.recorded import packaged_fits, read_fits, render_fits
from endive.errors import InputError
from endive.inference import Interval
from endive.profiles import load_fitted_profiles, load_profile, load_profiles

CASES = read_cases(packaged_file())
_HEADER = "store,operation,threads,n_success,failure_pct,mean_ms,p50_ms,p95_ms,p99_ms,p999_ms,ok_per_s,ok_per_s_sd"
_STEADY = StoreModel(effect_point=1.0, median_ms=50.0, sigma=0.1, floor_ms=1.0)


def case_of(store: str, operation: Operation) -> Case:
    return next(each for each in CASES if (each.store, each.operation) == (store, operation))


def measured_with(model: StoreModel, operation: Operation = Operation.CAS) -> Case:
    """What a benchmark would have measured of a store that is exactly like this."""
    rows = []
    for threads in THREADS:
        run = simulate(model, operation, threads, attempts=20_000, seed=77)
        rows.append(
            Row(
                threads=threads,
                successes=10_000,
                failure_rate=run.failure_rate,
                mean_ms=run.mean_ms,
                p50_ms=run.p50_ms,
                p95_ms=run.p99_ms,
                p99_ms=run.p99_ms,
                ok_per_s=run.ok_per_s,
                is_derived=False,
            )
        )
    return Case("s3", operation, tuple(rows))


# -- the measurements ------------------------------------------------------------------------------------------------


def test_the_table_has_every_thread_count_of_every_operation_a_store_has() -> None:
    specified = load_profiles()
    expected = {(name, Operation.CAS) for name in STORES.values()} | {
        (name, Operation.APPEND) for name in STORES.values() if specified[name].supports_append
    }
    assert {(case.store, case.operation) for case in CASES} == expected
    assert all(tuple(row.threads for row in case.rows) == THREADS for case in CASES)
    assert len(packaged_file().read_text("utf-8").splitlines()) == 1 + 5 * len(expected)


def test_the_table_ships_with_where_it_comes_from() -> None:
    text = packaged_file().with_suffix(".md").read_text("utf-8")
    for words in ("YCSB, June 2025", "closed loop", "§1.4", "Azure append | 3011"):
        assert words in text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_time_of_all_clients_is_spent_in_operations(case: Case) -> None:
    """No time is left for a read between operations, and throughput that was worked out agrees with what was published."""
    refused = [row.successes * row.failure_rate / (1.0 - row.failure_rate) for row in case.rows]
    spent_ms = [
        count * (row.refused_ms or 0.0) for count, row in zip(refused, case.rows, strict=True)
    ]
    implied_ms = math.fsum(spent_ms) / math.fsum(refused)
    assert implied_ms == pytest.approx(REFUSED_MEAN_MS[case.store, case.operation], rel=0.07)


def test_only_azure_has_throughput_that_was_worked_out() -> None:
    derived = {case.store for case in CASES for row in case.rows if row.is_derived}
    assert derived == {"azure", "azurex"}
    assert case_of("azure", Operation.CAS).row(1).ok_per_s == pytest.approx(1000.0 / 104.0)


@pytest.mark.parametrize(
    ("change", "line", "key", "words"),
    [
        ("AWS S3 (Standard),CAS,1,x,0,68,64,90,112,168,14,0", 2, "n_success", "'x'"),
        ("AWS S3 (Standard),CAS,3,9,0,68,64,90,112,168,14,0", 2, "threads", "1, 2, 4, 8, 16"),
        ("AWS S3 (Standard),CAS,1,9,100,68,64,90,112,168,14,0", 2, "failure_pct", "below 100"),
        ("AWS S3 (Standard),CAS,1,9,0,-1,64,90,112,168,14,0", 2, "mean_ms", "above 0"),
        ("AWS S3 (Standard),CAS,1,9,0,nan,64,90,112,168,14,0", 2, "mean_ms", "above 0"),
        ("AWS S3 (Standard),CAS,1,9,0,68,99,90,112,168,14,0", 2, "p50_ms", "must not fall"),
        ("AWS S4,CAS,1,9,0,68,64,90,112,168,14,0", 2, "store", "'AWS S3 (Standard)'"),
        ("AWS S3 (Standard),PUT,1,9,0,68,64,90,112,168,14,0", 2, "operation", "'CAS'"),
        ("AWS S3 (Standard),CAS,1,9,0,68,64,90,112,168,14,0", 2, "threads", "2, 4, 8, 16 threads"),
        ("AWS S3 (Standard),CAS,1", 2, "n_success", "must be a number"),
    ],
)
def test_a_bad_row_is_named_with_line_key_and_fix(
    tmp_path: Path, change: str, line: int, key: str, words: str
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{_HEADER}\n{change}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_cases(path)
    problem = caught.value.problems[0]
    assert (problem.line, problem.key) == (line, key)
    assert words in problem.message
    assert str(path) in str(problem)


def test_a_missing_column_and_a_second_row_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(_HEADER.replace("failure_pct,", ""), encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.csv:1: failure_pct: no such column"):
        read_cases(path)
    row = "AWS S3 (Standard),CAS,1,9,0,68,64,90,112,168,14,0"
    path.write_text(f"{_HEADER}\n{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.csv:3: threads: a second row for 1 threads"):
        read_cases(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_cases(path)


# -- the experiment --------------------------------------------------------------------------------------------------


def test_one_client_is_never_refused_and_writes_back_to_back() -> None:
    run = simulate(_STEADY, Operation.CAS, 1, attempts=4_000, seed=1)
    assert run.failure_rate == 0.0
    assert run.ok_per_s == pytest.approx(1000.0 / mean_ms(50.0, 0.1, 1.0), rel=0.01)


@pytest.mark.parametrize("operation", list(Operation))
def test_with_the_effect_at_the_end_one_of_n_clients_wins(operation: Operation) -> None:
    """Law L7: ok is about 1/L, and 1 − 1/n of the attempts are refused."""
    for threads in (2, 8):
        run = simulate(_STEADY, operation, threads, attempts=8_000, seed=1)
        assert run.failure_rate == pytest.approx(1.0 - 1.0 / threads, abs=0.03)
        assert run.ok_per_s == pytest.approx(20.0, rel=0.12)


def test_with_the_effect_at_half_a_crowd_has_nearly_twice_the_throughput() -> None:
    run = simulate(replace(_STEADY, effect_point=0.5), Operation.CAS, 16, attempts=8_000, seed=1)
    assert run.ok_per_s == pytest.approx(40.0, rel=0.12)


def test_a_client_that_is_only_told_cannot_beat_one_write_per_latency() -> None:
    model = replace(_STEADY, effect_point=0.5)
    told = simulate(model, Operation.CAS, 16, attempts=8_000, seed=1, client=Client.TOLD)
    assert told.ok_per_s * told.mean_ms / 1000.0 == pytest.approx(1.0, abs=0.03)


def test_a_read_after_a_refusal_costs_time() -> None:
    after = simulate(_STEADY, Operation.CAS, 2, attempts=8_000, seed=1, client=Client.READS_AFTER)
    within = simulate(_STEADY, Operation.CAS, 2, attempts=8_000, seed=1)
    assert after.failure_rate < within.failure_rate - 0.1


def test_the_latency_of_refusals_is_the_stores() -> None:
    model = replace(_STEADY, refused_median_ms=500.0, refused_sigma=0.0)
    for operation in Operation:
        run = simulate(model, operation, 4, attempts=4_000, seed=1)
        assert run.refused_ms == pytest.approx(500.0)


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [simulate(_STEADY, Operation.CAS, 4, attempts=1_000, seed=5) for _ in range(2)]
    assert runs[0] == runs[1]


# -- errors and verdicts ---------------------------------------------------------------------------------------------


def test_a_failure_rate_is_compared_with_the_rarer_outcome() -> None:
    assert failure_error(0.90, 0.927) == pytest.approx(-0.37, abs=0.005)
    assert failure_error(0.03, 0.026) == pytest.approx(0.154, abs=0.001)
    assert failure_error(0.0, 0.001) == pytest.approx(-0.1)
    assert throughput_error(11.0, 10.0) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("low", "high", "fit"),
    [
        (-0.15, 0.15, Fit.FITS),
        (0.16, 0.2, Fit.DOES_NOT_FIT),
        (-0.4, -0.16, Fit.DOES_NOT_FIT),
        (0.14, 0.16, Fit.UNDECIDED),
    ],
)
def test_noise_is_not_misfit(low: float, high: float, fit: Fit) -> None:
    assert Error((low + high) / 2.0, Interval(low, high, 0.95)).fit is fit


# -- the fit ---------------------------------------------------------------------------------------------------------


def test_a_store_with_known_parameters_is_recovered() -> None:
    truth = StoreModel(0.7, 40.0, 0.15, 10.0, refused_median_ms=60.0, refused_sigma=0.15)
    case = measured_with(truth)
    found = fit_store([case], 10.0, attempts=3_000, effect_points=(0.5, 0.7, 0.9))
    model = found.models[Operation.CAS]
    assert model.effect_point == pytest.approx(0.7, abs=0.051)
    assert model.median_ms == pytest.approx(40.0, rel=0.05)
    assert model.refused_median_ms == pytest.approx(60.0, rel=0.1)
    assert model.sigma == pytest.approx(0.15, rel=0.1)
    compared = compare(case, model, seeds=(1, 2), attempts=6_000)
    assert compared.load is Fit.FITS
    assert compared.is_offered


def test_a_planted_misfit_does_not_fit() -> None:
    """Throughput that falls as clients are added is beyond every model of this kind."""
    case = measured_with(_STEADY)
    slowing = tuple(replace(row, ok_per_s=row.ok_per_s / row.threads) for row in case.rows)
    case = replace(case, rows=slowing)
    found = fit_store([case], 1.0, attempts=1_500, effect_points=(0.5, 1.0))
    compared = compare(case, found.models[Operation.CAS], seeds=(1, 2), attempts=2_000)
    assert found.effect_range is None
    assert compared.load is Fit.DOES_NOT_FIT
    assert not compared.is_offered


def test_a_heavy_tail_keeps_a_profile_from_being_offered() -> None:
    case = measured_with(_STEADY)
    crowd = replace(case.rows[-1], p99_ms=100.0 * case.rows[-1].p50_ms)
    case = replace(case, rows=(*case.rows[:-1], crowd))
    compared = compare(case, _STEADY, seeds=(1, 2), attempts=6_000)
    assert compared.load is Fit.FITS
    assert compared.tail is Fit.DOES_NOT_FIT
    assert compared.worst_tail_factor > 50.0
    assert not compared.is_offered


# -- what ships ------------------------------------------------------------------------------------------------------


def test_recorded_fits_cover_every_case_and_survive_writing(tmp_path: Path) -> None:
    fits = packaged_fits()
    assert {(store, each) for store, fit in fits.items() for each in fit.models} == {
        (case.store, case.operation) for case in CASES
    }
    path = tmp_path / "fits.toml"
    path.write_text(render_fits(list(fits.values())), encoding="utf-8")
    assert read_fits(path) == fits


@pytest.mark.parametrize("name", list(load_fitted_profiles()))
def test_a_shipped_profile_is_the_recorded_fit_and_keeps_its_word(name: str) -> None:
    profile, store = load_fitted_profiles()[name], name.removesuffix(SUFFIX)
    fit = packaged_fits()[store]
    comparisons = []
    for operation, model in fit.models.items():
        assert StoreModel.of_profile(profile, operation) == model
        comparisons.append(compare(case_of(store, operation), model, attempts=3_000))
    assert broken_claims(profile.fit, comparisons) == []


def test_a_profile_that_states_too_much_is_caught() -> None:
    model = packaged_fits()["s3"].models[Operation.CAS]
    compared = [compare(case_of("s3", Operation.CAS), model, attempts=3_000)]
    stated = claims(compared)
    assert broken_claims(stated, compared) == []
    assert broken_claims({}, compared)
    modest = dict.fromkeys(stated, 0.1)
    assert any("stated as 0.1" in words for words in broken_claims(modest, compared))
    worse = [compare(compared[0].case, replace(model, median_ms=90.0), attempts=3_000)]
    assert any("no longer fits" in words for words in broken_claims(stated, worse))


def test_a_profile_survives_writing_and_takes_the_rest_from_the_specification(
    tmp_path: Path,
) -> None:
    specified, fit = load_profiles()["s3x"], packaged_fits()["s3x"]
    comparisons = [
        compare(case_of("s3x", operation), model, seeds=(1, 2), attempts=2_000)
        for operation, model in fit.models.items()
    ]
    path = tmp_path / "s3x-2025.toml"
    path.write_text(render_profile(specified, fit, comparisons), encoding="utf-8")
    profile = load_profile(path)
    for operation, model in fit.models.items():
        assert StoreModel.of_profile(profile, operation) == model
    assert profile.min_latency_ms.value == specified.min_latency_ms.value
    put, given = profile.latency["put"].figures, specified.latency["put"].figures
    assert {key: figure.value for key, figure in put.items()} == {
        key: figure.value for key, figure in given.items()
    }
    assert profile.latency["cas_failure"].figures["sigma"].assumed


def test_only_what_fits_ships_as_a_profile() -> None:
    assert list(load_fitted_profiles()) == ["s3-2025", "s3x-2025"]
    assert not {"azure-2025", "azurex-2025", "gcp-2025"} & set(load_fitted_profiles())
