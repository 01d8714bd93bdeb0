"""Storage providers (§1): latency-bearing operations on an object store, as generators of milliseconds.

There is one provider class; what distinguishes S3 from Azure is a profile (`endive.profiles`). An operation draws its latency
when it starts and takes effect at the store's *effect point*, a fraction of that latency (docs/MODEL.md, section 3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from endive.errors import UnsupportedOperationError
from endive.latency import (
    ExponentialLatency,
    FixedLatency,
    LatencyDistribution,
    LognormalLatency,
    NormalDriven,
    NormalLatency,
    ShiftedLatency,
    SizeBasedLatency,
    UniformLatency,
)
from endive.profiles import ProviderProfile
from endive.sampling import OperationSampler
from endive.utils import NormalStream

__all__ = [
    "ExponentialLatency",
    "FixedLatency",
    "LatencyDistribution",
    "LognormalLatency",
    "NormalLatency",
    "ObjectSizes",
    "ProfileStorageProvider",
    "ShiftedLatency",
    "SizeBasedLatency",
    "StorageProvider",
    "StorageResult",
    "UniformLatency",
    "UnsupportedOperationError",
    "create_provider",
]

OnEffect = Callable[[bool, float], None]
"""Called at the effect point with (success, milliseconds since the call)."""

# Which latency of the profile an operation takes by default, if the profile has it.
PROFILE_LATENCY: Mapping[str, str] = {
    "catalog.read": "cas",
    "catalog.cas": "cas",
    "catalog.cas_failure": "cas_failure",
    "catalog.compaction": "cas",
    "catalog.append": "append",
    "catalog.append_failure": "append_failure",
    "manifest_list.read": "put",
    "manifest_list.write": "put",
    "manifest_list.append": "append",
    "manifest_list.append_failure": "append_failure",
    "manifest_file.read": "put",
    "manifest_file.write": "put",
    "table_metadata.read": "put",
    "table_metadata.write": "put",
}
CHECKPOINT_KEY = "catalog/checkpoint"
"""The object that a compaction of the catalog's log replaces."""

_TRANSFERRING = {"catalog.read", "catalog.cas", "catalog.compaction"}
# Sizes that grow are all different, and samplers cost nothing to find again.
_SAMPLERS_KEPT = 4096
_ANY_ARTIFACT = {"read": "put", "write": "put", "cas": "cas", "append": "append"}

# What a subclass must leave alone for the short cuts of catalogs and payments to be exact.
_SHORT_CUT = (
    "read",
    "write",
    "cas",
    "append",
    "sampler",
    "latency_ms",
    "batch_ms",
    "rest_ms",
    "swap",
)


@dataclass(frozen=True)
class StorageResult:
    """What a storage operation tells its caller.

    `data_size_bytes` is the size moved; for an append it is the object's length after the operation, which is all
    that a failed append learns.
    """

    success: bool
    latency_ms: float
    data_size_bytes: int


@dataclass(frozen=True, slots=True)
class ObjectSizes:
    """Bytes per artifact (assumed; docs/MODEL.md, section 3)."""

    catalog: int = 16_384
    manifest_list: int = 16_384
    manifest_file: int = 65_536
    table_metadata: int = 16_384


class ManifestSamplers(NamedTuple):
    """What draws the latencies of manifests of the usual size."""

    read_list: OperationSampler
    write_list: OperationSampler
    read_file: OperationSampler
    write_file: OperationSampler
    append_list: OperationSampler | None
    """None where the store knows no append."""


