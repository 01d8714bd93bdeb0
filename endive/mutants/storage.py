"""Faults of stores: floors, batches and where randomness comes from."""

from __future__ import annotations

from endive import express
from endive.catalog import PointerCatalog
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.cost_model import payment
from endive.mutants import witnesses as on
from endive.mutants.model import Mutant, Shows
from endive.mutants.patch import edited, together
from endive.sampling import OperationSampler
from endive.storage import ProfileStorageProvider
from endive.transaction import Backoff
from endive.transaction.payer import Payer
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
    Mutant(
        "wait-without-storage",
        "a payment waits longer than its storage operations take",
        "idea: every millisecond is explained",
        ("storage-explains-payments",),
        on.CROWD,
        edited(
            Payer.pay,
            ("paid_ms = total_of_uses_ms(uses)", "paid_ms = total_of_uses_ms(uses) + 5.0"),
        ),
    ),
    Mutant(
        "storage-duration-forgotten",
        "the time of the last storage operation of a payment is forgotten",
        "trap: a latency drawn and not waited for",
        ("storage-explains-payments",),
        on.CROWD,
        edited(
            Payer.pay,
            ("paid_ms = total_of_uses_ms(uses)", "paid_ms = total_of_uses_ms(uses[:-1])"),
        ),
    ),
    Mutant(
        "one-list-less-than-counted",
        "the convoy reads one list less than its row counts",
        "Specification §8.3: exactly N",
        ("storage-explains-payments",),
        on.CROWD,
        edited(
            payment,
            (
                "if count := cost.historical_ml_reads:",
                "if count := max(0, cost.historical_ml_reads - 1):",
            ),
        ),
    ),
    Mutant(
        "swap-shorter-than-told",
        "a commit call is over before its swap is",
        "Specification §2.3: one round trip",
        ("storage-explains-payments",),
        on.CROWD,
        edited(
            PointerCatalog.commit,
            ("yield rest_ms\n", "yield rest_ms * 0.5\n"),
        ),
    ),
    Mutant(
        "express-storage-duration-forgotten",
        "the express lane does not wait for its manifest list",
        "trap: a latency drawn and not waited for",
        ("time-conserved",),
        on.EXPRESS,
        edited(
            express.execute,
            ("paid_ms = list_ms + file_ms + put_ms", "paid_ms = list_ms + file_ms"),
        ),
    ),
)
