"""Loads (docs/MODEL.md, section 13): who submits when, to the millisecond, and from which stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from endive.catalog import AppendCatalog, CASCatalog, Catalog
from endive.conflict_detector import PartitionOverlapConflictDetector, ProbabilisticConflictDetector
from endive.latency import ExponentialLatency, FixedLatency, LatencyDistribution
from endive.simulation import Simulation, SimulationConfig, Statistics
from endive.storage import ProfileStorageProvider
from endive.utils import Purpose
from endive.workload import (
    BackgroundLoad,
    ClosedLoad,
    Load,
    OpenLoad,
    PeriodicLoad,
    Workload,
    WorkloadConfig,
)

FixedStore = Callable[..., ProfileStorageProvider]
SEED = 5
FIXED_MS = (
    "catalog.read",
    "catalog.cas",
    "manifest_list.read",
    "manifest_list.write",
    "manifest_file.write",
)
# A fast append of one table with the store of the tests: 4 to read the catalog, 21 for manifests, 10 to swap.
LONE_MS = 4.0 + 65.0 + 21.0 + 10.0


def _workload(class_index: int = 0, **changes: Any) -> Workload:
    settings: dict[str, Any] = {
        "inter_arrival": FixedLatency(30.0),
        "runtime": FixedLatency(65.0),
        "num_tables": 1,
        "partitions_per_table": (1,),
        "operation_weights": {"fast_append": 1.0},
        "class_name": f"class {class_index}",
        "class_index": class_index,
    }
    return Workload(WorkloadConfig(**{**settings, **changes}), SEED)


def _config(
    store: ProfileStorageProvider,
    *loads: Load,
    duration_ms: float = 1_000.0,
    catalog: Catalog | None = None,
    **changes: Any,
) -> SimulationConfig:
    settings: dict[str, Any] = {
        "storage_provider": store,
        "catalog": catalog or CASCatalog(store, 1, (1,)),
        "workload": loads[0].workload,
        "conflict_detector": ProbabilisticConflictDetector(0.0, np.random.RandomState(0)),
        "loads": loads,
    }
    return SimulationConfig(duration_ms, SEED, **{**settings, **changes})


def _run(*arguments: Any, **settings: Any) -> Statistics:
    return Simulation(_config(*arguments, **settings)).run()


def _column(statistics: Statistics, name: str) -> list[Any]:
    values: list[Any] = statistics.to_dataframe()[name].tolist()
    return values


def _closed(clients: int, think_ms: float, class_index: int = 0, **changes: Any) -> ClosedLoad:
    return ClosedLoad(_workload(class_index, **changes), clients, FixedLatency(think_ms))


# -- closed loops ------------------------------------------------------------------------------------------------------


def test_a_client_thinks_submits_waits_for_the_end_and_thinks_again(
    fixed_store: FixedStore,
) -> None:
    rows = _run(fixed_store(), _closed(1, 50.0), duration_ms=500.0)
    assert _column(rows, "t_submit") == [50.0, 200.0, 350.0]
    assert _column(rows, "t_commit") == [150.0, 300.0, 450.0]


def test_two_clients_submit_independently_after_their_own_transactions(
    fixed_store: FixedStore,
) -> None:
    # Both begin at 100 and swap at 195. The first one wins; the other reads (4), writes (21) and swaps (10) again. From then
    # on the second is behind the first, whose commit always comes between its read and its swap.
    rows = _run(fixed_store(), _closed(2, 100.0), duration_ms=706.0)
    assert _column(rows, "t_submit") == [100.0, 100.0, 300.0, 335.0, 500.0, 570.0, 700.0]
    assert _column(rows, "t_commit") == [200.0, 235.0, 400.0, 470.0, 600.0, 705.0, -1.0]


def test_a_client_whose_transaction_aborts_thinks_again_too(fixed_store: FixedStore) -> None:
    rows = _run(fixed_store(), _closed(2, 100.0), duration_ms=301.0, max_retries=0)
    assert _column(rows, "t_submit") == [100.0, 100.0, 300.0, 300.0]
    assert _column(rows, "status") == ["committed", "aborted", "in_flight", "in_flight"]


@pytest.mark.parametrize("clients", [1, 2, 7])
def test_clients_that_need_not_think_submit_the_instant_their_transaction_ends(
    fixed_store: FixedStore, clients: int
) -> None:
    rows = _run(fixed_store(), _closed(clients, 0.0), duration_ms=5_000.0, max_retries=3)
    frame = rows.to_dataframe()
    ends = sorted(end for end in frame[["t_commit", "t_abort"]].max(axis=1) if end >= 0.0)
    assert _column(rows, "t_submit") == [0.0] * clients + ends
    assert rows.in_flight == clients
    # The end may cut off the answer to a swap that took effect.
    assert clients < rows.committed <= rows.seq <= rows.committed + clients


def test_a_client_alone_never_waits_for_itself(fixed_store: FixedStore) -> None:
    rows = _run(fixed_store(), _closed(1, 0.0), duration_ms=1_000.0)
    assert _column(rows, "t_submit") == [k * LONE_MS for k in range(10)]


def test_clients_draw_from_the_arrival_stream_of_their_class_when_they_begin_to_think(
    fixed_store: FixedStore,
) -> None:
    think = ExponentialLatency(50.0)
    for class_index in (0, 1):
        load = ClosedLoad(_workload(class_index), 1, think)
        rows = _run(fixed_store(), load, duration_ms=2_000.0)
        rng = _stream(Purpose.ARRIVAL, class_index)
        end_ms = 0.0
        for submit_ms, commit_ms in zip(
            _column(rows, "t_submit"), _column(rows, "t_commit"), strict=True
        ):
            assert submit_ms == pytest.approx(end_ms + think.sample(rng))
            end_ms = commit_ms


def test_a_closed_load_in_which_nothing_takes_time_is_told(fixed_store: FixedStore) -> None:
    store = fixed_store(dict.fromkeys(FIXED_MS, 0.0))
    load = _closed(1, 0.0, runtime=FixedLatency(0.0))
    with pytest.raises(
        ValueError, match=r"time stands still at 0\.0 ms: in the closed load 'class 0'"
    ):
        _run(store, load)


# -- periodic ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset_ms", "submissions"),
    [
        (None, [50.0, 100.0, 150.0]),
        (0.0, [0.0, 50.0, 100.0, 150.0]),
        (20.0, [20.0, 70.0, 120.0, 170.0]),
        (180.0, [180.0]),
        (200.0, []),
    ],
)
def test_a_periodic_load_submits_by_the_clock_whatever_became_of_the_earlier_ones(
    fixed_store: FixedStore, offset_ms: float | None, submissions: list[float]
) -> None:
    # A transaction takes twice the interval; what is due at the end itself does not happen.
    load = PeriodicLoad(_workload(), 50.0, offset_ms)
    rows = _run(fixed_store(), load, duration_ms=200.0)
    assert _column(rows, "t_submit") == submissions


# -- background --------------------------------------------------------------------------------------------------------


def test_background_commits_land_at_once_and_win_every_race(fixed_store: FixedStore) -> None:
    # The transaction reads at 12 and swaps at 105, 140, 175, …, 28 after each further read. Rivals come every 40. The one
    # at 280 comes before the swap of the same instant; only the swap at 315 finds nothing since its read at 287.
    loads = (
        PeriodicLoad(_workload(0), 1_000.0, 10.0),
        BackgroundLoad(_workload(1), FixedLatency(40.0)),
    )
    rows = _run(fixed_store(), *loads, duration_ms=321.0)
    assert _column(rows, "t_commit") == [320.0]
    assert _column(rows, "n_retries") == [6]
    assert (rows.background_commits, rows.seq) == (8, 9)


def test_background_commits_have_no_row_no_id_and_cost_nothing(fixed_store: FixedStore) -> None:
    rows = _run(fixed_store(), BackgroundLoad(_workload(), FixedLatency(30.0)), duration_ms=300.0)
    assert (rows.launched, rows.background_commits, rows.seq) == (0, 9, 9)
    assert (rows.manifest_list_reads, rows.manifest_file_writes) == (0, 0)
    assert rows.to_dataframe().empty


def test_background_records_make_the_log_longer_than_a_writer_expects(
    fixed_store: FixedStore,
) -> None:
    # Rivals write the other table, so every record is applied; but each moves the end of the log.
    store = fixed_store()
    mine = _workload(0, num_tables=2, partitions_per_table=(1, 1), table_selector=None)
    theirs = _workload(1, num_tables=2, partitions_per_table=(1, 1))
    catalog = AppendCatalog(store, 2, (1, 1))
    loads = (PeriodicLoad(mine, 1_000.0, 10.0), BackgroundLoad(theirs, FixedLatency(50.0)))
    alone = _run(store, loads[0], catalog=catalog, duration_ms=900.0)
    beside = _run(store, *loads, catalog=catalog, duration_ms=900.0)
    assert alone.append_physical_failure == 0 < beside.append_physical_failure
    assert beside.seq == beside.committed + beside.background_commits


def test_background_draws_neither_runtime_nor_operation(fixed_store: FixedStore) -> None:
    workload = _workload(0, num_tables=9, partitions_per_table=(1,) * 9)
    touched = [workload.next_touched()[1] for _ in range(50)]
    transactions = _workload(0, num_tables=9, partitions_per_table=(1,) * 9)
    assert touched == [transactions.next_transaction(k, 0.0).tables_written for k in range(50)]


def test_background_commits_need_a_catalog_that_can_land_them(fixed_store: FixedStore) -> None:
    class Foreign(Catalog):
        seq = 0
        read = commit = None  # type: ignore[assignment]

    load = BackgroundLoad(_workload(), FixedLatency(30.0))
    with pytest.raises(ValueError, match="Foreign has no way to land them"):
        _run(fixed_store(), load, catalog=Foreign())


# -- several classes ---------------------------------------------------------------------------------------------------


def test_ids_count_up_over_all_classes_in_order_of_submission_class_and_client(
    fixed_store: FixedStore,
) -> None:
    loads = (
        PeriodicLoad(_workload(0), 50.0),
        PeriodicLoad(_workload(1), 50.0, 0.0),
        _closed(2, 50.0, 2),
        OpenLoad(_workload(3, inter_arrival=FixedLatency(25.0))),
    )
    frame = _run(fixed_store(), *loads, duration_ms=76.0).to_dataframe()
    found = list(zip(frame["t_submit"], frame["class_name"], strict=True))
    assert frame["txn_id"].tolist() == list(range(len(frame)))
    assert found == [
        (0.0, "class 1"),
        (25.0, "class 3"),
        (50.0, "class 0"),
        (50.0, "class 1"),
        (50.0, "class 2"),
        (50.0, "class 2"),
        (50.0, "class 3"),
        (75.0, "class 3"),
    ]


def test_at_one_instant_steps_are_taken_in_order_of_id_whatever_the_class(
    fixed_store: FixedStore,
) -> None:
    # Submitted at one instant, they swap at one instant: the lower id belongs to the earlier class and wins.
    first, second = PeriodicLoad(_workload(0), 400.0), PeriodicLoad(_workload(1), 400.0)
    for loads in ((first, second), (second, first)):
        frame = _run(fixed_store(), *loads, duration_ms=600.0).to_dataframe()
        assert frame["class_name"].tolist() == [load.workload.config.class_name for load in loads]
        assert frame["t_commit"].tolist() == [500.0, 535.0]


def _stream(purpose: Purpose, class_index: int) -> np.random.RandomState:
    sequence = np.random.SeedSequence(SEED).spawn(8)[purpose]
    if class_index:
        sequence = np.random.SeedSequence(SEED, spawn_key=(int(purpose), class_index))
    return np.random.RandomState(np.random.MT19937(sequence))


_MIX: dict[str, Any] = {
    "inter_arrival": ExponentialLatency(60.0),
    "runtime": ExponentialLatency(40.0),
    "num_tables": 5,
    "partitions_per_table": (6,) * 5,
    "tables_per_txn": 2,
    "partitions_per_txn": 2,
    "operation_weights": {"fast_append": 1.0, "merge_append": 1.0, "validated_overwrite": 1.0},
}


def _kinds(class_index: int) -> list[Load]:
    """One load of each kind with everything drawn at random."""
    workload = _workload(class_index, **_MIX)
    wait: LatencyDistribution = ExponentialLatency(70.0)
    return [
        OpenLoad(workload),
        ClosedLoad(workload, 3, wait),
        PeriodicLoad(workload, 50.0),
        BackgroundLoad(workload, wait),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_another_class_leaves_the_draws_of_the_first_as_they_were(
    fixed_store: FixedStore, kind: int
) -> None:
    def drawn(*others: Load) -> list[tuple[Any, ...]]:
        store = fixed_store()
        catalog = CASCatalog(store, 5, (6,) * 5)
        rows = _run(store, OpenLoad(_workload(0, **_MIX)), *others, catalog=catalog)
        frame = rows.to_dataframe()
        frame = frame[frame["class_name"] == "class 0"]
        return list(
            zip(frame["t_submit"], frame["t_runtime"], frame["operation_type"], strict=True)
        )

    assert drawn() == drawn(_kinds(1)[kind])
    assert len(drawn()) > 10


def test_every_class_has_streams_of_its_own() -> None:
    for class_index in (0, 1, 2):
        workload = _workload(class_index, **_MIX)
        runtimes, operations = (
            _stream(Purpose.RUNTIME, class_index),
            _stream(Purpose.OPERATION, class_index),
        )
        tables = _stream(Purpose.TABLE, class_index)
        partitions = _stream(Purpose.PARTITION, class_index)
        names = list(_MIX["operation_weights"])
        for txn_id in range(200):
            txn = workload.next_transaction(txn_id, 0.0)
            assert txn.runtime_ms == pytest.approx(_MIX["runtime"].sample(runtimes))
            assert txn.operation_type == names[int(operations.random_sample() * 3.0)]
            assert txn.tables_written == _shuffled(2, 5, tables)
            assert txn.partitions_written == {
                table_id: _shuffled(2, 6, partitions) for table_id in sorted(txn.tables_written)
            }


def _shuffled(count: int, total: int, rng: np.random.RandomState) -> frozenset[int]:
    items = list(range(total))
    for i in range(count):
        j = i + int(rng.random_sample() * (total - i))
        items[i], items[j] = items[j], items[i]
    return frozenset(items[:count])


def test_one_open_class_is_the_run_without_classes(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = CASCatalog(store, 5, (6,) * 5)
    load = OpenLoad(_workload(0, **_MIX))
    late = PeriodicLoad(_workload(1, **_MIX), 1e9)
    plain = _run(store, load, catalog=catalog, loads=())
    assert plain.launched > 10
    assert plain.digest() == _run(store, load, catalog=catalog).digest()
    assert plain.digest() == _run(store, load, late, catalog=catalog).digest()


def test_a_mixed_run_repeats_itself_and_accounts_for_everything(fixed_store: FixedStore) -> None:
    store = fixed_store()
    loads = [_kinds(index)[index] for index in range(4)]
    config = _config(store, *loads, catalog=CASCatalog(store, 5, (6,) * 5))
    first, again = Simulation(config).run(), Simulation(config).run()
    assert first.digest() == again.digest()
    assert first.launched == first.committed + first.aborted + first.in_flight > 30
    frame = first.to_dataframe()
    assert frame["t_submit"].is_monotonic_increasing
    assert set(frame["class_name"]) == {"class 0", "class 1", "class 2"}
    assert first.seq >= first.committed + first.background_commits > first.background_commits > 0


# -- partial overlap ---------------------------------------------------------------------------------------------------


def _partitions(
    q: float | None, count: int, class_index: int = 1
) -> list[dict[int, frozenset[int]]]:
    workload = _workload(class_index, **_MIX, overlap_probability=q)
    found = []
    for txn_id in range(count):
        partitions = workload.next_transaction(txn_id, 0.0).partitions_written
        assert partitions is not None
        found.append(dict(partitions))
    return found


def test_with_overlap_probability_0_no_partition_of_others_is_ever_written() -> None:
    assert all(not any(partitions.values()) for partitions in _partitions(0.0, 300))


def test_with_overlap_probability_1_partitions_are_those_of_the_selector_after_one_more_draw() -> (
    None
):
    rng = _stream(Purpose.PARTITION, 1)
    for partitions in _partitions(1.0, 300):
        rng.random_sample()
        assert partitions == {table_id: _shuffled(2, 6, rng) for table_id in sorted(partitions)}


def test_overlap_comes_as_often_as_its_probability_says() -> None:
    # The standard error of 4,000 draws is 0.7 points: an error of 5 points lies seven of them away.
    shares = [
        np.mean([any(p.values()) for p in _partitions(0.3, 4_000, class_index)])
        for class_index in (0, 1, 2)
    ]
    assert shares == pytest.approx([0.3] * 3, abs=0.025)


@pytest.mark.parametrize(("q", "aborts"), [(0.0, False), (1.0, True)])
def test_partitions_of_its_own_never_bring_a_transaction_into_conflict(
    fixed_store: FixedStore, q: float, aborts: bool
) -> None:
    store = fixed_store()
    topology: dict[str, Any] = {"partitions_per_table": (1,), "partitions_per_txn": 1}
    overwrites = {"operation_weights": {"validated_overwrite": 1.0}, "overlap_probability": q}
    rows = _run(
        store,
        PeriodicLoad(_workload(0, **topology, **overwrites), 100.0),
        BackgroundLoad(_workload(1, **topology), FixedLatency(70.0)),
        duration_ms=3_000.0,
        conflict_detector=PartitionOverlapConflictDetector(),
    )
    # Rivals win races either way, and cost retries; only where partitions are shared are conflicts real.
    assert rows.total_retries + rows.validation_exceptions > 10
    assert (rows.validation_exceptions > 10) is aborts
    if not aborts:
        assert (rows.manifest_list_reads, rows.false_conflicts) != (0, 0)
        assert rows.validation_exceptions == rows.real_conflicts == 0


# -- what no load can be -----------------------------------------------------------------------------------------------


def test_what_no_load_can_be_is_refused(fixed_store: FixedStore) -> None:
    with pytest.raises(ValueError, match="at least 1 client, not 0"):
        _closed(0, 1.0)
    for interval_ms in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="interval_ms must be above 0"):
            PeriodicLoad(_workload(), interval_ms)
    with pytest.raises(ValueError, match="offset_ms must not be negative"):
        PeriodicLoad(_workload(), 1.0, -1.0)
    with pytest.raises(ValueError, match=r"overlap_probability must be between 0 and 1, not 1\.5"):
        _workload(**_MIX, overlap_probability=1.5)
    with pytest.raises(ValueError, match="overlap_probability needs partitions"):
        _workload(overlap_probability=0.5)
    with pytest.raises(ValueError, match="two loads draw from the same random streams"):
        _config(fixed_store(), _closed(1, 1.0), OpenLoad(_workload()))
