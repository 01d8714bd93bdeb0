"""The two worked questions of docs/worked_questions.md, asked of the shipped examples."""

from __future__ import annotations

import copy
import tomllib
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, Statistics

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MAINTENANCE_RATES = {"1": 1, "10": 10, "50": 50, "100": 100, "500": 500}


def example(name: str) -> dict[str, Any]:
    """A shipped configuration."""
    return tomllib.loads((EXAMPLES / f"{name}.toml").read_text(encoding="utf-8"))


def run(document: dict[str, Any], seed: int = 1) -> Statistics:
    """One run that records its attempts."""
    config = build_simulation_config(resolve_config(document), seed)
    return Simulation(replace(config, records_attempts=True)).run()


def attempts(statistics: Statistics, column: str) -> list[Any]:
    """A column of the attempts table."""
    assert statistics.attempts is not None
    return list(statistics.attempts.to_dataframe()[column])


@pytest.fixture(scope="module")
def continuing() -> list[Statistics]:
    """Thirty overwrites whose rivals go on."""
    return [run(example("convoy_continuing"), seed) for seed in range(1, 31)]


def maintenance_at(rate_per_s: float, table: str, *, partitions: bool = True) -> dict[str, Any]:
    """Two overwrites of the maintenance question: enough to see that all or none commit."""
    document = copy.deepcopy(example("maintenance_10"))
    maintenance, appends = document["workload"]["class"]
    appends["inter_arrival"]["scale"] = 1000.0 / rate_per_s
    document["transaction"]["cost_table"] = table
    maintenance["end_ms"] = 600_000
    if not partitions:
        del document["catalog"]["partitions"], maintenance["overlap_probability"]
    return document


# -- the convoy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_scripted_convoy_gives_the_numbers_of_the_worked_example(seed: int) -> None:
    statistics = run(example("convoy_scripted"), seed)

    assert attempts(statistics, "snapshots_behind") == [0, 3750, 705]
    # ceil(3,750 / 4) = 938 and ceil(705 / 4) = 177 batches of 30 ms.
    assert attempts(statistics, "conflict_io_ms") == [0.0, 28_140.0, 5_310.0]
    assert attempts(statistics, "per_attempt_io_ms") == [60.0, 60.0, 60.0]
    assert attempts(statistics, "outcome") == ["failed", "failed", "committed"]
    (overwrite,) = statistics.transactions
    # The lost attempt, then two retries that each begin with a look of 1 ms.
    by_hand_ms = (60 + 1) + (1 + 28_140 + 60 + 1) + (1 + 5_310 + 60 + 1)
    assert overwrite.commit_latency_ms == by_hand_ms == 33_635


def test_scripted_convoy_loses_again_if_rivals_go_on() -> None:
    document = example("convoy_scripted")
    del document["workload"]["class"][1]["end_ms"]

    statistics = run(document)

    assert attempts(statistics, "snapshots_behind")[:3] == [0, 3750, 705]
    assert attempts(statistics, "outcome")[2] == "failed"


def test_continuing_convoy_shrinks_to_a_few_snapshots_but_not_to_none(
    continuing: list[Statistics],
) -> None:
    series = [attempts(statistics, "snapshots_behind") for statistics in continuing]

    def mean_behind(retry: int) -> float:
        return mean(behind[retry] for behind in series if len(behind) > retry)

    # Tolerances are four standard errors of 30 overwrites about what a Markov chain over N gives
    # (docs/figures/worked_convoy.py, convoy_law).
    assert mean_behind(1) == pytest.approx(3751.5, abs=45)
    assert mean_behind(2) == pytest.approx(705.2, abs=20)
    assert mean_behind(3) == pytest.approx(134.1, abs=9)
    assert mean_behind(4) == pytest.approx(27.0, abs=4)
    late = mean(n for behind in series for n in behind[7:])
    assert late == pytest.approx(2.6, abs=0.7)


