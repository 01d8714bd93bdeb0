"""The runner (§6): the only place where SimPy is used. All other components yield bare milliseconds."""

from __future__ import annotations

import copy
import gc
import math
from bisect import insort
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from operator import length_hint
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from endive import express, results
from endive.attempts import AttemptLog
from endive.catalog import Catalog, IntentionRecord
from endive.catalog.state import CatalogState
from endive.results import RowLog, TransactionLog
from endive.storage import StorageProvider
from endive.trace import Emit, Event, Witness, as_events
from endive.transaction import (
    PLAIN,
    VALIDATION_REASON,
    Backoff,
    CommitOptions,
    ConflictDetector,
    Transaction,
    TransactionResult,
    TransactionStatus,
)
from endive.transaction.events import finished, submitted
from endive.utils import Purpose, draw_seed, random_stream
from endive.workload import BackgroundLoad, Load, OpenLoad, Workload, start_loads

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Progress", "Simulation", "SimulationConfig", "Statistics"]

# SimPy keeps priority 0 for the end of the run: at one instant the end comes first, then arrivals, then steps.
_FIRST_ARRIVAL_PRIORITY = 1
_PROGRESS_SLICES = 400
# A power of two, so that slots begin and end exactly where they should.
_SLOT_MS = 512.0
_NEVER_MS = 1e300
_GC_THRESHOLD = 200_000

_Entry = tuple[float, int, Callable[[], float], Callable[[Any], None]]


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


@dataclass
class Statistics:
    """What a run produced. Counters cover all launched transactions, in-flight ones included."""

    transactions: Sequence[TransactionResult] = field(init=False)

    committed: int = 0
    aborted: int = 0
    total_retries: int = 0
    validation_exceptions: int = 0
    manifest_list_reads: int = 0
    manifest_list_writes: int = 0
    manifest_file_reads: int = 0
    manifest_file_writes: int = 0

    in_flight: int = 0
    historical_ml_reads: int = 0
    manifest_list_appends: int = 0
    metadata_reads: int = 0
    metadata_writes: int = 0
    restarts: int = 0
    false_conflicts: int = 0
    real_conflicts: int = 0
    background_commits: int = 0

    append_physical_success: int = 0
    append_logical_success: int = 0
    append_logical_conflict: int = 0
    append_physical_failure: int = 0
    append_compactions_triggered: int = 0
    append_compactions_completed: int = 0
    manifest_append_physical_success: int = 0
    manifest_append_physical_failure: int = 0
    manifest_append_sealed_rewrite: int = 0

    seq: int = 0
    seed: int | None = None
    duration_ms: float = 0.0

    def __post_init__(self) -> None:
        self.attempts: AttemptLog | None = None
        self._emitted: list[Any] | None = None
        self._events: list[Event] | None = None
        self._log = RowLog()
        self.transactions = self._finished = TransactionLog(self._log)

    @property
    def launched(self) -> int:
        """How many transactions were submitted."""
        return self.committed + self.aborted + self.in_flight

    def record_transaction(self, result: TransactionResult) -> None:
        """Record a finished transaction."""
        if self.in_flight:
            raise ValueError("transactions in flight are recorded last, when a run is over")
        if result.status is TransactionStatus.COMMITTED:
            self.committed += 1
        elif result.status is TransactionStatus.ABORTED:
            self.aborted += 1
            self.validation_exceptions += result.abort_reason == VALIDATION_REASON
        else:
            raise ValueError(f"transaction {result.txn_id} has not finished: {result.status.name}")
        self._finished.finished += 1
        self._record(result)

    def record_in_flight(self, result: TransactionResult) -> None:
        """Record a transaction that the end of the run cut off."""
        self.in_flight += 1
        self._record(result)

    def _record(self, result: TransactionResult) -> None:
        self.total_retries += result.total_retries
        self.manifest_list_reads += result.manifest_list_reads
        self.manifest_list_writes += result.manifest_list_writes
        self.manifest_file_reads += result.manifest_file_reads
        self.manifest_file_writes += result.manifest_file_writes
        self.historical_ml_reads += result.historical_ml_reads
        self.manifest_list_appends += result.manifest_list_appends
        self.metadata_reads += result.metadata_reads
        self.metadata_writes += result.metadata_writes
        self.restarts += result.restarts
        self.false_conflicts += result.false_conflicts
        self.real_conflicts += result.real_conflicts
        self._log.append(result)

    def keep_trace(self, emitted: list[Any] | None) -> None:
        """Keep what was emitted; it becomes events when somebody asks for them."""
        self._emitted = emitted

    @property
    def events(self) -> list[Event] | None:
        """What happened, event by event, where the run was traced."""
        if self._events is None and self._emitted is not None:
            self._events, self._emitted = as_events(self._emitted), None
        return self._events

    @property
    def log(self) -> RowLog:
        """All rows, packed, in the order in which they were recorded."""
        return self._log

    def digest(self) -> str:
        """A fingerprint of all rows: equal runs have equal digests."""
        return results.digest(self._log)

    def to_dataframe(self) -> pd.DataFrame:
        """All rows in order of transaction id, in-flight ones included."""
        import pyarrow as pa

        table = pa.Table.from_batches(results.arrow_batches(self._log))
        frame: pd.DataFrame = table.cast(results.arrow_schema(plain_words=True)).to_pandas()
        return frame

    def export_parquet(self, path: str, *, metadata: Mapping[str, str] | None = None) -> None:
        """Write all rows; the file appears whole or not at all."""
        results.write_parquet(self._log, path, metadata)


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
            return _Run(config, seed).until_end(on_progress)
        finally:
            gc.set_threshold(*thresholds)
            np.random.set_state(global_state)


