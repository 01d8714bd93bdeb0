"""`[[workload.class]]`: what a file may say about loads, what is told when it is wrong, and what is hashed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from endive.config import (
    build_simulation_config,
    compute_experiment_hash,
    load_config,
    load_simulation_config,
    render_config,
    resolve_config,
)
from endive.errors import InputError
from endive.latency import ExponentialLatency, FixedLatency
from endive.simulation import Simulation
from endive.workload import BackgroundLoad, ClosedLoad, OpenLoad, PeriodicLoad

HEAD = "simulation.duration_ms = 1000\nstorage.provider = 's3x'\n"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mixed_loads.toml"

ALL_KINDS = """\
catalog.num_tables = 3
catalog.partitions.num_partitions = 5
transaction.runtime = {distribution = "fixed", value = 7}
transaction.tables_per_txn = 2

[[workload.class]]
name = "ingest"
kind = "open"
inter_arrival.scale = 40

[[workload.class]]
name = "people"
kind = "closed"
clients = 3
think_time = {distribution = "exponential", scale = 9}
operation_types.merge_append = 1

[[workload.class]]
name = "compaction"
kind = "periodic"
interval_ms = 300
runtime = {distribution = "fixed", value = 20, min = 5}
tables_per_txn = 1
overlap_probability = 0.25

