"""Storage providers (§1): what each store can do, when an operation takes effect, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.catalog import AppendCatalog, CASCatalog, Catalog
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.latency import ExponentialLatency, FixedLatency, LognormalLatency
from endive.profiles import load_profiles
from endive.simulation import Simulation, SimulationConfig, Statistics
from endive.storage import (
    ObjectSizes,
    ProfileStorageProvider,
    StorageProvider,
    StorageResult,
    UnsupportedOperationError,
    create_provider,
    total_ms,
)
from endive.test_utils import run
from endive.utils import Purpose, random_stream
from endive.workload import Workload, WorkloadConfig

PROFILES = load_profiles()
FixedStore = Callable[..., ProfileStorageProvider]

# §1.3: cas, append, tail_append, floor.
_CAPABILITIES = {
    "s3": (True, False, False, 43.0),
    "s3x": (True, True, False, 10.0),
    "azure": (True, True, False, 51.0),
    "azurex": (True, True, False, 40.0),
    "gcp": (True, False, False, 118.0),
    "instant": (True, True, True, 1.0),
}
_EACH = pytest.mark.parametrize("name", _CAPABILITIES)


def _provider(name: str, seed: int = 0, **keywords: Any) -> ProfileStorageProvider:
    return create_provider(name, np.random.RandomState(seed), PROFILES, **keywords)


# -- capabilities --------------------------------------------------------------------------------------------------


@_EACH
def test_capabilities_and_floor_are_those_of_the_specification(name: str) -> None:
    provider = _provider(name)
    assert provider.name == name
    assert (
        provider.supports_cas,
        provider.supports_append,
        provider.supports_tail_append,
        provider.min_latency_ms,
    ) == _CAPABILITIES[name]


@_EACH
def test_a_missing_operation_is_refused_when_it_is_called(name: str) -> None:
    provider = _provider(name)
    calls: list[tuple[bool, Callable[[], Generator[float, None, StorageResult]]]] = [
        (provider.supports_cas, lambda: provider.cas("catalog/pointer", 0, 10)),
        (provider.supports_append, lambda: provider.append("catalog/log", 0, 10)),
        (provider.supports_tail_append, lambda: provider.tail_append("catalog/log", 10)),
    ]
    for supported, call in calls:
        if supported:
            result, _ = run(call())
            # The append moved the end, which is all the same to a tail append.
            assert result.success
        else:
            # No step is taken: the caller learns it before any time passes.
            with pytest.raises(UnsupportedOperationError, match=name):
                call()


@_EACH
def test_no_operation_is_faster_than_the_floor(name: str) -> None:
    provider = _provider(name, seed=1)
    floor_ms = provider.min_latency_ms
    for index in range(300):
        assert run(provider.read("catalog/pointer", 10))[1] >= floor_ms
        assert run(provider.write("manifest_list/a", 10))[1] >= floor_ms
        assert run(provider.cas("catalog/pointer", index, 10))[1] >= floor_ms


# -- conditional writes --------------------------------------------------------------------------------------------


def test_cas_compares_versions_per_key(fixed_store: FixedStore) -> None:
    store = fixed_store()
    assert run(store.cas("catalog/a", 0, 10))[0].success
    assert not run(store.cas("catalog/a", 0, 10))[0].success
    assert not run(store.cas("catalog/a", 2, 10))[0].success
    assert run(store.cas("catalog/a", 1, 10))[0].success
    assert run(store.cas("catalog/b", 0, 10))[0].success


def test_append_checks_the_offset_and_tells_the_length(fixed_store: FixedStore) -> None:
    store = fixed_store()
    assert run(store.append("catalog/log", 0, 70)) == (StorageResult(True, 10.0, 70), 10.0)
    failed, _ = run(store.append("catalog/log", 0, 70))
    assert (failed.success, failed.data_size_bytes) == (False, 70)
    beyond, _ = run(store.append("catalog/log", 71, 70))
    assert (beyond.success, beyond.data_size_bytes) == (False, 70)
    assert run(store.append("catalog/log", 70, 30))[0].data_size_bytes == 100


def test_tail_append_needs_no_offset(fixed_store: FixedStore) -> None:
    store = fixed_store()
    for count in (1, 2, 3):
        result, _ = run(store.tail_append("catalog/log", 50))
        assert (result.success, result.data_size_bytes) == (True, 50 * count)


# -- effect points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect_point", [0.0, 0.3, 0.5, 1.0])
def test_waits_end_at_the_effect_point_and_at_the_latency(
    fixed_store: FixedStore, effect_point: float
) -> None:
    store = fixed_store(effect_point=effect_point)
    heard: list[tuple[bool, float]] = []
    steps = store.cas("catalog/pointer", 0, 10, on_effect=lambda *told: heard.append(told))
    assert next(steps) == effect_point * 10.0
    assert heard == []
    result, rest_ms = run(steps)
    assert heard == [(True, effect_point * 10.0)]
    assert rest_ms == pytest.approx(10.0 - effect_point * 10.0)
    assert result == StorageResult(True, 10.0, 10)


def test_cas_compares_at_its_effect_point_and_not_before(fixed_store: FixedStore) -> None:
    store = fixed_store()
    slow, quick = store.cas("catalog/pointer", 0, 10), store.cas("catalog/pointer", 0, 10)
    next(slow)
    assert run(quick)[0].success
    assert not run(slow)[0].success


def test_cas_has_swapped_once_its_effect_point_has_passed(fixed_store: FixedStore) -> None:
    store = fixed_store()
    first = store.cas("catalog/pointer", 0, 10)
    next(first)
    next(first)  # The answer is still under way, the swap is done.
    assert not run(store.cas("catalog/pointer", 0, 10))[0].success


def test_append_extends_exactly_at_its_effect_point(fixed_store: FixedStore) -> None:
    store = fixed_store()
    steps = store.append("catalog/log", 0, 100)
    assert store.length("catalog/log") == 0
    next(steps)
    assert store.length("catalog/log") == 0
    next(steps)
    assert store.length("catalog/log") == 100


def test_a_failed_append_tells_the_length_at_its_effect_point(fixed_store: FixedStore) -> None:
    store = fixed_store()
    steps = store.append("catalog/log", 7, 100)
    next(steps)
    run(store.append("catalog/log", 0, 40))
    next(steps)
    run(store.append("catalog/log", 40, 40))
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value.data_size_bytes == 40


# -- latencies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure_ms", "total"),
    [(25.0, 25.0), (5.0, 5.0), (2.0, 5.0)],
    ids=["longer", "equal", "shorter"],
)
def test_a_failure_takes_its_own_latency_but_not_less_than_to_the_effect(
    fixed_store: FixedStore, failure_ms: float, total: float
) -> None:
    store = fixed_store({"catalog.cas_failure": failure_ms, "catalog.append_failure": failure_ms})
    result, elapsed_ms = run(store.cas("catalog/pointer", 9, 10))
    assert (result.success, result.latency_ms, elapsed_ms) == (False, total, total)
    result, elapsed_ms = run(store.append("catalog/log", 9, 10))
    assert (result.success, result.latency_ms, elapsed_ms) == (False, total, total)


def test_a_failure_without_a_latency_of_its_own_takes_the_drawn_one(
    fixed_store: FixedStore,
) -> None:
    result, elapsed_ms = run(fixed_store().cas("catalog/pointer", 9, 10))
    assert (result.success, elapsed_ms) == (False, 10.0)


def test_failure_latencies_do_not_touch_successes(fixed_store: FixedStore) -> None:
    store = fixed_store({"catalog.cas_failure": 99.0})
    assert run(store.cas("catalog/pointer", 0, 10))[1] == 10.0


def test_an_override_replaces_one_operation_and_respects_the_floor() -> None:
    plain = _provider("s3", seed=3)
    changed = _provider(
        "s3",
        seed=3,
        latency={"manifest_list.read": FixedLatency(5.0), "catalog.cas": FixedLatency(80.0)},
    )
    assert run(changed.read("manifest_list/x", 10))[1] == 43.0
    assert run(changed.cas("catalog/pointer", 0, 10))[1] == 80.0
    # The fixed ones consumed no draw, so all others see the same stream.
    assert run(changed.read("catalog/pointer", 10)) == run(plain.read("catalog/pointer", 10))
    assert run(changed.write("manifest_list/x", 10)) == run(plain.write("manifest_list/x", 10))


def test_the_floor_can_be_replaced() -> None:
    provider = _provider("gcp", min_latency_ms=500.0, latency={"catalog.cas": FixedLatency(1.0)})
    assert provider.min_latency_ms == 500.0
    assert run(provider.cas("catalog/pointer", 0, 10))[1] == 500.0


def test_larger_objects_take_longer() -> None:
    small, large = _provider("s3", seed=5), _provider("s3", seed=5)
    assert (
        run(small.write("manifest_file/x", 2**26))[1]
        < run(large.write("manifest_file/x", 2**28))[1]
    )


@pytest.mark.parametrize(("count", "batches"), [(1, 1), (4, 1), (5, 2), (9, 3), (40, 10)])
def test_a_batch_runs_so_many_at_a_time(fixed_store: FixedStore, count: int, batches: int) -> None:
    assert fixed_store().batch_ms("manifest_list.read", 10, count) == 3.0 * batches
    one_by_one = fixed_store(max_parallel=1)
    assert one_by_one.batch_ms("manifest_list.read", 10, count) == 3.0 * count


@given(
    name=st.sampled_from(list(_CAPABILITIES)),
    count=st.integers(1, 200),
    width=st.integers(1, 9),
    seed=st.integers(0, 1_000),
)
def test_a_batch_draws_what_single_operations_draw(
    name: str, count: int, width: int, seed: int
) -> None:
    together = _provider(name, seed, max_parallel=width)
    single = _provider(name, seed, max_parallel=width)
    size_bytes = 3_000_000
    drawn = [total_ms(single.write("manifest_file/x", size_bytes)) for _ in range(count)]
    expected = sum(max(drawn[i : i + width]) for i in range(0, count, width))
    assert together.batch_ms("manifest_file.write", size_bytes, count) == pytest.approx(
        expected, rel=1e-12
    )
    # Both have used up exactly `count` draws.
    assert run(together.read("catalog/x", 10)) == run(single.read("catalog/x", 10))


# -- a user's own stores -------------------------------------------------------------------------------------------


class PassingThrough(ProfileStorageProvider):
    """Overrides every operation and changes none."""

    def read(self, key: str, expected_size_bytes: int, *, on_effect: Any = None) -> Any:
        return super().read(key, expected_size_bytes, on_effect=on_effect)

    def write(self, key: str, size_bytes: int) -> Any:
        return (yield from super().write(key, size_bytes))

    def cas(
        self, key: str, expected_version: int, size_bytes: int, *, on_effect: Any = None
    ) -> Any:
        return super().cas(key, expected_version, size_bytes, on_effect=on_effect)

    def append(self, key: str, offset: int, size_bytes: int, *, on_effect: Any = None) -> Any:
        return super().append(key, offset, size_bytes, on_effect=on_effect)

    def tail_append(self, key: str, size_bytes: int, *, on_effect: Any = None) -> Any:
        return super().tail_append(key, size_bytes, on_effect=on_effect)


class PassingThroughKeywords(PassingThrough):
    """The same for somebody who does not know which keywords there are."""

    def read(self, key: str, expected_size_bytes: int, **more: Any) -> Any:
        return (yield from super().read(key, expected_size_bytes, **more))

    def cas(self, key: str, expected_version: int, size_bytes: int, **more: Any) -> Any:
        return (yield from super().cas(key, expected_version, size_bytes, **more))

    def append(self, key: str, offset: int, size_bytes: int, **more: Any) -> Any:
        return (yield from super().append(key, offset, size_bytes, **more))


def _simulate(
    store: StorageProvider,
    catalog: type[CASCatalog] | type[AppendCatalog] = CASCatalog,
    ml_append_mode: bool = False,
) -> Statistics:
    built: Catalog = catalog(store, 2, (3, 3))
    config = WorkloadConfig(
        inter_arrival=ExponentialLatency(60.0),
        runtime=LognormalLatency.from_mean(200.0, 0.5),
        num_tables=2,
        partitions_per_table=(3, 3),
        partitions_per_txn=2,
        fast_append_weight=0.4,
        merge_append_weight=0.3,
        validated_overwrite_weight=0.3,
    )
    return Simulation(
        SimulationConfig(
            duration_ms=8_000.0,
            seed=3,
            storage_provider=store,
            catalog=built,
            workload=Workload(config, seed=3),
            conflict_detector=ProbabilisticConflictDetector(
                0.2, random_stream(3, Purpose.CONFLICT)
            ),
            ml_append_mode=ml_append_mode,
        )
    ).run()


_CATALOGS = pytest.mark.parametrize("catalog", [CASCatalog, AppendCatalog])
_SUBCLASSES = pytest.mark.parametrize("subclass", [PassingThrough, PassingThroughKeywords])


@_CATALOGS
@_SUBCLASSES
@pytest.mark.parametrize("ml_append_mode", [False, True], ids=["rewrite", "ml_append"])
@pytest.mark.parametrize("name", ["s3x", "azurex", "instant"])
def test_a_subclass_that_changes_nothing_gives_the_same_run(
    name: str,
    ml_append_mode: bool,
    subclass: type[PassingThrough],
    catalog: type[CASCatalog] | type[AppendCatalog],
) -> None:
    built_in = ProfileStorageProvider(random_stream(3, Purpose.STORAGE), PROFILES[name])
    own = subclass(random_stream(3, Purpose.STORAGE), PROFILES[name])
    expected = _simulate(built_in, catalog, ml_append_mode)
    assert expected.committed > 10
    assert _simulate(own, catalog, ml_append_mode).digest() == expected.digest()


class SlowWrites(ProfileStorageProvider):
    """Overrides one operation only."""

    def write(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 500.0
        return StorageResult(True, 500.0, size_bytes)


def test_one_overridden_operation_is_used_by_transactions(fixed_store: FixedStore) -> None:
    statistics = _simulate(fixed_store(cls=SlowWrites))
    first = statistics.transactions[0]
    # Per attempt: a manifest-list read of 3 ms, then a slow manifest file and a slow manifest list.
    assert first.per_attempt_io_ms == 1003.0 * (1 + first.manifest_list_reads // 2)


class Minimal(StorageProvider):
    """The least a user may write: the five operations and what is supported."""

    def __init__(self, rng: np.random.RandomState) -> None:
        super().__init__(rng)
        self._versions: dict[str, int] = {}
        self._lengths: dict[str, int] = {}

    def read(self, key: str, expected_size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 5.0
        return StorageResult(True, 5.0, expected_size_bytes)

    def write(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 6.0
        return StorageResult(True, 6.0, size_bytes)

    def cas(
        self, key: str, expected_version: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        yield 7.0
        success = self._versions.get(key, 0) == expected_version
        if success:
            self._versions[key] = expected_version + 1
        return StorageResult(success, 7.0, size_bytes)

    def append(
        self, key: str, offset: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        yield 8.0
        success = self._lengths.get(key, 0) == offset
        if success:
            self._lengths[key] = offset + size_bytes
        return StorageResult(success, 8.0, self._lengths.get(key, 0))

    def tail_append(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 8.0
        self._lengths[key] = self._lengths.get(key, 0) + size_bytes
        return StorageResult(True, 8.0, self._lengths[key])

    @property
    def supports_cas(self) -> bool:
        return True

    @property
    def supports_append(self) -> bool:
        return True

    @property
    def supports_tail_append(self) -> bool:
        return True


@_CATALOGS
@pytest.mark.parametrize("ml_append_mode", [False, True], ids=["rewrite", "ml_append"])
def test_a_minimal_store_of_a_user_runs(
    catalog: type[CASCatalog] | type[AppendCatalog], ml_append_mode: bool
) -> None:
    statistics = _simulate(Minimal(np.random.RandomState(0)), catalog, ml_append_mode)
    assert statistics.committed > 50
    assert statistics.seq >= statistics.committed
    unhindered = next(txn for txn in statistics.transactions if txn.total_retries == 0)
    assert unhindered.catalog_read_ms == pytest.approx(5.0)
    assert unhindered.per_attempt_io_ms == 5.0 + 6.0 + (8.0 if ml_append_mode else 6.0)
    assert unhindered.catalog_commit_ms == pytest.approx(7.0 if catalog is CASCatalog else 13.0)


def test_sizes_are_those_of_the_model() -> None:
    assert ObjectSizes() == ObjectSizes(16_384, 16_384, 65_536)