class StorageProvider(ABC):
    """An object store with conditional writes."""

    max_parallel: int = 4
    """How many operations of one batch job run at the same time."""
    sizes: ObjectSizes = ObjectSizes()
    is_plain: bool = False
    """Whether all operations are the built-in ones, so that sampling them directly changes nothing."""

    def __init__(self, rng: np.random.RandomState) -> None:
        self._rng = rng

    @abstractmethod
    def read(self, key: str, expected_size_bytes: int) -> Generator[float, None, StorageResult]:
        """Read an object."""

    @abstractmethod
    def write(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        """Write an object, whatever was there."""

    @abstractmethod
    def cas(
        self, key: str, expected_version: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        """Replace an object iff its version is the expected one."""

    @abstractmethod
    def append(
        self, key: str, offset: int, size_bytes: int
    ) -> Generator[float, None, StorageResult]:
        """Extend an object iff its length is the expected offset."""

    @abstractmethod
    def tail_append(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        """Extend an object wherever it ends."""

    def length(self, key: str) -> int:
        """Where an object that is appended to ends. A store whose `append` compares offsets must know."""
        return 0

    @property
    def supports_cas(self) -> bool:
        """Whether `cas` works here."""
        return False

    @property
    def supports_append(self) -> bool:
        """Whether `append` works here."""
        return False

    @property
    def supports_tail_append(self) -> bool:
        """Whether `tail_append` works here."""
        return False

    @property
    def name(self) -> str:
        """The provider's short name."""
        return type(self).__name__

    @property
    def min_latency_ms(self) -> float:
        """The floor under every latency of this store (§8.6)."""
        return 0.0


class ProfileStorageProvider(StorageProvider):
    """The one provider: a profile, a random stream, and the state that conditional writes compare with."""

    def __init__(
        self,
        rng: np.random.RandomState,
        profile: ProviderProfile,
        *,
        latency: Mapping[str, LatencyDistribution] | None = None,
        effect_point: float | None = None,
        min_latency_ms: float | None = None,
        max_parallel: int = 4,
        sizes: ObjectSizes | None = None,
        charges_transfer: bool = False,
    ) -> None:
        super().__init__(rng)
        self._profile = profile
        # Catalog operations whose bytes are paid for on top of the profile's draw.
        self._transferring = frozenset(
            _TRANSFERRING - set(latency or {}) if charges_transfer else ()
        )
        self._min_latency_ms = (
            profile.min_latency_ms.value if min_latency_ms is None else min_latency_ms
        )
        self.effect_point = profile.effect_point.value if effect_point is None else effect_point
        self.max_parallel = max_parallel
        self.sizes = sizes or ObjectSizes()
        self._distributions = self._distributions_of(profile, latency or {})
        self._normals = NormalStream(rng)
        self._versions: dict[str, int] = {}
        self._lengths: dict[str, int] = {}
        self._find_samplers()
        self.is_plain = all(
            getattr(type(self), name) is getattr(ProfileStorageProvider, name)
            for name in _SHORT_CUT
        )

    def _distributions_of(
        self, profile: ProviderProfile, replaced: Mapping[str, LatencyDistribution]
    ) -> dict[str, LatencyDistribution]:
        floor_ms = self._min_latency_ms
        found: dict[str, LatencyDistribution] = {}
        for operation, source in (*PROFILE_LATENCY.items(), *_ANY_ARTIFACT.items()):
            if source in profile.latency:
                found[operation] = profile.latency[source].build(floor_ms)
        for operation, distribution in replaced.items():
            if isinstance(distribution, (NormalDriven, FixedLatency)):
                distribution = distribution.with_floor(floor_ms)
            found[operation] = distribution
        return found

    # -- sampling ------------------------------------------------------------------------------------------------

    def _find_samplers(self) -> None:
        # Per operation and size: found once, used a million times.
        self._samplers: dict[tuple[str, int], OperationSampler] = {}
        lists, files = self.sizes.manifest_list, self.sizes.manifest_file
        self.manifest_samplers = ManifestSamplers(
            self.sampler("manifest_list.read", lists),
            self.sampler("manifest_list.write", lists),
            self.sampler("manifest_file.read", files),
            self.sampler("manifest_file.write", files),
            self.sampler("manifest_list.append", lists)
            if "manifest_list.append" in self._distributions
            else None,
        )

    def __getstate__(self) -> dict[str, Any]:
        # Samplers are bound to this very store's stream: a copy must find its own.
        return {name: value for name, value in vars(self).items() if not name.endswith("_samplers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find_samplers()

    def sampler(self, operation: str, size_bytes: int) -> OperationSampler:
        """What draws the latency of one operation, such as `catalog.cas`, on an object of this size."""
        found = self._samplers.get((operation, size_bytes))
        if found is None:
            distribution = self.distribution(operation, size_bytes)
            if operation in self._transferring:
                assert isinstance(distribution, NormalDriven)
                distribution = ShiftedLatency(distribution, self._transfer_ms(size_bytes))
            found = OperationSampler(distribution, self._normals, self._rng)
            if len(self._samplers) >= _SAMPLERS_KEPT:
                self._samplers.clear()
            self._samplers[operation, size_bytes] = found
        return found

    def _transfer_ms(self, size_bytes: int) -> float:
        """What the bytes of an object take on the wire, as the PUT model of the profile has it."""
        put = self._profile.latency["put"].build(0.0)
        assert isinstance(put, SizeBasedLatency)
        return put.latency_per_mib_ms * size_bytes / 2**20

    def latency_ms(self, operation: str, size_bytes: int) -> float:
        """Draw the latency of one operation on an object of this size."""
        return self.sampler(operation, size_bytes).draw_ms()

    def batch_ms(self, operation: str, size_bytes: int, count: int) -> float:
        """Draw `count` operations run in batches of `max_parallel`, each batch as slow as its slowest."""
        return self.sampler(operation, size_bytes).batch_ms(count, self.max_parallel)

    def distribution(self, operation: str, size_bytes: int = 0) -> LatencyDistribution:
        """The latency distribution of an operation on an object of this size."""
        found = self._distributions.get(operation)
        if found is None:
            found = self._distributions[operation.rpartition(".")[2]]
        return found.at_size(size_bytes) if isinstance(found, SizeBasedLatency) else found

    def rest_ms(self, operation: str, size_bytes: int, drawn_ms: float, success: bool) -> float:
        """What remains after the effect point; a failure has its own total latency where one is known."""
        to_effect_ms = drawn_ms * self.effect_point
        if not success and self.has_failure_latency(operation):
            failed_ms = self.latency_ms(f"{operation}_failure", size_bytes)
            return failed_ms - to_effect_ms if failed_ms > to_effect_ms else 0.0
        return drawn_ms - to_effect_ms

    def has_failure_latency(self, operation: str) -> bool:
        """Whether the failures of a conditional operation have a latency of their own."""
        return f"{operation}_failure" in self._distributions

    # -- effects -------------------------------------------------------------------------------------------------

    def swap(self, key: str, expected_version: int) -> bool:
        """Compare and swap at this very instant: the effect of `cas`."""
        if self._versions.get(key, 0) != expected_version:
            return False
        self._versions[key] = expected_version + 1
        return True

    def extend(self, key: str, offset: int | None, size_bytes: int) -> bool:
        """Extend at this very instant: the effect of `append`, or of `tail_append` if no offset is given."""
        length = self._lengths.get(key, 0)
        if offset is not None and offset != length:
            return False
        self._lengths[key] = length + size_bytes
        return True

    def length(self, key: str) -> int:
        """The length of an object that is appended to."""
        return self._lengths.get(key, 0)

    # -- operations (§1.1) ---------------------------------------------------------------------------------------

    def read(
        self, key: str, expected_size_bytes: int, *, on_effect: OnEffect | None = None
    ) -> Generator[float, None, StorageResult]:
        """Read an object; it is seen as it was at the effect point."""
        drawn_ms = self.latency_ms(f"{_artifact(key)}.read", expected_size_bytes)
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        if on_effect is not None:
            on_effect(True, to_effect_ms)
        yield drawn_ms - to_effect_ms
        return StorageResult(True, drawn_ms, expected_size_bytes)

    def write(self, key: str, size_bytes: int) -> Generator[float, None, StorageResult]:
        """Write an object, whatever was there."""
        drawn_ms = self.latency_ms(f"{_artifact(key)}.write", size_bytes)
        yield drawn_ms
        return StorageResult(True, drawn_ms, size_bytes)

    def cas(
        self, key: str, expected_version: int, size_bytes: int, *, on_effect: OnEffect | None = None
    ) -> Generator[float, None, StorageResult]:
        """Replace an object iff its version is the expected one; versions count up from 0."""
        self._require(self.supports_cas, "cas")
        return self._cas(key, expected_version, size_bytes, on_effect)

    def _cas(
        self, key: str, expected_version: int, size_bytes: int, on_effect: OnEffect | None
    ) -> Generator[float, None, StorageResult]:
        operation = f"{_artifact(key)}.cas"
        # Swapping the checkpoint of the catalog's log is what compaction is.
        drawn = "catalog.compaction" if key == CHECKPOINT_KEY else operation
        drawn_ms = self.latency_ms(drawn, size_bytes)
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        success = self.swap(key, expected_version)
        if on_effect is not None:
            on_effect(success, to_effect_ms)
        rest_ms = self.rest_ms(operation, size_bytes, drawn_ms, success)
        yield rest_ms
        return StorageResult(success, to_effect_ms + rest_ms, size_bytes)

    def append(
        self, key: str, offset: int, size_bytes: int, *, on_effect: OnEffect | None = None
    ) -> Generator[float, None, StorageResult]:
        """Extend an object iff its length is the expected offset. Success is physical only (§8.9)."""
        self._require(self.supports_append, "append")
        return self._extend(key, offset, size_bytes, on_effect)

    def tail_append(
        self, key: str, size_bytes: int, *, on_effect: OnEffect | None = None
    ) -> Generator[float, None, StorageResult]:
        """Extend an object wherever it ends."""
        self._require(self.supports_tail_append, "tail_append")
        return self._extend(key, None, size_bytes, on_effect)

    def _extend(
        self, key: str, offset: int | None, size_bytes: int, on_effect: OnEffect | None
    ) -> Generator[float, None, StorageResult]:
        operation = f"{_artifact(key)}.append"
        drawn_ms = self.latency_ms(operation, size_bytes)
        to_effect_ms = drawn_ms * self.effect_point
        yield to_effect_ms
        success = self.extend(key, offset, size_bytes)
        length = self.length(key)
        if on_effect is not None:
            on_effect(success, to_effect_ms)
        rest_ms = self.rest_ms(operation, size_bytes, drawn_ms, success)
        yield rest_ms
        return StorageResult(success, to_effect_ms + rest_ms, length)

    def _require(self, supported: bool, operation: str) -> None:
        if not supported:
            raise UnsupportedOperationError(
                f"provider {self.name!r} has no {operation}; choose a provider that supports it "
                "(endive providers)"
            )

    # -- capabilities (§1.3) -------------------------------------------------------------------------------------

    @property
    def supports_cas(self) -> bool:
        """Whether `cas` works here."""
        return self._profile.supports_cas

    @property
    def supports_append(self) -> bool:
        """Whether `append` works here."""
        return self._profile.supports_append

    @property
    def supports_tail_append(self) -> bool:
        """Whether `tail_append` works here."""
        return self._profile.supports_tail_append

    @property
    def name(self) -> str:
        """The provider's short name."""
        return self._profile.name

    @property
    def min_latency_ms(self) -> float:
        """The floor under every latency of this store (§8.6)."""
        return self._min_latency_ms


def create_provider(
    name: str,
    rng: np.random.RandomState,
    profiles: Mapping[str, ProviderProfile],
    *,
    latency: Mapping[str, LatencyDistribution] | None = None,
    effect_point: float | None = None,
    min_latency_ms: float | None = None,
    max_parallel: int = 4,
    sizes: ObjectSizes | None = None,
    charges_transfer: bool = False,
) -> ProfileStorageProvider:
    """The provider of this name, drawing from `rng`; keywords replace figures of its profile."""
    if name not in profiles:
        raise ValueError(f"unknown provider {name!r}; there are {', '.join(profiles)}")
    return ProfileStorageProvider(
        rng,
        profiles[name],
        latency=latency,
        effect_point=effect_point,
        min_latency_ms=min_latency_ms,
        max_parallel=max_parallel,
        sizes=sizes,
        charges_transfer=charges_transfer,
    )


def total_ms(operation: Generator[float, None, object]) -> float:
    """Run an operation of which only the end matters at once, and say how long it takes."""
    elapsed_ms = 0.0
    for wait_ms in operation:
        elapsed_ms += wait_ms
    return elapsed_ms


def _artifact(key: str) -> str:
    return key.partition("/")[0]
