"""Long runs: memory grows by the rows of the results and by nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_SOAK = Path(__file__).with_name("soak.py")
# Eight bytes per commit to a log, and what an allocator keeps at hand.
_SLACK_BYTES = 4 * 2**20


def _beyond_rows(kind: str, days: float) -> list[tuple[float, int]]:
    done = subprocess.run(
        [sys.executable, str(_SOAK), kind, str(days)], capture_output=True, text=True, check=True
    )
    seen: list[tuple[float, int]] = json.loads(done.stdout)["beyond_rows"]
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pointer", "log", "growing"])
def test_ten_simulated_days_hold_no_more_memory_than_one(kind: str) -> None:
    seen = _beyond_rows(kind, 10.0)
    assert len(seen) == 10
    assert seen[-1][1] - seen[1][1] < _SLACK_BYTES


def test_a_simulated_day_holds_no_more_memory_than_its_first_hours() -> None:
    seen = _beyond_rows("log", 1.0)
    assert seen[-1][1] - seen[2][1] < _SLACK_BYTES / 2