class _Run:
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
        self._events: list[Any] | None = [] if config.records_trace else None
        self._emit: Emit | None = None
        # At one instant arrivals come first, in the order of their processes, then steps in order of id.
        processes = sum(load.processes for load in self._loads)
        self._first_step_priority = _FIRST_ARRIVAL_PRIORITY + processes
        self._env = _Environment(self._first_step_priority)
        if self._events is not None:
            self._emit = self._events.append
            self._options = replace(self._options, emit=self._emit)
            state = getattr(self._catalog, "state", None)
            if isinstance(state, CatalogState):
                state.witness = Witness(self._emit, lambda: self._env.now)
        self._submitted = 0
        self._statistics = Statistics(seed=seed, duration_ms=config.duration_ms)
        self._in_flight: dict[int, Transaction] = {}
        self._express_is_open = config.express_lane and express.is_open(
            self._catalog, self._storage, self._options
        )
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
            if self._emit is not None:
                self._emit(finished(result, duration_ms))
        statistics.seq = self._catalog.seq
        statistics.attempts = self._attempts
        statistics.keep_trace(self._events)
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
            if self._emit is not None:
                self._emit(submitted(txn))
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
        if self._emit is not None:
            self._emit(submitted(txn))

        def end(result: TransactionResult) -> None:
            self._finish(result)
            if on_end is not None:
                on_end()

        self._env.drive(self._steps(txn), self._first_step_priority + txn.txn_id, end)

    def land(self, load: BackgroundLoad) -> None:
        """Apply the next commit of a background load now."""
        catalog: Any = self._catalog
        if not hasattr(catalog, "land"):
            raise ValueError(
                f"background commits need a built-in catalog: {type(catalog).__name__} has no way to land them"
            )
        _, tables, partitions = load.workload.next_touched()
        versions = catalog.state.tables
        writes = {table_id: versions[table_id].version + 1 for table_id in sorted(tables)}
        touched = None
        if partitions is not None:
            touched = {table_id: tuple(sorted(ids)) for table_id, ids in partitions.items()}
        self._statistics.background_commits += 1
        intention = IntentionRecord(
            # An id that no transaction has.
            -self._statistics.background_commits,
            catalog.seq,
            writes,
            touched,
            self._config.log_entry_size,
            replaces_data=load.replaces_data,
        )
        catalog.land(writes, intention)

    # -- transactions ------------------------------------------------------------------------------------------------

    def _steps(self, txn: Transaction) -> Generator[float, None, TransactionResult]:
        catalog, storage, detector = self._catalog, self._storage, self._detector
        config, backoff = self._config, self._backoff
        if self._express_is_open and express.takes(txn):
            return express.execute(
                txn,
                catalog,  # type: ignore[arg-type]
                storage,  # type: ignore[arg-type]
                detector,
                config.max_retries,
                config.ml_append_mode,
                backoff,
                config.log_entry_size,
                self._env,
                self._emit,
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
        if self._emit is not None:
            self._emit(finished(result, self._env.now))

    def _progress(self) -> Progress:
        statistics = self._statistics
        return Progress(
            self._env.now,
            self._config.duration_ms,
            statistics.committed,
            statistics.aborted,
            len(self._in_flight),
        )


class _Environment(simpy.Environment):
    """A SimPy environment with a loop of its own, for the one kind of event there is here: a generator's next step.

    The naive engine of the tests runs on SimPy's own loop, processes and timeouts, and gives the same results.
    """

    # A plain attribute in place of SimPy's property: transactions ask for the time at every step.
    now: float = 0.0

    def __init__(self, first_step_priority: int) -> None:
        super().__init__()
        self._first_step_priority = first_step_priority
        # Entries are (due, priority, the step to take, what to do with the generator's result). Those of the slot of
        # time at hand are a sorted agenda. All others, mostly long runtimes, wait unsorted in one list per slot.
        self._agenda: list[_Entry] = []
        self._ahead: Iterator[_Entry] = iter(self._agenda)
        self._agenda_ends_ms = 0.0
        self._later: dict[int, list[_Entry]] = {}
        self._slots: list[int] = []

    def drive(
        self,
        steps: Generator[float, None, Any],
        priority: int,
        on_return: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """Turn every millisecond value that `steps` yields into a wait, starting with the first one now.

        `priority` orders what is due at the same instant: arrivals, then transactions by id.
        """
        try:
            wait_ms = next(steps)
            # A step that takes no time is over before anybody else's turn comes. Arrivals take turns.
            while wait_ms == 0.0 and priority >= self._first_step_priority:
                wait_ms = next(steps)
        except StopIteration as stop:
            on_return(stop.value)
            return
        if not wait_ms >= 0.0:
            raise _bad_wait(wait_ms)
        entry = (self.now + wait_ms, priority, steps.__next__, on_return)
        if entry[0] < self._agenda_ends_ms:
            # A client that need not think submits at the very instant at which its transaction ended. Submissions come
            # before steps, but not before the step that is just being taken.
            taken = len(self._agenda) - length_hint(self._ahead)
            insort(self._agenda, entry, taken)
        else:
            self._postpone(entry)

    def run_until(self, end_ms: float) -> None:
        """Do everything that is due before `end_ms`."""
        while self._open_next_slot(end_ms):
            agenda, agenda_ends_ms = self._agenda, self._agenda_ends_ms
            done = 0
            # What the steps schedule is due now or later, so it lands behind the entry at hand and is found in its turn.
            self._ahead = iter(agenda)
            for now_ms, priority, next_wait, on_return in self._ahead:
                done += 1
                self.now = now_ms
                try:
                    wait_ms = next_wait()
                except StopIteration as stop:
                    on_return(stop.value)
                    continue
                if not wait_ms >= 0.0:
                    raise _bad_wait(wait_ms)
                due_ms = now_ms + wait_ms
                if due_ms < agenda_ends_ms:
                    insort(agenda, (due_ms, priority, next_wait, on_return), done)
                else:
                    self._postpone((due_ms, priority, next_wait, on_return))
        self.now = self._agenda_ends_ms = end_ms
        self._agenda = []

    def _open_next_slot(self, end_ms: float) -> bool:
        """Make an agenda of the next slot that has entries, if any of them is due before `end_ms`."""
        if not self._slots or self._slots[0] * _SLOT_MS >= end_ms:
            return False
        slot = heappop(self._slots)
        entries = sorted(self._later.pop(slot))
        self._agenda_ends_ms = min((slot + 1) * _SLOT_MS, end_ms)
        while entries and entries[-1][0] >= end_ms:
            self._postpone(entries.pop())
        self._agenda = entries
        return bool(entries)

    def _postpone(self, entry: _Entry) -> None:
        if entry[0] < _NEVER_MS:
            slot = int(entry[0] / _SLOT_MS)
            if slot in self._later:
                self._later[slot].append(entry)
            else:
                self._later[slot] = [entry]
                heappush(self._slots, slot)


def _bad_wait(wait_ms: float) -> ValueError:
    return ValueError(f"a component yielded a wait of {wait_ms} ms; waits must be 0 or more")
