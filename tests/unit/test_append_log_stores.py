"""What a catalog log moves (docs/MODEL.md, section 14), and what it is in a store of somebody's own."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest
from append_log import PassingThrough, commit, land, log_state, read
from interleaving import interleave

from endive.catalog import AppendCatalog, CASCatalog, CommitResult
from endive.latency import FixedLatency, SizeBasedLatency
from endive.profiles import load_profiles
from endive.simulation import Simulation, SimulationConfig
from endive.storage import ProfileStorageProvider, StorageProvider, StorageResult
from endive.test_utils import create_test_config, run
from endive.utils import Purpose, random_stream


@pytest.fixture(params=[ProfileStorageProvider, PassingThrough], ids=["built-in", "own"])
def store_class(request: pytest.FixtureRequest) -> type[ProfileStorageProvider]:
    """The built-in store, and somebody's own."""
    found: type[ProfileStorageProvider] = request.param
    return found


# -- sizes that grow (section 14) ----------------------------------------------------------------------------------


def _sized_store(store_class: type[ProfileStorageProvider]) -> ProfileStorageProvider:
    """A store whose catalog reads and swaps take as many milliseconds as they move bytes."""
    by_size = SizeBasedLatency(1e-9, 2.0**20, 0.0, 0.0)
    sized = dict.fromkeys(("catalog.read", "catalog.cas", "catalog.compaction"), by_size)
    fixed = {name: FixedLatency(1.0) for name in ("catalog.append", "catalog.append_failure")}
    return store_class(
        np.random.RandomState(0),
        load_profiles()["instant"],
        latency={**sized, **fixed},
        effect_point=0.5,
        min_latency_ms=0.0,
    )


@pytest.mark.parametrize(("growth", "size_bytes"), [(None, 16_384), (0, 16_384), (200, 17_184)])
def test_the_pointer_is_as_large_as_its_tables_make_it(
    store_class: type[ProfileStorageProvider], growth: int | None, size_bytes: int
) -> None:
    catalog = CASCatalog(_sized_store(store_class), 4, (1,) * 4, growth=growth)
    assert run(catalog.read())[1] == pytest.approx(size_bytes)
    assert run(catalog.commit(0, {0: 1}))[1] == pytest.approx(size_bytes)


def test_without_growth_the_size_of_the_catalog_is_constant(
    store_class: type[ProfileStorageProvider],
) -> None:
    catalog = AppendCatalog(_sized_store(store_class), 4, (1,) * 4)
    for _ in range(2):
        assert run(commit(catalog, read(catalog), 0))[1] == pytest.approx(1 + 16_384)
    assert run(catalog.read())[1] == pytest.approx(16_384)


def test_with_growth_reads_move_the_log_since_the_checkpoint(
    store_class: type[ProfileStorageProvider],
) -> None:
    catalog = AppendCatalog(
        _sized_store(store_class), 4, (1,) * 4, compaction_max_entries=2, growth=200
    )
    empty = 16_384 + 4 * 200
    assert run(catalog.read())[1] == pytest.approx(empty)
    # The discovery reads the record that has just landed, too.
    assert run(commit(catalog, read(catalog), 0))[1] == pytest.approx(1 + empty + 100)
    land(catalog)
    seen, read_ms = run(catalog.read())
    assert read_ms == pytest.approx(empty + 200)
    # The compaction moves what it folds; what follows is new.
    assert run(commit(catalog, seen, 0))[1] == pytest.approx(empty + 200 + 1 + empty + 100)


def test_with_growth_latest_reads_the_log_since_the_checkpoint(
    store_class: type[ProfileStorageProvider],
) -> None:
    catalog = AppendCatalog(
        _sized_store(store_class), 4, (1,) * 4, append_offset="latest", growth=0
    )
    land(catalog)
    elapsed_ms = run(commit(catalog, read(catalog), 0))[1]
    assert elapsed_ms == pytest.approx(16_384 + 100 + 1 + 16_384 + 200)


def test_the_size_is_that_of_the_start_of_the_operation(
    store_class: type[ProfileStorageProvider],
) -> None:
    catalog = AppendCatalog(_sized_store(store_class), 4, (1,) * 4, growth=0)
    reading = catalog.read()
    to_effect_ms = next(reading)
    land(catalog)
    snapshot, rest_ms = run(reading)
    assert snapshot.seq == 1
    assert to_effect_ms + rest_ms == pytest.approx(16_384)


# -- a user's own store --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("growth", [None, 200], ids=["constant", "growing"])
@pytest.mark.parametrize("append_offset", ["snapshot", "latest"])
def test_a_whole_run_through_a_store_of_ones_own_is_the_same(
    append_offset: str, growth: int | None
) -> None:
    def simulate(cls: type[ProfileStorageProvider]) -> tuple[str, dict[str, int]]:
        base = create_test_config(
            duration_ms=10_000.0, num_tables=4, inter_arrival_ms=150.0, runtime_ms=100.0
        )
        store = cls(random_stream(1, Purpose.STORAGE), load_profiles()["s3x"])
        catalog = AppendCatalog(
            store,
            4,
            (1,) * 4,
            append_offset=append_offset,
            compaction_max_entries=3,
            growth=growth,
        )
        statistics = Simulation(
            SimulationConfig(
                base.duration_ms, 1, store, catalog, base.workload, base.conflict_detector
            )
        ).run()
        counters = {name: getattr(statistics, name) for name in catalog.counters}
        return statistics.digest(), counters

    digest, counters = simulate(ProfileStorageProvider)
    assert min(counters.values()) > 0
    assert simulate(PassingThrough) == (digest, counters)


class Foreign(StorageProvider):
    """A store that knows nothing of seals: the five operations, each with its effect at the end."""

    supports_cas = supports_append = supports_tail_append = True

    def __init__(self) -> None:
        super().__init__(np.random.RandomState(0))
        self.versions: dict[str, int] = {}
        self.lengths: dict[str, int] = {}

    def read(self, key: str, expected_size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 4.0
        return StorageResult(True, 4.0, expected_size_bytes)

    def write(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        yield 4.0
        return StorageResult(True, 4.0, size_bytes)

    def cas(
        self, key: str, expected_version: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        yield 20.0
        success = self.versions.get(key, 0) == expected_version
        self.versions[key] = self.versions.get(key, 0) + success
        return StorageResult(success, 20.0, size_bytes)

    def append(
        self, key: str, offset: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        yield 10.0
        success = self.lengths.get(key, 0) == offset
        self.lengths[key] = self.lengths.get(key, 0) + success * size_bytes
        return StorageResult(success, 10.0, self.lengths[key])

    def tail_append(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        return self.append(key, self.lengths.get(key, 0), size_bytes)


def test_a_store_that_cannot_be_sealed_is_compacted_all_the_same() -> None:
    store = Foreign()
    catalog = AppendCatalog(store, 4, (1,) * 4, append_offset="latest", compaction_max_entries=1)
    seen = read(catalog)
    # The rival lands at 14 and seals the log; I learn the end at 16, and my append there is refused at 26.
    _, mine = interleave((0.0, commit(catalog, seen, 0)), (12.0, commit(catalog, seen, 1)))
    assert mine == (CommitResult(True, 4.0 + 10.0 + 20.0 + 10.0 + 4.0), 60.0)
    assert log_state(catalog) == (200, 100, 1, True, 1)
    assert store.lengths == {"catalog/log": 200}
