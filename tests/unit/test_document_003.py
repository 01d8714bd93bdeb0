"""The worked examples of the Append Simulation Design, as whole transactions with the document's own numbers.

Catalog read 4, swap or append 10, failed append 30; manifest list read 3, written 7, appended to 2; manifest file read 5,
written 11. Effects come half-way. Log records have 100 bytes, entries of manifest lists 50, as in the document.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import pytest
from interleaving import interleave

from endive.catalog import AppendCatalog, CASCatalog, Catalog, ManifestLists
from endive.conflict_detector import PartitionOverlapConflictDetector
from endive.cost_model import load_cost_table
from endive.storage import ProfileStorageProvider
from endive.test_utils import run
from endive.trace import Use
from endive.transaction import (
    CommitOptions,
    FastAppendTransaction,
    Transaction,
    TransactionResult,
    TransactionStatus,
)

FixedStore = Callable[..., ProfileStorageProvider]
Run = tuple[float, Generator[float, None, TransactionResult]]
DETECTOR = PartitionOverlapConflictDetector()


def _list_io(result: TransactionResult) -> tuple[int, int, int]:
    """Manifest-list reads, writes and appends."""
    return result.manifest_list_reads, result.manifest_list_writes, result.manifest_list_appends


def _play(*runs: Run) -> list[TransactionResult]:
    results = [result for result, _ in interleave(*runs)]
    assert all(result.status is TransactionStatus.COMMITTED for result in results)
    return results


# -- Concurrent Non-Conflicting Transactions -----------------------------------------------------------------------


def _two_tables(catalog: Catalog, store: ProfileStorageProvider, cost_table: str) -> list[Run]:
    """T1 updates table A, T2 updates table B; both begin at version 0, and T1 is ready 2 ms earlier."""
    table = load_cost_table(cost_table)
    t1 = FastAppendTransaction(1, 0.0, 100.0, frozenset({0}), cost_table=table)
    t2 = FastAppendTransaction(2, 0.0, 102.0, frozenset({1}), cost_table=table)
    return [(0.0, txn.execute(catalog, store, DETECTOR)) for txn in (t1, t2)]


def test_non_conflicting_transactions_in_cas_mode(fixed_store: FixedStore) -> None:
    """1 CAS failure, 1 retry, 1 ML read and 1 ML write for it, as the document says.

    The numbers hold under the `legacy` cost table, which is this document's pricing. Under `spec-2.0` a commit to another
    table leaves the manifests of the loser valid, so that its retry is free (§8.12).
    """
    store = fixed_store()
    catalog = CASCatalog(store, 2, (1, 1))
    first, second = _play(*_two_tables(catalog, store, "legacy"))
    # T1: catalog read 4, work 100, list written 7, swap 10.
    assert (first.total_retries, first.commit_time_ms) == (0, 121.0)
    assert _list_io(first) == (0, 1, 0)
    # T2: ready at 113, fails at 118, knows at 123; reads the catalog 4 and T1's list 3, writes its own 7, swaps 10.
    assert (second.total_retries, second.commit_time_ms) == (1, 147.0)
    # One list was written by the first attempt already.
    assert _list_io(second) == (1, 1 + 1, 0)
    assert (second.historical_ml_reads, second.conflict_io_ms) == (1, 3.0)
    assert catalog.seq == 2


def test_non_conflicting_transactions_in_cas_mode_are_cheaper_in_the_specification(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store()
    catalog = CASCatalog(store, 2, (1, 1))
    _, second = _play(*_two_tables(catalog, store, "spec-2.0"))
    assert second.total_retries == 1
    # The first attempt's, and nothing for the retry.
    assert _list_io(second) == (1, 1, 0)
    assert second.conflict_io_ms == 0.0


@pytest.mark.parametrize("cost_table", ["spec-2.0", "legacy"])
def test_non_conflicting_transactions_in_append_mode(
    fixed_store: FixedStore, cost_table: str
) -> None:
    """1 physical failure, 0 logical conflicts, offsets 100 and 200: under every cost table, for there is no retry to price."""
    store = fixed_store()
    catalog = AppendCatalog(store, 2, (1, 1))
    runs = _two_tables(catalog, store, cost_table)
    (first, second), alone = _play(*runs), run(catalog.read())[0]
    assert (first.total_retries, second.total_retries) == (0, 0)
    # T1 appends at 0 and discovers: 10 and 4. T2 fails at 0, appends at 100 and discovers: 30, 10 and 4.
    assert (first.catalog_commit_ms, second.catalog_commit_ms) == (14.0, 44.0)
    assert _list_io(first) == _list_io(second)
    assert second.conflict_io_ms == 0.0
    assert list(catalog.log.length_at_seq) == [0, 100, 200]
    assert catalog.counters == {
        "append_physical_success": 2,
        "append_physical_failure": 1,
        "append_logical_success": 2,
        "append_logical_conflict": 0,
        "append_compactions_triggered": 0,
        "append_compactions_completed": 0,
    }
    assert (alone.seq, [table.version for table in alone.tables]) == (2, [1, 1])


# -- ML+ with Catalog Conflict -------------------------------------------------------------------------------------


def _rewrite(store: ProfileStorageProvider) -> list[Use]:
    raise AssertionError("no list is sealed here")


class _OneTable:
    """Table A with two partitions behind an append catalog, and its manifest list appended to at an offset."""

    def __init__(self, fixed_store: FixedStore, append_offset: str) -> None:
        self.store = fixed_store({"manifest_list.append_failure": 6.0})
        self.catalog = AppendCatalog(self.store, 1, (2,), append_offset=append_offset)
        self.lists = ManifestLists(
            self.store, self.catalog.state, 1, rewrite=partial(_rewrite, self.store)
        )

    def play(
        self, t2_start_ms: float, t2_partition: int, cost_table: str = "spec-2.0"
    ) -> tuple[TransactionResult, TransactionResult]:
        """T1 updates partition 0 from time 0; T2 updates a partition."""
        table = load_cost_table(cost_table)
        options = CommitOptions(
            manifest_lists=self.lists, conflict_rng=np.random.RandomState(seed=0)
        )

        def steps(txn: Transaction) -> Run:
            execute: Any = txn.execute(
                self.catalog, self.store, DETECTOR, ml_append_mode=True, options=options
            )
            return txn.submit_time_ms, execute

        first, second = _play(
            steps(
                FastAppendTransaction(
                    1, 0.0, 100.0, frozenset({0}), {0: frozenset({0})}, cost_table=table
                )
            ),
            steps(
                FastAppendTransaction(
                    2,
                    t2_start_ms,
                    10.0,
                    frozenset({0}),
                    {0: frozenset({t2_partition})},
                    cost_table=table,
                )
            ),
        )
        assert (self.catalog.seq, self.catalog.state.tables[0].version) == (2, 2)
        return first, second

    @property
    def counts(self) -> dict[str, int]:
        """Every counter of the document that is not 0."""
        counters = {**self.catalog.counters, **self.lists.counters}
        return {name: count for name, count in counters.items() if count}


def test_ml_append_with_a_catalog_conflict(fixed_store: FixedStore) -> None:
    """1 catalog logical failure, 0 ML re-appends, and no physical failure anywhere, as the document says.

    The rule is §3.3 and §3.5 of the specification, in the default cost table: T2 writes another partition of the same table,
    so its record is rejected, but its class is `disjoint_partitions`, its entry stays valid, and the retry pays nothing.
    That every append finds its offset at once takes two things that the document leaves open: T2 reads the catalog between
    T1's entry and T1's record, so that it knows the list to be 50 bytes long and the table to be at version 0; and it asks
    for the end of the log before it appends (`catalog.append_offset = "latest"`).
    """
    one = _OneTable(fixed_store, "latest")
    # T1's entry lands at 119, its record at 129; T2 sees the catalog as of 122.
    first, second = one.play(120.0, t2_partition=1)
    assert (first.total_retries, first.commit_time_ms) == (0, 138.0)
    assert _list_io(first) == (1, 0, 1)
    # Read 4, work 10, attempt 14 and 2, end of the log 4, append 10, discovery 4: rejected. Read 4, and 18 once more.
    assert (second.total_retries, second.commit_time_ms) == (1, 120.0 + 48.0 + 22.0)
    assert _list_io(second) == (1, 0, 1)
    assert (second.false_conflicts, second.real_conflicts, second.conflict_io_ms) == (1, 0, 0.0)
    assert one.counts == {
        "append_physical_success": 3,
        "append_logical_success": 2,
        "append_logical_conflict": 1,
        "manifest_append_physical_success": 2,
    }
    assert one.catalog.state.details.list_lengths == (100,)
    # The rejected record stays in the log, between the two that were applied.
    assert list(one.catalog.log.length_at_seq) == [0, 100, 300]


@pytest.mark.parametrize(
    ("append_offset", "t2_start_ms", "log_failures", "list_failures"),
    [
        # At the snapshot's offset T2 misses the end twice: T1's record is in the way, then its own rejected one.
        ("snapshot", 120.0, 2, 0),
        # If T2 read before T1's entry was there, it expects the list to be empty; the failed append tells it better.
        ("latest", 109.0, 0, 1),
        ("snapshot", 109.0, 2, 1),
    ],
)
def test_physical_failures_add_neither_logical_ones_nor_re_appends(
    fixed_store: FixedStore,
    append_offset: str,
    t2_start_ms: float,
    log_failures: int,
    list_failures: int,
) -> None:
    one = _OneTable(fixed_store, append_offset)
    _, second = one.play(t2_start_ms, t2_partition=1)
    assert one.counts.get("append_physical_failure", 0) == log_failures
    assert one.counts.get("manifest_append_physical_failure", 0) == list_failures
    assert one.counts["append_logical_conflict"] == second.total_retries == 1
    assert _list_io(second) == (1, 0, 1)


def test_an_overlap_makes_the_entry_invalid(fixed_store: FixedStore) -> None:
    """The document's contrast: had both updated the same partition, T2 would re-append.

    Under `spec-2.0` an append pays the attempt anew (§3.3) and has nothing to merge.
    """
    one = _OneTable(fixed_store, "latest")
    _, second = one.play(120.0, t2_partition=0)
    assert second.total_retries == 1
    assert _list_io(second) == (2, 0, 1 + 1)
    assert (second.manifest_file_reads, second.manifest_file_writes) == (0, 2)
    assert one.counts["manifest_append_physical_success"] == 3


def test_a_real_conflict_is_merged_and_re_appended_in_the_legacy_table(
    fixed_store: FixedStore,
) -> None:
    """Read manifest files, merge, re-append, retry: merging real conflicts is in the `legacy` cost table only."""
    one = _OneTable(fixed_store, "latest")
    # An attempt is an entry and nothing else: T1's lands at 105, its record at 115.
    _, second = one.play(106.0, t2_partition=0, cost_table="legacy")
    merged = 1 + int(np.random.RandomState(seed=0).random_sample() * 10)
    assert (second.total_retries, second.real_conflicts) == (1, 1)
    # One list of history and the current one; the list entry of the first attempt and the one with merged data.
    assert _list_io(second) == (2, 0, 1 + 1)
    assert (second.manifest_file_reads, second.manifest_file_writes) == (merged, merged)
