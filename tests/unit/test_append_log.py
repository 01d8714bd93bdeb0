"""The catalog log in full (docs/MODEL.md, section 11): seals, compactions, offsets and counters, to the millisecond.

An append takes 10, a failed one 30, a catalog read 4, a compaction 20, one that was lost 14. Effects come half-way. Unless
a test says otherwise it runs on the built-in store and on a user's subclass that overrides all and changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from append_log import PassingThrough, commit, counts, land, log_state, read, read_and_commit
from interleaving import interleave

from endive.catalog import AppendCatalog, CommitResult, IntentionRecord
from endive.profiles import load_profiles
from endive.storage import ProfileStorageProvider
from endive.test_utils import run

FixedStore = Callable[..., ProfileStorageProvider]
MakeCatalog = Callable[..., AppendCatalog]
COMPACTION_MS = {"catalog.cas": 20.0, "catalog.compaction": 20.0}


@pytest.fixture(params=[ProfileStorageProvider, PassingThrough], ids=["built-in", "own"])
def store_class(request: pytest.FixtureRequest) -> type[ProfileStorageProvider]:
    """The built-in store, and somebody's own."""
    found: type[ProfileStorageProvider] = request.param
    return found


@pytest.fixture
def make_catalog(fixed_store: FixedStore, store_class: type[ProfileStorageProvider]) -> MakeCatalog:
    """A maker of catalogs with four tables."""

    def make(
        latency_ms: Mapping[str, float] | None = None, effect_point: float = 0.5, **settings: Any
    ) -> AppendCatalog:
        latency_ms = {**COMPACTION_MS, "catalog.cas_failure": 14.0, **(latency_ms or {})}
        store = fixed_store(latency_ms, effect_point=effect_point, cls=store_class)
        return AppendCatalog(store, 4, (1,) * 4, **settings)

    return make


# -- seals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "records"), [(0, 1), (99, 1), (100, 2), (299, 3), (300, 4)])
def test_the_log_is_sealed_when_more_bytes_than_the_threshold_follow_the_checkpoint(
    make_catalog: MakeCatalog, threshold: int, records: int
) -> None:
    catalog = make_catalog(compaction_threshold=threshold)
    for landed in range(1, records + 1):
        land(catalog)
        assert log_state(catalog) == (100 * landed, 0, landed, landed == records, 0)
    assert catalog.counters["append_compactions_triggered"] == 1


@pytest.mark.parametrize("entries", [1, 3])
def test_the_log_is_sealed_when_so_many_entries_follow_the_checkpoint(
    make_catalog: MakeCatalog, entries: int
) -> None:
    catalog = make_catalog(compaction_max_entries=entries)
    for landed in range(1, entries + 1):
        land(catalog)
        assert catalog.log.sealed is (landed == entries)


