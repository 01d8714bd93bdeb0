"""Manifest lists appended to at an offset (docs/MODEL.md, section 12), case by case and to the millisecond.

An append takes 2, a failed one 6, a rewrite 3 to read and 7 to write. Effects come half-way. Entries have 50 bytes. Unless a
test says otherwise it runs on the built-in store and on a user's subclass that overrides the append and changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import pytest
from interleaving import interleave

from endive.catalog import CASCatalog, ListAppend, ManifestLists
from endive.profiles import load_profiles
from endive.simulation import Simulation, Statistics
from endive.storage import (
    ProfileStorageProvider,
    StorageProvider,
    UnsupportedOperationError,
    create_provider,
)
from endive.test_utils import create_test_config, run
from endive.trace import Use

FixedStore = Callable[..., ProfileStorageProvider]
Lists = tuple[CASCatalog, ManifestLists]
MakeLists = Callable[..., Lists]


class PassingThrough(ProfileStorageProvider):
    """Overrides the append and changes nothing."""

    def append(self, key: str, offset: int, size_bytes: int, **more: Any) -> Any:
        return super().append(key, offset, size_bytes, **more)


def _rewrite(store: ProfileStorageProvider) -> list[Use]:
    size_bytes = store.sizes.manifest_list
    return [
        (
            "manifest_list",
            action,
            1,
            size_bytes,
            1,
            store.latency_ms(f"manifest_list.{action}", size_bytes),
        )
        for action in ("read", "write")
    ]


@pytest.fixture(params=[ProfileStorageProvider, PassingThrough], ids=["built-in", "own"])
def make_lists(request: pytest.FixtureRequest, fixed_store: FixedStore) -> MakeLists:
    """A maker of two tables' lists and of the catalog that shows their lengths."""

    def make(**settings: Any) -> Lists:
        store = fixed_store({"manifest_list.append_failure": 6.0}, cls=request.param)
        catalog = CASCatalog(store, 2, (1, 1))
        rewrite = partial(_rewrite, store)
        return catalog, ManifestLists(store, catalog.state, 2, rewrite=rewrite, **settings)

    return make


def _lengths(catalog: CASCatalog) -> tuple[int, ...]:
    return run(catalog.read())[0].details.list_lengths


def _fill(lists: ManifestLists, entries: int) -> None:
    for place in range(entries):
        assert run(lists.append_entry(0, 50 * place)) == (
            ListAppend(50 * (place + 1), 1, 0, 0),
            2.0,
        )


def _counts(lists: ManifestLists) -> tuple[int, int, int]:
    """Appends that landed, appends that failed, rewrites of sealed lists."""
    counters = lists.counters
    return (
        counters["manifest_append_physical_success"],
        counters["manifest_append_physical_failure"],
        counters["manifest_append_sealed_rewrite"],
    )


# -- the offset ----------------------------------------------------------------------------------------------------


def test_an_append_at_the_end_of_the_list_lands(make_lists: MakeLists) -> None:
    _, lists = make_lists()
    assert run(lists.append_entry(0, 0)) == (ListAppend(50, 1, 0, 0), 2.0)
    assert _counts(lists) == (1, 0, 0)


def test_what_a_writer_has_made_it_knows(make_lists: MakeLists) -> None:
    _, lists = make_lists(entry_size=70)
    done = run(lists.append_entry(0, 0))[0]
    assert run(lists.append_entry(0, done.length)) == (ListAppend(140, 1, 0, 0), 2.0)
    assert _counts(lists) == (2, 0, 0)


@pytest.mark.parametrize("stale", [0, 50, 7])
def test_an_append_elsewhere_fails_and_goes_to_the_length_it_was_told(
    make_lists: MakeLists, stale: int
) -> None:
    _, lists = make_lists()
    _fill(lists, 2)
    assert run(lists.append_entry(0, stale)) == (ListAppend(150, 1, 0, 0), 8.0)
    assert _counts(lists) == (3, 1, 0)


def test_an_append_compares_at_its_effect_and_is_told_what_was_so_then(
    make_lists: MakeLists,
) -> None:
    _, lists = make_lists()
    late, first, second = interleave(
        (0.5, lists.append_entry(0, 0)),  # fails at 1.5, told 50; fails at 7.5, told 100; lands
        (0.0, lists.append_entry(0, 0)),  # lands at 1
        (1.6, lists.append_entry(0, 50)),  # lands at 2.6
    )
    assert first == (ListAppend(50, 1, 0, 0), 2.0)
    assert second == (ListAppend(100, 1, 0, 0), 3.6)
    assert late == (ListAppend(150, 1, 0, 0), 14.5)
    assert _counts(lists) == (3, 2, 0)


