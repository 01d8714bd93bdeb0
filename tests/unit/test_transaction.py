"""Transactions (§3): timelines worked out by hand, with every latency fixed.

Catalog read 4, compare-and-swap 10; manifest list read 3, written 7, appended to 2; manifest file read 5, written 11.
So an attempt on one table costs 3 + 11 + 7 = 21, or 3 + 11 + 2 = 16 with ML+; four operations of a kind run at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence

import numpy as np
import pytest

from endive.catalog import CASCatalog, Catalog, CatalogSnapshot, IntentionRecord, TableMetadata
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.latency import FixedLatency, LognormalLatency
from endive.profiles import load_profiles
from endive.simulation import Simulation, SimulationConfig
from endive.storage import ProfileStorageProvider, create_provider
from endive.test_utils import run
from endive.transaction import (
    Backoff,
    ConflictCost,
    FastAppendTransaction,
    MergeAppendTransaction,
    Transaction,
    TransactionResult,
    TransactionStatus,
    ValidatedOverwriteTransaction,
)
from endive.workload import Workload, WorkloadConfig

FixedStore = Callable[..., ProfileStorageProvider]
NEVER = ProbabilisticConflictDetector(0.0)
ALWAYS = ProbabilisticConflictDetector(1.0)
Rivals = Sequence[tuple[float, Callable[[], None]]]


def _rival(
    catalog: Catalog, table: int = 0, partitions: tuple[int, ...] | None = None, times: int = 1
) -> Callable[[], None]:
    """Somebody else's commits to one table, all at one instant."""

    def commit() -> None:
        for _ in range(times):
            seen = run(catalog.read())[0]
            writes = {table: seen.get_table(table).version + 1}
            parts = None if partitions is None else {table: partitions}
            record = IntentionRecord(-1, seen.seq, writes, parts)
            assert run(catalog.commit(seen.seq, writes, 0.0, record))[0].success

    return commit


def _play(
    steps: Generator[float, None, TransactionResult], rivals: Rivals = ()
) -> TransactionResult:
    """Run a transaction from time 0; rivals strike at their times, before what is due then."""
    now_ms, waiting = 0.0, list(rivals)
    while True:
        try:
            now_ms += next(steps)
        except StopIteration as stop:
            result: TransactionResult = stop.value
            return result
        while waiting and waiting[0][0] <= now_ms:
            waiting.pop(0)[1]()


def _catalog(store: ProfileStorageProvider, partitions: tuple[int, ...] = (1, 1)) -> CASCatalog:
    return CASCatalog(store, len(partitions), partitions)


def _parts_ms(result: TransactionResult) -> float:
    return (
        result.catalog_read_ms
        + result.per_attempt_io_ms
        + result.conflict_io_ms
        + result.catalog_commit_ms
        + result.backoff_ms
    )


def _counts(result: TransactionResult) -> tuple[int, int, int, int, int, int]:
    """Manifest-list reads, writes, appends, historical reads; manifest-file reads, writes."""
    return (
        result.manifest_list_reads,
        result.manifest_list_writes,
        result.manifest_list_appends,
        result.historical_ml_reads,
        result.manifest_file_reads,
        result.manifest_file_writes,
    )


_TYPES = [FastAppendTransaction, MergeAppendTransaction, ValidatedOverwriteTransaction]
_EACH_TYPE = pytest.mark.parametrize("kind", _TYPES)


# -- without a conflict --------------------------------------------------------------------------------------------


@_EACH_TYPE
def test_first_attempt_succeeds(kind: type[Transaction], fixed_store: FixedStore) -> None:
    store = fixed_store()
    txn = kind(7, 1_000.0, 100.0, frozenset({0}))
    assert txn.status is TransactionStatus.PENDING
    result, elapsed_ms = run(txn.execute(_catalog(store), store, ALWAYS))
    assert elapsed_ms == 135.0
    assert result == TransactionResult(
        status=TransactionStatus.COMMITTED,
        txn_id=7,
        commit_time_ms=1_135.0,
        abort_time_ms=-1.0,
        abort_reason=None,
        total_retries=0,
        commit_latency_ms=31.0,
        total_latency_ms=135.0,
        operation_type=kind.operation_type,
        runtime_ms=100.0,
        manifest_list_reads=1,
        manifest_list_writes=1,
        manifest_file_reads=0,
        manifest_file_writes=1,
        catalog_read_ms=4.0,
        per_attempt_io_ms=21.0,
        conflict_io_ms=0.0,
        catalog_commit_ms=10.0,
        submit_time_ms=1_000.0,
    )


def test_ml_append_stands_in_for_the_write(fixed_store: FixedStore) -> None:
    store = fixed_store()
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    result, elapsed_ms = run(txn.execute(_catalog(store), store, NEVER, ml_append_mode=True))
    assert (elapsed_ms, result.per_attempt_io_ms) == (130.0, 16.0)
    assert _counts(result) == (1, 0, 1, 0, 0, 1)