[[workload.class]]
name = "others"
kind = "background"
inter_arrival = {distribution = "fixed", value = 60}
replaces_data = true
"""


def problems_of(tmp_path: Path, text: str) -> list[tuple[int, str, str]]:
    """Line after the head, key and message of every problem."""
    file = tmp_path / "bad.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    return [
        (problem.line - HEAD.count("\n"), problem.key, problem.message)
        for problem in caught.value.problems
    ]


def values_of(text: str) -> Any:
    return resolve_config(tomllib.loads(HEAD + text)).values


def hash_of(text: str) -> str:
    return compute_experiment_hash(resolve_config(tomllib.loads(HEAD + text)))


# -- what is built -----------------------------------------------------------------------------------------------------


def test_every_kind_is_built_with_what_the_file_says() -> None:
    config = build_simulation_config(resolve_config(tomllib.loads(HEAD + ALL_KINDS)), 5)
    ingest, people, compaction, others = config.loads
    assert isinstance(ingest, OpenLoad)
    assert ingest.workload.config.inter_arrival == ExponentialLatency(40.0, 0.0)
    assert isinstance(people, ClosedLoad)
    assert (people.clients, people.think_time) == (3, ExponentialLatency(9.0, 0.0))
    assert isinstance(compaction, PeriodicLoad)
    assert (compaction.interval_ms, compaction.offset_ms) == (300.0, 300.0)
    assert isinstance(others, BackgroundLoad)
    assert (others.inter_arrival, others.replaces_data) == (FixedLatency(60.0), True)
    settings = [load.workload.config for load in config.loads]
    assert [one.class_name for one in settings] == ["ingest", "people", "compaction", "others"]
    assert [one.class_index for one in settings] == [0, 1, 2, 3]
    assert [one.tables_per_txn for one in settings] == [2, 2, 1, 2]
    assert [one.overlap_probability for one in settings] == [None, None, 0.25, None]
    assert [one.runtime for one in settings[:3]] == [
        FixedLatency(7.0),
        FixedLatency(7.0),
        FixedLatency(25.0),
    ]
    assert {load.workload.seed for load in config.loads} == {5}
    assert config.workload is ingest.workload


def test_without_classes_transaction_is_one_open_class_named_default() -> None:
    resolved = resolve_config(tomllib.loads(HEAD + "transaction.runtime.mean = 100"))
    config = build_simulation_config(resolved, 5)
    assert config.loads == ()
    assert set(Simulation(config).run().to_dataframe()["class_name"]) == {"default"}
    assert "workload" not in resolved.values


def test_one_open_class_gives_the_run_that_transaction_gives() -> None:
    shared = {"runtime": {"mean": 100.0}, "operation_types": {"merge_append": 1.0}}
    gaps = {"inter_arrival": {"scale": 20.0}}
    base = tomllib.loads(HEAD)
    alone = {**base, "transaction": {**shared, **gaps}}
    load = {"name": "default", "kind": "open", **gaps}
    inherited = {**base, "transaction": shared, "workload": {"class": [load]}}
    own = {**base, "workload": {"class": [{**load, **shared}]}}
    digests = {
        Simulation(build_simulation_config(resolve_config(raw), 3)).run().digest()
        for raw in (alone, inherited, own)
    }
    assert len(digests) == 1
    hashes = [compute_experiment_hash(resolve_config(raw)) for raw in (inherited, own)]
    assert hashes[0] == hashes[1]


def test_a_table_of_a_class_replaces_that_of_transaction_as_a_whole() -> None:
    text = "transaction.runtime = {distribution = 'fixed', value = 7}\n"
    text += "[[workload.class]]\nname = 'a'\nkind = 'open'\ninter_arrival = {}\n"
    text += "[[workload.class]]\nname = 'b'\nkind = 'open'\ninter_arrival = {}\nruntime.min = 3\n"
    first, second = values_of(text)["workload"]["class"]
    assert first["runtime"] == {"distribution": "fixed", "value": 7.0, "min": 0.0}
    assert second["runtime"] == {
        "distribution": "lognormal",
        "mean": 180_000.0,
        "sigma": 1.5,
        "min": 3.0,
    }
    assert first["inter_arrival"] == {"distribution": "exponential", "scale": 100.0}


def test_thinking_may_take_no_time_because_transactions_always_do() -> None:
    text = "[[workload.class]]\nname = 'a'\nkind = 'closed'\nclients = 2\n"
    text += "think_time = {distribution = 'fixed', value = 0}\n"
    text += "runtime = {distribution = 'fixed', value = 0}\n"
    for provider in ("s3x", "instant"):
        raw = tomllib.loads(HEAD + text) | {"storage": {"provider": provider}}
        assert Simulation(build_simulation_config(resolve_config(raw), 1)).run().committed > 2


def test_the_example_runs_with_all_its_classes() -> None:
    rows = Simulation(load_simulation_config(str(EXAMPLE))).run()
    assert set(rows.to_dataframe()["class_name"]) == {"ingest", "analysts", "compaction"}
    assert rows.background_commits > 100
    assert rows.committed > 10_000


# -- what is wrong -----------------------------------------------------------------------------------------------------

OPEN = "[[workload.class]]\nname = 'a'\nkind = 'open'\ninter_arrival = {}\n"


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("workload.class = []", 1, "class", "must not be empty"),
        ("workload.class = 3", 1, "class", "3 is not an array"),
        ("workload.classes = []", 1, "classes", "did you mean 'class'?"),
        ("workload.class = ['a']", 1, "class[0]", "'a' is not a table"),
        ("[[workload.class]]\nkind = 'closed'\nclients = 1\nthink_time = {distribution = 'fixed', value = 1}", 1, "class[0].name", "missing; add it, for example name = \"ingest\""),
        ("[[workload.class]]\nname = 'a'", 1, "class[0].kind", "missing; add it, one of open, closed, periodic, background"),
        ("[[workload.class]]\nname = 'a'\nkind = 'opened'", 3, "class[0].kind", "did you mean 'open'?"),
        ("[[workload.class]]\nname = ' '\nkind = 'open'\ninter_arrival = {}", 2, "class[0].name", "must be a name in one line"),
        (OPEN + "runtimes.min = 1", 5, "class[0].runtimes", "did you mean 'runtime'?"),
        (OPEN + "runtime.minn = 1", 5, "class[0].runtime.minn", "did you mean 'min'?"),
        (OPEN + "tables_per_txn = '1'", 5, "class[0].tables_per_txn", "remove the quotes"),
        (OPEN + "clients = 3", 5, "class[0].clients", "nothing reads it while workload.class[0].kind is 'open'; remove it or set workload.class[0].kind to 'closed'"),
        (OPEN + "think_time = {distribution = 'fixed', value = 1}", 5, "class[0].think_time", "nothing reads it"),
        (OPEN + "interval_ms = 3", 5, "class[0].interval_ms", "nothing reads it"),
        (OPEN + "replaces_data = true", 5, "class[0].replaces_data", "nothing reads it"),
        (OPEN + "overlap_probability = 0.5", 5, "class[0].overlap_probability", "nothing reads it without [catalog.partitions]"),
        (OPEN + "partitions_per_txn = 1", 5, "class[0].partitions_per_txn", "nothing reads it without [catalog.partitions]"),
        (OPEN + "runtime = {distribution = 'fixed', value = 1, sigma = 1}", 5, "class[0].runtime.sigma", "nothing reads it while workload.class[0].runtime.distribution is 'fixed'"),
        (OPEN + "runtime.distribution = 'fixed'", 5, "class[0].runtime.value", "missing; 'fixed' needs it"),
        (OPEN + "runtime = {distribution = 'uniform', low = 3, high = 2}", 5, "class[0].runtime.low", "must be at most high"),
        (OPEN.replace("{}", "{distribution = 'fixed', value = 0}"), 4, "class[0].inter_arrival.value", "time would stand still"),
        (OPEN.replace("{}", "{distribution = 'uniform', low = 0, high = 0}"), 4, "class[0].inter_arrival.high", "time would stand still"),
        (OPEN.replace("{}", "{distribution = 'normal', mean = 0, std_dev = 0}"), 4, "class[0].inter_arrival.mean", "time would stand still"),
        (OPEN + "operation_types.fast_append = 0", 5, "class[0].operation_types", "the weights add up to 0"),
        (OPEN + "operation_types.row_delta = 1", 5, "class[0].operation_types.row_delta", "cost table 'spec-2.0' has no price for it; set transaction.cost_table to 'iceberg-java' or 'pyiceberg'"),
        (OPEN + "tables_per_txn = 2", 5, "class[0].tables_per_txn", "must be at most catalog.num_tables, which is 1, not 2"),
        (OPEN + "tables_per_txn = 2\n[catalog]\nnum_tables = 5\nnum_groups = 3", 5, "class[0].tables_per_txn", "must be at most 1, the tables of the smallest of 3 groups, not 2"),
        (OPEN + "partitions_per_txn = 4\n[catalog]\nnum_tables = 2\npartitions.per_table = [9, 3]", 5, "class[0].partitions_per_txn", "must be at most the partitions of the smallest table, which has 3, not 4"),
        (OPEN + "overlap_probability = 1.5\n[catalog.partitions]\nnum_partitions = 2", 5, "class[0].overlap_probability", "must be at most 1, not 1.5"),
        (OPEN + "table_selector = {type = 'zipf', alpha = 30}\ntables_per_txn = 3\n[catalog]\nnum_tables = 9", 5, "class[0].table_selector.alpha", "practically never ends"),
        (OPEN + "partitions_per_txn = 3\n[catalog.partitions]\nnum_partitions = 9\n[transaction]\npartition_selector = {type = 'zipf', alpha = 30}", 5, "class[0].partitions_per_txn", "practically never ends"),
        (OPEN + OPEN, 6, "class[1].name", "workload.class[0] is named 'a', too"),
        ("[[workload.class]]\nname = 'a'\nkind = 'open'", 1, "class[0].inter_arrival", "missing; 'open' needs it"),
        ("[[workload.class]]\nname = 'a'\nkind = 'background'", 1, "class[0].inter_arrival", "missing; 'background' needs it"),
        ("[[workload.class]]\nname = 'a'\nkind = 'periodic'", 1, "class[0].interval_ms", "missing; 'periodic' needs it"),
        ("[[workload.class]]\nname = 'a'\nkind = 'periodic'\ninterval_ms = 0", 4, "class[0].interval_ms", "must be above 0, not 0"),
        ("[[workload.class]]\nname = 'a'\nkind = 'periodic'\ninterval_ms = nan", 4, "class[0].interval_ms", "not a finite number"),
        ("[[workload.class]]\nname = 'a'\nkind = 'periodic'\ninterval_ms = 1\ninter_arrival = {}", 5, "class[0].inter_arrival", "nothing reads it while workload.class[0].kind is 'periodic'"),
        ("[[workload.class]]\nname = 'a'\nkind = 'closed'\nclients = 0\nthink_time = {distribution = 'fixed', value = 1}", 4, "class[0].clients", "must be at least 1, not 0"),
        ("[[workload.class]]\nname = 'a'\nkind = 'closed'\nclients = 1", 1, "class[0].think_time", "missing; 'closed' needs it"),
        ("[[workload.class]]\nname = 'a'\nkind = 'closed'\nclients = 1\nthink_time = {}", 5, "class[0].think_time.distribution", "missing; add it, one of fixed"),
        ("[[workload.class]]\nname = 'a'\nkind = 'background'\ninter_arrival = {}\nruntime.min = 1", 5, "class[0].runtime", "nothing reads it while workload.class[0].kind is 'background'"),
        ("[[workload.class]]\nname = 'a'\nkind = 'background'\ninter_arrival = {}\noperation_types.fast_append = 0", 5, "class[0].operation_types", "nothing reads it while"),
    ],
)  # fmt: skip
def test_one_mistake_is_told_once_with_its_line_its_key_and_its_fix(
    tmp_path: Path, text: str, line: int, key: str, words: str
) -> None:
    ((found_line, found_key, message),) = problems_of(tmp_path, text)
    assert (found_line, found_key) == (line, f"workload.{key}")
    assert words in message


@pytest.mark.parametrize(
    ("transaction", "own", "key"),
    [
        ("inter_arrival.scale = 5", "", "inter_arrival"),
        ("runtime.min = 5", "runtime.min = 6", "runtime"),
        ("operation_types.fast_append = 5", "operation_types.fast_append = 1", "operation_types"),
        ("tables_per_txn = 9", "tables_per_txn = 1", "tables_per_txn"),
        ("table_selector.type = 'zipf'", "table_selector.type = 'uniform'", "table_selector"),
        ("partitions_per_txn = 9", "partitions_per_txn = 2", "partitions_per_txn"),
        ("partition_selector.type = 'zipf'", "partition_selector = {}", "partition_selector"),
    ],
)
def test_what_no_class_takes_from_transaction_is_refused(
    tmp_path: Path, transaction: str, own: str, key: str
) -> None:
    text = f"transaction.{transaction}\ncatalog.partitions.num_partitions = 4\n{OPEN}{own}\n"
    ((line, found, message),) = problems_of(tmp_path, text)
    assert (line, found) == (1, f"transaction.{key}")
    assert "nothing reads it" in message
    if key != "inter_arrival":
        # A second class that says nothing about it takes it, and then it is judged like any other setting.
        more = text + OPEN.replace("'a'", "'b'")
        if "= 9" in transaction:
            ((line, found, message),) = problems_of(tmp_path, more)
            assert (line, found) == (1, f"transaction.{key}")
            assert "must be at most" in message
        else:
            values_of(more)


def test_background_takes_no_runtime_and_no_operations_from_transaction(tmp_path: Path) -> None:
    text = "transaction.runtime.min = 1\ntransaction.operation_types.fast_append = 1\n"
    text += OPEN.replace("open", "background")
    found = problems_of(tmp_path, text)
    assert [key for _, key, _ in found] == ["transaction.runtime", "transaction.operation_types"]


def test_all_problems_of_all_classes_are_told_at_once_in_order(tmp_path: Path) -> None:
    text = """\
