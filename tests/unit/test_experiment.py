"""Where results go, which runs count as finished, and what a summary says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from endive.errors import InputError
from endive.experiment import (
    SUMMARY_KEY,
    finished_summary,
    plan_experiment,
    prepare_directory,
    read_summary,
    run_seed,
)

CONFIG = """
[simulation]
duration_ms = 30000
[storage]
provider = "s3x"
[transaction]
runtime = { mean = 2000, sigma = 1.0 }
inter_arrival = { scale = 100.0 }
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "cfg.toml"
    file.write_text(CONFIG)
    return file


def test_one_run_without_a_label_writes_the_single_file(config: Path) -> None:
    experiment = plan_experiment(config, seeds=[3])
    assert experiment.directory is None
    assert experiment.results_path(3) == Path("results.parquet")


@pytest.mark.parametrize("asked", [{"seeds": range(2)}, {"seeds": [3], "out": "experiments"}])
def test_several_seeds_or_a_place_ask_for_a_directory(
    config: Path, asked: dict[str, object]
) -> None:
    experiment = plan_experiment(config, **asked)  # type: ignore[arg-type]
    assert experiment.directory == Path("experiments") / f"cfg-{experiment.config_hash}"


def test_planning_writes_nothing(config: Path, tmp_path: Path) -> None:
    plan_experiment(config, seeds=range(3), out="some/where")
    assert list(tmp_path.iterdir()) == [config]


def test_without_any_seed_each_plan_draws_its_own(config: Path) -> None:
    assert plan_experiment(config).seeds != plan_experiment(config).seeds


def test_summary_is_stored_in_the_file_without_places(config: Path) -> None:
    experiment = plan_experiment(config, seeds=[3], out="a")
    prepare_directory(experiment)
    summary = run_seed(experiment, 3)
    path = experiment.results_path(3)
    stored = json.loads(pq.read_schema(path).metadata[SUMMARY_KEY.encode()])
    assert stored == read_summary(path) == finished_summary(experiment, 3)
    assert stored.items() <= summary.items()
    assert set(summary) - set(stored) == {"results_path", "label", "skipped"}


def test_a_run_is_finished_only_for_its_own_seed_and_config(config: Path) -> None:
    experiment = plan_experiment(config, seeds=[3])
    run_seed(experiment, 3)
    assert finished_summary(experiment, 3) is not None
    assert finished_summary(experiment, 4) is None
    config.write_text(CONFIG.replace("100.0", "110.0"))
    assert finished_summary(plan_experiment(config, seeds=[3]), 3) is None


def test_a_run_of_another_version_is_not_finished(config: Path) -> None:
    from dataclasses import replace

    experiment = plan_experiment(config, seeds=[3])
    run_seed(replace(experiment, version="of old"), 3)
    assert finished_summary(experiment, 3) is None


def test_refusal_names_both_versions(config: Path) -> None:
    experiment = plan_experiment(config, seeds=[3], out="a")
    prepare_directory(experiment)
    assert experiment.directory is not None
    (experiment.directory / "version.txt").write_text("of old\n")
    with pytest.raises(InputError) as refused:
        plan_experiment(config, seeds=[3], out="a")
    assert "of old" in str(refused.value)
    assert experiment.version in str(refused.value)
    plan_experiment(config, seeds=[3], out="a", force=True)


def test_operation_figures_are_those_of_the_rows(config: Path) -> None:
    summary = run_seed(plan_experiment(config, seeds=[3]), 3)
    table = pq.read_table("results.parquet").to_pylist()
    for name, told in summary["operations"].items():
        rows = [row for row in table if row["operation_type"] == name]
        finished = [row for row in rows if row["status"] != "in_flight"]
        committed = [row for row in rows if row["status"] == "committed"]
        assert (told["count"], told["committed"]) == (len(rows), len(committed))
        assert told["censored_share"] == pytest.approx(1.0 - len(finished) / len(rows))
        assert told["retries_mean"] == pytest.approx(
            np.mean([row["n_retries"] for row in finished])
        )
        for key, column in (
            ("latency_ms", "total_latency"),
            ("commit_latency_ms", "commit_latency"),
        ):
            values = np.sort([row[column] for row in committed])
            assert told[key]["p50"] == pytest.approx(np.median(values))
            assert values[0] <= told[key]["p95"] <= told[key]["p99"] <= values[-1]
        spent = np.array([row["total_latency"] for row in finished]).sum()
        work = np.array([row["t_runtime"] for row in finished]).sum()
        assert told["time_share"]["runtime"] == pytest.approx(work / spent)