def test_the_snapshot_is_taken_before_the_work(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, NEVER), [(50.0, _rival(catalog))])
    assert result.total_retries == 1


# -- without overlap -----------------------------------------------------------------------------------------------


@_EACH_TYPE
def test_commit_to_another_table_costs_no_manifest_io(
    kind: type[Transaction], fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = kind(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, ALWAYS), [(50.0, _rival(catalog, table=1, times=3))])
    # 4 + 100 + 21 + 10, lost; 4 + 10, won.
    assert (result.total_latency_ms, result.total_retries) == (149.0, 1)
    assert _counts(result) == (1, 1, 0, 0, 0, 1)
    assert (result.per_attempt_io_ms, result.conflict_io_ms) == (21.0, 0.0)
    assert (result.catalog_read_ms, result.catalog_commit_ms) == (8.0, 20.0)


@_EACH_TYPE
def test_commit_to_disjoint_partitions_costs_no_manifest_io(
    kind: type[Transaction], fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store, (4,))
    txn = kind(0, 0.0, 100.0, frozenset({0}), {0: frozenset({0, 1})})
    rivals = [(50.0, _rival(catalog, partitions=(2, 3)))]
    result = _play(txn.execute(catalog, store, ALWAYS), rivals)
    assert (result.total_latency_ms, result.total_retries) == (149.0, 1)
    assert _counts(result) == (1, 1, 0, 0, 0, 1)


# -- with overlap --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behind", [1, 2, 5])
def test_fast_append_pays_another_attempt_only(behind: int, fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, NEVER), [(50.0, _rival(catalog, times=behind))])
    # 4 + 100 + 21 + 10, lost; 4 + 21 + 10, won.
    assert (result.total_latency_ms, result.commit_latency_ms) == (170.0, 66.0)
    assert _counts(result) == (2, 2, 0, 0, 0, 2)


@pytest.mark.parametrize(
    ("behind", "manifests", "conflict_ms"), [(1, 1, 16.0), (2, 3, 16.0), (5, 7, 32.0)]
)
def test_merge_append_merges_the_manifests_of_every_commit_behind(
    behind: int, manifests: int, conflict_ms: float, fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = MergeAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, NEVER), [(50.0, _rival(catalog, times=behind))])
    assert (result.total_latency_ms, result.conflict_io_ms) == (170.0 + conflict_ms, conflict_ms)
    assert _counts(result) == (2, 2, 0, 0, manifests, 2 + manifests)


@pytest.mark.parametrize(("behind", "conflict_ms"), [(1, 3.0), (2, 3.0), (5, 6.0)])
def test_validated_overwrite_reads_exactly_one_list_per_commit_behind(
    behind: int, conflict_ms: float, fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, NEVER), [(50.0, _rival(catalog, times=behind))])
    assert (result.total_latency_ms, result.conflict_io_ms) == (170.0 + conflict_ms, conflict_ms)
    assert _counts(result) == (2 + behind, 2, 0, behind, 0, 2)


def test_commits_to_other_tables_count_as_behind_once_there_is_overlap(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    rivals = [(50.0, _rival(catalog, table=1, times=3)), (60.0, _rival(catalog, table=0))]
    result = _play(txn.execute(catalog, store, NEVER), rivals)
    assert result.historical_ml_reads == 4


def test_a_second_loss_pays_only_for_what_happened_since_the_first(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    # Lost at 135; read until 139, validated until 142, attempt until 163: the next rival strikes in it.
    rivals = [(50.0, _rival(catalog, times=2)), (150.0, _rival(catalog, times=1))]
    result = _play(txn.execute(catalog, store, NEVER), rivals)
    assert (result.total_retries, result.historical_ml_reads) == (2, 3)
    assert result.total_latency_ms == 135.0 + 2 * (4.0 + 3.0 + 21.0 + 10.0)


def test_an_overlap_after_a_cheap_retry_pays_for_new_manifests(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    rivals = [(50.0, _rival(catalog, table=1)), (140.0, _rival(catalog, table=0))]
    result = _play(txn.execute(catalog, store, NEVER), rivals)
    # Lost to another table at 135; lost to the same table at 149; 4 + 21 + 10.
    assert (result.total_latency_ms, result.total_retries) == (184.0, 2)
    assert _counts(result) == (2, 2, 0, 0, 0, 2)


def test_ml_append_pays_an_append_on_every_overlapping_attempt(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, NEVER, 10, True), [(50.0, _rival(catalog, times=2))])
    assert result.total_latency_ms == 4.0 + 100.0 + 16.0 + 10.0 + 4.0 + 3.0 + 16.0 + 10.0
    assert _counts(result) == (4, 0, 2, 2, 0, 2)


# -- several tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tables", "attempt_ms"), [(2, 21.0), (4, 21.0), (5, 42.0)])
def test_an_attempt_is_paid_for_every_written_table(
    tables: int, attempt_ms: float, fixed_store: FixedStore
) -> None:
    store = fixed_store()
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset(range(tables)))
    result, _ = run(txn.execute(_catalog(store, (1,) * tables), store, NEVER))
    assert result.per_attempt_io_ms == attempt_ms
    assert _counts(result) == (tables, tables, 0, 0, 0, tables)


def test_a_retry_is_paid_for_overlapping_tables_only_and_the_conflict_once(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store()
    catalog = _catalog(store, (1,) * 5)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0, 1, 2}))
    rivals = [(50.0, _rival(catalog, 1)), (50.0, _rival(catalog, 2)), (50.0, _rival(catalog, 4))]
    result = _play(txn.execute(catalog, store, NEVER), rivals)
    # Three tables at first; then two overlap; three snapshots behind, read once for the transaction.
    assert _counts(result) == (3 + 3 + 2, 5, 0, 3, 0, 5)
    assert result.total_latency_ms == 4.0 + 100.0 + 21.0 + 10.0 + 4.0 + 3.0 + 21.0 + 10.0