def test_rejected_records_count_as_entries(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(compaction_max_entries=2)
    stale = read(catalog)
    land(catalog)
    assert not run(commit(catalog, stale, 0))[0].success
    assert log_state(catalog) == (200, 0, 2, True, 0)


def test_by_default_sixteen_million_bytes_seal_the_log_and_no_number_of_entries(
    fixed_store: FixedStore,
) -> None:
    catalog = AppendCatalog(fixed_store(), 1, (1,))
    catalog.land({0: 1}, IntentionRecord(-1, 0, {0: 1}, size_bytes=16_000_000))
    assert not catalog.log.sealed
    land(catalog)
    assert catalog.log.sealed


# -- compactions ---------------------------------------------------------------------------------------------------


def test_a_commit_that_finds_the_log_sealed_compacts_first(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(compaction_max_entries=2)
    land(catalog)
    land(catalog)
    seen = read(catalog)
    # 20 to compact, 10 to append, 4 to discover.
    assert run(commit(catalog, seen, 0)) == (CommitResult(True, 34.0), 34.0)
    # The checkpoint is where the log ended; the log itself goes on.
    assert log_state(catalog) == (300, 200, 1, False, 1)
    assert counts(catalog) == (3, 0, 3, 0, 1, 1)


def test_reading_a_sealed_catalog_needs_no_compaction(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(compaction_max_entries=1)
    land(catalog)
    assert run(catalog.read())[1] == 4.0
    assert catalog.log.sealed


def test_of_two_compactions_one_wins_and_both_writers_go_on_to_append(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog(compaction_max_entries=2)
    land(catalog, 2)
    land(catalog, 3)
    seen = read(catalog)
    first, second = interleave((0.0, commit(catalog, seen, 0)), (1.0, commit(catalog, seen, 1)))
    # The second loses at 11 and knows at 15; its record lands at 20, and the discovery ends at 29.
    assert second == (CommitResult(True, 28.0), 29.0)
    # The first wins at 10, is back at 20, finds the end moved at 25, knows at 50; 10 and 4 more.
    assert first == (CommitResult(True, 64.0), 64.0)
    assert log_state(catalog) == (400, 200, 2, True, 1)
    assert counts(catalog) == (4, 1, 4, 0, 2, 1)


def test_a_lost_compaction_takes_its_whole_latency_where_failures_have_none_of_their_own(
    fixed_store: FixedStore, store_class: type[ProfileStorageProvider]
) -> None:
    catalog = AppendCatalog(
        fixed_store(COMPACTION_MS, cls=store_class), 4, (1,) * 4, compaction_max_entries=1
    )
    land(catalog, 3)
    seen = read(catalog)
    first, second = interleave((0.0, commit(catalog, seen, 0)), (1.0, commit(catalog, seen, 1)))
    assert first == (CommitResult(True, 34.0), 34.0)
    # Lost at 11, back at 21; the append fails at 26, because the first has landed at 25 and sealed the log again. Known
    # at 51; 20 to compact, 10 to append, 4 to discover.
    assert second == (CommitResult(True, 84.0), 85.0)
    assert counts(catalog) == (3, 1, 3, 0, 3, 2)


def test_a_lost_compaction_leaves_a_log_that_was_sealed_again_as_it_is(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog(compaction_max_entries=1)
    seen = read(catalog)
    # The first lands at 5 and seals the log. The second fails at 6 and learns of this seal. The third reads, compacts at 21,
    # and seals the log again when it lands at 36.
    _, (result, end_ms), _ = interleave(
        (0.0, commit(catalog, seen, 0)),
        (1.0, commit(catalog, seen, 1)),
        (7.0, read_and_commit(catalog, 2)),
    )
    # The second's compaction, at 41, is for a seal that is gone. Its append at 50 is refused by the new seal, told at
    # 75; it compacts at 85, lands at 100 and is done at 109.
    assert (result, end_ms) == (CommitResult(True, 108.0), 109.0)
    assert log_state(catalog) == (300, 200, 1, True, 2)
    assert counts(catalog) == (3, 2, 3, 0, 3, 2)


def test_a_compaction_has_its_own_latency(fixed_store: FixedStore) -> None:
    store = fixed_store({"catalog.compaction": 200.0})
    catalog = AppendCatalog(store, 4, (1,) * 4, compaction_max_entries=1)
    land(catalog)
    assert run(commit(catalog, read(catalog), 0))[1] == 214.0


def test_a_compaction_takes_as_long_as_a_swap_unless_configured() -> None:
    profile = load_profiles()["s3x"]
    store = ProfileStorageProvider(np.random.RandomState(0), profile)
    assert store.distribution("catalog.compaction") == store.distribution("catalog.cas")


# -- offsets -------------------------------------------------------------------------------------------------------


def test_the_append_goes_to_the_offset_of_the_snapshot(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    seen = read(catalog)
    land(catalog)
    assert run(commit(catalog, seen, 1)) == (CommitResult(True, 44.0), 44.0)
    assert counts(catalog) == (2, 1, 2, 0, 0, 0)


def test_latest_reads_where_the_log_ends_before_the_first_append(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(append_offset="latest")
    seen = read(catalog)
    land(catalog)
    assert run(commit(catalog, seen, 1)) == (CommitResult(True, 18.0), 18.0)
    assert counts(catalog) == (2, 0, 2, 0, 0, 0)


@pytest.mark.parametrize(("start_ms", "failures"), [(3.0, 0), (2.9, 1)])
def test_latest_learns_the_end_at_the_effect_of_the_read(
    make_catalog: MakeCatalog, start_ms: float, failures: int
) -> None:
    catalog = make_catalog(append_offset="latest")
    seen = read(catalog)
    # The rival's record lands at 4 + 5 = 9. A read that starts at 7 and takes effect at 9 sees it, an earlier one not.
    rival, mine = commit(catalog, seen, 0), commit(catalog, seen, 1)
    interleave((0.0, rival), (start_ms + 4.0, mine))
    assert catalog.counters["append_physical_failure"] == failures


def test_latest_compacts_a_sealed_log_before_it_asks(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(append_offset="latest", compaction_max_entries=1)
    land(catalog)
    assert run(commit(catalog, read(catalog), 0)) == (CommitResult(True, 38.0), 38.0)


def test_an_unknown_way_to_find_the_offset_is_refused(make_catalog: MakeCatalog) -> None:
    with pytest.raises(ValueError, match="'newest'"):
        make_catalog(append_offset="newest")


# -- physical failures ---------------------------------------------------------------------------------------------


def test_a_sealed_log_refuses_the_right_offset_and_tells_of_the_seal(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog(append_offset="latest", compaction_max_entries=1)
    seen = read(catalog)
    # The rival lands at 9 and seals the log; I began before and learn the end at 10. It is right, and refused.
    _, mine = interleave((0.0, commit(catalog, seen, 0)), (8.0, commit(catalog, seen, 1)))
    # 4 to ask, 30 to fail, 20 to compact, 10 to append, 4 to discover.
    assert mine == (CommitResult(True, 68.0), 76.0)
    assert log_state(catalog) == (200, 100, 1, True, 1)
    assert counts(catalog) == (2, 1, 2, 0, 2, 1)


def test_the_log_that_a_failed_append_has_found_sealed_is_compacted_before_the_next(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog(compaction_max_entries=1)
    seen = read(catalog)
    _, mine = interleave((0.0, commit(catalog, seen, 0)), (1.0, commit(catalog, seen, 1)))
    assert mine == (CommitResult(True, 64.0), 65.0)


@pytest.mark.parametrize(("allowed", "elapsed_ms"), [(0, 30.0), (1, 64.0)])
def test_failed_appends_are_limited_whatever_the_reason(
    make_catalog: MakeCatalog, allowed: int, elapsed_ms: float
) -> None:
    catalog = make_catalog(max_physical_retries=allowed, compaction_max_entries=1)
    seen = read(catalog)
    _, (mine, _) = interleave((0.0, commit(catalog, seen, 0)), (1.0, commit(catalog, seen, 1)))
    # Used up: the writer gives up at once and leaves the compaction to others.
    assert mine == CommitResult(allowed == 1, elapsed_ms)
    assert catalog.log.compactions == allowed


@pytest.mark.parametrize("allowed", [0, 1, 3, 100])
def test_one_append_more_than_physical_retries_is_made(
    make_catalog: MakeCatalog, allowed: int
) -> None:
    catalog = make_catalog(max_physical_retries=allowed)
    mine = commit(catalog, read(catalog), 1)
    for _ in range(allowed + 1):
        next(mine)  # under way
        land(catalog)  # somebody is always faster
        next(mine)  # failed
    assert run(mine) == (CommitResult(False, 30.0 * (allowed + 1)), 0.0)
    assert catalog.counters["append_physical_failure"] == allowed + 1


# -- judgement -----------------------------------------------------------------------------------------------------


def test_a_rejected_record_stays_in_the_log_and_never_counts_in_seq(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog()
    stale = read(catalog)
    land(catalog)
    assert not run(commit(catalog, stale, 0))[0].success
    assert (catalog.seq, catalog.log.length_bytes) == (1, 200)
    # Where the log ended when seq 1 came about; the rejected record lies behind it.
    assert list(catalog.log.length_at_seq) == [0, 100]
    land(catalog)
    assert (catalog.seq, list(catalog.log.length_at_seq)) == (2, [0, 100, 300])


@pytest.mark.parametrize(
    ("tables_read", "success"),
    [
        (None, True),
        ({}, True),
        ({2: 0}, True),
        ({1: 0}, False),
        ({1: 1}, True),
        ({1: 1, 2: 1}, False),
    ],
)
def test_a_record_is_rejected_if_a_table_it_only_read_has_changed(
    make_catalog: MakeCatalog, tables_read: Mapping[int, int] | None, success: bool
) -> None:
    catalog = make_catalog()
    seen = read(catalog)
    land(catalog, 1)
    assert run(commit(catalog, seen, 0, tables_read))[0].success is success
    assert counts(catalog)[2:4] == ((2, 0) if success else (1, 1))


def test_a_table_both_read_and_written_is_judged_by_what_is_written(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog()
    assert run(commit(catalog, read(catalog), 0, {0: 17}))[0].success


def test_a_caller_without_a_record_learns_its_own_outcome(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog()
    assert run(catalog.commit(0, {0: 1}))[0].success
    assert not run(catalog.commit(0, {0: 1}))[0].success
    assert run(catalog.commit(1, {0: 2}))[0].success


def test_an_id_that_has_committed_before_makes_no_rejected_record_a_commit(
    make_catalog: MakeCatalog,
) -> None:
    catalog = make_catalog()
    stale = read(catalog)
    assert run(commit(catalog, stale, 0))[0].success
    assert not run(commit(catalog, stale, 0))[0].success


# -- commits from elsewhere ----------------------------------------------------------------------------------------


def test_a_background_commit_extends_seals_and_applies_at_once(fixed_store: FixedStore) -> None:
    store = fixed_store(COMPACTION_MS)
    catalog = AppendCatalog(store, 2, (2, 2), compaction_max_entries=2)
    catalog.land({0: 1}, IntentionRecord(-1, 0, {0: 1}, {0: (1,)}, 70))
    assert log_state(catalog) == (70, 0, 1, False, 0)
    catalog.land({0: 2, 1: 1}, None)
    assert log_state(catalog) == (170, 0, 2, True, 0)
    assert store.length("catalog/log") == 170
    seen = read(catalog)
    assert (seen.seq, [table.partition_versions for table in seen.tables]) == (2, [(1, 2), (1, 1)])
    assert list(catalog.log.length_at_seq) == [0, 70, 170]


def test_a_background_commit_lands_on_a_sealed_log_and_leaves_the_seal(
    fixed_store: FixedStore,
) -> None:
    catalog = AppendCatalog(fixed_store(COMPACTION_MS), 1, (1,), compaction_max_entries=1)
    catalog.land({0: 1}, None)
    catalog.land({0: 2}, None)
    assert log_state(catalog) == (200, 0, 2, True, 0)
    # Nobody appended them, so only the seal is counted, and once.
    assert counts(catalog) == (0, 0, 0, 0, 1, 0)
    assert run(commit(catalog, read(catalog), 0)) == (CommitResult(True, 34.0), 34.0)


def test_background_commits_are_refused_where_the_store_keeps_the_log(
    fixed_store: FixedStore,
) -> None:
    catalog = AppendCatalog(fixed_store(cls=PassingThrough), 1, (1,))
    with pytest.raises(ValueError, match="built-in store"):
        catalog.land({0: 1}, None)


# -- copies --------------------------------------------------------------------------------------------------------


def test_a_copy_and_its_original_go_separate_ways(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(compaction_max_entries=2)
    land(catalog)
    other = copy.deepcopy(catalog)
    land(other)
    assert (log_state(catalog), log_state(other)) == ((100, 0, 1, False, 0), (200, 0, 2, True, 0))
    assert run(commit(other, read(other), 0))[1] == 34.0
    assert run(commit(catalog, read(catalog), 1)) == (CommitResult(True, 14.0), 14.0)
    assert (catalog.seq, other.seq) == (2, 3)
    assert (counts(catalog), counts(other)) == ((2, 0, 2, 0, 1, 0), (3, 0, 3, 0, 1, 1))


def test_a_copy_of_a_sealed_log_is_sealed(make_catalog: MakeCatalog) -> None:
    catalog = make_catalog(compaction_max_entries=1)
    land(catalog)
    other = copy.deepcopy(catalog)
    land(catalog)
    assert run(commit(other, read(other), 0)) == (CommitResult(True, 34.0), 34.0)
