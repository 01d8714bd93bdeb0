"""The experiment behind the data: closed-loop clients that hammer one key with conditional writes.

It runs on the simulator's own store and event loop: every attempt is a `cas` or an `append` of a
`ProfileStorageProvider`, which draws the latency and applies effect point, failure latency and floor, and the waits become
time in the runner's environment. Only the client is new. A `Transaction` cannot stand in for it: it reads the catalog
before it commits, and the measured client does not (docs/CALIBRATION.md).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from endive.calibration.data import THREADS, Operation
from endive.profiles import Figure, LatencyFigures, ProviderProfile
from endive.simulation.environment import Environment
from endive.storage import ProfileStorageProvider
from endive.utils import Purpose, random_stream

_KEY = "catalog/calibration"
# Any size will do: the conditional writes of a profile do not depend on it.
_SIZE_BYTES = 100
# Clients that all start at once are in step for a while; what they do then is not counted.
_WARM_UP_ROUNDS = 60
_FIRST_PRIORITY = 1
_SOURCE = "calibration"
_SQRT2 = math.sqrt(2.0)


class Client(Enum):
    """How a client whose write was refused learns what to expect next time. A winner knows its own version."""

    TOLD = "told"
    """The refusal tells the version as of its effect point, as a failed append tells the length."""
    READS_WITHIN = "reads-within"
    """The client reads within what counts as the refused operation: it knows the version as of its end."""
    READS_AFTER = "reads-after"
    """The client reads before it tries again, and the time of that read belongs to no operation."""


@dataclass(frozen=True, slots=True)
class StoreModel:
    """What a profile says of one conditional write: effect point, latency, and latency when refused."""

    effect_point: float
    median_ms: float
    sigma: float
    floor_ms: float
    refused_median_ms: float | None = None
    """None: a refused write takes as long as one that is applied."""
    refused_sigma: float = 0.0

    @classmethod
    def of_profile(cls, profile: ProviderProfile, operation: Operation) -> StoreModel:
        """What this profile says of an operation."""
        latency = profile.latency[operation.latency].figures
        refused = profile.latency.get(f"{operation.latency}_failure")
        return cls(
            effect_point=profile.effect_point.value,
            median_ms=latency["median"].value,
            sigma=latency["sigma"].value,
            floor_ms=profile.min_latency_ms.value,
            refused_median_ms=None if refused is None else refused.figures["median"].value,
            refused_sigma=0.0 if refused is None else refused.figures["sigma"].value,
        )

    @property
    def refused_mean_ms(self) -> float | None:
        """The mean latency of a refused write, where it has a latency of its own."""
        if self.refused_median_ms is None:
            return None
        return mean_ms(self.refused_median_ms, self.refused_sigma, self.floor_ms)

    def build_store(self, operation: Operation, seed: int) -> ProfileStorageProvider:
        """A store of the simulator whose profile says this of the operation."""
        figures = {operation.latency: _lognormal(self.median_ms, self.sigma)}
        if self.refused_median_ms is not None:
            figures[f"{operation.latency}_failure"] = _lognormal(
                self.refused_median_ms, self.refused_sigma
            )
        # A client that reads is served like one that writes; plain writes, which a store must have, occur to nobody.
        figures.setdefault("cas", figures[operation.latency])
        figures["put"] = figures[operation.latency]
        profile = ProviderProfile(
            name="calibration",
            title="A store under calibration",
            supports_cas=True,
            supports_append=True,
            supports_tail_append=False,
            min_latency_ms=Figure(self.floor_ms, _SOURCE),
            effect_point=Figure(self.effect_point, _SOURCE),
            latency=figures,
            fit={},
            text="",
        )
        return ProfileStorageProvider(random_stream(seed, Purpose.STORAGE), profile)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the clients of one run met with."""

    failure_rate: float
    ok_per_s: float
    mean_ms: float
    p50_ms: float
    p99_ms: float
    refused_ms: float
    """The mean latency of refused attempts; 0 if there were none."""

    @property
    def tail(self) -> float:
        """How much slower than the median the slowest hundredth is, at least."""
        return self.p99_ms / self.p50_ms


