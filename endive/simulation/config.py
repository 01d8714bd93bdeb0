"""What a run is made of (§6.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from endive.catalog import Catalog
from endive.storage import StorageProvider
from endive.transaction import PLAIN, CommitOptions, ConflictDetector
from endive.workload import Load, Workload


@dataclass(frozen=True)
class SimulationConfig:
    """Everything a run needs. The parts are templates: a run works on copies of them."""

    duration_ms: float
    seed: int | None

    storage_provider: StorageProvider
    catalog: Catalog
    workload: Workload
    conflict_detector: ConflictDetector

    max_retries: int = 10
    ml_append_mode: bool = False

    backoff_enabled: bool = False
    backoff_base_ms: float = 10.0
    backoff_multiplier: float = 2.0
    backoff_max_ms: float = 5000.0
    backoff_jitter: float = 0.1

    backoff_jitter_mode: str = field(default="both", kw_only=True)
    loads: tuple[Load, ...] = field(default=(), kw_only=True)
    """Who submits transactions, class by class; empty: the one open load of `workload`."""
    options: CommitOptions = field(default=PLAIN, kw_only=True)
    """What shapes commits beyond the specification."""
    log_entry_size: int = field(default=100, kw_only=True)
    records_attempts: bool = field(default=False, kw_only=True)
    """Whether every commit attempt gets a row of its own."""
    records_trace: bool = field(default=False, kw_only=True)
    """Whether everything that happens is kept, event by event."""
    express_lane: bool = field(default=True, kw_only=True)
    """Whether the flat form of the protocol may be used where it applies. It changes nothing but the time it takes."""

    def __post_init__(self) -> None:
        streams = [(load.workload.seed, load.workload.config.class_index) for load in self.loads]
        if len(set(streams)) < len(streams):
            raise ValueError(
                "two loads draw from the same random streams; give each its own class_index"
            )
