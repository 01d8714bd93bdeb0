"""The append catalog (§2.3, §8.9): physical and logical outcomes, and a writer that trusts only its own record."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
import pytest

from endive.catalog import AppendCatalog, CatalogSnapshot, CommitResult, IntentionRecord
from endive.profiles import load_profiles
from endive.storage import ProfileStorageProvider, UnsupportedOperationError, create_provider
from endive.test_utils import run

FixedStore = Callable[..., ProfileStorageProvider]


@pytest.fixture
def catalog(fixed_store: FixedStore) -> AppendCatalog:
    """Two tables; appends take 10 ms, failed ones 30, reads 4; effects come half-way."""
    return AppendCatalog(fixed_store(), 2, (1, 1))


def _read(catalog: AppendCatalog) -> CatalogSnapshot:
    return run(catalog.read())[0]


def _commit(
    catalog: AppendCatalog,
    seen: CatalogSnapshot,
    txn_id: int,
    tables: tuple[int, ...] = (0,),
    size_bytes: int = 100,
) -> Generator[float, None, CommitResult]:
    writes = {table: seen.get_table(table).version + 1 for table in tables}
    intention = IntentionRecord(txn_id, seen.seq, writes, None, size_bytes)
    return catalog.commit(seen.seq, writes, 0.0, intention)


def _finish(steps: Generator[float, None, CommitResult]) -> CommitResult:
    return run(steps)[0]


def test_a_commit_is_an_append_and_a_discovery_read(catalog: AppendCatalog) -> None:
    assert run(_commit(catalog, _read(catalog), 1)) == (CommitResult(True, 14.0), 14.0)


def test_a_physical_failure_is_retried_at_the_told_offset_within_the_commit(
    catalog: AppendCatalog,
) -> None:
    seen = _read(catalog)
    run(_commit(catalog, seen, 1, (0,)))
    # One failed append of 30 ms, one that lands, one discovery read: the caller sees a single success.
    assert run(_commit(catalog, seen, 2, (1,))) == (CommitResult(True, 44.0), 44.0)
    assert catalog.seq == 2


def test_commits_to_different_tables_both_succeed(catalog: AppendCatalog) -> None:
    seen = _read(catalog)
    first, second = _commit(catalog, seen, 1, (0,)), _commit(catalog, seen, 2, (1,))
    next(first)
    next(second)
    assert _finish(first).success
    assert _finish(second).success
    assert catalog.seq == 2
    assert [table.version for table in _read(catalog).tables] == [1, 1]


def test_a_rejected_record_stays_in_the_log_and_changes_nothing_else(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store()
    catalog = AppendCatalog(store, 2, (1, 1))
    stale = _read(catalog)
    run(_commit(catalog, stale, 1))
    before = _read(catalog)
    result, elapsed_ms = run(_commit(catalog, stale, 2))
    # The failed append told where the log ends, the second landed there, and its record was rejected.
    assert (result.success, elapsed_ms) == (False, 44.0)
    after = _read(catalog)
    assert (after.seq, after.tables) == (before.seq, before.tables)
    assert store.length("catalog/log") == 200


def test_a_rejected_record_makes_the_next_writer_retry_physically(catalog: AppendCatalog) -> None:
    stale = _read(catalog)
    run(_commit(catalog, stale, 1))
    fresh = _read(catalog)
    run(_commit(catalog, stale, 2))
    # The log has grown since seq 1 came about, although seq has not: one physical failure, then success.
    assert run(_commit(catalog, fresh, 3)) == (CommitResult(True, 44.0), 44.0)


def test_a_record_with_one_stale_table_is_rejected_whole(catalog: AppendCatalog) -> None:
    stale = _read(catalog)
    run(_commit(catalog, stale, 1, (0,)))
    assert not run(_commit(catalog, stale, 2, (0, 1)))[0].success
    assert [table.version for table in _read(catalog).tables] == [1, 0]


def test_another_commit_during_my_discovery_does_not_change_my_success(
    catalog: AppendCatalog,
) -> None:
    mine = _commit(catalog, _read(catalog), 1)
    next(mine)  # under way
    next(mine)  # landed and applied
    run(_commit(catalog, _read(catalog), 2))
    next(mine)  # discovery under way
    run(_commit(catalog, _read(catalog), 3))
    assert _finish(mine).success
    assert catalog.seq == 3


def test_another_commit_during_my_discovery_does_not_change_my_failure(
    catalog: AppendCatalog,
) -> None:
    stale = _read(catalog)
    run(_commit(catalog, stale, 1))
    mine = _commit(catalog, stale, 2)
    for _ in range(3):
        next(mine)  # failed append, then the one that lands and is rejected
    next(mine)
    # The rival brings the table to the very version that my record wanted plus one; it is not mine.
    run(_commit(catalog, _read(catalog), 3))
    assert not _finish(mine).success


def test_the_version_i_wanted_installed_by_a_rival_is_not_my_commit(
    catalog: AppendCatalog,
) -> None:
    seen = _read(catalog)
    mine, rival = _commit(catalog, seen, 1), _commit(catalog, seen, 2)
    next(mine)
    assert _finish(rival).success
    assert _read(catalog).get_table(0).version == seen.get_table(0).version + 1
    assert not _finish(mine).success


def test_a_transaction_may_commit_after_a_rejection_under_the_same_id(
    catalog: AppendCatalog,
) -> None:
    stale = _read(catalog)
    run(_commit(catalog, stale, 1))
    assert not run(_commit(catalog, stale, 2))[0].success
    assert run(_commit(catalog, _read(catalog), 2))[0].success


@pytest.mark.parametrize(("allowed", "success"), [(0, False), (1, True)])
def test_physical_retries_are_limited(fixed_store: FixedStore, allowed: int, success: bool) -> None:
    catalog = AppendCatalog(fixed_store(), 2, (1, 1), max_physical_retries=allowed)
    seen = _read(catalog)
    run(_commit(catalog, seen, 1, (0,)))
    result, elapsed_ms = run(_commit(catalog, seen, 2, (1,)))
    assert result.success is success
    # Used up: no record has landed, so there is nothing to discover.
    assert elapsed_ms == (44.0 if success else 30.0)
    assert catalog.seq == (2 if success else 1)


def test_every_physical_failure_costs_its_latency(fixed_store: FixedStore) -> None:
    catalog = AppendCatalog(fixed_store(), 2, (1, 1), max_physical_retries=3)
    mine = _commit(catalog, _read(catalog), 99, (1,))
    for rival in range(4):
        next(mine)  # under way
        # Somebody is always faster.
        run(_commit(catalog, _read(catalog), rival))
        if rival < 3:
            next(mine)  # failed, and told where the log ends by now
    result, _ = run(mine)
    assert result == CommitResult(False, 4 * 30.0)
    assert catalog.seq == 4


def test_records_take_the_room_they_say(fixed_store: FixedStore) -> None:
    store = fixed_store()
    catalog = AppendCatalog(store, 1, (1,))
    run(_commit(catalog, _read(catalog), 1, size_bytes=70))
    run(_commit(catalog, _read(catalog), 2, size_bytes=500))
    assert store.length("catalog/log") == 570


@pytest.mark.parametrize("name", ["s3", "gcp"])
def test_a_store_without_append_is_refused_at_once(name: str) -> None:
    store = create_provider(name, np.random.RandomState(0), load_profiles())
    with pytest.raises(UnsupportedOperationError, match=name):
        AppendCatalog(store, 1, (1,))
