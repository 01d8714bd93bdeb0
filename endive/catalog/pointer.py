"""Catalogs with one atomic pointer (§2.3): compare-and-swap in storage, or with a fixed latency for tests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from endive.catalog.state import CatalogState, call_with_effect, read_through
from endive.catalog.types import (
    Catalog,
    CatalogSnapshot,
    CommitResult,
    IntentionRecord,
    make_commit_result,
    make_snapshot,
)
from endive.storage import ProfileStorageProvider, StorageProvider
from endive.trace import BACKGROUND_ID

POINTER_KEY = "catalog/pointer"


class PointerCatalog(Catalog):
    """One atomic pointer for all tables: any commit since `expected_seq` fails the swap (§2.1, contention note)."""

    draw_read_ms: Callable[[], float]
    draw_swap_ms: Callable[[], float]
    draw_failure_ms: Callable[[], float] | None = None
    effect_point: float
    size_bytes = 0
    """How large the object behind the pointer is, where there is one."""
    is_direct = True
    """Whether latencies are drawn by the samplers above, and not by a store's own generators."""

    def __init__(
        self,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        *,
        granularity: str = "catalog",
        manifests_per_table: int = 3,
        group_of: tuple[int, ...] = (),
    ) -> None:
        self.granularity = granularity
        self.state = CatalogState(
            num_tables,
            tuple(partitions_per_table),
            manifests_per_table=manifests_per_table,
            group_of=group_of,
        )

    def try_commit(
        self, expected_seq: int, writes: Mapping[int, int], intention: IntentionRecord | None
    ) -> bool:
        """Compare and swap at this very instant: the effect of `commit`."""
        state = self.state
        is_current = (
            state.seq == expected_seq
            if self.granularity == "catalog"
            else state.is_unchanged_since(expected_seq, self.granularity, writes, intention)
        )
        if is_current:
            self.land(writes, intention)
        elif state.witness is not None:
            txn_id = BACKGROUND_ID if intention is None else intention.txn_id
            state.witness.refused(txn_id, expected_seq, state.seq)
        return is_current

    def land(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """Apply a commit whatever was seen: what a swap does once it has won."""
        self.state.apply(writes, intention)
        if self.granularity == "partition":
            self.state.note_partitions(writes, intention)

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        """Read the pointer; the snapshot is captured at the effect point."""
        drawn_ms = self.draw_read_ms()
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        state = self.state
        snapshot = make_snapshot(
            state.seq, state.tables, timestamp_ms + to_effect_ms, state.details
        )
        if to_effect_ms < drawn_ms:
            yield drawn_ms - to_effect_ms
        if state.witness is not None:
            state.witness.was_read(self.size_bytes, drawn_ms)
        return snapshot

    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        """Swap the pointer in a single round trip."""
        drawn_ms = self.draw_swap_ms()
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        success = self.try_commit(expected_seq, writes, intention)
        rest_ms = drawn_ms - to_effect_ms
        if not success and self.draw_failure_ms is not None:
            rest_ms = max(0.0, self.draw_failure_ms() - to_effect_ms)
        if rest_ms > 0.0:
            yield rest_ms
        took_ms = to_effect_ms + rest_ms
        self._tell(intention, took_ms)
        return make_commit_result(success, took_ms)

    def _tell(self, intention: IntentionRecord | None, took_ms: float) -> None:
        """Tell the witness, if there is one, that a swap is over."""
        if self.state.witness is not None:
            txn_id = BACKGROUND_ID if intention is None else intention.txn_id
            self.state.witness.used(txn_id, "catalog", "cas", self.size_bytes, took_ms)

    @property
    def seq(self) -> int:
        """How many commits have been applied."""
        return self.state.seq


class CASCatalog(PointerCatalog):
    """The pointer is an object in storage, swapped by its conditional write."""

    def __init__(
        self,
        storage: StorageProvider,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        *,
        granularity: str = "catalog",
        manifests_per_table: int = 3,
        group_of: tuple[int, ...] = (),
        growth: int | None = None,
    ) -> None:
        """`growth` is how many bytes each table adds to the object; None: it has the size `storage.sizes.catalog`."""
        self._storage = storage
        self.size_bytes = storage.sizes.catalog + num_tables * (growth or 0)
        super().__init__(
            num_tables,
            partitions_per_table,
            granularity=granularity,
            manifests_per_table=manifests_per_table,
            group_of=group_of,
        )
        self._use_storage()

    def _use_storage(self) -> None:
        storage = self._storage
        if isinstance(storage, ProfileStorageProvider) and storage.is_plain:
            # Sampling a built-in store directly saves a layer of generators where it is hottest.
            self.draw_read_ms = storage.sampler("catalog.read", self.size_bytes).draw_ms
            self.draw_swap_ms = storage.sampler("catalog.cas", self.size_bytes).draw_ms
            self.effect_point = storage.effect_point
            if storage.has_failure_latency("catalog.cas"):
                failed = storage.sampler("catalog.cas_failure", self.size_bytes)
                self.draw_failure_ms = failed.draw_ms
        else:
            if self.granularity != "catalog":
                raise ValueError(
                    f"granularity {self.granularity!r} needs a built-in store: another one swaps one pointer for all"
                )
            self.is_direct = False

    def __getstate__(self) -> dict[str, Any]:
        # What is bound to this very store and catalog, a copy binds anew.
        bound = {"draw_read_ms", "draw_swap_ms", "draw_failure_ms"}
        return {name: value for name, value in vars(self).items() if name not in bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._use_storage()

    def land(self, writes: Mapping[int, int], intention: IntentionRecord | None) -> None:
        """Apply a commit whatever was seen: what a swap does once it has won."""
        if not self.is_direct:
            raise ValueError(
                "background commits need a built-in store: another one keeps the pointer"
            )
        super().land(writes, intention)

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        """Read the pointer; the snapshot is captured at the effect point."""
        if self.is_direct:
            return super().read(timestamp_ms)
        return read_through(self._storage, POINTER_KEY, self.size_bytes, self.state, timestamp_ms)

    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        """Swap the pointer in a single round trip."""
        if self.is_direct:
            return super().commit(expected_seq, writes, timestamp_ms, intention)
        return self._commit_through(expected_seq, writes, intention)

    def _commit_through(
        self, expected_seq: int, writes: Mapping[int, int], intention: IntentionRecord | None
    ) -> Generator[float, None, CommitResult]:
        def install(success: bool, _elapsed_ms: float) -> None:
            if success:
                self.state.apply(writes, intention)
            elif self.state.witness is not None:
                txn_id = BACKGROUND_ID if intention is None else intention.txn_id
                self.state.witness.refused(txn_id, expected_seq, self.state.seq)

        arguments = (POINTER_KEY, expected_seq, self.size_bytes)
        result = yield from call_with_effect(self._storage.cas, arguments, install)
        self._tell(intention, result.latency_ms)
        return CommitResult(result.success, result.latency_ms)


class InstantCatalog(PointerCatalog):
    """Fixed-latency compare-and-swap for testing; needs no storage."""

    def __init__(
        self,
        num_tables: int,
        partitions_per_table: tuple[int, ...],
        latency_ms: float = 1.0,
        *,
        effect_point: float = 0.5,
        granularity: str = "catalog",
        manifests_per_table: int = 3,
        group_of: tuple[int, ...] = (),
    ) -> None:
        def draw_ms() -> float:
            return latency_ms

        super().__init__(
            num_tables,
            partitions_per_table,
            granularity=granularity,
            manifests_per_table=manifests_per_table,
            group_of=group_of,
        )
        self.draw_read_ms = self.draw_swap_ms = draw_ms
        self.effect_point = effect_point
