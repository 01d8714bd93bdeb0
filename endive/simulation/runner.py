"""Runs one configuration: fresh parts, arrivals and transactions on one loop, and what became of them."""

from __future__ import annotations

import copy
import gc
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from endive import express
from endive.attempts import AttemptLog
from endive.catalog import IntentionRecord
from endive.catalog.state import CatalogState
from endive.simulation.config import SimulationConfig
from endive.simulation.environment import Environment
from endive.simulation.statistics import Statistics
from endive.trace import Recorder, Witness
from endive.transaction import Backoff, Transaction, TransactionResult
from endive.transaction.events import Ends
from endive.utils import Purpose, draw_seed, random_stream
from endive.workload import OpenLoad, Touched, Workload, start_loads

# SimPy keeps priority 0 for the end of the run: at one instant the end comes first, then arrivals, then steps.
_FIRST_ARRIVAL_PRIORITY = 1
_PROGRESS_SLICES = 400
_GC_THRESHOLD = 200_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    now_ms: float
    duration_ms: float
    committed: int
    aborted: int
    in_flight: int


class Simulation:
    """Runs one configuration."""

    def __init__(self, config: SimulationConfig) -> None:
        self.config = config

    def run(self, *, on_progress: Callable[[Progress], None] | None = None) -> Statistics:
        """Run until `duration_ms` and return what happened. Running twice gives the same twice."""
        config = self.config
        seed = draw_seed() if config.seed is None else config.seed
        # Components that draw from NumPy's global stream are seeded too (§6.3); the caller's stream is put back.
        global_state = np.random.get_state()
        np.random.seed(seed % 2**32)
        # A run makes millions of short-lived objects and no cycles, so the collector may look less often.
        thresholds = gc.get_threshold()
        gc.set_threshold(0 if config.records_trace else _GC_THRESHOLD, *thresholds[1:])
        try:
            return Run(config, seed).until_end(on_progress)
        finally:
            gc.set_threshold(*thresholds)
            np.random.set_state(global_state)