def test_every_table_has_a_list_of_its_own(make_lists: MakeLists) -> None:
    catalog, lists = make_lists(seal_threshold=60)
    _fill(lists, 2)
    assert run(lists.append_entry(1, 0)) == (ListAppend(50, 1, 0, 0), 2.0)
    assert _lengths(catalog) == (100, 50)


# -- seals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "entries"), [(1, 1), (49, 1), (50, 2), (149, 3), (150, 4)])
def test_a_list_is_sealed_when_it_is_longer_than_the_threshold(
    make_lists: MakeLists, threshold: int, entries: int
) -> None:
    _, lists = make_lists(seal_threshold=threshold)
    _fill(lists, entries)
    # At the right length; but the list takes no more: 6 to fail, 10 to rewrite.
    assert run(lists.append_entry(0, 50 * entries)) == (ListAppend(50, 0, 1, 1), 16.0)
    assert _counts(lists) == (entries, 1, 1)


def test_without_a_threshold_no_list_is_ever_sealed(make_lists: MakeLists) -> None:
    _, lists = make_lists(entry_size=10**9)
    for place in range(20):
        run(lists.append_entry(0, place * 10**9))
    assert _counts(lists) == (20, 0, 0)


def test_a_rewritten_list_holds_the_entry_and_takes_others(make_lists: MakeLists) -> None:
    catalog, lists = make_lists(seal_threshold=100)
    _fill(lists, 3)
    assert run(lists.append_entry(0, 0)) == (ListAppend(50, 0, 1, 1), 16.0)
    assert _lengths(catalog) == (50, 0)
    assert run(lists.append_entry(0, 50)) == (ListAppend(100, 1, 0, 0), 2.0)
    assert run(lists.append_entry(0, 100)) == (ListAppend(150, 1, 0, 0), 2.0)
    assert run(lists.append_entry(0, 150)) == (ListAppend(50, 0, 1, 1), 16.0)
    assert _counts(lists) == (5, 2, 2)


def test_a_rewritten_list_is_open_however_low_the_threshold(make_lists: MakeLists) -> None:
    _, lists = make_lists(seal_threshold=1)
    _fill(lists, 1)
    run(lists.append_entry(0, 50))
    assert run(lists.append_entry(0, 50)) == (ListAppend(100, 1, 0, 0), 2.0)


def test_until_its_rewrite_is_over_a_list_stays_sealed(make_lists: MakeLists) -> None:
    catalog, lists = make_lists(seal_threshold=1)
    _fill(lists, 1)
    rewriting = lists.append_entry(0, 50)
    assert [next(rewriting) for _ in range(3)] == [1.0, 5.0, 10.0]
    assert _lengths(catalog) == (50, 0)
    other = lists.append_entry(0, 50)
    next(other)
    next(other)
    assert _counts(lists) == (1, 2, 0)


def test_of_two_rewrites_the_first_counts_and_the_other_writer_appends(
    make_lists: MakeLists,
) -> None:
    catalog, lists = make_lists(seal_threshold=100)
    _fill(lists, 3)
    first, second = interleave((0.0, lists.append_entry(0, 150)), (1.0, lists.append_entry(0, 0)))
    assert first == (ListAppend(50, 0, 1, 1), 16.0)
    # Its own rewrite, over at 17, was for nothing, but is paid; the append goes to the end as of then.
    assert second == (ListAppend(100, 1, 1, 1), 19.0)
    assert _lengths(catalog) == (100, 0)
    assert _counts(lists) == (4, 2, 1)


def test_a_lost_rewrite_of_a_list_that_was_sealed_again_is_followed_by_another(
    make_lists: MakeLists,
) -> None:
    _, lists = make_lists(seal_threshold=60)
    _fill(lists, 2)
    _, _, late = interleave(
        (0.0, lists.append_entry(0, 100)),  # has rewritten the list at 16
        (16.5, lists.append_entry(0, 50)),  # lands at 17.5 and seals it again
        (3.0, lists.append_entry(0, 100)),  # rewrites for nothing until 19; then 6 and 10 more
    )
    assert late == (ListAppend(50, 0, 2, 2), 35.0)
    assert _counts(lists) == (3, 3, 2)


# -- what others see -----------------------------------------------------------------------------------------------


def test_snapshots_tell_the_lengths_as_of_the_effect_of_the_read(make_lists: MakeLists) -> None:
    catalog, lists = make_lists()

    def read() -> Generator[float, None, tuple[int, ...]]:
        snapshot = yield from catalog.read()
        return snapshot.details.list_lengths

    def append() -> Generator[float, None, tuple[int, ...]]:
        yield from lists.append_entry(1, 0)
        return ()

    # Reads take effect after 2: at 0.9 and 1.0. The entry lands at 1, and is named first.
    _, before, after = interleave((0.0, append()), (-1.1, read()), (-1.0, read()))
    assert (before[0], after[0]) == ((0, 0), (0, 50))


