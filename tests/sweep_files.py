"""Sweeps for tests: small ones whose runs take a few milliseconds each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from endive.experiment import SUMMARY_KEY

BASE = """\
[simulation]
duration_ms = 20000

[storage]
provider = "s3x"

[catalog]
num_tables = 2

[transaction]
retry = 3
runtime = { distribution = "lognormal", mean = 400.0, sigma = 0.5 }
inter_arrival = { distribution = "exponential", scale = 100.0 }
"""

SWEEP = """\
label = "load"
base = "base.toml"
seeds = "1..2"

[grid]
transaction.inter_arrival.scale = [50.0, 200.0]
catalog.num_tables = [1, 4]
"""


def written(place: Path, sweep: str = SWEEP, base: str = BASE) -> Path:
    """A sweep file with its base beside it."""
    (place / "base.toml").write_text(base, encoding="utf-8")
    file = place / "sweep.toml"
    file.write_text(sweep, encoding="utf-8")
    return file


def stored_digests(out: Path) -> dict[str, str]:
    """The digest of every run below a directory, by cell and seed, read from the files themselves."""
    found = {}
    for file in sorted(out.glob("*/*/results.parquet")):
        # Every row is read: a file that is not whole would not let itself.
        pq.read_table(file)
        attempts = pq.read_table(file.with_name("attempts.parquet"))
        summary: dict[str, Any] = json.loads((pq.read_schema(file).metadata)[SUMMARY_KEY.encode()])
        theirs = json.loads(attempts.schema.metadata[SUMMARY_KEY.encode()])
        assert theirs["digest"] == summary["digest"]
        found[file.parent.relative_to(out).as_posix()] = summary["digest"]
    return found


def leftovers(out: Path) -> list[str]:
    """Unfinished files."""
    return sorted(str(file) for file in out.rglob("*.part"))
