"""Workload (§5): who arrives when and touches what, each choice from its own stream."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.latency import ExponentialLatency, FixedLatency, LognormalLatency, NormalLatency
from endive.transaction import MergeAppendTransaction, Transaction
from endive.utils import Purpose, random_stream
from endive.workload import (
    PartitionSelector,
    TableSelector,
    UniformPartitionSelector,
    UniformTableSelector,
    Workload,
    WorkloadConfig,
    ZipfPartitionSelector,
    ZipfTableSelector,
)

Row = tuple[float, float, str, frozenset[int], Any]


def _config(**changes: Any) -> WorkloadConfig:
    settings: dict[str, Any] = {
        "inter_arrival": ExponentialLatency(100.0),
        "runtime": LognormalLatency.from_mean(1_000.0, 1.0),
        "num_tables": 5,
        "partitions_per_table": (4, 5, 6, 7, 8),
        "tables_per_txn": 2,
        "partitions_per_txn": 2,
    }
    return WorkloadConfig(**{**settings, **changes})


def _transactions(config: WorkloadConfig, count: int = 300, seed: int = 9) -> list[Transaction]:
    return [txn for _, txn in islice(Workload(config, seed).generate(), count)]


def _rows(config: WorkloadConfig, seed: int = 9) -> list[Row]:
    return [
        (t.submit_time_ms, t.runtime_ms, t.operation_type, t.tables_written, t.partitions_written)
        for t in _transactions(config, seed=seed)
    ]


def test_transactions_are_numbered_and_submitted_in_order_of_arrival() -> None:
    now_ms = 0.0
    pairs: Iterator[tuple[float, Transaction]] = islice(Workload(_config(), 1).generate(), 200)
    for number, (delay_ms, txn) in enumerate(pairs):
        now_ms += delay_ms
        assert (txn.txn_id, txn.submit_time_ms) == (number, now_ms)
        assert delay_ms > 0.0


def test_the_same_seed_gives_the_same_stream_every_time_it_is_started() -> None:
    workload = Workload(_config(), 9)
    first = [txn.submit_time_ms for _, txn in islice(workload.generate(), 100)]
    again = [txn.submit_time_ms for _, txn in islice(workload.generate(), 100)]
    assert first == again
    assert _rows(_config()) == _rows(_config())
    assert _rows(_config(), seed=9) != _rows(_config(), seed=10)


@pytest.mark.parametrize(
    ("changes", "moved"),
    [
        ({"inter_arrival": ExponentialLatency(50.0)}, {0}),
        ({"runtime": FixedLatency(5.0)}, {1}),
        ({"fast_append_weight": 0.1}, {2}),
        ({"table_selector": ZipfTableSelector(2.0)}, {3, 4}),
        ({"partition_selector": ZipfPartitionSelector(2.0)}, {4}),
        ({"manifests_per_concurrent_commit": 9.0}, set()),
    ],
)
def test_a_change_in_one_choice_leaves_all_others_as_they_were(
    changes: dict[str, Any], moved: set[int]
) -> None:
    before, after = _rows(_config()), _rows(_config(**changes))
    for index in range(5):
        same = [row[index] for row in before] == [row[index] for row in after]
        assert same is (index not in moved), f"column {index}"


def test_values_are_the_draws_of_their_streams_in_order() -> None:
    config = _config(runtime=NormalLatency(100.0, 80.0))
    transactions = _transactions(config, count=6_000, seed=4)
    arrival, runtime = random_stream(4, Purpose.ARRIVAL), random_stream(4, Purpose.RUNTIME)
    uniforms = random_stream(4, Purpose.OPERATION).random_sample(6_000)
    now_ms = 0.0
    for txn, u in zip(transactions, uniforms, strict=True):
        now_ms += config.inter_arrival.sample(arrival)
        assert txn.submit_time_ms == now_ms
        assert txn.runtime_ms == config.runtime.sample(runtime) >= 0.0
        expected = (
            "fast_append" if u < 0.7 else "merge_append" if u < 0.9 else "validated_overwrite"
        )
        assert txn.operation_type == expected


def test_weights_are_normalised() -> None:
    small = _config(
        fast_append_weight=0.5, merge_append_weight=0.25, validated_overwrite_weight=0.25
    )
    large = _config(fast_append_weight=8.0, merge_append_weight=4.0, validated_overwrite_weight=4.0)
    assert _rows(small) == _rows(large)


def test_an_operation_of_weight_zero_never_comes() -> None:
    config = _config(
        fast_append_weight=0.0, merge_append_weight=1.0, validated_overwrite_weight=0.0
    )
    transactions = _transactions(config)
    assert {txn.operation_type for txn in transactions} == {"merge_append"}


def test_merge_appends_are_told_the_manifests_per_commit() -> None:
    config = _config(
        fast_append_weight=0.0, validated_overwrite_weight=0.0, manifests_per_concurrent_commit=3.25
    )
    for txn in _transactions(config, 20):
        assert isinstance(txn, MergeAppendTransaction)
        assert txn.manifests_per_concurrent_commit == 3.25


@pytest.mark.parametrize("weights", [(0.0, 0.0, 0.0), (1.0, -0.1, 0.1)])
def test_impossible_weights_are_refused(weights: tuple[float, float, float]) -> None:
    fast, merge, overwrite = weights
    config = _config(
        fast_append_weight=fast, merge_append_weight=merge, validated_overwrite_weight=overwrite
    )
    with pytest.raises(ValueError, match="weights"):
        Workload(config, 1)


def test_partitions_of_another_number_of_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="2 entries for 5 tables"):
        Workload(_config(partitions_per_table=(1, 2)), 1)


def test_partitions_are_chosen_within_every_written_table() -> None:
    config = _config()
    for txn in _transactions(config):
        assert len(txn.tables_written) == 2
        assert txn.partitions_written is not None
        assert set(txn.partitions_written) == txn.tables_written
        for table, partitions in txn.partitions_written.items():
            assert len(partitions) == 2
            assert max(partitions) < config.partitions_per_table[table]


def test_without_partitions_none_are_tracked() -> None:
    assert all(
        txn.partitions_written is None for txn in _transactions(_config(partitions_per_txn=None))
    )


def test_only_written_tables_are_handed_on() -> None:
    config = _config(tables_per_txn=4, table_selector=UniformTableSelector(write_fraction=0.5))
    assert {len(txn.tables_written) for txn in _transactions(config)} == {2}


# -- selectors -----------------------------------------------------------------------------------------------------

_SELECTORS = [
    UniformTableSelector,
    ZipfTableSelector,
    UniformPartitionSelector,
    ZipfPartitionSelector,
]


@pytest.mark.parametrize("kind", _SELECTORS)
@given(data=st.data())
def test_selectors_choose_distinct_items_and_write_the_stated_share(
    kind: type[UniformTableSelector], data: st.DataObject
) -> None:
    total = data.draw(st.integers(1, 12))
    count = data.draw(st.integers(1, total))
    fraction = data.draw(st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]))
    rng = np.random.RandomState(data.draw(st.integers(0, 999)))
    selector: TableSelector | PartitionSelector = kind(write_fraction=fraction)
    read, written = selector.select(count, total, rng)
    assert len(read) == count
    assert read <= set(range(total))
    assert written <= read
    assert len(written) == max(1, int(count * fraction + 0.5))


@pytest.mark.parametrize("kind", _SELECTORS)
def test_selectors_refuse_to_choose_more_than_there_is(kind: type[UniformTableSelector]) -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        kind().select(3, 2, np.random.RandomState(0))


def test_uniform_selector_is_the_partial_shuffle_of_the_model() -> None:
    rng, twin = np.random.RandomState(5), np.random.RandomState(5)
    for total, count in [(1, 1), (5, 1), (5, 3), (9, 9), (40, 7)] * 20:
        items = list(range(total))
        for i in range(count):
            j = i + int(twin.random_sample() * (total - i))
            items[i], items[j] = items[j], items[i]
        read, written = UniformTableSelector(write_fraction=0.4).select(count, total, rng)
        assert read == set(items[:count])
        assert written == set(items[: max(1, int(count * 0.4 + 0.5))])
    assert rng.random_sample() == twin.random_sample()


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5])
def test_an_impossible_write_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="write_fraction"):
        ZipfTableSelector(1.5, fraction)


def test_a_negative_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha"):
        ZipfPartitionSelector(-1.0)
