"""Groups of tables (docs/MODEL.md, section 10): dealt out evenly by the seed, and spanned by no transaction."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.config import build_simulation_config, resolve_config
from endive.latency import FixedLatency
from endive.simulation import Simulation
from endive.test_utils import create_test_config
from endive.utils import Purpose, random_stream
from endive.workload import (
    TableSelector,
    UniformTableSelector,
    Workload,
    WorkloadConfig,
    ZipfTableSelector,
    assign_groups,
)

SEED = 11
SELECTORS = [None, UniformTableSelector(0.5), ZipfTableSelector(1.2, 0.5)]


def _workload(num_tables: int = 12, num_groups: int = 3, **changes: Any) -> Workload:
    settings: dict[str, Any] = {
        "inter_arrival": FixedLatency(1.0),
        "runtime": FixedLatency(1.0),
        "num_tables": num_tables,
        "partitions_per_table": (1,) * num_tables,
        "num_groups": num_groups,
    }
    return Workload(WorkloadConfig(**{**settings, **changes}), SEED)


def _chosen(workload: Workload, count: int = 400) -> list[tuple[frozenset[int], frozenset[int]]]:
    """What transactions read and write."""
    found = []
    for _ in range(count):
        read, written, _ = workload.next_touched()
        found.append((read, written))
    return found


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32))
def test_groups_differ_by_at_most_one_table(tables: int, groups: int, seed: int) -> None:
    groups = min(groups, tables)
    if groups == 1:
        assert assign_groups(tables, groups, seed) == ()
        return
    sizes = Counter(assign_groups(tables, groups, seed))
    assert sorted(sizes) == list(range(groups))
    assert set(sizes.values()) <= {tables // groups, -(-tables // groups)}
    assert min(sizes.values()) == tables // groups


def test_the_seed_deals_out_the_tables_and_another_deals_them_out_otherwise() -> None:
    assert assign_groups(20, 4, 1) == assign_groups(20, 4, 1) == assign_groups(20, 4, 1)
    assert len({assign_groups(20, 4, seed) for seed in range(50)}) == 50


def test_groups_are_dealt_out_in_turn_along_a_shuffle_by_the_head_of_the_table_stream() -> None:
    rng = random_stream(SEED, Purpose.TABLE)
    order = list(range(12))
    for i in range(11):
        j = i + int(rng.random_sample() * (12 - i))
        order[i], order[j] = order[j], order[i]
    groups = assign_groups(12, 3, SEED)
    assert [groups[table_id] for table_id in order] == [0, 1, 2] * 4


def test_every_table_is_equally_likely_to_be_in_every_group() -> None:
    # 3,000 seeds: the standard error is 0.9 points.
    found = np.array([assign_groups(5, 2, seed) for seed in range(3_000)])
    assert found.mean(axis=0) == pytest.approx([0.4] * 5, abs=0.04)


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("class_index", [0, 1])
@pytest.mark.parametrize("tables_per_txn", [1, 2, 4])
def test_no_transaction_spans_groups(
    selector: TableSelector | None, class_index: int, tables_per_txn: int
) -> None:
    workload = _workload(
        table_selector=selector, class_index=class_index, tables_per_txn=tables_per_txn
    )
    group_of = assign_groups(12, 3, SEED)
    assert workload.group_of == group_of
    for read, written in _chosen(workload):
        assert len(read) == tables_per_txn
        assert len({group_of[table_id] for table_id in read}) == 1
        fraction = 1.0 if selector is None else 0.5
        assert written <= read
        assert len(written) == max(1, int(tables_per_txn * fraction + 0.5))


def test_class_0_draws_behind_the_shuffle_and_others_from_the_start_of_their_streams() -> None:
    head = random_stream(SEED, Purpose.TABLE)
    head.random_sample(11)
    own = np.random.RandomState(
        np.random.MT19937(np.random.SeedSequence(SEED, spawn_key=(int(Purpose.TABLE), 1)))
    )
    for class_index, rng in ((0, head), (1, own)):
        first = [min(read) for read, _ in _chosen(_workload(class_index=class_index), 50)]
        assert first == [int(rng.random_sample() * 12) for _ in range(50)]


def test_further_tables_follow_the_rule_of_the_selector_among_those_left_in_the_group() -> None:
    selector = ZipfTableSelector(1.0)
    workload = _workload(table_selector=selector, tables_per_txn=3, class_index=1)
    members: dict[int, list[int]] = {}
    for table_id, group in enumerate(workload.group_of):
        members.setdefault(group, []).append(table_id)
    rng = np.random.RandomState(
        np.random.MT19937(np.random.SeedSequence(SEED, spawn_key=(int(Purpose.TABLE), 1)))
    )

    def zipf(total: int) -> int:
        weights = np.array([1.0 / rank for rank in range(1, total + 1)])
        return int(np.argmax(np.cumsum(weights) / weights.sum() > rng.random_sample()))

    for read, _ in _chosen(workload):
        chosen = [zipf(12)]
        rest = [t for t in members[workload.group_of[chosen[0]]] if t not in chosen]
        while len(chosen) < 3:
            chosen.append(rest.pop(zipf(len(rest))))
        assert read == set(chosen)


def test_one_group_is_no_group_at_all() -> None:
    plain = _chosen(_workload(num_groups=1, tables_per_txn=3))
    assert _workload(num_groups=1).group_of == ()
    assert any(
        len({assign_groups(12, 3, SEED)[table_id] for table_id in read}) > 1 for read, _ in plain
    )


def test_a_group_too_small_for_a_transaction_is_refused() -> None:
    with pytest.raises(
        ValueError, match="tables_per_txn is 3, and the smallest group has 2 tables"
    ):
        _workload(num_tables=8, num_groups=3, tables_per_txn=3)
    with pytest.raises(ValueError, match="cannot divide 3 tables into 4 groups"):
        _workload(num_tables=3, num_groups=4)
    with pytest.raises(ValueError, match="group_of has 2 entries for 12 tables"):
        _workload(group_of=(0, 1))


def test_with_a_pointer_per_group_fewer_commits_are_lost_the_more_groups_there_are() -> None:
    def lost(groups: int) -> int:
        catalog: dict[str, Any] = {"num_tables": 8}
        if groups > 1:
            catalog |= {"num_groups": groups, "conflict_granularity": "group"}
        config = create_test_config(
            inter_arrival_ms=4.0,
            runtime_ms=20.0,
            duration_ms=4_000.0,
            overrides={"catalog": catalog},
        )
        return Simulation(config).run().total_retries

    assert lost(1) > lost(2) > lost(4) > lost(8) > 0


def test_groups_reach_every_class_of_a_configuration() -> None:
    load = {"kind": "open", "inter_arrival": {"scale": 5.0}, "tables_per_txn": 2}
    resolved = resolve_config(
        {
            "simulation": {"duration_ms": 1_000.0},
            "storage": {"provider": "instant"},
            "catalog": {"num_tables": 6, "num_groups": 3},
            "workload": {"class": [{"name": "a", **load}, {"name": "b", **load}]},
        }
    )
    loads = build_simulation_config(resolved, SEED).loads
    assert [item.workload.group_of for item in loads] == [assign_groups(6, 3, SEED)] * 2
