"""What Endive offers to tests of code that uses it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from endive.catalog import CASCatalog, InstantCatalog
from endive.errors import InputError
from endive.latency import ExponentialLatency, FixedLatency, UniformLatency
from endive.simulation import Simulation
from endive.test_utils import create_test_config, run


def test_the_default_test_config_runs_and_commits() -> None:
    config = create_test_config()
    assert (config.seed, config.duration_ms, config.max_retries) == (42, 60_000.0, 10)
    assert isinstance(config.catalog, InstantCatalog)
    statistics = Simulation(config).run()
    assert statistics.committed > 0


def test_the_same_arguments_give_the_same_run() -> None:
    first, second = (Simulation(create_test_config(seed=3)).run() for _ in range(2))
    assert first.to_dataframe().equals(second.to_dataframe())


def test_keywords_reach_the_parts() -> None:
    config = create_test_config(
        provider="s3",
        num_tables=2,
        num_partitions=5,
        inter_arrival_ms=20,
        runtime_ms=30,
        operation_types={"merge_append": 1},
        retry=2,
    )
    workload = config.workload.config
    assert isinstance(config.catalog, CASCatalog)
    assert (workload.partitions_per_table, workload.partitions_per_txn) == ((5, 5), 1)
    assert workload.inter_arrival == ExponentialLatency(20.0)
    assert workload.runtime == FixedLatency(30.0)
    assert (workload.fast_append_weight, workload.merge_append_weight) == (0.0, 1.0)
    assert config.max_retries == 2


def test_overrides_are_merged_deep_and_distributions_replaced_whole() -> None:
    config = create_test_config(
        overrides={
            "catalog": {"type": "cas"},
            "transaction": {"runtime": {"distribution": "uniform", "low": 1, "high": 2}},
        }
    )
    assert isinstance(config.catalog, CASCatalog)
    assert config.workload.config.runtime == UniformLatency(1.0, 2.0)
    assert config.workload.config.inter_arrival == ExponentialLatency(100.0)


def test_overrides_can_add_to_a_distribution() -> None:
    config = create_test_config(overrides={"transaction": {"runtime": {"min": 5}}})
    assert config.workload.config.runtime == FixedLatency(1005.0)


def test_a_bad_override_is_refused_like_a_bad_file() -> None:
    with pytest.raises(InputError, match=r"transaction\.retri: unknown key; did you mean 'retry'"):
        create_test_config(overrides={"transaction": {"retri": 1}})


def test_run_gives_the_result_and_the_time_it_took() -> None:
    def operation() -> Generator[float, None, str]:
        yield 1.5
        yield 2.0
        return "done"

    assert run(operation()) == ("done", 3.5)


def test_run_drives_a_catalog() -> None:
    snapshot, elapsed_ms = run(InstantCatalog(2, (1, 1)).read())
    assert (snapshot.seq, len(snapshot.tables), elapsed_ms) == (0, 2, 1.0)
