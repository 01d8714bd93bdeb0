"""Objects that grow with what is committed (docs/MODEL.md, section 14): how large at which version, and what the bytes cost.

A latency of `size_based` with base 1 and 1,024 per MiB is 1 ms, and one more for every KiB. So times are sizes: with lists
of 1 KiB that grow by 1 KiB per commit, a list at version v takes 2 + v.
"""

from __future__ import annotations

from typing import Any

import pytest

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, Statistics
from endive.storage import ObjectSizes

KIB = 1_024
BY_SIZE = {"distribution": "size_based", "base": 1.0, "per_mib": 1_024.0, "sigma": 0.0}
LISTS_GROW = {"manifest_list_per_commit": KIB}
# exp(ln x) is not x to the last bit.
CLOSE = 1e-12


def fixed(ms: float) -> dict[str, Any]:
    return {"distribution": "fixed", "value": ms}


def client(name: str = "client", **changes: Any) -> dict[str, Any]:
    """Submits, waits for the end, and submits again at once."""
    load = {"name": name, "kind": "closed", "clients": 1, "think_time": fixed(0.0)}
    return {**load, **changes}


def run(
    *classes: dict[str, Any],
    duration_ms: float = 10_000.0,
    latency: dict[str, Any] | None = None,
    growth: dict[str, int] = LISTS_GROW,
    grows: bool = True,
    sizes: dict[str, int] | None = None,
    catalog: dict[str, Any] | None = None,
    **transaction: Any,
) -> Statistics:
    """Sizes of 1 KiB, growth of 1 KiB per commit, lists by size and the rest at 10 ms, unless said otherwise."""
    raw = {
        "simulation": {"duration_ms": duration_ms},
        "storage": {
            "provider": "s3x",
            "min_latency_ms": 0.5,
            "latency": {
                "catalog": {"read": fixed(10.0), "cas": fixed(10.0)},
                "manifest_list": {"read": BY_SIZE, "write": BY_SIZE},
                "manifest_file": {"read": fixed(10.0), "write": fixed(10.0)},
            }
            | (latency or {}),
            "size_growth": grows,
            **({"growth": growth} if grows else {}),
            "sizes": {"manifest_list": KIB} | (sizes or {}),
        },
        "catalog": catalog or {},
        "transaction": {
            "runtime": fixed(100.0),
            "operation_types": {"fast_append": 1.0},
            **transaction,
        },
        "workload": {"class": list(classes or (client(),))},
    }
    return Simulation(build_simulation_config(resolve_config(raw), 1)).run()


def column(statistics: Statistics, name: str, rows: int = 5) -> list[float]:
    values: list[float] = statistics.to_dataframe()[name].tolist()[:rows]
    return values


# -- manifest lists and metadata -----------------------------------------------------------------------------------


def test_a_manifest_list_grows_with_every_commit_to_its_table() -> None:
    # At version v: list read 2 + v, manifest file 10, list written 2 + v.
    expected = [14.0 + 2.0 * v for v in range(5)]
    assert column(run(), "per_attempt_io_ms") == pytest.approx(expected, rel=CLOSE)