def test_commits_leave_the_lengths_in_snapshots(make_lists: MakeLists) -> None:
    catalog, lists = make_lists()
    _fill(lists, 2)
    assert run(catalog.commit(0, {0: 1}))[0].success
    assert _lengths(catalog) == (100, 0)


def test_every_operation_is_told_of_at_its_end(make_lists: MakeLists) -> None:
    _, lists = make_lists(seal_threshold=100)
    _fill(lists, 3)
    told: list[ListAppend] = []
    rival = lists.append_entry(0, 150)
    mine = lists.append_entry(0, 0, told.append)
    interleave((0.0, rival), (1.0, mine))
    # A failure, the rewrite that came too late, and the append that landed.
    assert told == [
        ListAppend(150, 0, 0, 0),
        ListAppend(50, 0, 1, 1),
        ListAppend(100, 1, 0, 0),
    ]


def test_what_the_end_cuts_off_is_not_told_of(make_lists: MakeLists) -> None:
    _, lists = make_lists(seal_threshold=1)
    _fill(lists, 1)
    told: list[ListAppend] = []
    mine = lists.append_entry(0, 50, told.append)
    assert [next(mine), next(mine)] == [1.0, 5.0]
    assert told == []
    assert next(mine) == 10.0
    assert told == [ListAppend(50, 0, 0, 0)]


# -- copies and stores ---------------------------------------------------------------------------------------------


def test_a_copy_and_its_original_go_separate_ways(make_lists: MakeLists) -> None:
    catalog, lists = make_lists(seal_threshold=60)
    _fill(lists, 1)
    # Copied together, as a run does, so that the copies belong together, too.
    other_catalog, other = copy.deepcopy((catalog, lists))
    run(other.append_entry(0, 50))
    assert run(other.append_entry(0, 100)) == (ListAppend(50, 0, 1, 1), 16.0)
    assert run(lists.append_entry(0, 50)) == (ListAppend(100, 1, 0, 0), 2.0)
    assert (_lengths(catalog), _lengths(other_catalog)) == ((100, 0), (50, 0))
    assert (_counts(lists), _counts(other)) == ((2, 0, 0), (2, 1, 1))


def test_a_store_without_append_is_refused_at_once() -> None:
    store = create_provider("gcp", np.random.RandomState(0), load_profiles())
    catalog = CASCatalog(store, 1, (1,))
    with pytest.raises(UnsupportedOperationError, match="gcp"):
        ManifestLists(store, catalog.state, 1, rewrite=list)


class Foreign(StorageProvider):
    """A store that compares offsets and knows nothing of seals."""

    supports_append = True

    def append(self, key: str, offset: int, size_bytes: int) -> Any:
        raise NotImplementedError

    read = write = cas = tail_append = append  # type: ignore[assignment]


def test_a_store_that_cannot_be_sealed_is_refused_only_where_lists_are_sealed(
    fixed_store: FixedStore,
) -> None:
    state = CASCatalog(fixed_store(), 1, (1,)).state
    foreign = Foreign(np.random.RandomState(0))
    ManifestLists(foreign, state, 1, rewrite=list)
    with pytest.raises(ValueError, match="Foreign"):
        ManifestLists(foreign, state, 1, rewrite=list, seal_threshold=1)


# -- whole runs ----------------------------------------------------------------------------------------------------


def _simulate(**transaction: Any) -> Statistics:
    overrides = {
        "catalog": {"type": "cas"},
        "transaction": {"manifest_list_mode": "append", **transaction},
    }
    config = create_test_config(
        duration_ms=20_000.0,
        provider="s3x",
        inter_arrival_ms=100.0,
        runtime_ms=50.0,
        overrides=overrides,
    )
    return Simulation(config).run()


def test_at_the_tail_every_append_lands_and_is_part_of_the_payment() -> None:
    statistics = _simulate(manifest_list_append="tail")
    assert statistics.manifest_list_appends > 100
    assert statistics.manifest_append_physical_success == 0
    assert statistics.manifest_append_physical_failure == 0


def test_at_an_offset_every_entry_lands_once() -> None:
    statistics = _simulate(manifest_list_append="offset")
    in_flight = statistics.in_flight
    landed = statistics.manifest_append_physical_success
    assert statistics.manifest_append_physical_failure > 0
    assert 0 <= landed - statistics.manifest_list_appends <= in_flight
    assert statistics.manifest_append_sealed_rewrite == statistics.manifest_list_writes == 0


def test_sealed_lists_are_rewritten_instead_of_appended_to() -> None:
    statistics = _simulate(manifest_list_append="offset", manifest_list_seal_threshold=200)
    rewrites = statistics.manifest_append_sealed_rewrite
    assert rewrites > 0
    # Whoever was too late has paid for a rewrite as well.
    assert statistics.manifest_list_writes >= rewrites - statistics.in_flight
