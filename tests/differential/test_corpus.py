"""The generated runs are worth comparing: each kind of event that engines could disagree on is common among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from naive import run_naive

from differential.strategies import Config, fixed, grid_configs, mixed_configs, seeds

RUNS_PER_FAMILY = 150
Row = dict[str, Any]

# At least this share of the runs of each family has at least one such event.
GRID_SHARES = {
    "retries": 0.4,
    "overlap": 0.3,
    "historical reads": 0.15,
    "aborted for its retries": 0.1,
    "aborted by validation": 0.05,
    "in flight": 0.4,
    "ties": 0.3,
    "overlap with ML+": 0.05,
    "physical failures": 0.05,
    "overlap of partitions": 0.1,
    "retries without overlap": 0.1,
    "payments of many operations": 0.03,
    "overlap of several tables": 0.04,
    "backoff": 0.05,
    "overlap with effects at the start": 0.03,
    "overlap with effects at the end": 0.03,
}
MIXED_SHARES = {name: share / 2 for name, share in GRID_SHARES.items() if name != "ties"}


def facts_of(
    config: Config, rows: list[Row], has_physical_failures: Callable[[], bool]
) -> set[str]:
    """What happened in a run, as far as its rows tell."""
    transaction = config["transaction"]
    catalog = config.get("catalog", {})
    count = transaction.get("tables_per_txn", 1)
    fraction = transaction.get("table_selector", {}).get("write_fraction", 1)
    tables_written: int = max(1, math.floor(count * fraction + 0.5))

    def paid_again(row: Row) -> bool:
        # One manifest list is read per table and attempt; reading more of them means overlap.
        current_lists: int = row["manifest_list_reads"] - row["historical_ml_reads"]
        return current_lists > tables_written

    # Of all profiles only that of S3 lets operations take effect at their very end.
    default_point = 1 if config["storage"]["provider"] == "s3" else 0.5
    effect_point = config["storage"].get("effect_point", default_point)
    overlaps = [row for row in rows if paid_again(row)]
    reasons = {row["abort_reason"] for row in rows}
    finished = [row for row in rows if row["status"] != "in_flight"]
    instants = Counter(max(row["t_commit"], row["t_abort"]) for row in finished)
    instants.update(row["t_submit"] for row in rows)
    found = {
        "retries": any(row["n_retries"] for row in rows),
        "overlap": bool(overlaps),
        "historical reads": any(row["historical_ml_reads"] for row in rows),
        "aborted for its retries": "max_retries" in reasons,
        "aborted by validation": "validation_exception" in reasons,
        "in flight": any(row["status"] == "in_flight" for row in rows),
        "ties": any(times > 1 for times in instants.values()),
        "overlap with ML+": any(row["manifest_list_appends"] > tables_written for row in rows),
        "overlap of partitions": bool(overlaps) and "partitions" in catalog,
        "retries without overlap": any(row["n_retries"] and not paid_again(row) for row in rows),
        "overlap of several tables": bool(overlaps) and tables_written > 1,
        # With a single retry all of it was one payment; from two dozen on, operations are drawn in bulk.
        "payments of many operations": any(
            max(row["manifest_file_reads"], row["historical_ml_reads"]) >= 24
            for row in rows
            if row["n_retries"] == 1
        ),
        "backoff": any(row["backoff_ms"] for row in rows),
        "overlap with effects at the start": bool(overlaps) and effect_point == 0,
        "overlap with effects at the end": bool(overlaps) and effect_point == 1,
        "physical failures": has_physical_failures(),
    }
    return {name for name, is_so in found.items() if is_so}


def _has_physical_failures(config: Config, seed: int, rows: list[Row]) -> bool:
    """Whether failed appends happened: then, and only then, their latency makes a difference."""
    catalog = config.get("catalog", {})
    if catalog.get("type", catalog.get("mode")) != "append":
        return False
    storage = config["storage"]
    latency = storage.get("latency", {})
    slow = latency.get("catalog", {}) | {"append_failure": fixed(12_345)}
    changed = config | {"storage": storage | {"latency": latency | {"catalog": slow}}}
    return run_naive(changed, seed).rows != rows


def _corpus(configs: st.SearchStrategy[Config]) -> list[set[str]]:
    found: list[set[str]] = []

    @settings(
        max_examples=RUNS_PER_FAMILY,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(config=configs, seed=seeds)
    def collect(config: Config, seed: int) -> None:
        rows = run_naive(config, seed).rows
        found.append(facts_of(config, rows, lambda: _has_physical_failures(config, seed, rows)))

    collect()
    return found


@pytest.mark.parametrize(
    ("configs", "least"),
    [(grid_configs(), GRID_SHARES), (mixed_configs(), MIXED_SHARES)],
    ids=["grid", "mixed"],
)
def test_generated_runs_are_not_vacuous(
    configs: st.SearchStrategy[Config], least: dict[str, float]
) -> None:
    corpus = _corpus(configs)
    counts = Counter(fact for facts in corpus for fact in facts)
    shares = {name: counts[name] / len(corpus) for name in least}
    rare = {name: share for name, share in shares.items() if share < least[name]}
    assert not rare, f"of {len(corpus)} runs too few have {rare}; the others: {shares}"