class _Key:
    """The one key that all clients write to, and what has become of their attempts."""

    def __init__(self, store: ProfileStorageProvider, operation: Operation, client: Client) -> None:
        self._store = store
        self._write = store.cas if operation is Operation.CAS else store.append
        # A version counts up by 1, a length by the size of a record.
        self._step = 1 if operation is Operation.CAS else _SIZE_BYTES
        self._client = client
        self.state = 0
        self.forget()

    def forget(self) -> None:
        """Begin to count."""
        self.refused = 0
        self.refused_ms = 0.0
        self.won_ms: list[float] = []

    @property
    def attempts(self) -> int:
        """How many attempts have ended."""
        return self.refused + len(self.won_ms)

    def hammer(self, first_wait_ms: float) -> Generator[float, None, None]:
        """One client: try, learn, and try again at once."""
        known = 0

        def learn(success: bool, _elapsed_ms: float) -> None:
            nonlocal known
            if success:
                self.state += self._step
            known = self.state

        yield first_wait_ms
        while True:
            result = yield from self._write(_KEY, known, _SIZE_BYTES, on_effect=learn)
            if result.success:
                self.won_ms.append(result.latency_ms)
                continue
            self.refused += 1
            self.refused_ms += result.latency_ms
            if self._client is Client.READS_WITHIN:
                known = self.state
            elif self._client is Client.READS_AFTER:
                yield from self._store.read(
                    _KEY, _SIZE_BYTES, on_effect=lambda _success, ms: learn(False, ms)
                )


def simulate(
    model: StoreModel,
    operation: Operation,
    threads: int,
    *,
    attempts: int,
    seed: int,
    client: Client = Client.READS_WITHIN,
) -> Outcome:
    """Let so many clients hammer one key until they have made about so many attempts in all."""
    key = _Key(model.build_store(operation, seed), operation, client)
    environment = Environment(_FIRST_PRIORITY)
    typical_ms = mean_ms(model.median_ms, model.sigma, model.floor_ms)
    for place in range(threads):
        first_wait_ms = typical_ms * place / threads
        environment.drive(key.hammer(first_wait_ms), _FIRST_PRIORITY + place)
    begin_ms = _WARM_UP_ROUNDS * max(typical_ms, (model.refused_mean_ms or 0.0) / threads)
    environment.run_until(begin_ms)
    key.forget()
    end_ms, slice_ms = begin_ms, typical_ms * attempts / (2 * max(THREADS))
    while key.attempts < attempts:
        end_ms += slice_ms
        environment.run_until(end_ms)
    p50_ms, p99_ms = np.percentile(key.won_ms, (50.0, 99.0)).tolist()
    return Outcome(
        failure_rate=key.refused / key.attempts,
        ok_per_s=1000.0 * len(key.won_ms) / (end_ms - begin_ms),
        mean_ms=math.fsum(key.won_ms) / len(key.won_ms),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        refused_ms=key.refused_ms / max(key.refused, 1),
    )


def mean_ms(median_ms: float, sigma: float, floor_ms: float) -> float:
    """The mean of a lognormal that is raised to a floor."""
    if sigma == 0.0:
        return max(median_ms, floor_ms)
    distance = math.log(floor_ms / median_ms) / sigma
    at_floor = 0.5 * math.erfc(-distance / _SQRT2)
    above = 0.5 * math.erfc((distance - sigma) / _SQRT2)
    return floor_ms * at_floor + median_ms * math.exp(sigma * sigma / 2.0) * above


def _lognormal(median_ms: float, sigma: float) -> LatencyFigures:
    return LatencyFigures(
        "lognormal", {"median": Figure(median_ms, _SOURCE), "sigma": Figure(sigma, _SOURCE)}
    )
