"""Foreign catalogs through `--target`: a wrong one is caught by name, right ones pass, bad usage is told."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_target(module: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Hold the direct properties against a target, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "invariants", "--target"]
    return subprocess.run(
        [*command, module, *more], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_a_catalog_that_loses_updates_is_caught_by_name() -> None:
    done = run_target("invariants.targets.wrong_sample")
    assert done.returncode == 1, done.stdout
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 2, done.stdout
    assert "test_no_interleaving_breaks_a_property" in done.stdout
    assert "one-winner-per-state" in done.stdout or "success-iff-applied" in done.stdout
    assert "What happened:" in done.stdout


def test_a_catalog_that_is_right_passes() -> None:
    done = run_target("invariants.targets.right_sample")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("pyiceberg") is None or importlib.util.find_spec("sqlalchemy") is None,
    reason="needs pyiceberg[sql-sqlite]: pip install 'endive[oracle]'",
)
def test_the_sql_catalog_of_pyiceberg_passes() -> None:
    done = run_target("invariants.targets.pyiceberg_sql")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("no.such.module", "cannot be imported"),
        ("invariants.direct.adapter", "has no make_catalog(num_tables)"),
    ],
)
def test_a_module_that_is_no_target_is_bad_usage(module: str, message: str) -> None:
    done = run_target(module)
    assert done.returncode not in (0, 1), done.stdout
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
