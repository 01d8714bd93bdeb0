"""Table metadata in objects of its own (docs/MODEL.md, section 9): who reads and writes it when, and what that costs.

The figures are those of the erratum of April 2026 by the author of the specification: table metadata read 27 ms, manifest
list read 27, manifest list written 60, table metadata written 60, swap 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from endive.attempts import AttemptLog
from endive.catalog import CASCatalog, IntentionRecord
from endive.config import build_simulation_config, resolve_config
from endive.conflict_detector import ProbabilisticConflictDetector
from endive.cost_model import load_cost_table
from endive.simulation import Simulation, Statistics
from endive.storage import ProfileStorageProvider
from endive.transaction import CommitOptions, FastAppendTransaction, TransactionResult

FixedStore = Callable[..., ProfileStorageProvider]
# The floor under every latency; what the erratum leaves out is set to it. A power of two adds up without rounding.
FLOOR_MS = 2.0**-10
ERRATUM_MS = 27.0 + 27.0 + 60.0 + 60.0 + 1.0
ENTRY: dict[str, dict[str, float]] = {
    "catalog": {"read": 0.0, "cas": 1.0},
    "manifest_list": {"read": 27.0, "write": 60.0},
    "manifest_file": {"write": 0.0},
    "table_metadata": {"read": 27.0, "write": 60.0},
}


def one_client(
    *, inlined: bool = False, cost_table: str = "spec-2.0", **latency_ms: Any
) -> Statistics:
    """A client that commits to the one table without a pause and without rivals, for 100 s."""
    latency = {name: dict(table) for name, table in (ENTRY | latency_ms).items()}
    if inlined:
        # A key that nothing reads is refused.
        del latency["table_metadata"]
    resolved = resolve_config(
        {
            "simulation": {"duration_ms": 100_000.0},
            "storage": {
                "provider": "s3",
                "min_latency_ms": FLOOR_MS,
                "latency": {
                    name: {
                        operation: {"distribution": "fixed", "value": ms}
                        for operation, ms in table.items()
                    }
                    for name, table in latency.items()
                },
            },
            "catalog": {"table_metadata_inlined": inlined},
            "transaction": {
                "cost_table": cost_table,
                "runtime": {"distribution": "fixed", "value": 0.0},
                "operation_types": {"fast_append": 1.0},
            },
            "workload": {
                "class": [
                    {
                        "name": "client",
                        "kind": "closed",
                        "clients": 1,
                        "think_time": {"distribution": "fixed", "value": 0.0},
                    }
                ]
            },
        }
    )
    return Simulation(build_simulation_config(resolved, 1)).run()


def commit_ms(statistics: Statistics) -> float:
    """How long each commit took, all being alike."""
    (took,) = {result.total_latency_ms for result in statistics.transactions}
    return took


# -- the erratum ---------------------------------------------------------------------------------------------------


def test_a_commit_without_inlining_takes_175_ms_and_a_table_takes_5_7_commits_per_second() -> None:
    """The erratum's sum holds exactly where the catalog read and the manifest file are left out, as it leaves them out.

    The read of the catalog and the write of the manifest file are at the floor, everything else is as the erratum has it.
    """
    statistics = one_client()
    assert ERRATUM_MS == 175.0
    assert commit_ms(statistics) == ERRATUM_MS + 2 * FLOOR_MS
    assert statistics.committed == int(100_000.0 / (ERRATUM_MS + 2 * FLOOR_MS)) == 571
    assert statistics.committed / 100.0 == pytest.approx(1_000.0 / 175.0, abs=0.005)
    assert (statistics.metadata_reads, statistics.metadata_writes) == (572, 571)


def test_the_specification_adds_a_manifest_file_to_every_attempt() -> None:
    """Written at the latency of the other objects it makes 235 ms and 4.3 commits per second; a catalog read of 1, 236."""
    statistics = one_client(manifest_file={"write": 60.0}, catalog={"read": 1.0, "cas": 1.0})
    assert commit_ms(statistics) == ERRATUM_MS + 60.0 + 1.0
    assert statistics.committed == 423


def test_inlining_saves_a_read_and_a_write_of_metadata() -> None:
    statistics = one_client(inlined=True)
    assert commit_ms(statistics) == 27.0 + 60.0 + 1.0 + 2 * FLOOR_MS
    assert statistics.committed == 1_136
    assert (statistics.metadata_reads, statistics.metadata_writes) == (0, 0)


# -- retries -------------------------------------------------------------------------------------------------------

ERRATUM_STORE = {
    f"{name}.{operation}": ms for name, table in ENTRY.items() for operation, ms in table.items()
}


def play(
    store: ProfileStorageProvider,
    cost_table: str,
    rival_table: int | None,
    *,
    reads: frozenset[int] = frozenset({0}),
    writes: frozenset[int] = frozenset({0}),
) -> tuple[TransactionResult, list[dict[str, Any]]]:
    """One fast append that loses its first swap to a rival, if there is one; result and attempts."""
    catalog = CASCatalog(store, 4, (1,) * 4)
    attempts = AttemptLog()
    txn = FastAppendTransaction(
        0, 0.0, 100.0, writes, tables_read=reads, cost_table=load_cost_table(cost_table)
    )
    options = CommitOptions(metadata_inlined=False, attempts=attempts)
    steps = txn.execute(catalog, store, ProbabilisticConflictDetector(0.0), options=options)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            rows: list[dict[str, Any]] = attempts.to_arrow().to_pylist()
            return stop.value, rows
        if txn.commit_calls == 1 and rival_table is not None:
            version = catalog.state.tables[rival_table].version + 1
            catalog.land(
                {rival_table: version},
                IntentionRecord(-1, catalog.seq, {rival_table: version}, None, 100),
            )
            rival_table = None


@pytest.mark.parametrize("cost_table", ["iceberg-review", "iceberg-java"])
def test_a_retry_of_an_append_that_keeps_its_manifests_costs_the_same_175_ms(
    cost_table: str, fixed_store: FixedStore
) -> None:
    """Here nothing but the catalog read has to be left out: the manifest of the new data was written by attempt 0."""
    _, rows = play(fixed_store(ERRATUM_STORE), cost_table, 0)
    retry = rows[1]
    assert (retry["metadata_reads"], retry["manifest_list_reads"]) == (1, 1)
    assert (retry["manifest_list_writes"], retry["metadata_writes"]) == (1, 1)
    assert (retry["manifest_file_writes"], retry["catalog_read_ms"]) == (0, 0.0)
    spent_ms = retry["conflict_io_ms"] + retry["per_attempt_io_ms"] + retry["catalog_commit_ms"]
    assert (retry["conflict_io_ms"], spent_ms) == (27.0, ERRATUM_MS)


def test_metadata_is_read_at_the_start_and_after_a_loss_and_written_before_every_swap(
    fixed_store: FixedStore,
) -> None:
    result, rows = play(
        fixed_store({"table_metadata.read": 2.0, "table_metadata.write": 6.0}), "spec-2.0", 0
    )
    # Catalog read 4, metadata 2, work 100; attempt 3 + 11 + 7 + 6; swap 10, lost. The same again, without the work.
    assert result.total_latency_ms == 4.0 + 2.0 + 100.0 + 27.0 + 10.0 + 4.0 + 2.0 + 27.0 + 10.0
    assert (result.start_io_ms, result.conflict_io_ms, result.per_attempt_io_ms) == (2.0, 2.0, 54.0)
    assert [(row["metadata_reads"], row["metadata_writes"]) for row in rows] == [(1, 1), (1, 1)]
    # What is read before the work is over is no latency of the commit.
    assert result.commit_latency_ms == result.total_latency_ms - 106.0


def test_metadata_is_due_even_where_the_loss_itself_costs_nothing(fixed_store: FixedStore) -> None:
    store = fixed_store({"table_metadata.read": 2.0, "table_metadata.write": 6.0})
    result, rows = play(store, "spec-2.0", 1)
    assert rows[1]["conflict_class"] == "cross_table"
    # A payment of its own, because nothing else is due.
    assert (rows[1]["conflict_io_ms"], rows[1]["per_attempt_io_ms"]) == (2.0, 6.0)
    assert (rows[1]["manifest_list_reads"], rows[1]["manifest_list_writes"]) == (0, 0)
    assert (result.metadata_reads, result.metadata_writes) == (2, 2)


def test_pyiceberg_reads_twice_per_retry_and_only_the_winner_writes(
    fixed_store: FixedStore,
) -> None:
    store = fixed_store({"table_metadata.read": 2.0, "table_metadata.write": 6.0})
    result, rows = play(store, "pyiceberg", 0)
    # Start 4 + 2, work 100; attempt 21, swap 10, lost; read 4, metadata 2 + 2 one after another; 21, 10; then metadata 6.
    assert result.total_latency_ms == 106.0 + 31.0 + 4.0 + 4.0 + 31.0 + 6.0
    assert [(row["metadata_reads"], row["metadata_writes"]) for row in rows] == [(1, 0), (2, 1)]
    assert [row["per_attempt_io_ms"] for row in rows] == [21.0, 21.0 + 6.0]
    # It has committed when that is over.
    assert result.commit_time_ms == result.total_latency_ms


@pytest.mark.parametrize(
    ("cost_table", "reads", "written_ms"), [("spec-2.0", 3 + 3, 12.0), ("pyiceberg", 3 + 6, 0.0)]
)
def test_every_accessed_table_is_read_and_every_written_one_written(
    cost_table: str, reads: int, written_ms: float, fixed_store: FixedStore
) -> None:
    store = fixed_store({"table_metadata.read": 2.0, "table_metadata.write": 12.0}, max_parallel=2)
    # Three are read, two of them written; table 3 is written by the rival only.
    tables = frozenset({0, 1, 2})
    result, rows = play(store, cost_table, 3, reads=tables, writes=frozenset({0, 1}))
    assert result.metadata_reads == reads
    assert result.metadata_writes == (2 if cost_table == "pyiceberg" else 4)
    # Three reads at the start, two at a time.
    assert result.start_io_ms == 4.0
    assert rows[1]["conflict_io_ms"] == (4.0 if cost_table == "spec-2.0" else 12.0)
    assert rows[1]["per_attempt_io_ms"] == 12.0
    # Attempt 0 of two tables: 3 + 11 + 7, pairs at a time, and metadata only if every attempt writes it.
    assert rows[0]["per_attempt_io_ms"] == 21.0 + written_ms


def test_a_winner_still_writing_its_metadata_is_in_flight_and_counted_by_the_catalog() -> None:
    # Metadata takes 100 s to write, the run ends before; under pyiceberg the swap comes first.
    slow: dict[str, Any] = {"table_metadata": {"read": 27.0, "write": 100_000.0}}
    after = one_client(cost_table="pyiceberg", **slow)
    assert (after.committed, after.in_flight, after.seq, after.metadata_writes) == (0, 1, 1, 0)
    before = one_client(cost_table="spec-2.0", **slow)
    assert (before.committed, before.in_flight, before.seq) == (0, 1, 0)