class Run:
    """One run: fresh copies of all parts around a fresh SimPy environment."""

    def __init__(self, config: SimulationConfig, seed: int) -> None:
        parts = (
            config.storage_provider,
            config.catalog,
            config.workload,
            config.conflict_detector,
            config.options,
            config.loads or (OpenLoad(config.workload),),
        )
        # One copy of all, so that catalog, lists and transactions go on sharing one store.
        self._storage, self._catalog, _, self._detector, options, self._loads = copy.deepcopy(parts)
        self._attempts = AttemptLog() if config.records_attempts else None
        self._options = (
            options if self._attempts is None else replace(options, attempts=self._attempts)
        )
        self._config = config
        self._lane: express.Lane | None = None
        if config.express_lane:
            self._lane = express.lane_of(self._catalog, self._storage, self._options)
        self._recorder: Recorder | None = None
        self._ends: Ends | None = None
        self._story: express.Story | None = None
        # At one instant arrivals come first, in the order of their processes, then steps in order of id.
        processes = sum(load.processes for load in self._loads)
        self._first_step_priority = _FIRST_ARRIVAL_PRIORITY + processes
        self._env = Environment(self._first_step_priority)
        if config.records_trace:
            self._recorder = Recorder(packs=self._lane is not None)
            self._ends = Ends(self._recorder)
            if self._lane is not None:
                self._story = express.Story(self._recorder, *self._lane, config.ml_append_mode)
            self._options = replace(self._options, emit=self._recorder.emit)
            state = getattr(self._catalog, "state", None)
            if isinstance(state, CatalogState):
                state.witness = Witness(self._recorder, lambda: self._env.now)
        self._submitted = 0
        self._statistics = Statistics(seed=seed, duration_ms=config.duration_ms)
        self._in_flight: dict[int, Transaction] = {}
        self._backoff: Backoff | None = None
        if config.backoff_enabled:
            self._backoff = Backoff(
                random_stream(seed, Purpose.BACKOFF),
                config.backoff_base_ms,
                config.backoff_multiplier,
                config.backoff_max_ms,
                config.backoff_jitter,
                config.backoff_jitter_mode,
            )

    def until_end(self, on_progress: Callable[[Progress], None] | None) -> Statistics:
        duration_ms = self._config.duration_ms
        first = self._loads[0]
        if len(self._loads) == 1 and isinstance(first, OpenLoad) and first.end_ms == math.inf:
            self.arrive(self._arrivals(first.workload), 0)
        else:
            start_loads(self._loads, self)
        if on_progress is not None:
            # Stopping in between changes nothing: the end of a slice is an event that touches nobody.
            for part in range(1, _PROGRESS_SLICES):
                self._env.run_until(duration_ms * part / _PROGRESS_SLICES)
                on_progress(self._progress())
        self._env.run_until(duration_ms)
        statistics = self._statistics
        for txn in self._in_flight.values():
            result = txn.result(duration_ms)
            statistics.record_in_flight(result)
            txn.note_in_flight(self._options)
            if self._ends is not None:
                self._ends.finished(result, duration_ms)
        statistics.seq = self._catalog.seq
        statistics.attempts = self._attempts
        statistics.keep_trace(self._recorder)
        for source in (self._catalog, self._options.manifest_lists):
            for name, count in getattr(source, "counters", {}).items():
                setattr(statistics, name, count)
        return statistics

    def _arrivals(self, workload: Workload) -> Generator[float, None, None]:
        """Wait for each arrival and launch its transaction: all there is to do for one open load."""
        in_flight, drive, finish = self._in_flight, self._env.drive, self._finish
        first_step_priority = self._first_step_priority
        for delay_ms, txn in workload.generate():
            yield delay_ms
            in_flight[txn.txn_id] = txn
            if self._ends is not None:
                self._ends.submitted(txn)
            drive(self._steps(txn), first_step_priority + txn.txn_id, finish)

    # -- what loads ask of the runner --------------------------------------------------------------------------------

    @property
    def now_ms(self) -> float:
        """What time it is."""
        return self._env.now

    def arrive(self, steps: Generator[float, None, None], process: int) -> None:
        """Turn every value that `steps` yields into a wait of this process."""
        self._env.drive(steps, _FIRST_ARRIVAL_PRIORITY + process)

    def submit(self, workload: Workload, on_end: Callable[[], None] | None = None) -> None:
        """Launch the next transaction of a workload now; `on_end` is called when it has ended."""
        # Ids are given at the moment of submission, so they count up over all loads.
        txn = workload.next_transaction(self._submitted, self._env.now)
        self._submitted += 1
        self._in_flight[txn.txn_id] = txn
        if self._ends is not None:
            self._ends.submitted(txn)

        def end(result: TransactionResult) -> None:
            self._finish(result)
            if on_end is not None:
                on_end()

        self._env.drive(self._steps(txn), self._first_step_priority + txn.txn_id, end)

    def land(self, touched: Touched, replaces_data: bool) -> None:
        """Apply a commit from elsewhere now."""
        catalog: Any = self._catalog
        if not hasattr(catalog, "land"):
            raise ValueError(
                f"background commits need a built-in catalog: {type(catalog).__name__} has no way to land them"
            )
        _, tables, partitions = touched
        versions = catalog.state.tables
        writes = {table_id: versions[table_id].version + 1 for table_id in sorted(tables)}
        parts = None
        if partitions is not None:
            parts = {table_id: tuple(sorted(ids)) for table_id, ids in partitions.items()}
        self._statistics.background_commits += 1
        intention = IntentionRecord(
            # An id that no transaction has.
            -self._statistics.background_commits,
            catalog.seq,
            writes,
            parts,
            self._config.log_entry_size,
            replaces_data=replaces_data,
        )
        catalog.land(writes, intention)

    # -- transactions ------------------------------------------------------------------------------------------------

    def _steps(self, txn: Transaction) -> Generator[float, None, TransactionResult]:
        catalog, storage, detector = self._catalog, self._storage, self._detector
        config, backoff = self._config, self._backoff
        if self._lane is not None and express.takes(txn):
            return express.execute(
                txn,
                self._lane,
                detector,
                config.max_retries,
                config.ml_append_mode,
                backoff,
                config.log_entry_size,
                self._env,
                self._story,
            )
        return txn.execute(
            catalog,
            storage,
            detector,
            config.max_retries,
            config.ml_append_mode,
            backoff=backoff,
            log_entry_size=config.log_entry_size,
            clock=self._env,
            options=self._options,
        )

    def _finish(self, result: TransactionResult) -> None:
        del self._in_flight[result.txn_id]
        self._statistics.record_transaction(result)
        if self._ends is not None:
            self._ends.finished(result, self._env.now)

    def _progress(self) -> Progress:
        statistics = self._statistics
        return Progress(
            self._env.now,
            self._config.duration_ms,
            statistics.committed,
            statistics.aborted,
            len(self._in_flight),
        )