[transaction]
inter_arrival.scale = 3
[[workload.class]]
name = "a"
kind = "open"
clients = 2
[[workload.class]]
name = "a"
kind = "closed"
client = 2
think_time = {distribution = "fixed"}
[[workload.class]]
name = "c"
kind = "perodic"
interval_ms = -1
[[workload.class]]
name = "d"
kind = "background"
inter_arrival.scale = "x"
operation_types.row_delta = 1
tables_per_txn = 4
"""
    assert [(line, key) for line, key, _ in problems_of(tmp_path, text)] == [
        (2, "transaction.inter_arrival"),
        (3, "workload.class[0].inter_arrival"),
        (6, "workload.class[0].clients"),
        (7, "workload.class[1].clients"),
        (8, "workload.class[1].name"),
        (10, "workload.class[1].client"),
        (11, "workload.class[1].think_time.value"),
        (14, "workload.class[2].kind"),
        (15, "workload.class[2].interval_ms"),
        (19, "workload.class[3].inter_arrival.scale"),
        (20, "workload.class[3].operation_types"),
        (21, "workload.class[3].tables_per_txn"),
    ]


# -- what is hashed and kept -------------------------------------------------------------------------------------------


def test_what_is_inherited_or_left_to_defaults_hashes_like_what_is_spelled_out() -> None:
    resolved = resolve_config(tomllib.loads(HEAD + ALL_KINDS))
    text = render_config(resolved)
    again = resolve_config(tomllib.loads(text))
    assert compute_experiment_hash(again) == compute_experiment_hash(resolved)
    assert render_config(again) == text
    assert "runtime" not in again.values["transaction"]
    assert "inter_arrival" not in again.values["transaction"]
    assert again.values["workload"]["class"][2]["offset_ms"] == 300.0


def test_the_order_of_classes_is_part_of_the_experiment() -> None:
    other = OPEN.replace("'a'", "'b'")
    assert hash_of(OPEN + other) != hash_of(other + OPEN)
    assert hash_of(OPEN) != hash_of("")
    assert hash_of("[workload]") == hash_of("")
