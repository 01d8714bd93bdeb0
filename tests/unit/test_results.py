"""Results (§6.2): columns and their types, round trips, a digest that sees everything, files whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from endive import results
from endive.results import COLUMNS
from endive.simulation import Statistics
from endive.transaction import TransactionResult, TransactionStatus

_WORDS = {"status", "operation_type", "abort_reason", "class_name"}
_INTEGERS = {
    "txn_id",
    "n_retries",
    "manifest_list_reads",
    "manifest_list_writes",
    "manifest_file_reads",
    "manifest_file_writes",
    "historical_ml_reads",
    "manifest_list_appends",
    "metadata_reads",
    "metadata_writes",
    "restarts",
    "false_conflicts",
    "real_conflicts",
}


def _result(txn_id: int = 0, **changes: Any) -> TransactionResult:
    committed = TransactionResult(
        status=TransactionStatus.COMMITTED,
        txn_id=txn_id,
        commit_time_ms=1_000.125 + txn_id,
        abort_time_ms=-1.0,
        abort_reason=None,
        total_retries=2,
        commit_latency_ms=31.5,
        total_latency_ms=135.25,
        operation_type=("fast_append", "merge_append", "validated_overwrite")[txn_id % 3],
        runtime_ms=100.0,
        manifest_list_reads=7,
        manifest_list_writes=3,
        manifest_file_reads=4,
        manifest_file_writes=6,
        catalog_read_ms=4.1,
        per_attempt_io_ms=21.2,
        conflict_io_ms=5.3,
        catalog_commit_ms=10.4,
        submit_time_ms=864.875 + txn_id,
        historical_ml_reads=2,
        manifest_list_appends=1,
        backoff_ms=0.6,
        start_io_ms=0.7,
        rework_ms=100.0,
        metadata_reads=9,
        metadata_writes=10,
        restarts=1,
        false_conflicts=11,
        real_conflicts=12,
        class_name="ingest",
    )
    return replace(committed, **changes)


def _aborted(txn_id: int, reason: str = "max_retries") -> TransactionResult:
    return _result(
        txn_id,
        status=TransactionStatus.ABORTED,
        commit_time_ms=-1.0,
        abort_time_ms=1_500.5,
        abort_reason=reason,
    )


def _recorded(*recorded: TransactionResult) -> Statistics:
    statistics = Statistics()
    for result in recorded:
        statistics.record_transaction(result)
    return statistics


def _sample() -> Statistics:
    statistics = _recorded(_result(3), _aborted(1), _result(0), _aborted(4, "validation_exception"))
    cut_off = _result(
        2, status=TransactionStatus.COMMITTING, commit_time_ms=-1.0, unfinished_ms=3.75
    )
    statistics.record_in_flight(cut_off)
    return statistics


# -- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistics", [_sample(), Statistics()], ids=["rows", "empty"])
def test_columns_come_in_order_with_their_types(statistics: Statistics) -> None:
    frame = statistics.to_dataframe()
    assert tuple(frame.columns) == COLUMNS
    for name in COLUMNS:
        if name in _INTEGERS:
            assert frame[name].dtype == np.int64, name
        elif name not in _WORDS:
            assert frame[name].dtype == np.float64, name


def test_rows_come_in_order_of_transaction_id() -> None:
    frame = _sample().to_dataframe()
    assert frame["txn_id"].tolist() == [0, 1, 2, 3, 4]
    assert frame["status"].tolist() == ["committed", "aborted", "in_flight", "committed", "aborted"]
    reasons = [None if pd.isna(reason) else reason for reason in frame["abort_reason"]]
    assert reasons == [None, "max_retries", None, None, "validation_exception"]


def test_a_row_has_the_values_of_its_result() -> None:
    result = _result(5)
    row = _recorded(result).to_dataframe().iloc[0]
    assert row["t_submit"] == result.submit_time_ms
    assert row["t_runtime"] == result.runtime_ms
    assert row["t_commit"] == result.commit_time_ms
    assert row["t_abort"] == -1.0
    assert row["commit_latency"] == result.commit_latency_ms
    assert row["total_latency"] == result.total_latency_ms
    assert row["n_retries"] == result.total_retries
    assert row["operation_type"] == result.operation_type
    same = [name for name in COLUMNS if hasattr(result, name) and name not in _WORDS]
    assert len(same) == 20
    assert row["class_name"] == "ingest"
    for name in same:
        assert row[name] == getattr(result, name), name


def test_fractions_of_a_millisecond_are_kept() -> None:
    odd_ms = 1.0 / 3.0
    frame = _recorded(_result(0, catalog_read_ms=odd_ms)).to_dataframe()
    assert frame["catalog_read_ms"][0] == odd_ms


def test_a_result_without_a_submit_time_gets_the_one_its_end_implies() -> None:
    frame = _recorded(
        replace(_result(0), submit_time_ms=float("nan")),
        replace(_aborted(1), submit_time_ms=float("nan")),
    ).to_dataframe()
    assert frame["t_submit"].tolist() == [1_000.125 - 135.25, 1_500.5 - 135.25]


# -- counters ------------------------------------------------------------------------------------------------------


def test_counters_cover_every_row() -> None:
    statistics = _sample()
    assert (statistics.committed, statistics.aborted, statistics.in_flight) == (2, 2, 1)
    assert statistics.launched == 5
    assert statistics.validation_exceptions == 1
    frame = statistics.to_dataframe()
    assert statistics.total_retries == frame["n_retries"].sum()
    for name in sorted(_INTEGERS - {"txn_id", "n_retries"}):
        assert getattr(statistics, name) == frame[name].sum(), name


def test_empty_statistics_are_all_zero_and_can_be_written(tmp_path: Path) -> None:
    statistics = Statistics()
    assert (statistics.launched, len(statistics.transactions)) == (0, 0)
    assert statistics.to_dataframe().empty
    assert statistics.digest() == Statistics().digest()
    statistics.export_parquet(str(tmp_path / "empty.parquet"))
    assert pq.read_table(tmp_path / "empty.parquet").column_names == list(COLUMNS)


@pytest.mark.parametrize("status", ["PENDING", "EXECUTING", "COMMITTING"])
def test_an_unfinished_transaction_is_not_recorded_as_finished(status: str) -> None:
    with pytest.raises(ValueError, match="has not finished"):
        Statistics().record_transaction(_result(0, status=TransactionStatus[status]))


# -- the lazy sequence ---------------------------------------------------------------------------------------------


def test_transactions_are_a_sequence_equal_to_what_was_recorded() -> None:
    recorded = [_result(3), _aborted(1), _result(0), _aborted(4, "validation_exception")]
    transactions = _sample().transactions
    assert isinstance(transactions, Sequence)
    assert list(transactions) == recorded
    assert transactions == recorded
    assert transactions[-1] == recorded[-1]
    assert transactions[1:3] == recorded[1:3]
    assert transactions.index(recorded[2]) == 2
    assert recorded[1] in transactions
    with pytest.raises(IndexError):
        transactions[4]


def test_the_sequence_grows_across_many_blocks() -> None:
    statistics = Statistics()
    transactions = statistics.transactions
    count = 20_000
    for txn_id in range(count):
        statistics.record_transaction(_result(count - 1 - txn_id))
    assert len(transactions) == count
    for index in (0, 8_191, 8_192, 8_193, 16_384, count - 1):
        assert transactions[index] == _result(count - 1 - index)
    assert statistics.to_dataframe()["txn_id"].tolist() == list(range(count))


# -- files ---------------------------------------------------------------------------------------------------------


def test_parquet_gives_back_the_data_frame(tmp_path: Path) -> None:
    statistics = _sample()
    path = tmp_path / "deep" / "results.parquet"
    statistics.export_parquet(str(path), metadata={"seed": "17"})
    pd.testing.assert_frame_equal(pd.read_parquet(path), statistics.to_dataframe())
    assert pq.read_schema(path).metadata[b"seed"] == b"17"
    assert pq.read_schema(path).names == list(COLUMNS)


def test_many_row_groups_give_back_the_data_frame(tmp_path: Path) -> None:
    statistics = Statistics()
    for txn_id in range(140_000, 0, -1):
        statistics.record_transaction(_result(txn_id))
    statistics.export_parquet(str(tmp_path / "results.parquet"))
    assert pq.ParquetFile(tmp_path / "results.parquet").num_row_groups > 1
    back = pd.read_parquet(tmp_path / "results.parquet")
    assert back["txn_id"].tolist() == list(range(1, 140_001))
    pd.testing.assert_frame_equal(back, statistics.to_dataframe())


def test_a_failed_export_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.parquet"
    statistics = _sample()
    statistics.export_parquet(str(path))
    old = path.read_bytes()
    whole = results.arrow_batches

    def disk_fills_up(log: Any) -> Any:
        yield from whole(log)
        raise OSError("no space left on device")

    monkeypatch.setattr(results, "arrow_batches", disk_fills_up)
    statistics.record_in_flight(_result(9, status=TransactionStatus.EXECUTING))
    with pytest.raises(OSError, match="no space"):
        statistics.export_parquet(str(path))
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


# -- digest --------------------------------------------------------------------------------------------------------

_CHANGES: dict[str, dict[str, Any]] = {
    "txn_id": {"txn_id": 1},
    "t_submit": {"submit_time_ms": 800.0},
    "t_runtime": {"runtime_ms": 101.0},
    "t_commit": {"commit_time_ms": 1_000.0},
    "commit_latency": {"commit_latency_ms": 31.0},
    "total_latency": {"total_latency_ms": 135.0},
    "n_retries": {"total_retries": 3},
    "status": {"status": TransactionStatus.ABORTED},
    "operation_type": {"operation_type": "merge_append"},
    "abort_reason": {"abort_reason": "max_retries"},
    "manifest_list_reads": {"manifest_list_reads": 8},
    "manifest_list_writes": {"manifest_list_writes": 8},
    "manifest_file_reads": {"manifest_file_reads": 8},
    "manifest_file_writes": {"manifest_file_writes": 8},
    "catalog_read_ms": {"catalog_read_ms": 4.100002},
    "per_attempt_io_ms": {"per_attempt_io_ms": 21.200002},
    "conflict_io_ms": {"conflict_io_ms": 5.300002},
    "catalog_commit_ms": {"catalog_commit_ms": 10.400002},
    "t_abort": {"abort_time_ms": 5.0},
    "historical_ml_reads": {"historical_ml_reads": 8},
    "manifest_list_appends": {"manifest_list_appends": 8},
    "backoff_ms": {"backoff_ms": 0.600002},
    "unfinished_ms": {"unfinished_ms": 0.000002},
    "start_io_ms": {"start_io_ms": 0.700002},
    "rework_ms": {"rework_ms": 100.000002},
    "metadata_reads": {"metadata_reads": 8},
    "metadata_writes": {"metadata_writes": 8},
    "restarts": {"restarts": 8},
    "false_conflicts": {"false_conflicts": 8},
    "real_conflicts": {"real_conflicts": 8},
    "class_name": {"class_name": "default"},
}


@pytest.mark.parametrize("column", COLUMNS)
def test_the_digest_sees_every_column(column: str) -> None:
    before = _recorded(_result(0), _result(7)).digest()
    after = _recorded(replace(_result(0), **_CHANGES[column]), _result(7)).digest()
    assert before != after


def test_the_digest_sees_words_that_change_places() -> None:
    one = _recorded(_aborted(0, "max_retries"), _aborted(3, "validation_exception"))
    other = _recorded(_aborted(0, "validation_exception"), _aborted(3, "max_retries"))
    assert one.digest() != other.digest()


def test_the_digest_does_not_depend_on_the_order_of_recording() -> None:
    rows = [_result(0), _aborted(1), _result(2), _aborted(3, "validation_exception")]
    assert _recorded(*rows).digest() == _recorded(*reversed(rows)).digest()


def test_the_digest_overlooks_less_than_a_millionth_of_a_millisecond() -> None:
    noisy = _result(0, catalog_read_ms=4.1 + 1e-10)
    assert _recorded(noisy).digest() == _recorded(_result(0)).digest()
