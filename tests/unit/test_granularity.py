"""Conflict granularity and history scope (docs/MODEL.md, section 10): who fails, who does not, and how far behind that is.

Four tables of two partitions; tables 0 and 1 are one group, 2 and 3 the other. The writer writes partition 0 of table 0.
Catalog read 4 ms, swap 10; an attempt 21; a historical manifest list 3, four at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from endive.attempts import AttemptLog
from endive.catalog import CASCatalog, IntentionRecord
from endive.config import build_simulation_config, resolve_config
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.errors import InputError
from endive.simulation import Simulation, Statistics
from endive.storage import ProfileStorageProvider
from endive.transaction import (
    OPERATION_CLASSES,
    CommitOptions,
    TransactionResult,
    TransactionStatus,
)

FixedStore = Callable[..., ProfileStorageProvider]
GROUPS = (0, 0, 1, 1)
Rival = tuple[int, tuple[int, ...] | None]
"""The table and the partitions that a rival writes; None: any of them."""
SAME_PARTITION, OTHER_PARTITION, OTHER_TABLE, OTHER_GROUP = (0, (0,)), (0, (1,)), (1, (0,)), (2, (0,))  # fmt: skip


class Scene:
    """A catalog, a writer in it, and the rivals that land while the writer works."""

    def __init__(self, store: ProfileStorageProvider, granularity: str) -> None:
        self.store = store
        self.catalog = CASCatalog(store, 4, (2,) * 4, granularity=granularity, group_of=GROUPS)

    def land(self, table: int, partitions: tuple[int, ...] | None) -> None:
        writes = {table: self.catalog.state.tables[table].version + 1}
        parts = None if partitions is None else {table: partitions}
        self.catalog.land(writes, IntentionRecord(-1, self.catalog.seq, writes, parts, 100))

    def play(
        self,
        rivals: Sequence[Rival],
        *,
        operation: str = "fast_append",
        written: Mapping[int, frozenset[int]] | None = None,
        tracked: bool = True,
        tables_read: frozenset[int] | None = None,
        **options: Any,
    ) -> TransactionResult:
        written = written or {0: frozenset({0})}
        self.attempts = AttemptLog()
        txn = OPERATION_CLASSES[operation](
            0,
            0.0,
            100.0,
            frozenset(written),
            written if tracked else None,
            tables_read=tables_read,
        )
        steps = txn.execute(
            self.catalog,
            self.store,
            ProbabilisticConflictDetector(0.0),
            options=CommitOptions(attempts=self.attempts, **options),
        )
        # Half of the catalog read, the other half, and then the work.
        for _ in range(3):
            next(steps)
        for rival in rivals:
            self.land(*rival)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: TransactionResult = stop.value
                assert result.status is TransactionStatus.COMMITTED
                assert self.catalog.seq == len(rivals) + 1
                return result

    def column(self, name: str) -> list[Any]:
        values: list[Any] = self.attempts.to_arrow()[name].to_pylist()
        return values


# -- who fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("granularity", "failing"),
    [
        ("catalog", [SAME_PARTITION, OTHER_PARTITION, OTHER_TABLE, OTHER_GROUP]),
        ("group", [SAME_PARTITION, OTHER_PARTITION, OTHER_TABLE]),
        ("table", [SAME_PARTITION, OTHER_PARTITION]),
        ("partition", [SAME_PARTITION]),
    ],
)
def test_a_swap_fails_iff_something_in_its_scope_has_changed(
    granularity: str, failing: list[Rival], fixed_store: FixedStore
) -> None:
    for rival in (SAME_PARTITION, OTHER_PARTITION, OTHER_TABLE, OTHER_GROUP):
        result = Scene(fixed_store(), granularity).play([rival])
        # Lost: 4 + 100 + 21 + 10, then 4, the attempt anew if it overlaps, and 10.
        retry_ms = 14.0 + (21.0 if rival == SAME_PARTITION else 0.0)
        assert result.total_retries == (rival in failing)
        assert result.total_latency_ms == 135.0 + (retry_ms if rival in failing else 0.0)


@pytest.mark.parametrize("granularity", ["catalog", "group", "table", "partition"])
def test_nobody_fails_alone_and_the_sequence_grows_by_one(
    granularity: str, fixed_store: FixedStore
) -> None:
    scene = Scene(fixed_store(), granularity)
    assert scene.play([]).total_retries == 0
    assert scene.catalog.seq == 1


def test_with_a_pointer_per_partition_the_version_passes_the_one_the_writer_saw(
    fixed_store: FixedStore,
) -> None:
    scene = Scene(fixed_store(), "partition")
    scene.play([OTHER_PARTITION, OTHER_PARTITION])
    table = scene.catalog.state.tables[0]
    # The writer saw version 0, and two commits to the other partition came before its own.
    assert (table.version, table.partition_versions) == (3, (1, 2))


def test_without_partitions_a_pointer_per_partition_is_one_per_table(
    fixed_store: FixedStore,
) -> None:
    assert Scene(fixed_store(), "partition").play([(0, None)], tracked=False).total_retries == 1
    assert Scene(fixed_store(), "partition").play([(1, None)], tracked=False).total_retries == 0
    # A rival that does not say which partitions it wrote may have written all.
    assert Scene(fixed_store(), "partition").play([(0, None)]).total_retries == 1


def test_a_commit_of_several_tables_fails_as_a_whole(fixed_store: FixedStore) -> None:
    written = {0: frozenset({0}), 3: frozenset({1})}
    scene = Scene(fixed_store(), "partition")
    assert scene.play([(3, (0,))], written=written).total_retries == 0
    scene = Scene(fixed_store(), "partition")
    assert scene.play([(3, (1,))], written=written).total_retries == 1
    # Either all of it is in or nothing: both tables got the one commit.
    assert [table.version for table in scene.catalog.state.tables] == [1, 0, 0, 2]


# -- the read set --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["group", "table", "partition"])
def test_a_table_that_is_only_read_is_in_the_scope_of_a_serializable_commit(
    granularity: str, fixed_store: FixedStore
) -> None:
    reads = frozenset({0, 3})
    scene = Scene(fixed_store(), granularity)
    assert scene.play([(3, (1,))], tables_read=reads).total_retries == 0

    scene = Scene(fixed_store(), granularity)
    result = scene.play([(3, (1,))], tables_read=reads, serializable=True)
    assert result.total_retries == 1
    assert scene.column("conflict_class") == [None, "read_set"]
    # In the specification's table that costs a read and another swap; and it is a conflict, though no real one.
    assert (result.total_latency_ms, result.conflict_io_ms) == (149.0, 0.0)
    assert (result.false_conflicts, result.real_conflicts) == (1, 0)


def test_a_table_neither_read_nor_written_is_not_in_the_scope(fixed_store: FixedStore) -> None:
    scene = Scene(fixed_store(), "table")
    reads = frozenset({0, 3})
    assert scene.play([(2, (0,))], tables_read=reads, serializable=True).total_retries == 0


# -- how far behind ------------------------------------------------------------------------------------------------

TEN_RIVALS = [SAME_PARTITION] * 2 + [OTHER_PARTITION] + [OTHER_TABLE] * 3 + [OTHER_GROUP] * 4


@pytest.mark.parametrize(
    ("history_scope", "behind", "conflict_ms"),
    [
        ("catalog", 10, 9.0),  # three batches of lists
        ("group", 2 + 1 + 3, 6.0),
        ("table", 2 + 1, 3.0),
        ("partition", 2, 3.0),
    ],
)
def test_the_history_scope_says_whose_commits_are_read(
    history_scope: str, behind: int, conflict_ms: float, fixed_store: FixedStore
) -> None:
    scene = Scene(fixed_store(), "catalog")
    result = scene.play(TEN_RIVALS, operation="validated_overwrite", history_scope=history_scope)
    assert (result.historical_ml_reads, result.conflict_io_ms) == (behind, conflict_ms)
    assert scene.column("snapshots_behind") == [0, behind]


@pytest.mark.parametrize(
    ("history_scope", "historical", "behind"),
    [
        # One history for both tables, read once.
        ("catalog", 10, 10),
        # Table 0 is 3 behind, table 1 is 3 behind, and both overlap.
        ("table", 3 + 3, 3 + 3),
        # Partition 0 of table 0: 2. Both partitions of table 1: 3 and 0.
        ("partition", 2 + 3, 2 + 3),
    ],
)
def test_a_history_per_table_is_read_for_every_written_table(
    history_scope: str, historical: int, behind: int, fixed_store: FixedStore
) -> None:
    scene = Scene(fixed_store(), "catalog")
    result = scene.play(
        TEN_RIVALS,
        operation="validated_overwrite",
        written={0: frozenset({0}), 1: frozenset({0, 1})},
        history_scope=history_scope,
    )
    assert result.historical_ml_reads == historical
    assert scene.column("snapshots_behind") == [0, behind]


def test_a_loss_to_other_tables_is_zero_behind_in_the_history_of_the_table(
    fixed_store: FixedStore,
) -> None:
    scene = Scene(fixed_store(), "catalog")
    result = scene.play([OTHER_GROUP] * 4, history_scope="table")
    assert result.total_retries == 1
    assert scene.column("snapshots_behind") == [0, 0]
    assert scene.column("conflict_class") == [None, "cross_table"]


# -- through a configuration ---------------------------------------------------------------------------------------


def two_writers(granularity: str, overlap_probability: float) -> Statistics:
    """Two jobs on one table at the same instants; the second writes partitions of its own, or those of the first."""
    job = {"kind": "periodic", "interval_ms": 1_000.0}
    raw = {
        "simulation": {"duration_ms": 10_500.0},
        "storage": {"provider": "instant"},
        "catalog": {
            "partitions": {"num_partitions": 1},
            "conflict_granularity": granularity,
        },
        "transaction": {
            "runtime": {"distribution": "fixed", "value": 100.0},
            "operation_types": {"fast_append": 1.0},
        },
        "workload": {
            "class": [
                {"name": "first", **job},
                {"name": "second", **job, "overlap_probability": overlap_probability},
            ]
        },
    }
    return Simulation(build_simulation_config(resolve_config(raw), 1)).run()


@pytest.mark.parametrize(
    ("granularity", "overlap_probability", "loses"),
    [("table", 0.0, True), ("partition", 0.0, False), ("partition", 1.0, True)],
)
def test_a_configuration_chooses_the_granularity(
    granularity: str, overlap_probability: float, loses: bool
) -> None:
    statistics = two_writers(granularity, overlap_probability)
    # Ten meetings: somebody loses each of them, or nobody ever does.
    assert (statistics.committed, statistics.seq) == (20, 20)
    assert statistics.total_retries == (10 if loses else 0)


def test_a_granularity_or_history_of_groups_needs_groups() -> None:
    raw = {
        "simulation": {"duration_ms": 1.0},
        "storage": {"provider": "s3"},
        "catalog": {"conflict_granularity": "group", "history_scope": "group"},
    }
    with pytest.raises(InputError) as caught:
        resolve_config(raw)
    said = [str(problem) for problem in caught.value.problems]
    assert len(said) == 2
    assert all("'group' needs catalog.num_groups above 1" in line for line in said)
