"""Candidates are judged, bracketed, explained and recommended from real runs, small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from endive.sizing.answering import Answer, answer
from endive.sizing.candidates import candidates
from endive.sizing.deciding import Verdict
from endive.sizing.measuring import Reading, Task
from endive.sizing.planning import plan_runs
from endive.sizing.request import Options, Request, build_request
from endive.sizing.searching import FEWEST_SEEDS, Evidence, Searcher
from endive.sizing.trusting import doubts

CHEAP: dict[str, Any] = {
    "cost_table": "spec-2.0",
    "table_metadata": "inlined",
    "runtime": "1s",
    "mix": "fast_append",
}


def here(function: Callable[[Task], Reading], tasks: Sequence[Task]) -> Iterator[Reading]:
    return map(function, tasks)


def size(
    request: Request, *names: Sequence[str], margins: int = 0, evidence: Evidence | None = None
) -> Answer:
    chosen, left_out = candidates(request, *names)
    evidence = evidence or Evidence()
    searcher = Searcher(request, evidence, here)
    return answer(request, chosen, left_out, evidence, searcher, margins=margins, finalists=2)


def fixed(value: float) -> str:
    return f'{{distribution = "fixed", value = {value}}}'


@pytest.fixture
def serial(tmp_path: Path) -> str:
    """Commits of 100 ms, each of which begins with the look at the catalog and ends with its effect; arrivals at even distances."""
    path = tmp_path / "serial.toml"
    path.write_text(
        f"""
        [simulation]
        duration_ms = 1000
        [storage]
        provider = "s3"
        effect_point = 1.0
        min_latency_ms = 0.001
        [storage.latency.catalog]
        read = {fixed(0.0)}
        cas = {fixed(40.0)}
        [storage.latency.manifest_list]
        read = {fixed(10.0)}
        write = {fixed(30.0)}
        [storage.latency.manifest_file]
        read = {fixed(1.0)}
        write = {fixed(20.0)}
        [transaction]
        retry = 0
        runtime = {fixed(0.0)}
        inter_arrival = {fixed(150.0)}
        operation_types = {{ fast_append = 1.0 }}
        """
    )
    return str(path)


def test_the_margin_of_serial_commits_brackets_their_ceiling(serial: str) -> None:
    request = build_request(Options(slo=["success>=99%"], config=serial))
    found = size(request, ("s3",), margins=1, evidence=Evidence(step=1.05))
    (entry,) = found.entries
    assert entry.margin is not None
    holds, breaks = entry.margin.holds, entry.margin.breaks
    assert holds is not None
    assert breaks is not None
    # Law L6: one commit after the other, 100 ms each, makes ten a second.
    assert holds.rate_per_s <= 10.0 <= breaks.rate_per_s <= 1.05 * holds.rate_per_s
    assert found.recommended is entry
    limit = entry.limit
    assert limit.decision.objective.text == "success>=99%"
    assert limit.figures["serial_ceiling_per_s"] == pytest.approx(10.0)
    assert limit.mechanism in ("swap-contention", "rebuild")
    assert limit.figures["missed_by_max_retries"] == limit.figures["missed"] > 0
    assert found.exit_code == 0


def test_where_nothing_holds_the_margin_says_how_much_less_would(serial: str) -> None:
    request = build_request(Options(slo=["success>=99%"], config=serial, rate="40"))
    found = size(request, ("s3",), margins=1)
    (entry,) = found.entries
    assert entry.verdict is Verdict.FAILS
    assert entry.margin is not None
    assert entry.margin.holds is not None
    assert entry.margin.holds.rate_per_s <= 10.0
    assert found.recommended is None
    assert found.exit_code == 1


def test_latencies_of_a_configuration_are_no_measured_store(serial: str) -> None:
    request = build_request(Options(slo=["success>=99%"], config=serial))
    (entry,) = size(request, ("s3",)).entries
    assert entry.extrapolates
    assert any("those of the configuration" in each.words for each in entry.doubts)


def test_an_easy_load_holds_with_twenty_seeds_and_is_confirmed_with_twenty_others() -> None:
    request = build_request(Options(slo=["p95<5s", "success>=90%"], rate="2", tables=10, **CHEAP))
    found = size(request, ("s3x-2025",), ("per-table",), ("rewrite",))
    (entry,) = found.entries
    assert entry.verdict is Verdict.HOLDS
    assert len(entry.assessment.readings) == FEWEST_SEEDS
    assert entry.confirmation is not None
    assert len(entry.confirmation.readings) == FEWEST_SEEDS
    assert set(entry.assessment.seeds).isdisjoint(entry.confirmation.seeds)
    assert not entry.extrapolates
    # And once more, by somebody else's seeds.
    again = size(
        request, ("s3x-2025",), ("per-table",), ("rewrite",), evidence=Evidence(first_seed=777)
    )
    assert again.recommended is not None


def test_an_impossible_load_is_told_from_a_few_short_runs() -> None:
    request = build_request(Options(slo=["success>=99%"], rate="50", tables=1, **CHEAP))
    found = size(request, ("s3",))
    (entry,) = found.entries
    assert entry.verdict is Verdict.FAILS
    assert len(entry.assessment.readings) < FEWEST_SEEDS
    assert found.runs == len(entry.assessment.readings)
    assert (found.recommended, found.exit_code) == (None, 1)
    assert entry.limit.mechanism == "swap-contention" or entry.limit.mechanism == "rebuild"
    assert entry.limit.figures["calls_lost_share"] > 0.5


def test_a_store_whose_own_latency_is_too_long_is_said_to_be_so() -> None:
    request = build_request(Options(slo=["p99<100ms"], rate="0.2", tables=10, **CHEAP))
    (entry,) = size(request, ("s3",), ("per-table",)).entries
    assert entry.verdict is Verdict.FAILS
    assert entry.limit.mechanism == "store-latency"


def test_work_that_takes_too_long_is_no_fault_of_the_store() -> None:
    request = build_request(
        Options(
            slo=["total.p95<1s", "success>=50%"], rate="1", tables=10, **{**CHEAP, "runtime": "2s"}
        )
    )
    (entry,) = size(request, ("s3x",), ("per-table",), ("rewrite",)).entries
    assert entry.verdict is Verdict.FAILS
    assert entry.limit.mechanism == "work"


def test_a_throughput_above_the_rate_is_said_to_be_out_of_reach() -> None:
    request = build_request(Options(slo=["throughput>=10/s"], rate="2", tables=10, **CHEAP))
    (entry,) = size(request, ("s3x",), ("per-table",), ("rewrite",)).entries
    assert entry.verdict is Verdict.FAILS
    assert "above the rate asked for" in entry.limit.words


def test_overwrites_that_read_history_are_a_convoy() -> None:
    request = build_request(
        Options(
            slo=["maintenance.success>=90%"],
            rate="4",
            tables=1,
            maintenance=["validated_overwrite every 2min for 60s"],
            **{**CHEAP, "cost_table": "iceberg-java"},
            retry_preset="iceberg",
        )
    )
    evidence = Evidence(duration_ms=900_000.0)
    (entry,) = size(request, ("s3x",), ("one-pointer",), ("rewrite",), evidence=evidence).entries
    assert entry.verdict is Verdict.FAILS
    assert entry.limit.mechanism == "convoy"
    assert entry.limit.figures["missed_lists_of_history"] > 100


@pytest.mark.parametrize(
    ("provider", "catalog", "outside"),
    [("s3x-2025", "per-table", False), ("azure", "per-table", True), ("gcp", "per-table", True)],
)
def test_stores_that_no_profile_fits_are_extrapolated(
    provider: str, catalog: str, outside: bool
) -> None:
    request = build_request(Options(slo=["p99<30s"], rate="1", tables=4, **CHEAP))
    (entry,) = size(request, (provider,), (catalog,), ("rewrite",)).entries
    assert entry.extrapolates is outside
    if outside:
        assert any("no profile reproduces" in each.words for each in entry.doubts)
        assert any("times as large as the profile" in each.words for each in entry.doubts)


def test_more_calls_at_a_time_than_clients_were_measured_are_extrapolated() -> None:
    request = build_request(Options(slo=["success>=99%"], rate="400", tables=1, retries=1, **CHEAP))
    searcher = Searcher(request, Evidence(), here)
    (found,) = searcher.assess([(candidates(request, ("s3",))[0][0], 400.0)], "crowd")
    crowd = [each for each in doubts(found) if "at a time on a pointer" in each.words]
    assert len(crowd) == 1
    assert crowd[0].extrapolates


def test_an_idealised_store_was_never_measured() -> None:
    request = build_request(Options(slo=["p99<5s"], rate="1", tables=4, **CHEAP))
    chosen, _ = candidates(request)
    assert all(each.provider != "instant" for each in chosen)
    found = size(request, ("instant",), ("per-table",), ("rewrite",))
    assert found.recommended is not None
    assert any("never measured" in each.words for each in found.recommended.doubts)


def test_runs_are_as_long_as_objectives_need() -> None:
    def minutes(*slo: str, **options: Any) -> float:
        request = build_request(Options(slo=slo, rate="10", tables=2, **options))
        return plan_runs(request, 10.0, 20, 0.975).duration_ms / 60_000.0

    assert minutes("p99.9<2s") > 5.0 * minutes("p99<2s")
    hourly = ("rewrite_files every 1h for 10min",)
    longer = minutes("maintenance.success>=95%", maintenance=hourly)
    # 96 jobs show 95 %: five in each seed, two in an hour.
    assert longer > 2.5 * 60.0
    request = build_request(
        Options(slo=["p99<2s", "maintenance.success>=95%"], rate="10", maintenance=hourly)
    )
    short = plan_runs(request, 10.0, 20, 0.975, jobs=False)
    assert short.duration_ms < plan_runs(request, 10.0, 20, 0.975).duration_ms / 10.0
    asked = plan_runs(request, 10.0, 20, 0.975, 123_000.0)
    assert (asked.duration_ms, asked.reasons) == (123_000.0, ("as asked for",))
