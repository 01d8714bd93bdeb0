"""Scripted loads (docs/MODEL.md, section 13): written lines become transactions, to the millisecond and in order."""

from __future__ import annotations

from typing import Any

import pytest

from endive.config import build_simulation_config, resolve_config
from endive.errors import InputError
from endive.simulation import Simulation, Statistics

LATENCIES = {
    "catalog": {"read": 4.0, "cas": 10.0},
    "manifest_list": {"read": 3.0, "write": 7.0},
    "manifest_file": {"read": 5.0, "write": 11.0},
}
# A fast append of one table: 4 to read the catalog, 21 for manifests, 10 to swap.
APPEND_MS = 4.0 + 21.0 + 10.0


def raw(*lines: dict[str, Any], **catalog: Any) -> dict[str, Any]:
    """A configuration in which nothing is drawn."""
    latency = {
        group: {name: {"distribution": "fixed", "value": ms} for name, ms in operations.items()}
        for group, operations in LATENCIES.items()
    }
    return {
        "simulation": {"duration_ms": 1000.0},
        "storage": {"provider": "instant", "latency": latency},
        "catalog": {"type": "cas", "num_tables": 3, **catalog},
        "workload": {"script": list(lines)},
    }


def line(at_ms: float, operation: str = "fast_append", **more: Any) -> dict[str, Any]:
    return {"at_ms": at_ms, "operation": operation, "tables": [0], **more}


def run(*lines: dict[str, Any], seed: int = 1, **catalog: Any) -> Statistics:
    config = build_simulation_config(resolve_config(raw(*lines, **catalog)), seed)
    return Simulation(config).run()


def column(statistics: Statistics, name: str) -> list[Any]:
    values: list[Any] = statistics.to_dataframe()[name].tolist()
    return values


def test_every_line_is_submitted_when_it_says() -> None:
    rows = run(line(100, name="late"), line(0, runtime_ms=5, name="early"))
    assert column(rows, "class_name") == ["early", "late"]
    assert column(rows, "t_submit") == [0.0, 100.0]
    assert column(rows, "t_commit") == [APPEND_MS + 5.0, 100.0 + APPEND_MS]


def test_at_one_instant_the_lines_go_in_the_order_in_which_they_stand() -> None:
    rows = run(
        line(10, name="b"), line(10, name="a", times=2), line(10, name="c"), line(0, name="z")
    )
    assert column(rows, "class_name") == ["z", "b", "a", "a", "c"]


def test_several_alike_come_at_equal_distances_between_the_others() -> None:
    rows = run(line(0, times=3, every_ms=200, name="many"), line(300, name="one"))
    assert column(rows, "t_submit") == [0.0, 200.0, 300.0, 400.0]
    assert column(rows, "class_name") == ["many", "many", "one", "many"]


def test_what_would_come_after_the_end_never_comes() -> None:
    rows = run(line(0, times=9, every_ms=400))
    assert column(rows, "t_submit") == [0.0, 400.0, 800.0]


def test_rival_lands_at_once_and_is_no_transaction() -> None:
    rows = run(line(0, "background", times=5, every_ms=10))
    assert (rows.launched, rows.background_commits, rows.seq) == (0, 5, 5)


@pytest.mark.parametrize(
    ("at_ms", "retries"),
    # The snapshot of an append submitted at 100 is taken at 102, and its swap is decided at 130, half way of each.
    [(101.0, 0), (103.0, 1), (129.0, 1), (131.0, 0)],
)
def test_rival_between_snapshot_and_swap_costs_a_retry(at_ms: float, retries: int) -> None:
    rows = run(line(100), line(at_ms, "background"))
    assert column(rows, "n_retries") == [retries]


def test_rival_on_another_table_is_a_conflict_of_the_catalog_only() -> None:
    rival = line(110, "background", tables=[1])
    assert column(run(line(100), rival), "n_retries") == [1]
    by_table = run(line(100), rival, conflict_granularity="table")
    assert column(by_table, "n_retries") == [0]


def test_tables_and_partitions_are_those_of_the_line() -> None:
    partitions = {"num_partitions": 4}
    rival = line(110, "background", tables=[0], partitions=[[1]])
    settings = {"partitions": partitions, "conflict_granularity": "partition"}
    for chosen, retries in (([[1]], 1), ([[0, 2]], 0)):
        rows = run(line(100, partitions=chosen), rival, **settings)
        assert column(rows, "n_retries") == [retries]


def test_nothing_is_drawn() -> None:
    lines = (line(0, times=3, every_ms=5), line(7, "validated_overwrite", tables=[0, 1]))
    assert run(*lines, seed=1).digest() == run(*lines, seed=2).digest()


def test_same_workload_can_be_run_twice() -> None:
    config = build_simulation_config(resolve_config(raw(line(0), line(50))), 1)
    first = Simulation(config).run()
    assert Simulation(config).run().digest() == first.digest()


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"at_ms": 1000}, "at_ms", "is not before the end of the run"),
        ({"at_ms": -1}, "at_ms", "-1"),
        ({"at_ms": None}, "at_ms", "missing"),
        ({"operation": "upsert"}, "operation", "upsert"),
        ({"operation": "rewrite_files"}, "operation", "has no price for 'rewrite_files'"),
        ({"tables": []}, "tables", ""),
        ({"tables": [3]}, "tables", "there is no table 3"),
        ({"tables": [0, 0]}, "tables", "names a table twice"),
        ({"tables_read": [0]}, "tables_read", "is written, so it is read anyway"),
        ({"every_ms": 5}, "every_ms", "nothing reads it while times is 1"),
        ({"times": 0}, "times", ""),
        ({"operation": "background", "runtime_ms": 5}, "runtime_ms", "nothing reads it"),
        ({"partitions": [[0]]}, "partitions", ""),
        ({"colour": "red"}, "colour", "unknown key"),
        ({"runtime_ms": float("inf")}, "runtime_ms", ""),
    ],
)
def test_bad_line_is_told_by_its_number(changes: dict[str, Any], key: str, said: str) -> None:
    bad = {name: value for name, value in {**line(5), **changes}.items() if value is not None}
    with pytest.raises(InputError) as caught:
        resolve_config(raw(line(0), bad))
    told = {problem.key: problem.message for problem in caught.value.problems}
    assert said in told[f"workload.script[1].{key}"]


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        (None, "missing; with [catalog.partitions] add it"),
        ([[0], [0]], "has 2 lists for 1 tables"),
        ([[4]], "table 0 has no partition 4"),
        ([[]], "must name at least one partition"),
        ([[1, 1]], "each once"),
    ],
)
def test_partitions_that_cannot_be_are_told(partitions: Any, said: str) -> None:
    given = line(0) if partitions is None else line(0, partitions=partitions)
    with pytest.raises(InputError) as caught:
        resolve_config(raw(given, partitions={"num_partitions": 4}))
    (problem,) = caught.value.problems
    assert problem.key.startswith("workload.script[0].partitions")
    assert said in problem.message or partitions == [[]]


def test_script_leaves_nothing_for_the_general_settings_to_say() -> None:
    config = raw(line(0))
    config["transaction"] = {"inter_arrival": {"distribution": "fixed", "value": 5.0}}
    with pytest.raises(InputError, match=r"transaction\.inter_arrival"):
        resolve_config(config)
