"""The runner (§6): what is launched is accounted for, runs repeat themselves, and the end and ties are exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from endive.catalog import AppendCatalog, CASCatalog, Catalog, CatalogSnapshot, InstantCatalog
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.latency import ExponentialLatency, FixedLatency, LatencyDistribution, LognormalLatency
from endive.profiles import load_profiles
from endive.simulation import Progress, Simulation, SimulationConfig, Statistics
from endive.storage import ProfileStorageProvider, create_provider
from endive.utils import Purpose, random_stream
from endive.workload import Workload, WorkloadConfig

FixedStore = Callable[..., ProfileStorageProvider]
_PARTS = ["catalog_read_ms", "per_attempt_io_ms", "conflict_io_ms", "catalog_commit_ms"]


def _busy(
    provider: str = "s3x", catalog: str = "cas", seed: int = 3, **changes: Any
) -> SimulationConfig:
    """A contended run with all operations, real conflicts, retries, aborts and transactions in flight."""
    store = create_provider(provider, random_stream(seed, Purpose.STORAGE), load_profiles())
    catalogs: dict[str, Callable[[], Catalog]] = {
        "cas": lambda: CASCatalog(store, 2, (3, 3)),
        "append": lambda: AppendCatalog(store, 2, (3, 3)),
        "instant": lambda: InstantCatalog(2, (3, 3)),
    }
    workload = WorkloadConfig(
        inter_arrival=ExponentialLatency(50.0),
        runtime=LognormalLatency.from_mean(300.0, 0.8),
        num_tables=2,
        partitions_per_table=(3, 3),
        fast_append_weight=0.4,
        merge_append_weight=0.3,
        validated_overwrite_weight=0.3,
        partitions_per_txn=1,
    )
    settings: dict[str, Any] = {
        "duration_ms": 10_000.0,
        "seed": seed,
        "storage_provider": store,
        "catalog": catalogs[catalog](),
        "workload": Workload(workload, seed),
        "conflict_detector": ProbabilisticConflictDetector(
            0.3, random_stream(seed, Purpose.CONFLICT)
        ),
        "max_retries": 2,
    }
    return SimulationConfig(**{**settings, **changes})


_CATALOGS = pytest.mark.parametrize("catalog", ["cas", "append", "instant"])


# -- accounting ----------------------------------------------------------------------------------------------------


@_CATALOGS
@pytest.mark.parametrize("backoff", [False, True])
def test_everything_launched_is_committed_aborted_or_in_flight(catalog: str, backoff: bool) -> None:
    config = _busy(catalog=catalog, backoff_enabled=backoff)
    statistics = Simulation(config).run()
    frame = statistics.to_dataframe()
    arrivals = itertools.takewhile(
        lambda pair: pair[1].submit_time_ms < config.duration_ms, config.workload.generate()
    )
    assert statistics.launched == sum(1 for _ in arrivals) == len(frame)
    assert frame["txn_id"].tolist() == list(range(statistics.launched))
    assert (frame["status"] == "committed").sum() == statistics.committed > 0
    assert (frame["status"] == "aborted").sum() == statistics.aborted
    assert (frame["status"] == "in_flight").sum() == statistics.in_flight > 0
    assert len(statistics.transactions) == statistics.committed + statistics.aborted
    # A commit may have taken effect while its answer was still under way at the end.
    assert statistics.committed <= statistics.seq <= statistics.committed + statistics.in_flight


@_CATALOGS
@pytest.mark.parametrize("backoff", [False, True])
def test_time_parts_of_every_row_add_up(catalog: str, backoff: bool) -> None:
    config = _busy(catalog=catalog, backoff_enabled=backoff)
    frame = Simulation(config).run().to_dataframe()
    finished = frame[frame["status"] != "in_flight"]
    total = finished[[*_PARTS, "backoff_ms", "t_runtime"]].sum(axis=1)
    np.testing.assert_allclose(total, finished["total_latency"], rtol=0, atol=1e-6)
    end = np.where(finished["status"] == "committed", finished["t_commit"], finished["t_abort"])
    np.testing.assert_allclose(
        end - finished["t_submit"], finished["total_latency"], rtol=0, atol=1e-6
    )
    assert (finished["unfinished_ms"] == 0.0).all()


def test_rows_in_flight_tell_what_was_done_by_the_end() -> None:
    config = _busy()
    frame = Simulation(config).run().to_dataframe()
    rows = frame[frame["status"] == "in_flight"]
    assert (rows["t_commit"] == -1.0).all()
    assert (rows["t_abort"] == -1.0).all()
    assert rows["abort_reason"].isna().all()
    assert (rows["t_runtime"] > 0.0).all()
    np.testing.assert_allclose(
        rows["total_latency"], config.duration_ms - rows["t_submit"], rtol=0, atol=1e-9
    )
    # The runtime is explained only once it is over; before that it is the step that was cut off.
    parts = rows[[*_PARTS, "backoff_ms", "unfinished_ms"]].sum(axis=1)
    rest = rows["total_latency"] - parts
    worked = rows["commit_latency"] > 0.0
    np.testing.assert_allclose(rest[worked], rows["t_runtime"][worked], rtol=0, atol=1e-6)
    np.testing.assert_allclose(rest[~worked], 0.0, rtol=0, atol=1e-6)


# -- a timeline by hand --------------------------------------------------------------------------------------------


def _fixed(
    store: ProfileStorageProvider,
    duration_ms: float,
    *,
    inter_arrival: LatencyDistribution | None = None,
    runtime_ms: float = 100.0,
    catalog: Catalog | None = None,
) -> SimulationConfig:
    workload = WorkloadConfig(
        inter_arrival or FixedLatency(1_000.0), FixedLatency(runtime_ms), 1, (1,), 1.0, 0.0, 0.0
    )
    return SimulationConfig(
        duration_ms,
        1,
        store,
        catalog or CASCatalog(store, 1, (1,)),
        Workload(workload, 1),
        ProbabilisticConflictDetector(0.0),
    )


# Submitted at 1,000: read until 1,004, work until 1,104, manifests until 1,125, swap at 1,130, answer at 1,135.
@pytest.mark.parametrize(
    ("duration_ms", "launched", "committed", "seq"),
    [
        (1_000.0, 0, 0, 0),
        (1_000.5, 1, 0, 0),
        (1_130.0, 1, 0, 0),
        (1_130.5, 1, 0, 1),
        (1_135.0, 1, 0, 1),
        (1_135.5, 1, 1, 1),
        (2_000.0, 1, 1, 1),
    ],
)
def test_what_is_due_at_the_end_does_not_happen(
    duration_ms: float, launched: int, committed: int, seq: int, fixed_store: FixedStore
) -> None:
    statistics = Simulation(_fixed(fixed_store(), duration_ms)).run()
    assert (statistics.launched, statistics.committed, statistics.seq) == (launched, committed, seq)


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [
        # catalog read, per attempt, commit, commit latency, unfinished, manifest-list reads
        (1_003.0, (0.0, 0.0, 0.0, 0.0, 3.0, 0)),
        (1_050.0, (4.0, 0.0, 0.0, 0.0, 46.0, 0)),
        (1_110.0, (4.0, 0.0, 0.0, 6.0, 6.0, 0)),
        (1_127.0, (4.0, 21.0, 0.0, 23.0, 2.0, 1)),
        (1_132.0, (4.0, 21.0, 0.0, 28.0, 7.0, 1)),
    ],
)
def test_an_operation_counts_when_it_is_complete(
    duration_ms: float, expected: tuple[float, ...], fixed_store: FixedStore
) -> None:
    row = Simulation(_fixed(fixed_store(), duration_ms)).run().to_dataframe().iloc[0]
    names = ["catalog_read_ms", "per_attempt_io_ms", "catalog_commit_ms", "commit_latency"]
    assert tuple(row[[*names, "unfinished_ms", "manifest_list_reads"]]) == expected


def test_ties_are_resolved_in_order_of_transaction_id(fixed_store: FixedStore) -> None:
    # All arrive at once and do everything at the same instants: each round, the lowest id wins.
    config = _fixed(fixed_store(), 500.0, inter_arrival=_AllAtOnce(4))
    statistics = Simulation(config).run()
    frame = statistics.to_dataframe()
    assert frame["n_retries"].tolist() == [0, 1, 2, 3]
    # 135 for the first attempt; 4 + 21 + 10 for each further one.
    assert frame["t_commit"].tolist() == [135.0, 170.0, 205.0, 240.0]


class _AllAtOnce(LatencyDistribution):
    """So many arrivals at time 0, then none for a long time."""

    def __init__(self, count: int) -> None:
        self._left = count

    def sample(self, rng: np.random.RandomState) -> float:
        self._left -= 1
        # A runner that loses its place would ask for ever: better to fail than to hang.
        assert self._left > -100, "arrivals without end"
        return 0.0 if self._left >= 0 else 1e9


class _Backwards(InstantCatalog):
    """Its first wait is negative."""

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        yield -1.0
        return (yield from super().read(timestamp_ms))


class _NotANumber(InstantCatalog):
    """Its first wait is no number."""

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        yield float("nan")
        return (yield from super().read(timestamp_ms))


class _LaterBackwards(InstantCatalog):
    """A wait of it is negative when others have already passed."""

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        snapshot = yield from super().read(timestamp_ms)
        yield -0.5
        return snapshot


class _LaterNotANumber(InstantCatalog):
    """A wait of it is no number when others have already passed."""

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        snapshot = yield from super().read(timestamp_ms)
        yield float("nan")
        return snapshot


@pytest.mark.parametrize("kind", [_Backwards, _NotANumber, _LaterBackwards, _LaterNotANumber])
def test_a_wait_that_is_not_zero_or_more_is_refused(
    kind: type[InstantCatalog], fixed_store: FixedStore
) -> None:
    config = _fixed(fixed_store(), 2_000.0, inter_arrival=_AllAtOnce(1), catalog=kind(1, (1,)))
    with pytest.raises(ValueError, match="waits must be 0 or more"):
        Simulation(config).run()


# -- determinism ---------------------------------------------------------------------------------------------------


@_CATALOGS
def test_the_same_configuration_object_gives_the_same_run_twice(catalog: str) -> None:
    config = _busy(catalog=catalog)
    simulation = Simulation(config)
    first = simulation.run().digest()
    assert simulation.run().digest() == first
    assert Simulation(config).run().digest() == first
    assert Simulation(_busy(catalog=catalog)).run().digest() == first
    assert config.catalog.seq == 0


def test_another_seed_gives_another_run() -> None:
    assert Simulation(_busy(seed=3)).run().digest() != Simulation(_busy(seed=4)).run().digest()


def test_without_a_seed_one_is_drawn_and_reported() -> None:
    statistics = Simulation(_busy(duration_ms=100.0)).run()
    assert statistics.seed == 3
    drawn = Simulation(replace(_busy(duration_ms=100.0), seed=None)).run()
    assert drawn.seed is not None


def test_numpys_global_stream_is_left_untouched() -> None:
    np.random.seed(77)
    expected = np.random.RandomState(77).random_sample(3).tolist()
    first = np.random.random_sample()
    Simulation(_busy(duration_ms=2_000.0)).run()
    assert [first, *np.random.random_sample(2)] == expected


def test_numpys_global_stream_does_not_change_a_run() -> None:
    np.random.seed(1)
    one = Simulation(_busy(duration_ms=2_000.0)).run().digest()
    np.random.seed(2)
    assert Simulation(_busy(duration_ms=2_000.0)).run().digest() == one


class _GlobalRuntime(LatencyDistribution):
    """A user's distribution that draws from NumPy's global stream after all."""

    def sample(self, rng: np.random.RandomState) -> float:
        return float(np.random.random_sample()) * 100.0


def test_components_on_the_global_stream_are_seeded_too() -> None:
    config = WorkloadConfig(FixedLatency(50.0), _GlobalRuntime(), 2, (3, 3))
    busy = _busy(duration_ms=2_000.0, workload=Workload(config, 3))
    assert Simulation(busy).run().digest() == Simulation(busy).run().digest()


# Arrivals at multiples of 25 ms meet the ends of the progress slices exactly.
@pytest.mark.parametrize("inter_arrival", [ExponentialLatency(50.0), FixedLatency(25.0)])
def test_watching_progress_changes_nothing(inter_arrival: LatencyDistribution) -> None:
    config = _busy()
    workload = Workload(replace(config.workload.config, inter_arrival=inter_arrival), 3)
    config = replace(config, workload=workload)
    seen: list[Progress] = []
    watched = Simulation(config).run(on_progress=seen.append)
    assert watched.digest() == Simulation(config).run().digest()
    assert len(seen) > 10
    assert [p.now_ms for p in seen] == sorted(p.now_ms for p in seen)
    assert all(p.duration_ms == 10_000.0 for p in seen)
    assert seen[-1].committed <= watched.committed


def _arrivals(statistics: Statistics) -> list[list[Any]]:
    frame = statistics.to_dataframe()
    return frame[["t_submit", "t_runtime", "operation_type"]].to_numpy().tolist()


@pytest.mark.parametrize("provider", ["s3", "azure", "gcp", "instant"])
def test_another_provider_leaves_the_arrivals_as_they_were(provider: str) -> None:
    usual, other = Simulation(_busy()).run(), Simulation(_busy(provider)).run()
    assert _arrivals(other) == _arrivals(usual)
    assert other.digest() != usual.digest()


@pytest.mark.parametrize(
    "changes", [{"max_retries": 0}, {"ml_append_mode": True}, {"backoff_enabled": True}]
)
def test_other_settings_leave_the_arrivals_as_they_were(changes: dict[str, Any]) -> None:
    usual, other = Simulation(_busy()).run(), Simulation(_busy(**changes)).run()
    assert _arrivals(other) == _arrivals(usual)
    assert other.digest() != usual.digest()


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    short, long = Simulation(_busy(duration_ms=5_000.0)).run(), Simulation(_busy()).run()
    assert list(short.transactions) == long.transactions[: len(short.transactions)]
