"""Faults of stores: floors, batches and where randomness comes from."""

from __future__ import annotations

from endive.conflict_detector import ProbabilisticConflictDetector
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant, Shows
from endive.mutants.patch import edited, together
from endive.sampling import OperationSampler
from endive.storage import ProfileStorageProvider
from endive.transaction import Backoff
from endive.utils import UniformStream

MUTANTS = (
    Mutant(
        "floor-ignored",
        "latencies fall below the floor of the store",
        "Specification §8.6",
        ("latency-floor",),
        on.HIGH_FLOOR,
        edited(
            ProfileStorageProvider._distributions_of,
            ("floor_ms = self._min_latency_ms", "floor_ms = 0.001"),
        ),
    ),
    Mutant(
        "all-at-once",
        "a convoy of any length takes one batch",
        "Simulator Internals: batches of MAX_PARALLEL",
        ("latency-floor",),
        on.HIGH_FLOOR,
        edited(
            OperationSampler.batch_ms,
            ("if count < _VECTOR_FROM", "width = count\n    if count < _VECTOR_FROM"),
        ),
    ),
    Mutant(
        "unseeded-latency",
        "a store draws from a stream that nobody seeded",
        "Specification §8.5",
        ("same-seed-same-run",),
        on.TWICE,
        edited(
            ProfileStorageProvider.__init__,
            ("NormalStream(rng)", "NormalStream(np.random.RandomState())"),
        ),
        shows=Shows.PAIR,
    ),
    Mutant(
        "unseeded-detector",
        "the detector draws from a stream that nobody seeded",
        "Specification §8.5",
        ("same-seed-same-run",),
        on.TWICE,
        edited(
            ProbabilisticConflictDetector.is_real_conflict,
            ("self._rng.random_sample()", "np.random.RandomState().random_sample()"),
        ),
        shows=Shows.PAIR,
    ),
    Mutant(
        "shared-stream",
        "backoff and workload draw from one stream",
        "trap: one random stream shared by two components",
        ("streams-independent",),
        on.OTHER_STORE,
        together(
            edited(
                UniformStream.random_sample,
                ("return self._values.pop()", "return float(np.random.random_sample())"),
            ),
            edited(
                Backoff.wait_ms, ("self.rng.random_sample()", "float(np.random.random_sample())")
            ),
        ),
        shows=Shows.PAIR,
    ),
)
