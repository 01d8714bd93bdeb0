"""The measurements: conditional writes to one key by closed-loop clients, row by row (ycsb_conditional_2025.md)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from endive.errors import InputError, Problem
from endive.resources import package_dir

THREADS = (1, 2, 4, 8, 16)
TRAINED_ON = (1, 4, 16)
HELD_OUT = (2, 8)

DATA_FILE = "ycsb_conditional_2025.csv"
COLUMNS = (
    "store",
    "operation",
    "threads",
    "n_success",
    "failure_pct",
    "mean_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "p999_ms",
    "ok_per_s",
    "ok_per_s_sd",
)
_MAY_BE_EMPTY = {"ok_per_s", "ok_per_s_sd"}

STORES: Mapping[str, str] = {
    "AWS S3 (Standard)": "s3",
    "AWS S3 Express One Zone": "s3x",
    "Azure Blob Storage": "azure",
    "Azure Premium Block Blob": "azurex",
    "GCP Cloud Storage": "gcp",
}
"""The profile of the specification that describes each store of the table."""


class Operation(Enum):
    """A conditional write; the value is what the table calls it."""

    CAS = "CAS"
    APPEND = "Conditional Append"

    @property
    def latency(self) -> str:
        """Its latency in a profile."""
        return "cas" if self is Operation.CAS else "append"


# Mean latency of refused operations over all thread counts, published beside the table.
REFUSED_MEAN_MS: Mapping[tuple[str, Operation], float] = {
    ("s3", Operation.CAS): 76.9,
    ("s3x", Operation.CAS): 21.1,
    ("s3x", Operation.APPEND): 22.6,
    ("azure", Operation.CAS): 282.0,
    ("azure", Operation.APPEND): 3011.0,
    ("azurex", Operation.CAS): 280.0,
    ("azurex", Operation.APPEND): 2593.0,
    ("gcp", Operation.CAS): 7111.0,
}


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured with one number of client threads."""

    threads: int
    successes: int
    failure_rate: float
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    ok_per_s: float
    is_derived: bool
    """Whether the throughput was worked out from the other columns, because the table gives none."""

    @property
    def tail(self) -> float:
        """How much slower than the median the slowest hundredth is, at least."""
        return self.p99_ms / self.p50_ms

    @property
    def cycle_ms(self) -> float:
        """How long one attempt takes a client, whatever becomes of it: clients over attempts per second."""
        return 1000.0 * self.threads * (1.0 - self.failure_rate) / self.ok_per_s

    @property
    def refused_ms(self) -> float | None:
        """How long a refused attempt must take for the row to add up: the rest of the clients' time."""
        if self.failure_rate == 0.0:
            return None
        won_ms = (1.0 - self.failure_rate) * self.mean_ms
        return (self.cycle_ms - won_ms) / self.failure_rate


@dataclass(frozen=True, slots=True)
class Case:
    """One operation of one store, with the rows of all thread counts."""

    store: str
    """The short name of the profile."""
    operation: Operation
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """Store and operation in a word each."""
        return f"{self.store} {self.operation.latency}"

    def row(self, threads: int) -> Row:
        """The row of this number of threads."""
        return next(row for row in self.rows if row.threads == threads)


def packaged_file() -> Path:
    """The table that ships with Endive."""
    return package_dir("calibration") / DATA_FILE