# -- ends ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_retries", "total_ms"), [(0, 135.0), (1, 170.0)])
def test_after_the_last_attempt_nothing_more_is_paid(
    max_retries: int, total_ms: float, fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = FastAppendTransaction(0, 500.0, 100.0, frozenset({0}))
    rivals = [(at_ms, _rival(catalog)) for at_ms in (50.0, 160.0, 200.0)]
    # Between attempts 10 ms of backoff are waited, but none after the last.
    result = _play(txn.execute(catalog, store, NEVER, max_retries, backoff=_steady()), rivals)
    backoff_ms = 10.0 * max_retries
    assert (result.status, result.abort_reason) == (TransactionStatus.ABORTED, "max_retries")
    assert result.total_latency_ms == total_ms + backoff_ms
    assert (result.abort_time_ms, result.commit_time_ms) == (500.0 + total_ms + backoff_ms, -1.0)
    assert result.total_retries == max_retries
    assert result.catalog_read_ms == 4.0 * (1 + max_retries)


def test_a_real_conflict_aborts_after_validation_was_paid(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, ALWAYS), [(50.0, _rival(catalog, times=5))])
    # 4 + 100 + 21 + 10, lost; 4 + two batches of historical lists, then it is over.
    assert (result.status, result.abort_reason) == (
        TransactionStatus.ABORTED,
        "validation_exception",
    )
    assert (result.total_latency_ms, result.abort_time_ms) == (145.0, 145.0)
    assert (result.conflict_io_ms, result.per_attempt_io_ms) == (6.0, 21.0)
    assert _counts(result) == (6, 1, 0, 5, 0, 1)
    assert result.total_retries == 0