def test_continuing_convoy_commits_by_luck_and_takes_35_seconds(
    continuing: list[Statistics],
) -> None:
    overwrites = [statistics.transactions[0] for statistics in continuing]

    committed = [o.commit_latency_ms for o in overwrites if o.status.name == "COMMITTED"]

    # 43 % of 30 are 13, with a standard deviation of 2.7.
    assert 3 <= len(committed) <= 23
    assert {o.abort_reason for o in overwrites if o.status.name == "ABORTED"} == {"max_retries"}
    assert mean(committed) == pytest.approx(35_350, abs=1_000)


# -- maintenance -------------------------------------------------------------------------------------------------------


def test_maintenance_examples_differ_in_rate_and_label_alone() -> None:
    for name, rate_per_s in MAINTENANCE_RATES.items():
        document = example(f"maintenance_{name}")
        assert document["experiment"].pop("label") == f"maintenance_{name}"
        appends = document["workload"]["class"][1]
        assert appends["inter_arrival"].pop("scale") == 1000.0 / rate_per_s
        first = example("maintenance_10")
        del first["experiment"]["label"], first["workload"]["class"][1]["inter_arrival"]["scale"]
        assert document == first


@pytest.mark.parametrize("table", ["iceberg-review", "iceberg-java"])
def test_maintenance_commits_while_appends_are_rare(table: str) -> None:
    statistics = run(maintenance_at(0.1, table))

    assert (statistics.committed, statistics.aborted) == (2, 0)


@pytest.mark.parametrize("table", ["iceberg-review", "iceberg-java", "pyiceberg"])
def test_maintenance_never_commits_at_ten_appends_a_second(table: str) -> None:
    statistics = run(maintenance_at(10, table))

    assert statistics.committed == 0
    assert {o.abort_reason for o in statistics.transactions} == {"max_retries"}
    behind = attempts(statistics, "snapshots_behind")
    # Each retry validates from the start again, so it has more to read than the one before.
    assert behind[1:5] == sorted(behind[1:5])
    assert behind[1] > 1_500


def test_maintenance_never_commits_at_500_appends_a_second() -> None:
    document = maintenance_at(500, "iceberg-review")
    document["workload"]["class"][0]["end_ms"] = 300_000
    # The overwrite, its three minutes and a little more than its thirty.
    document["simulation"]["duration_ms"] = 1_990_000

    statistics = run(document)

    # One retry of 90,000 snapshots, then one so long that the budget ends before it does.
    assert statistics.committed == 0
    assert attempts(statistics, "outcome") == ["failed", "failed", "in_flight"]
    first_call_ms = attempts(statistics, "t_commit_call")[0]
    assert statistics.duration_ms - first_call_ms > 1_800_000


def test_budget_rather_than_retries_ends_maintenance_at_100_appends_a_second() -> None:
    statistics = run(maintenance_at(100, "iceberg-java"))

    assert statistics.committed == 0
    assert {o.abort_reason for o in statistics.transactions} == {"retry_timeout"}


def test_compaction_commits_where_an_overwrite_cannot() -> None:
    document = maintenance_at(10, "iceberg-java")
    document["workload"]["class"][0]["operation_types"] = {"rewrite_files": 1.0}

    statistics = run(document)

    # It validates against deletes only, and appends delete nothing.
    assert (statistics.committed, statistics.historical_ml_reads) == (2, 0)


def test_validating_only_what_is_new_lets_maintenance_commit_at_five_appends_a_second() -> None:
    # The specification's table reads what came since the snapshot last seen; it charges for that only on overlap.
    statistics = run(maintenance_at(5, "spec-2.0", partitions=False))

    assert statistics.committed == 2


def test_appends_that_contend_with_each_other_cannot_reach_the_rates_asked_about() -> None:
    document = example("self_contending")
    document["simulation"]["duration_ms"] = 60_000

    statistics = run(document)

    assert statistics.launched / 60 == pytest.approx(100, rel=0.05)
    assert 15 < statistics.committed / 59 < 25