def test_metadata_grows_with_every_snapshot_and_a_manifest_file_never() -> None:
    statistics = run(
        latency={
            "manifest_list": {"read": fixed(1.0), "write": fixed(1.0)},
            "manifest_file": {"write": BY_SIZE},
            "table_metadata": {"read": BY_SIZE, "write": BY_SIZE},
        },
        sizes={"table_metadata": 4 * KIB, "manifest_file": 2 * KIB},
        growth={"table_metadata_per_snapshot": KIB // 2},
        catalog={"table_metadata_inlined": False},
    )
    # Metadata at version v: 1 + 4 + v/2, read at the start and written with the attempt: two lists, the manifest file 3.
    metadata = [5.0 + 0.5 * v for v in range(5)]
    assert column(statistics, "start_io_ms") == pytest.approx(metadata, rel=CLOSE)
    expected = [1.0 + 3.0 + 1.0 + ms for ms in metadata]
    assert column(statistics, "per_attempt_io_ms") == pytest.approx(expected, rel=CLOSE)


def test_the_defaults_are_the_documented_ones() -> None:
    statistics = run(
        latency={
            "manifest_file": {"write": fixed(10.0)},
            "table_metadata": {"read": BY_SIZE, "write": fixed(1.0)},
        },
        growth={},
        sizes={"manifest_list": ObjectSizes().manifest_list},
        catalog={"table_metadata_inlined": False},
    )
    # 16 KiB each; 50 bytes per commit, 500 per snapshot.
    starts = [1.0 + 16.0 + 500.0 * v / KIB for v in range(5)]
    attempts = [2 * (1.0 + 16.0 + 50.0 * v / KIB) + 10.0 + 1.0 for v in range(5)]
    assert column(statistics, "start_io_ms") == pytest.approx(starts, rel=CLOSE)
    assert column(statistics, "per_attempt_io_ms") == pytest.approx(attempts, rel=CLOSE)


def test_validation_reads_lists_as_large_as_they_are_now_and_the_retry_too() -> None:
    """Five rivals land while an overwrite works: it prepared at version 0 and validates at version 5."""
    rivals = {
        "name": "rivals",
        "kind": "background",
        "inter_arrival": fixed(20.0),
        # The last of them comes at 100, before the work is over at 110.
        "end_ms": 105.0,
    }
    statistics = run(
        {"name": "one", "kind": "periodic", "interval_ms": 1.0, "end_ms": 1.5},
        rivals,
        operation_types={"validated_overwrite": 1.0},
    )
    (result,) = statistics.transactions
    assert (result.historical_ml_reads, result.total_retries) == (5, 1)
    # Five lists of 6 KiB, four at a time: two batches of 7. Attempts: 2 + 10 + 2, then 7 + 10 + 7.
    assert result.conflict_io_ms == pytest.approx(14.0, rel=CLOSE)
    assert result.per_attempt_io_ms == pytest.approx(14.0 + 24.0, rel=CLOSE)


def test_every_table_has_its_own_size_and_batches_do_not_mix_tables() -> None:
    # Both tables are written by everybody, so both are at version v: each is a batch of its own, though four would fit.
    statistics = run(catalog={"num_tables": 2}, tables_per_txn=2)
    expected = [2 * (2.0 + v) + 2 * 10.0 + 2 * (2.0 + v) for v in range(5)]
    assert column(statistics, "per_attempt_io_ms") == pytest.approx(expected, rel=CLOSE)


# -- the catalog ---------------------------------------------------------------------------------------------------


def test_the_bytes_of_the_catalog_are_paid_on_top_of_the_draws_of_the_profile() -> None:
    """Same seed, same draws: what differs is 10 ms per MiB of S3 Express for 16,384 bytes and 200, the default, for each table."""
    lists = {"manifest_list": {"read": fixed(1.0), "write": fixed(1.0)}}
    settings: dict[str, Any] = {"latency": {"catalog": {}, **lists}, "catalog": {"num_tables": 50}}
    bare = run(**settings, growth={"catalog_per_table": 0}, sizes={"catalog": 1})
    grown = run(**settings, growth={})
    transfer_ms = 10.0 * (16_384 + 50 * 200 - 1) / 2**20
    for name in ("catalog_read_ms", "catalog_commit_ms"):
        expected = [ms + transfer_ms for ms in column(bare, name)]
        assert column(grown, name) == pytest.approx(expected, rel=CLOSE)


def test_a_catalog_latency_of_ones_own_stands_as_it_is() -> None:
    statistics = run(catalog={"num_tables": 50}, growth={"catalog_per_table": 100_000})
    assert column(statistics, "catalog_read_ms") == [10.0] * 5
    assert column(statistics, "catalog_commit_ms") == [10.0] * 5


def test_a_catalog_latency_by_size_sees_the_tables() -> None:
    statistics = run(
        latency={"catalog": {"read": BY_SIZE, "cas": BY_SIZE}},
        sizes={"catalog": 2 * KIB},
        growth={"catalog_per_table": KIB},
        catalog={"num_tables": 3},
    )
    assert column(statistics, "catalog_read_ms") == pytest.approx([1.0 + 2.0 + 3.0] * 5, rel=CLOSE)


# -- the log -------------------------------------------------------------------------------------------------------


def log_run(**catalog: Any) -> Statistics:
    """Records of 1 KiB behind a checkpoint of 2 KiB and one table of 1 KiB; appends 10 ms, compaction by size."""
    lists = {"manifest_list": {"read": fixed(1.0), "write": fixed(1.0)}}
    return run(
        latency={
            "catalog": {"read": BY_SIZE, "append": fixed(10.0), "compaction": BY_SIZE},
            **lists,
        },
        sizes={"catalog": 2 * KIB},
        growth={"catalog_per_table": KIB},
        catalog={"type": "append", "log_entry_size": KIB, **catalog},
    )


def test_reads_and_discoveries_pay_for_the_log_since_the_checkpoint() -> None:
    statistics = log_run()
    # The first read finds no log, the discovery after the append one record; the next read the same one.
    assert column(statistics, "catalog_read_ms") == pytest.approx([4.0 + k for k in range(5)])
    assert column(statistics, "catalog_commit_ms") == pytest.approx(
        [10.0 + 5.0 + k for k in range(5)]
    )


def test_asking_for_the_end_of_the_log_reads_it_too() -> None:
    statistics = log_run(append_offset="latest")
    expected = [(4.0 + k) + 10.0 + (5.0 + k) for k in range(5)]
    assert column(statistics, "catalog_commit_ms") == pytest.approx(expected)


def test_a_compaction_moves_the_log_and_leaves_only_the_checkpoint_to_read() -> None:
    statistics = log_run(compaction_max_entries=2)
    # Records since the checkpoint when each transaction reads: 0, 1, 2, then the third compacts before it appends.
    assert column(statistics, "catalog_read_ms") == pytest.approx([4.0, 5.0, 6.0, 5.0, 6.0])
    # Append 10 and discovery; before the third and the fifth a compaction of 2 + 1 + 2 KiB.
    assert column(statistics, "catalog_commit_ms") == pytest.approx(
        [10.0 + 5.0, 10.0 + 6.0, 6.0 + 10.0 + 5.0, 10.0 + 6.0, 6.0 + 10.0 + 5.0]
    )
    assert statistics.append_compactions_completed > 1


def test_without_growth_lists_and_log_keep_their_sizes() -> None:
    statistics = run(
        latency={
            "catalog": {"read": BY_SIZE, "append": fixed(10.0)},
            "manifest_list": {"read": BY_SIZE, "write": BY_SIZE},
        },
        sizes={"catalog": 2 * KIB},
        grows=False,
        catalog={"type": "append", "log_entry_size": KIB},
    )
    assert column(statistics, "catalog_read_ms") == pytest.approx([3.0] * 5)
    assert column(statistics, "per_attempt_io_ms") == pytest.approx([14.0] * 5)