@pytest.mark.parametrize("kind", [FastAppendTransaction, MergeAppendTransaction])
def test_appends_never_abort_on_a_conflict(
    kind: type[Transaction], fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = kind(0, 0.0, 100.0, frozenset({0}))
    result = _play(txn.execute(catalog, store, ALWAYS), [(50.0, _rival(catalog))])
    assert result.status is TransactionStatus.COMMITTED


# -- backoff -------------------------------------------------------------------------------------------------------


def _steady(**keywords: float) -> Backoff:
    return Backoff(np.random.RandomState(0), **{"jitter": 0.0, **keywords})


def test_backoff_doubles_up_to_its_cap() -> None:
    backoff = _steady(base_ms=10.0, multiplier=2.0, max_ms=70.0)
    assert [backoff.wait_ms(retry) for retry in range(1, 6)] == [10.0, 20.0, 40.0, 70.0, 70.0]
    assert backoff.wait_ms(100_000) == 70.0


def test_jitter_comes_after_the_cap_and_takes_one_uniform_each() -> None:
    backoff = Backoff(np.random.RandomState(9), 10.0, 2.0, 70.0, 0.5)
    uniforms = np.random.RandomState(9).random_sample(6)
    capped = (10.0, 20.0, 40.0, 70.0, 70.0, 70.0)
    expected = [d * (1.0 + 0.5 * (2.0 * u - 1.0)) for d, u in zip(capped, uniforms, strict=True)]
    assert [backoff.wait_ms(retry) for retry in range(1, 7)] == pytest.approx(expected, rel=1e-15)


def test_backoff_is_waited_before_the_catalog_is_read_again(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = ValidatedOverwriteTransaction(0, 0.0, 100.0, frozenset({0}))
    # Lost at 135; a rival during the backoff is seen by the read after it, so one retry is enough.
    rivals = [(50.0, _rival(catalog)), (140.0, _rival(catalog))]
    result = _play(txn.execute(catalog, store, NEVER, backoff=_steady()), rivals)
    assert (result.backoff_ms, result.total_retries, result.historical_ml_reads) == (10.0, 1, 2)
    assert result.total_latency_ms == 135.0 + 10.0 + 4.0 + 3.0 + 21.0 + 10.0


def test_a_first_attempt_never_waits(fixed_store: FixedStore) -> None:
    store = fixed_store()
    txn = FastAppendTransaction(0, 0.0, 100.0, frozenset({0}))
    result, _ = run(txn.execute(_catalog(store), store, NEVER, backoff=_steady()))
    assert result.backoff_ms == 0.0


# -- sums and costs ------------------------------------------------------------------------------------------------


@_EACH_TYPE
@pytest.mark.parametrize("losses", [0, 1, 4])
def test_parts_add_up_to_the_total(
    kind: type[Transaction], losses: int, fixed_store: FixedStore
) -> None:
    store = fixed_store()
    catalog = _catalog(store)
    txn = kind(0, 0.0, 100.0, frozenset({0}))
    rivals = [(50.0 + 70.0 * index, _rival(catalog)) for index in range(losses)]
    result = _play(txn.execute(catalog, store, NEVER, backoff=_steady()), rivals)
    assert result.total_retries > 0 or losses == 0
    assert _parts_ms(result) + 100.0 == result.total_latency_ms
    assert result.commit_latency_ms == result.total_latency_ms - 104.0


def test_costs_are_those_of_the_specification() -> None:
    fast = FastAppendTransaction(0, 0.0, 1.0, frozenset({0}))
    merge = MergeAppendTransaction(0, 0.0, 1.0, frozenset({0}), manifests_per_concurrent_commit=0.5)
    overwrite = ValidatedOverwriteTransaction(0, 0.0, 1.0, frozenset({0}))
    for txn in (fast, merge, overwrite):
        assert txn.get_per_attempt_cost(False) == ConflictCost(
            manifest_list_reads=1, manifest_file_writes=1, manifest_list_writes=1
        )
        assert txn.get_per_attempt_cost(True).manifest_list_writes == 0
        assert txn.get_per_attempt_cost(True).manifest_list_appends == 1
    assert fast.get_conflict_cost(9, False) == ConflictCost()
    assert merge.get_conflict_cost(1, False) == ConflictCost()
    assert merge.get_conflict_cost(5, True) == ConflictCost(
        manifest_file_reads=2, manifest_file_writes=2
    )
    assert overwrite.get_conflict_cost(9, True) == ConflictCost(historical_ml_reads=9)


def _snapshot(seq: int, *tables: tuple[int, tuple[int, ...]]) -> CatalogSnapshot:
    return CatalogSnapshot(
        seq,
        tuple(TableMetadata(i, v, len(parts), parts) for i, (v, parts) in enumerate(tables)),
        0.0,
    )


@pytest.mark.parametrize(
    ("written", "overlap"),
    [
        (None, True),
        ({0: frozenset({0})}, False),
        ({0: frozenset({1})}, True),
        ({0: frozenset({0, 1})}, True),
        ({}, False),
    ],
)
def test_overlap_is_same_table_and_same_partition(
    written: dict[int, frozenset[int]] | None, overlap: bool
) -> None:
    old = _snapshot(0, (0, (0, 0)), (0, (0, 0)))
    new = _snapshot(2, (1, (0, 1)), (1, (1, 1)))
    txn = FastAppendTransaction(0, 0.0, 1.0, frozenset({0}), written)
    assert txn.has_write_overlap(old, new) is overlap
    assert txn.has_write_overlap(old, old) is False


# -- under a simulation --------------------------------------------------------------------------------------------


def test_execute_without_a_clock_equals_the_run_under_a_simulation() -> None:
    def parts() -> tuple[ProfileStorageProvider, CASCatalog, Workload]:
        store = create_provider("azure", np.random.RandomState(3), load_profiles())
        config = WorkloadConfig(
            FixedLatency(1_000.0), LognormalLatency.from_median(90.0, 0.4), 1, (1,)
        )
        return store, CASCatalog(store, 1, (1,)), Workload(config, 5)

    store, catalog, workload = parts()
    # One transaction only: the second would arrive at 2,000.
    config = SimulationConfig(2_000.0, 5, store, catalog, workload, NEVER)
    (simulated,) = Simulation(config).run().transactions
    store, catalog, workload = parts()
    _, txn = next(iter(workload.generate()))
    alone, elapsed_ms = run(txn.execute(catalog, store, NEVER))
    assert alone.submit_time_ms == 1_000.0
    assert math.isclose(elapsed_ms, simulated.total_latency_ms, rel_tol=1e-12)
    assert alone == simulated
