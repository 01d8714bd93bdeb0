"""What people write about loads and objectives is understood, or refused in words that say how to write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.config import resolve_config
from endive.errors import InputError
from endive.sizing import load
from endive.sizing.candidates import Candidate, candidates
from endive.sizing.objectives import Objective, Quantity, parse_objective, with_implied
from endive.sizing.request import Options, Request, build_request
from endive.sizing.units import Unclear, duration_ms, rate_per_s, share


@pytest.mark.parametrize(
    ("text", "value"),
    [("800ms", 800.0), ("2s", 2000.0), ("1.5min", 90_000.0), (" .5 h ", 1_800_000.0)],
)
def test_durations_have_units(text: str, value: float) -> None:
    assert duration_ms(text) == value


@pytest.mark.parametrize(
    "text", ["2", "2m", "-1s", "0s", "s", "1e3s", "2 s s", "nan s", "9" * 400 + "s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(Unclear, match=r"10min|more than 0|write min|beyond"):
        duration_ms(text)


def test_rates_are_per_second_unless_they_say_otherwise() -> None:
    assert [rate_per_s(text) for text in ("50", "50/s", "30/min", "3.6 / h")] == [
        50,
        50,
        0.5,
        0.001,
    ]
    for text in ("0", "50/d", "-1", "fast"):
        with pytest.raises(Unclear, match=r"30/min|more than 0"):
            rate_per_s(text)


def test_shares_are_the_floats_nearest_to_what_was_written() -> None:
    assert [share(text) for text in ("99.9%", "0.999", "99.99 %", "0", "1")] == [
        0.999,
        0.999,
        0.9999,
        0,
        1,
    ]
    with pytest.raises(Unclear, match="did you mean 95%"):
        share("95")
    with pytest.raises(Unclear, match="not between"):
        share("101%")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99<2s", Objective("p99<2s", None, Quantity.COMMIT_LATENCY, 2000.0, 0.99, True)),
        ("p99.9 <= 1min", Objective("p99.9<=1min", None, Quantity.COMMIT_LATENCY, 60_000.0, 0.999)),
        ("commit.p50<=1s", Objective("commit.p50<=1s", None, Quantity.COMMIT_LATENCY, 1000.0, 0.5)),
        ("total.p95<1h", Objective("total.p95<1h", None, Quantity.TOTAL_LATENCY, 3.6e6, 0.95, True)),
        ("success>=99.9%", Objective("success>=99.9%", None, Quantity.SUCCESS, 0.999)),
        ("throughput>=49/s", Objective("throughput>=49/s", None, Quantity.THROUGHPUT, 49.0)),
        (
            "maintenance.success > 0.95",
            Objective("maintenance.success>0.95", "maintenance", Quantity.SUCCESS, 0.95, 0.0, True),
        ),
        (
            "night.jobs.total.p95<5min",
            Objective("night.jobs.total.p95<5min", "night.jobs", Quantity.TOTAL_LATENCY, 3e5, 0.95, True),
        ),
    ],
)  # fmt: skip
def test_objectives_are_read(text: str, expected: Objective) -> None:
    assert parse_objective(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fast", "write it as p99<2s"),
        ("p99>2s", "write p99<"),
        ("p99<2", "no duration"),
        ("p100<2s", "no objective|no quantity"),
        ("p0<2s", "both excluded"),
        ("success<=5%", "write success>="),
        ("success>=100%", "no number of runs can show"),
        ("success>=0%", "holds whatever happens"),
        ("success>=95", "did you mean 95%"),
        ("total.success>=95%", "only a latency can be total"),
        ("sucess>=95%", "did you mean 'success'"),
        ("throughput>=many", "no rate"),
        ("p99==2s", "kept below"),
        ("", "no objective"),
    ],
)
def test_what_is_no_objective_is_refused_with_the_way_to_write_it(text: str, words: str) -> None:
    with pytest.raises(Unclear, match=words):
        parse_objective(text)


def test_a_latency_without_a_success_implies_one() -> None:
    found = with_implied([parse_objective(text) for text in ("p95<1s", "p99<2s", "a.p50<1s")])
    implied = [(each.text, each.required) for each in found if each.is_implied]
    assert implied == [("success>=99%", 0.99), ("a.success>=50%", 0.5)]
    said = [parse_objective(text) for text in ("p99<2s", "success>=10%")]
    assert with_implied(said) == tuple(said)


def test_mixes_and_working_times_are_read() -> None:
    assert load.mix("fast_append=3, merge_append=1") == {"fast_append": 3.0, "merge_append": 1.0}
    assert load.mix("rewrite_files") == {"rewrite_files": 1.0}
    assert load.runtime("10s") == {"distribution": "fixed", "value": 10_000.0}
    assert load.runtime("0") == {"distribution": "fixed", "value": 0.0}
    assert load.runtime("exponential 1min") == {"distribution": "exponential", "scale": 60_000.0}
    assert load.runtime("lognormal 10s sigma 1.5")["sigma"] == 1.5
    for bad in (
        "append=1",
        "fast_append=x",
        "fast_append=-1",
        "fast_append=0",
        "fast_append,fast_append",
    ):
        with pytest.raises(Unclear):
            load.mix(bad)
    for bad in (
        "",
        "normal 1s",
        "lognormal 10s sigma x",
        "lognormal 10s",
        "lognormal 10s sigma 99",
    ):
        with pytest.raises(Unclear):
            load.runtime(bad)


def test_maintenance_comes_to_every_table_unless_it_is_so_many_in_all() -> None:
    job = load.maintenance("rewrite_files every 1h for 10min")
    assert job == load.Maintenance("rewrite_files", 3.6e6, 600_000.0)
    assert job.interval_ms(10) == 360_000.0
    once = load.maintenance("validated_overwrite  every 1h for 3min in all overlap 5%")
    assert (once.interval_ms(10), once.overlap) == (3.6e6, 0.05)
    for bad in (
        "rewrite_files",
        "compact every 1h for 1min",
        "rewrite_files every 1h for 10",
        "rewrite_files every 1h",
    ):
        with pytest.raises(Unclear):
            load.maintenance(bad)


@pytest.mark.parametrize(
    "table",
    [
        {"distribution": "fixed", "value": 40.0},
        {"distribution": "exponential", "scale": 40.0},
        {"distribution": "uniform", "low": 20.0, "high": 60.0},
        {"distribution": "normal", "mean": 40.0, "std_dev": 3.0},
        {"distribution": "lognormal", "mean": 40.0, "sigma": 1.2},
        {"distribution": "lognormal", "median": 40.0, "sigma": 1.2},
    ],
)
def test_gaps_of_every_family_scale(table: dict[str, object]) -> None:
    assert load.mean_of(load.scaled(table, 0.25)) == pytest.approx(load.mean_of(table) / 4.0)
    median = load.quantile_of(table, 0.5)
    assert load.quantile_of(load.scaled(table, 2.0), 0.5) == pytest.approx(2.0 * median)
    assert load.quantile_of(table, 0.95) >= median


def request_of(**options: object) -> Request:
    settings: dict[str, object] = {"slo": ["p99<2s"], "rate": "50", "tables": 10, **options}
    return build_request(Options(**settings))  # pyright: ignore


def test_the_rate_is_that_of_the_open_arrivals_and_jobs_do_not_scale() -> None:
    request = request_of(maintenance=["rewrite_files every 1h for 10min"], partitions=20)
    document = request.at(100.0)
    writers, job = document["workload"]["class"]
    assert load.mean_of(writers["inter_arrival"]) == pytest.approx(10.0)
    assert job["interval_ms"] == 360_000.0
    assert request.at(50.0) == request.document
    assert request.open_names == {"writers"}


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as told:
        request_of(
            rate="fast",
            slo=["p99>2s", "sucess>=9%", "jobs.p99<1s", "p95<1s,p95<1s"],
            mix="append=1",
            runtime="long",
            maintenance=["compact every 1h for 1min", "rewrite_files every 1h for 1min overlap 5%"],
        )
    problems = [(each.key, each.message) for each in told.value.problems]
    assert [key for key, _ in problems] == [
        "--mix", "--runtime", "--maintenance", "--maintenance", "--rate", "--slo", "--slo", "--slo", "--slo",
    ]  # fmt: skip
    text = str(told.value)
    assert "needs --partitions" in text
    assert "nothing here is called 'jobs'" in text
    assert "given twice" in text


def test_nothing_asked_for_is_told_too() -> None:
    with pytest.raises(InputError, match=r"--rate: missing(.|\n)*--slo: missing"):
        build_request(Options(slo=[]))


def test_options_go_over_a_base(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(
        "simulation.duration_ms = 1000\nstorage.provider = 's3'\ncatalog.num_tables = 4\n"
        "transaction.inter_arrival = {distribution = 'exponential', scale = 500}\n"
        "transaction.operation_types = {fast_append = 1.0}\n"
    )
    plain = build_request(Options(slo=["p99<2s"], config=str(base)))
    assert (plain.rate_per_s, plain.tables) == (2.0, 4)
    assert plain.document["transaction"]["operation_types"] == {"fast_append": 1.0}
    changed = build_request(
        Options(
            slo=["p99<2s"], config=str(base), rate="10", tables=2, mix="merge_append", retries=7
        )
    )
    assert (changed.rate_per_s, changed.tables) == (10.0, 2)
    assert changed.classes[0]["operation_types"] == {"merge_append": 1.0}
    assert load.mean_of(changed.classes[0]["inter_arrival"]) == pytest.approx(100.0)
    assert changed.document["transaction"]["retry"] == 7


def test_a_base_is_refused_by_its_own_lines_or_for_want_of_open_arrivals(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text("simulation.duration_ms = 1000\nstorage.provider = 's4'\n")
    with pytest.raises(InputError, match=r"base\.toml:2: storage\.provider"):
        build_request(Options(slo=["p99<2s"], config=str(base)))
    base.write_text(
        "simulation.duration_ms = 1000\nstorage.provider = 's3'\n[[workload.class]]\nname = 'jobs'\n"
        "kind = 'periodic'\ninterval_ms = 10\n"
    )
    with pytest.raises(InputError, match="no open class"):
        build_request(Options(slo=["jobs.p99<2s"], config=str(base)))
    base.write_text(
        "simulation.duration_ms = 1000\nstorage.provider = 's3'\n"
        "[[workload.script]]\nat_ms = 0\noperation = 'fast_append'\ntables = [0]\n"
    )
    with pytest.raises(InputError, match="no open class"):
        build_request(Options(slo=["p99<2s"], config=str(base)))


def test_combinations_that_cannot_be_are_left_out_with_the_reason() -> None:
    chosen, left_out = candidates(request_of(), ("s3", "s3x"))
    names = {each.name for each in chosen}
    assert names == {
        "s3 one-pointer rewrite", "s3 per-table rewrite", "s3x one-pointer rewrite", "s3x one-pointer ml+",
        "s3x per-table rewrite", "s3x per-table ml+", "s3x log rewrite", "s3x log ml+",
    }  # fmt: skip
    reasons = {each.candidate.name: each.reason for each in left_out}
    assert "no appends" in reasons["s3 log ml+"]
    one_table, left_out = candidates(request_of(tables=1), ("s3",))
    assert [each.name for each in one_table] == ["s3 one-pointer rewrite"]
    assert any("one pointer" in each.reason for each in left_out)


def test_a_load_that_no_candidate_can_have_is_bad_input() -> None:
    request = request_of(cost_table="spec-2.0", maintenance=["rewrite_files every 1h for 10min"])
    with pytest.raises(InputError, match="has no price for it"):
        candidates(request)
    with pytest.raises(InputError, match="no candidate is left"):
        candidates(request_of(), ("s3",), ("log",))
    with pytest.raises(InputError, match="did you mean 'gcp'"):
        candidates(request_of(), ("gpc",))


def test_keys_that_another_catalog_reads_do_not_stand_in_the_way(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(
        "simulation.duration_ms = 1000\nstorage.provider = 's3x'\n"
        "[catalog]\ntype = 'append'\nnum_tables = 2\nappend_offset = 'latest'\nlog_entry_size = 200\n"
        "[storage.latency.catalog]\nappend = {distribution = 'fixed', value = 5}\n"
        "read = {distribution = 'fixed', value = 5}\n"
        "[transaction]\nmanifest_list_mode = 'append'\nmanifest_list_append = 'offset'\n"
    )
    request = build_request(Options(slo=["p99<2s"], config=str(base)))
    chosen, _ = candidates(request, ("s3x",))
    assert len(chosen) == 6
    log = resolve_config(Candidate("s3x", "log", "ml+").applied_to(request.document, 1000.0)).values
    assert log["catalog"]["append_offset"] == "latest"
    pointer = Candidate("s3x", "per-table", "rewrite").applied_to(request.document, 1000.0)
    assert "append_offset" not in pointer["catalog"]
    assert pointer["storage"]["latency"]["catalog"] == {
        "read": {"distribution": "fixed", "value": 5}
    }