def read_cases(path: Path) -> tuple[Case, ...]:
    """Read a table; every problem in it is reported at once, with its line."""
    problems: list[Problem] = []
    found: dict[tuple[str, Operation], dict[int, Row]] = {}
    first_line: dict[tuple[str, Operation], int] = {}

    def complain(message: str, key: str = "", line: int = 0) -> None:
        problems.append(Problem(message, key, str(path), line))

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", file=str(path))]) from error
    except UnicodeDecodeError as error:
        raise InputError(
            [Problem("is not UTF-8 text; save it as CSV in UTF-8", file=str(path))]
        ) from error
    reader = csv.DictReader(text.splitlines())
    header = reader.fieldnames or []
    for column in COLUMNS:
        if column not in header:
            complain(f"no such column; there must be {', '.join(COLUMNS)}", column, 1)
    if problems:
        raise InputError(problems)
    for record in reader:
        line = reader.line_num
        row = _row(record, line, complain)
        store = STORES.get(record["store"] or "", record["store"] or "")
        if store not in STORES.values():
            known = ", ".join(repr(name) for name in STORES)
            complain(f"unknown store {store!r}; there are {known}", "store", line)
            continue
        operations = [each for each in Operation if each.value == record["operation"]]
        if not operations:
            known = " and ".join(repr(each.value) for each in Operation)
            complain(
                f"unknown operation {record['operation']!r}; there are {known}", "operation", line
            )
            continue
        if row is None:
            continue
        key = store, operations[0]
        first_line.setdefault(key, line)
        rows = found.setdefault(key, {})
        if row.threads in rows:
            complain(f"a second row for {row.threads} threads; keep one", "threads", line)
        rows[row.threads] = row
    if not problems:
        for key, rows in found.items():
            missing = [str(threads) for threads in THREADS if threads not in rows]
            if missing:
                what = f"{key[0]} {key[1].value} has no row for {', '.join(missing)} threads"
                complain(f"{what}; a fit needs all of 1, 2, 4, 8, 16", "threads", first_line[key])
        if not found:
            complain("there are no rows; add some", line=1)
    if problems:
        raise InputError(problems)
    return tuple(
        Case(store, operation, _with_throughput([rows[threads] for threads in THREADS]))
        for (store, operation), rows in found.items()
    )


def _row(record: Mapping[str, str | None], line: int, complain: object) -> Row | None:
    assert callable(complain)
    numbers: dict[str, float] = {}
    good = True
    for column in COLUMNS[2:]:
        text = (record[column] or "").strip()
        if not text and column in _MAY_BE_EMPTY:
            continue
        try:
            value = float(text)
        except ValueError:
            complain(f"must be a number, not {text!r}", column, line)
            good = False
            continue
        low, is_open = (0.0, column not in ("failure_pct", "ok_per_s_sd"))
        if not low <= value < float("inf") or (is_open and value == 0.0):
            complain(f"must be {'above' if is_open else 'at least'} 0, not {text}", column, line)
            good = False
        elif column == "failure_pct" and value >= 100.0:
            complain(f"must be below 100, not {text}: somebody always wins", column, line)
            good = False
        elif column == "threads" and value not in THREADS:
            complain(f"must be one of 1, 2, 4, 8, 16, not {text}", column, line)
            good = False
        numbers[column] = value
    if not good:
        return None
    quantiles = [numbers[name] for name in ("p50_ms", "p95_ms", "p99_ms", "p999_ms")]
    if quantiles != sorted(quantiles):
        complain("quantiles must not fall from p50_ms to p999_ms", "p50_ms", line)
        return None
    return Row(
        threads=int(numbers["threads"]),
        successes=int(numbers["n_success"]),
        failure_rate=numbers["failure_pct"] / 100.0,
        mean_ms=numbers["mean_ms"],
        p50_ms=numbers["p50_ms"],
        p95_ms=numbers["p95_ms"],
        p99_ms=numbers["p99_ms"],
        ok_per_s=numbers.get("ok_per_s", 0.0),
        is_derived="ok_per_s" not in numbers,
    )


def _with_throughput(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Fill in throughput where the table has none.

    All thread counts of a store were measured for the same time (where throughput is given, successes over throughput is
    the same within 2 % on AWS; GCP prints too few digits to say). One client that neither waits nor is refused is busy all that time, so its successes times their
    mean latency are how long it was.
    """
    alone = next(row for row in rows if row.threads == 1)
    measured_s = alone.successes * alone.mean_ms / 1000.0
    return tuple(
        replace(row, ok_per_s=row.successes / measured_s) if row.is_derived else row for row in rows
    )
