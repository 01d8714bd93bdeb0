"""Runs both engines and tells where they part: the transaction, the column, both values, and how to replay."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import tomli_w
from naive import NaiveResult, run_naive

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, Statistics

TOLERANCE_MS = 1e-6
Row = dict[str, Any]

# Totals that the shipped engine counts as it goes along, with the column each one adds up.
TOTALS = {
    "total_retries": "n_retries",
    "manifest_list_reads": "manifest_list_reads",
    "manifest_list_writes": "manifest_list_writes",
    "manifest_file_reads": "manifest_file_reads",
    "manifest_file_writes": "manifest_file_writes",
    "historical_ml_reads": "historical_ml_reads",
    "manifest_list_appends": "manifest_list_appends",
    "metadata_reads": "metadata_reads",
    "metadata_writes": "metadata_writes",
    "restarts": "restarts",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One configuration and seed, run by both."""

    config: dict[str, Any]
    seed: int
    shipped: Statistics
    naive: NaiveResult

    @property
    def rows(self) -> list[Row]:
        """The rows of the naive engine, by transaction id."""
        return self.naive.rows


def run_both(config: dict[str, Any], seed: int) -> Pair:
    """Run one configuration through both engines, and both lanes of the shipped one."""
    resolved = build_simulation_config(resolve_config(config), seed)
    # Recording attempts closes the express lane, so the other run is the one that may take it.
    shipped = Simulation(replace(resolved, records_attempts=True)).run()
    step_by_step = Simulation(resolved).run()
    assert step_by_step.digest() == shipped.digest(), (
        f"the express lane differs from the protocol; seed {seed}:\n{tomli_w.dumps(config)}"
    )
    return Pair(config, seed, shipped, run_naive(config, seed))


def assert_engines_agree(config: dict[str, Any], seed: int) -> Pair:
    """Fail with the first difference, if there is one; otherwise hand back what both said."""
    pair = run_both(config, seed)
    difference = first_difference(pair)
    assert difference is None, (
        f"{difference}\nReplay with seed {seed}:\n{tomli_w.dumps(config)}\nas JSON: {json.dumps(config)}"
    )
    return pair


def first_difference(pair: Pair) -> str | None:
    """What differs, in words; None if the engines agree."""
    shipped_rows = shipped_rows_of(pair.shipped)
    for shipped, naive in zip(shipped_rows, pair.rows, strict=False):
        if shipped.keys() != naive.keys():
            return f"columns: {sorted(shipped.keys() ^ naive.keys())} are in one engine only"
        for column, value in naive.items():
            if not _same(shipped[column], value):
                return (
                    f"transaction {naive['txn_id']}, {column}: endive {shipped[column]!r}, naive {value!r}\n"
                    f"endive: {shipped}\nnaive:  {naive}"
                )
    if (difference := _attempts_difference(pair)) is not None:
        return difference
    for name, shipped_total, naive_total in _totals(pair, len(shipped_rows)):
        if shipped_total != naive_total:
            return f"{name}: endive {shipped_total!r}, naive {naive_total!r}"
    return None


def _attempts_difference(pair: Pair) -> str | None:
    attempts = pair.shipped.attempts
    assert attempts is not None
    frame = attempts.to_dataframe()
    shipped_rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for shipped, naive in zip(shipped_rows, pair.naive.attempts, strict=False):
        if shipped.keys() != naive.keys():
            return f"attempts: {sorted(shipped.keys() ^ naive.keys())} are in one engine only"
        for column, value in naive.items():
            if not _same(shipped[column], value):
                return (
                    f"attempt {naive['attempt']} of transaction {naive['txn_id']}, {column}: "
                    f"endive {shipped[column]!r}, naive {value!r}\nendive: {shipped}\nnaive:  {naive}"
                )
    if len(shipped_rows) != len(pair.naive.attempts):
        return f"attempts: endive {len(shipped_rows)}, naive {len(pair.naive.attempts)}"
    return None


def shipped_rows_of(statistics: Statistics) -> list[Row]:
    """The rows of the shipped engine, by transaction id, with None where there is no word."""
    frame = statistics.to_dataframe()
    rows: list[Row] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


def _totals(pair: Pair, shipped_row_count: int) -> list[tuple[str, int, int]]:
    rows, shipped = pair.rows, pair.shipped

    def counted(column: str, word: str) -> int:
        return sum(row[column] == word for row in rows)

    return [
        ("number of rows", shipped_row_count, len(rows)),
        ("seq", shipped.seq, pair.naive.seq),
        ("launched", shipped.launched, len(rows)),
        ("committed", shipped.committed, counted("status", "committed")),
        ("aborted", shipped.aborted, counted("status", "aborted")),
        ("in_flight", shipped.in_flight, counted("status", "in_flight")),
        (
            "validation_exceptions",
            shipped.validation_exceptions,
            counted("abort_reason", "validation_exception"),
        ),
        *(
            (name, getattr(shipped, name), sum(row[column] for row in rows))
            for name, column in TOTALS.items()
        ),
        *(
            (name, getattr(shipped, name), count)
            for name, count in sorted(pair.naive.counters.items())
        ),
    ]


def _same(shipped: object, naive: object) -> bool:
    """Words and counts to the letter, times to a millionth of a millisecond."""
    if isinstance(naive, float) and isinstance(shipped, float):
        return math.isclose(shipped, naive, rel_tol=0.0, abs_tol=TOLERANCE_MS)
    return shipped == naive
