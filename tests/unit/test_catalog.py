"""Catalogs (§2): snapshots never change, seq counts commits one by one, and of two rivals exactly one wins."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Generator

import pytest

from endive.catalog import (
    AppendCatalog,
    CASCatalog,
    Catalog,
    CatalogSnapshot,
    CommitResult,
    InstantCatalog,
    IntentionRecord,
    TableMetadata,
)
from endive.storage import ProfileStorageProvider
from endive.test_utils import run

FixedStore = Callable[..., ProfileStorageProvider]
MakeCatalog = Callable[..., Catalog]


@pytest.fixture(params=["cas", "append", "instant"])
def make_catalog(request: pytest.FixtureRequest, fixed_store: FixedStore) -> MakeCatalog:
    """A maker of each kind of catalog; reads take 4 ms (instant: 10), effects come half-way."""

    def make(partitions: tuple[int, ...] = (1, 1), effect_point: float = 0.5) -> Catalog:
        if request.param == "instant":
            return InstantCatalog(len(partitions), partitions, 10.0, effect_point=effect_point)
        store = fixed_store(effect_point=effect_point)
        kind = CASCatalog if request.param == "cas" else AppendCatalog
        return kind(store, len(partitions), partitions)

    return make


def _commit(
    catalog: Catalog,
    seen: CatalogSnapshot,
    txn_id: int,
    tables: tuple[int, ...] = (0,),
    partitions: dict[int, tuple[int, ...]] | None = None,
) -> Generator[float, None, CommitResult]:
    writes = {table: seen.get_table(table).version + 1 for table in tables}
    intention = IntentionRecord(txn_id, seen.seq, writes, partitions)
    return catalog.commit(seen.seq, writes, 0.0, intention)


def _read(catalog: Catalog) -> CatalogSnapshot:
    return run(catalog.read())[0]


# -- values --------------------------------------------------------------------------------------------------------


def test_a_table_with_another_version_is_a_new_value() -> None:
    table = TableMetadata(3, 1, 2, (4, 5))
    assert table.with_version(2) == TableMetadata(3, 2, 2, (4, 5))
    assert table.with_partition_version(1, 9) == TableMetadata(3, 1, 2, (4, 9))
    assert table == TableMetadata(3, 1, 2, (4, 5))


def test_a_snapshot_looks_up_tables_and_partitions() -> None:
    tables = (TableMetadata(0, 0, 1, (0,)), TableMetadata(1, 7, 2, (3, 4)))
    snapshot = CatalogSnapshot(7, tables, 1.5)
    assert snapshot.get_table(1) is tables[1]
    assert snapshot.get_partition_version(1, 1) == 4


def test_commit_result_says_only_success_and_latency() -> None:
    assert [field.name for field in dataclasses.fields(CommitResult)] == ["success", "latency_ms"]


# -- all three catalogs --------------------------------------------------------------------------------------------


def test_everything_starts_at_version_zero(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog((2, 3))
    snapshot = _read(catalog)
    assert catalog.seq == 0
    assert snapshot.seq == 0
    assert snapshot.tables == (
        TableMetadata(0, 0, 2, (0, 0), manifests=3),
        TableMetadata(1, 0, 3, (0, 0, 0), manifests=3),
    )


def test_each_commit_advances_seq_by_exactly_one(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog((1, 1, 1))
    for count in range(1, 8):
        tables = ((0,), (1, 2), (0, 1, 2))[count % 3]
        assert run(_commit(catalog, _read(catalog), count, tables))[0].success
        assert catalog.seq == count
        assert _read(catalog).seq == count


def test_a_failed_commit_leaves_everything_as_it_was(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    stale = _read(catalog)
    run(_commit(catalog, stale, 1))
    before = _read(catalog)
    assert not run(_commit(catalog, stale, 2))[0].success
    after = _read(catalog)
    assert (after.seq, after.tables) == (before.seq, before.tables)


def test_snapshots_are_unchanged_by_later_commits(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog((2, 2))
    held = [_read(catalog)]
    for txn_id in range(5):
        run(_commit(catalog, _read(catalog), txn_id, (txn_id % 2,), {txn_id % 2: (0,)}))
        held.append(_read(catalog))
    assert [snapshot.seq for snapshot in held] == [0, 1, 2, 3, 4, 5]
    assert [s.get_table(0).version for s in held] == [0, 1, 1, 2, 2, 3]
    assert [s.get_partition_version(1, 0) for s in held] == [0, 0, 1, 1, 2, 2]
    assert [s.get_partition_version(1, 1) for s in held] == [0] * 6


def test_a_snapshot_cannot_be_changed(make_catalog: MakeCatalog) -> None:
    snapshot = _read(make_catalog())
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.seq = 5  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.tables[0].version = 5  # type: ignore[misc]
    assert isinstance(snapshot.tables, tuple)


def test_written_partitions_advance_and_others_do_not(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog((4,))
    run(_commit(catalog, _read(catalog), 1, (0,), {0: (1, 3)}))
    assert _read(catalog).get_table(0).partition_versions == (0, 1, 0, 1)


def test_without_partition_tracking_all_partitions_advance(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog((3, 3))
    run(_commit(catalog, _read(catalog), 1, (1,)))
    assert _read(catalog).get_table(1).partition_versions == (1, 1, 1)
    assert _read(catalog).get_table(0).partition_versions == (0, 0, 0)


def test_a_commit_without_an_intention_works_too(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    assert run(catalog.commit(0, {0: 1}))[0].success
    assert not run(catalog.commit(0, {0: 1}))[0].success
    assert run(catalog.commit(1, {0: 2}))[0].success


@pytest.mark.parametrize("effect_point", [0.25, 0.5, 1.0])
def test_a_read_sees_the_catalog_as_of_its_effect_point(
    make_catalog: MakeCatalog, effect_point: float
) -> None:
    catalog = make_catalog(effect_point=effect_point)
    steps = catalog.read(100.0)
    to_effect_ms = next(steps)
    # A commit before the effect is seen, one after it is not.
    run(_commit(catalog, _read(catalog), 1))
    rest_ms = 0.0
    try:
        while True:
            wait_ms = next(steps)
            rest_ms += wait_ms
            run(_commit(catalog, _read(catalog), 2))
    except StopIteration as stop:
        snapshot = stop.value
    assert to_effect_ms == effect_point * (to_effect_ms + rest_ms)
    assert snapshot.seq == 1
    assert snapshot.timestamp_ms == 100.0 + to_effect_ms


def test_a_commit_is_visible_from_its_effect_point_on(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    steps = _commit(catalog, _read(catalog), 1)
    assert catalog.seq == 0
    next(steps)
    assert (catalog.seq, _read(catalog).seq) == (0, 0)
    next(steps)
    assert (catalog.seq, _read(catalog).seq) == (1, 1)


def test_latency_of_a_commit_is_the_time_it_took(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    seen = _read(catalog)
    for txn_id in (1, 2):
        result, elapsed_ms = run(_commit(catalog, seen, txn_id))
        assert result == CommitResult(txn_id == 1, elapsed_ms)


def _interleaved(
    order: tuple[int, ...], rivals: list[Generator[float, None, CommitResult]]
) -> list[bool]:
    """Advance two generators step by step in the given order, then to their ends."""
    outcome: dict[int, bool] = {}
    for index in (*order, *([0] * 20), *([1] * 20)):
        if index in outcome:
            continue
        try:
            next(rivals[index])
        except StopIteration as stop:
            outcome[index] = stop.value.success
    return [outcome[0], outcome[1]]


@pytest.mark.parametrize("order", sorted(set(itertools.permutations((0, 0, 0, 1, 1, 1)))))
def test_of_two_rivals_exactly_one_wins(make_catalog: MakeCatalog, order: tuple[int, ...]) -> None:
    catalog = make_catalog()
    seen = _read(catalog)
    outcome = _interleaved(order, [_commit(catalog, seen, 1), _commit(catalog, seen, 2)])
    assert sorted(outcome) == [False, True]
    assert catalog.seq == 1
    # The winner is whose effect came first: the first to be advanced a second time.
    winner = 0 if _second(order, 0) < _second(order, 1) else 1
    assert outcome[winner]


def _second(order: tuple[int, ...], index: int) -> int:
    return [place for place, who in enumerate(order) if who == index][1]


# -- pointer catalogs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cas", "instant"])
def test_one_pointer_makes_writers_of_different_tables_rivals(
    kind: str, fixed_store: FixedStore
) -> None:
    catalog: Catalog = (
        CASCatalog(fixed_store(), 2, (1, 1)) if kind == "cas" else InstantCatalog(2, (1, 1))
    )
    seen = _read(catalog)
    assert run(_commit(catalog, seen, 1, (0,)))[0].success
    assert not run(_commit(catalog, seen, 2, (1,)))[0].success


def test_cas_catalog_reads_and_swaps_in_one_round_trip_each(fixed_store: FixedStore) -> None:
    catalog = CASCatalog(fixed_store(), 1, (1,))
    assert run(catalog.read())[1] == 4.0
    assert run(catalog.commit(0, {0: 1}))[1] == 10.0


def test_a_failed_swap_takes_the_failure_latency_of_the_store(fixed_store: FixedStore) -> None:
    catalog = CASCatalog(fixed_store({"catalog.cas_failure": 25.0}), 1, (1,))
    run(catalog.commit(0, {0: 1}))
    assert run(catalog.commit(0, {0: 1})) == (CommitResult(False, 25.0), 25.0)


def test_instant_catalog_takes_one_millisecond_unless_told_otherwise() -> None:
    assert run(InstantCatalog(1, (1,)).read())[1] == 1.0
    assert run(InstantCatalog(1, (1,)).commit(0, {0: 1}))[1] == 1.0
    assert run(InstantCatalog(1, (1,), 7.0).commit(0, {0: 1}))[1] == 7.0


def test_partitions_of_another_number_of_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="2 entries for 3 tables"):
        InstantCatalog(3, (1, 1))
