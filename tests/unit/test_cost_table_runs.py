"""Cost tables at work (docs/MODEL.md, sections 7 and 8): one scripted contention, attempt by attempt.

Manifest list read 3 ms, written 7; manifest file read 5, written 11; catalog read 4, swapped 10. Four operations of a kind
run at a time, where a table does not say otherwise. The writer works for 100 ms on table 0. Rivals land in threes: while it
works, and while swaps of its are under way, so that it loses twice and wins its third.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from endive.attempts import AttemptLog
from endive.catalog import CASCatalog, IntentionRecord
from endive.conflict_detector import ConflictDetector, ProbabilisticConflictDetector
from endive.cost_model import cost_table_names, load_cost_table
from endive.storage import ProfileStorageProvider
from endive.transaction import OPERATION_CLASSES, CommitOptions, TransactionResult

FixedStore = Callable[..., ProfileStorageProvider]
NEVER, ALWAYS = ProbabilisticConflictDetector(0.0), ProbabilisticConflictDetector(1.0)
Row = tuple[Any, ...]
COLUMNS = (
    "snapshots_behind", "manifest_list_reads", "historical_ml_reads", "manifest_file_reads",
    "manifest_file_writes", "manifest_list_writes", "conflict_io_ms", "per_attempt_io_ms",
)  # fmt: skip


@dataclass(frozen=True)
class Rivals:
    """Who lands: how many in the work and in the way of each swap, where, and whether they replace data."""

    in_work: int = 3
    at_swap: Mapping[int, int] | None = None
    table: int = 0
    partition: int | None = None
    replace_data: bool = False

    def land(self, catalog: CASCatalog, count: int) -> None:
        for _ in range(count):
            writes = {self.table: catalog.state.tables[self.table].version + 1}
            parts = None if self.partition is None else {self.table: (self.partition,)}
            record = IntentionRecord(
                -1, catalog.seq, writes, parts, replaces_data=self.replace_data
            )
            catalog.land(writes, record)


@dataclass(frozen=True)
class Played:
    result: TransactionResult
    rows: Sequence[Row]
    classes: Sequence[str | None]
    outcomes: Sequence[str]
    catalog: CASCatalog


def play(
    store: ProfileStorageProvider,
    cost_table: str,
    operation: str,
    rivals: Rivals,
    *,
    detector: ConflictDetector = NEVER,
    manifests: int = 3,
) -> Played:
    catalog, attempts = CASCatalog(store, 2, (2, 2), manifests_per_table=manifests), AttemptLog()
    parts = None if rivals.partition is None else {0: frozenset({0})}
    txn = OPERATION_CLASSES[operation](
        0, 0.0, 100.0, frozenset({0}), parts, cost_table=load_cost_table(cost_table)
    )
    options = CommitOptions(attempts=attempts, conflict_rng=np.random.RandomState(0))
    steps = txn.execute(catalog, store, detector, options=options)
    waiting, is_working = dict(rivals.at_swap or {}), True
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found = attempts.to_arrow().to_pylist()
            rows = [tuple(row[name] for name in COLUMNS) for row in found]
            classes = [row["conflict_class"] for row in found]
            return Played(stop.value, rows, classes, [row["outcome"] for row in found], catalog)
        if is_working and txn.status.name == "EXECUTING" and txn.catalog_read_ms:
            is_working = False
            rivals.land(catalog, rivals.in_work)
        if txn.commit_calls:
            rivals.land(catalog, waiting.pop(txn.commit_calls - 1, 0))


def in_each_way(cost_table: str, **where: Any) -> Rivals:
    """Rivals that make two attempts fail: a writer that refreshes first is not hit by those who come while it works."""
    refreshes = load_cost_table(cost_table).refresh_before_first_attempt
    return Rivals(at_swap={0: 3, 1: 3} if refreshes else {1: 3}, **where)


# Columns: N; manifest lists read, of those historical; manifest files read, written; manifest lists written; ms of conflict
# and of attempt I/O. Each derived beside it.
OVERWRITE: dict[str, list[Row]] = {
    "spec-2.0": [
        (0, 1, 0, 0, 1, 1, 0.0, 21.0),  # 3 + 11 + 7
        (3, 1 + 3, 3, 0, 1, 1, 3.0, 21.0),  # 3 lists at a time; then everything anew
        (3, 1 + 3, 3, 0, 1, 1, 3.0, 21.0),  # 3 again: behind the snapshot last seen
    ],
    "legacy": [
        (0, 0, 0, 0, 0, 1, 0.0, 7.0),  # an attempt is a list
        (3, 3, 3, 0, 0, 1, 3.0, 7.0),
        (3, 3, 3, 0, 0, 1, 3.0, 7.0),
    ],
    "iceberg-review": [
        (0, 1, 0, 0, 1, 1, 0.0, 21.0),
        # N = 3: lists 3, manifests 5; K = 4: 3 + 5 + 11 + 7.
        (3, 1 + 3, 3, 3 + 4, 4, 1, 8.0, 26.0),
        # From the start N = 6: two batches each, 6 + 10; K = 9: three batches each, 3 + 15 + 33 + 7.
        (6, 1 + 6, 6, 6 + 9, 9, 1, 16.0, 58.0),
    ],
    "pyiceberg": [
        (0, 2, 0, 2, 2, 1, 0.0, 26.0),  # 3 + 5 + 11 + 7, pairs at a time
        # One after another: 3 · 3 + 3 · 5. All anew, and the rivals' manifests looked through twice: 2 + 2 · 3, in two batches.
        (3, 2 + 3, 3, 3 + 8, 2, 1, 24.0, 31.0),
        (6, 2 + 6, 6, 6 + 14, 2, 1, 48.0, 41.0),  # 6 · 3 + 6 · 5; 2 + 2 · 6 in four batches
    ],
    "iceberg-java": [
        # Refreshed before attempt 0, so those who came in the work are validated here, and nothing is lost to them.
        (3, 1 + 3, 3, 1 + 3, 2, 1, 24.0, 26.0),
        (
            6,
            6,
            6,
            6,
            0,
            1,
            48.0,
            7.0,
        ),  # manifests are kept; the newest of the 6 lists is the current one
        (9, 9, 9, 9, 0, 1, 72.0, 7.0),
    ],
}
APPEND: dict[str, list[Row]] = {
    "spec-2.0": [(n, 1, 0, 0, 1, 1, 0.0, 21.0) for n in (0, 3, 3)],
    "legacy": OVERWRITE["legacy"],
    "iceberg-review": [
        (0, 1, 0, 0, 1, 1, 0.0, 21.0),
        *((n, 1, 0, 0, 0, 1, 0.0, 10.0) for n in (3, 6)),  # list read and written; manifests kept
    ],
    "pyiceberg": [(n, 1, 0, 0, 1, 1, 0.0, 21.0) for n in (0, 3, 6)],
    "iceberg-java": [
        (3, 1, 0, 0, 1, 1, 0.0, 21.0),
        *((n, 1, 0, 0, 0, 1, 0.0, 10.0) for n in (6, 9)),
    ],
}


@pytest.mark.parametrize("cost_table", cost_table_names())
@pytest.mark.parametrize(
    ("operation", "expected"), [("validated_overwrite", OVERWRITE), ("fast_append", APPEND)]
)
def test_two_lost_commits_on_the_same_table(
    cost_table: str, operation: str, expected: dict[str, list[Row]], fixed_store: FixedStore
) -> None:
    played = play(fixed_store(), cost_table, operation, in_each_way(cost_table))
    assert played.rows == expected[cost_table]
    assert played.outcomes == ["failed", "failed", "committed"]
    first = "overlap" if load_cost_table(cost_table).refresh_before_first_attempt else None
    assert played.classes == [first, "overlap", "overlap"]
    # A read at the start and before every attempt that reads, a swap per attempt, and the payments.
    reads = 1 + sum(found is not None for found in played.classes)
    paid_ms = sum(row[-1] + row[-2] for row in played.rows)
    assert played.result.total_latency_ms == 100.0 + reads * 4.0 + 3 * 10.0 + paid_ms


@pytest.mark.parametrize("cost_table", cost_table_names())
def test_losses_to_another_table_cost_manifest_io_in_the_legacy_table_only(
    cost_table: str, fixed_store: FixedStore
) -> None:
    rivals = in_each_way(cost_table, table=1)
    played = play(fixed_store(), cost_table, "validated_overwrite", rivals, detector=ALWAYS)
    assert set(played.classes) - {None} == {"cross_table"}
    retries = [row[1:] for row in played.rows[1:]]
    price = (3, 3, 0, 0, 1, 3.0, 7.0) if cost_table == "legacy" else (0, 0, 0, 0, 0, 0.0, 0.0)
    assert retries == [price, price]
    # No table thinks of a conflict here, real or false, and attempt 0 costs what it costs unrefreshed.
    assert (played.result.real_conflicts, played.result.false_conflicts) == (0, 0)
    alone = play(fixed_store(), cost_table, "validated_overwrite", Rivals(0))
    assert played.rows[0][1:] == alone.rows[0][1:]


@pytest.mark.parametrize("cost_table", cost_table_names())
def test_disjoint_partitions_are_free_in_the_specification_only(
    cost_table: str, fixed_store: FixedStore
) -> None:
    rivals = in_each_way(cost_table, partition=1)
    played = play(fixed_store(), cost_table, "validated_overwrite", rivals, detector=ALWAYS)
    assert set(played.classes) - {None} == {"disjoint_partitions"}
    retry = {
        "spec-2.0": (3, 0, 0, 0, 0, 0, 0.0, 0.0),
        "legacy": OVERWRITE["legacy"][1],
        "iceberg-review": OVERWRITE["iceberg-review"][1],
        # Rivals' manifests of other partitions are not looked through again.
        "pyiceberg": (3, 2 + 3, 3, 3 + 2, 2, 1, 24.0, 26.0),
        # Bounds of other partitions rule manifests out unopened: six lists, 18 ms, and no manifest.
        "iceberg-java": (6, 6, 6, 0, 0, 1, 18.0, 7.0),
    }
    assert played.rows[1] == retry[cost_table]
    # A conflict, but one that cannot be real, however sure the detector is.
    assert played.result.real_conflicts == 0
    assert played.result.false_conflicts == len(played.rows) - played.classes.count(None)


def test_a_real_conflict_is_merged_and_the_retry_goes_on_in_the_legacy_table(
    fixed_store: FixedStore,
) -> None:
    played = play(fixed_store(), "legacy", "fast_append", Rivals(3), detector=ALWAYS)
    # The first uniform of the stream is 0.5488: C = 1 + 5. Merging reads the list, 3, and six manifests in two batches, 10,
    # and writes six in two, 22; validating took 3. The list that holds the merged manifests is that of the retry.
    merged = 1 + int(np.random.RandomState(0).random_sample() * 10)
    assert merged == 6
    assert played.rows[1] == (3, 3 + 1, 3, 6, 6, 1, 3.0 + 35.0, 7.0)
    assert (played.outcomes[-1], played.result.real_conflicts) == ("committed", 1)


@pytest.mark.parametrize("cost_table", [name for name in cost_table_names() if name != "legacy"])
def test_a_real_conflict_is_the_end_of_an_overwrite_in_every_other_table(
    cost_table: str, fixed_store: FixedStore
) -> None:
    played = play(fixed_store(), cost_table, "validated_overwrite", Rivals(3), detector=ALWAYS)
    # Iceberg Java finds it before it has tried to commit at all.
    calls = 0 if cost_table == "iceberg-java" else 1
    assert played.outcomes == ["failed"] * calls + ["aborted"]
    assert played.result.abort_reason == "validation_exception"
    # Validation was paid, the attempt was not.
    assert (played.rows[-1][-2], played.rows[-1][-1]) == (OVERWRITE[cost_table][calls][-2], 0.0)


# -- compaction in Iceberg Java ------------------------------------------------------------------------------------


def test_rewriting_files_reads_no_history_of_appends_and_is_never_failed_by_them(
    fixed_store: FixedStore,
) -> None:
    rivals = in_each_way("iceberg-java", replace_data=False)
    played = play(fixed_store(), "iceberg-java", "rewrite_files", rivals, detector=ALWAYS)
    assert played.rows == [
        (3, 1, 0, 1, 2, 1, 0.0, 26.0),
        # Nothing was validated, so the current list is still to be read.
        (6, 1, 0, 0, 0, 1, 0.0, 10.0),
        (9, 1, 0, 0, 0, 1, 0.0, 10.0),
    ]
    assert (played.result.real_conflicts, played.result.false_conflicts) == (0, 3)


def test_rewriting_files_reads_the_history_of_overwrites(fixed_store: FixedStore) -> None:
    rivals = in_each_way("iceberg-java", replace_data=True)
    played = play(fixed_store(), "iceberg-java", "rewrite_files", rivals)
    assert played.rows == [
        (3, 1 + 3, 3, 1, 2, 1, 9.0, 26.0),
        (6, 6, 6, 0, 0, 1, 18.0, 7.0),
        (9, 9, 9, 0, 0, 1, 27.0, 7.0),
    ]


def test_rewriting_files_can_be_failed_by_overwrites(fixed_store: FixedStore) -> None:
    rivals = Rivals(3, replace_data=True)
    played = play(fixed_store(), "iceberg-java", "rewrite_files", rivals, detector=ALWAYS)
    assert played.outcomes == ["aborted"]
    assert played.rows == [(3, 3, 3, 0, 0, 0, 9.0, 0.0)]


# -- threshold merging ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost_table", ["iceberg-java", "pyiceberg"])
@pytest.mark.parametrize(
    ("manifests", "expected", "left"),
    [
        (98, (0, 1, 0, 0, 1, 1, 0.0, 21.0), 99),
        # With the new one there are 100: all are read in 25 batches, one is written beside the new one.
        (99, (0, 1, 0, 100, 2, 1, 0.0, 3.0 + 125.0 + 11.0 + 7.0), 1),
    ],
)
def test_the_hundredth_manifest_triggers_a_merge(
    cost_table: str, manifests: int, expected: Row, left: int, fixed_store: FixedStore
) -> None:
    nobody = Rivals(0)
    played = play(fixed_store(), cost_table, "merge_append", nobody, manifests=manifests)
    assert played.rows == [expected]
    assert played.catalog.state.tables[0].manifests == left
    plain = play(fixed_store(), cost_table, "fast_append", nobody, manifests=manifests)
    assert plain.rows == [(0, 1, 0, 0, 1, 1, 0.0, 21.0)]
    assert plain.catalog.state.tables[0].manifests == manifests + 1


def test_a_rival_may_bring_the_manifest_that_triggers_the_merge(fixed_store: FixedStore) -> None:
    # PyIceberg finds 98 at attempt 0 and 99 on its retry; Iceberg Java sees them before attempt 0 already.
    retried = play(fixed_store(), "pyiceberg", "merge_append", Rivals(1), manifests=98)
    assert [row[3:5] for row in retried.rows] == [(0, 1), (100, 2)]
    refreshed = play(fixed_store(), "iceberg-java", "merge_append", Rivals(1), manifests=98)
    assert [row[3:5] for row in refreshed.rows] == [(100, 2)]
    assert [each.catalog.state.tables[0].manifests for each in (retried, refreshed)] == [1, 1]


def test_a_merge_that_lost_is_done_again_with_what_is_there_by_then(
    fixed_store: FixedStore,
) -> None:
    played = play(fixed_store(), "iceberg-java", "merge_append", Rivals(0, {0: 2}), manifests=99)
    # The rivals have left 101 manifests. The new one is kept, so a retry writes only the merged one.
    assert [row[3:5] for row in played.rows] == [(100, 2), (102, 1)]
    assert played.catalog.state.tables[0].manifests == 1
