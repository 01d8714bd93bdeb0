"""Both engines agree under the options, in any combination; and the combinations are worth comparing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from naive import NaiveResult, run_naive

from differential.compare import assert_engines_agree
from differential.options import grid_options, kind_of, mixed_options
from differential.strategies import Config, seeds

quick = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
thorough = settings(max_examples=2_500, suppress_health_check=[HealthCheck.too_slow])

RUNS = 300
# At least this share of the runs shows each of these.
LEAST = {
    "retries": 0.4,
    "refresh finds a conflict": 0.08,
    "validation from the start": 0.02,
    "disjoint partitions": 0.08,
    "read set": 0.015,
    "retry_timeout": 0.05,
    "restarts": 0.02,
    "real conflict merged": 0.02,
    "merged by threshold": 0.03,
    "metadata written": 0.2,
    "several classes": 0.1,
    "background commits": 0.04,
    "groups": 0.05,
    "per table or partition": 0.08,
    "log compacted": 0.02,
    "logical conflict": 0.02,
    "list found elsewhere": 0.02,
    "list rewritten": 0.01,
    "objects grow": 0.05,
}


@quick
@given(config=grid_options(), seed=seeds)
def test_engines_agree_on_options_where_effects_fall_on_the_same_instant(
    config: Config, seed: int
) -> None:
    assert_engines_agree(config, seed)


@quick
@given(config=mixed_options(), seed=seeds)
def test_engines_agree_on_options_with_every_distribution(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


@pytest.mark.slow
@thorough
@given(config=grid_options(), seed=seeds)
def test_engines_agree_on_thousands_of_runs_with_options_and_ties(
    config: Config, seed: int
) -> None:
    assert_engines_agree(config, seed)


@pytest.mark.slow
@thorough
@given(config=mixed_options(), seed=seeds)
def test_engines_agree_on_thousands_of_mixed_runs_with_options(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


def facts_of(config: Config, run: NaiveResult) -> set[str]:
    """What happened in a run, as far as its rows, attempts and counters tell."""
    transaction, catalog = config["transaction"], config.get("catalog", {})
    table = transaction.get("cost_table", "spec-2.0")
    rows, attempts, counters = run.rows, run.attempts, run.counters
    classes = {row["conflict_class"] for row in attempts}
    first = [row for row in attempts if row["attempt"] == 0]
    later = [row for row in attempts if row["attempt"] > 1]
    retries = sum(row["n_retries"] for row in rows)
    found = {
        "retries": retries > 0,
        "refresh finds a conflict": any(
            row["conflict_class"] not in (None, "cross_table") for row in first
        ),
        "validation from the start": table in ("iceberg-java", "pyiceberg")
        and any(row["historical_ml_reads"] for row in later),
        "disjoint partitions": "disjoint_partitions" in classes,
        "read set": "read_set" in classes,
        "retry_timeout": any(row["abort_reason"] == "retry_timeout" for row in rows),
        "restarts": any(row["restarts"] for row in rows),
        "real conflict merged": table == "legacy" and counters["real_conflicts"] > 0,
        "merged by threshold": any(row["manifest_file_reads"] >= 95 for row in attempts),
        "metadata written": any(row["metadata_writes"] for row in rows),
        "several classes": len({row["class_name"] for row in rows}) > 1,
        "background commits": counters["background_commits"] > 0 and retries > 0,
        "groups": "num_groups" in catalog and retries > 0,
        "per table or partition": retries > 0
        and catalog.get("conflict_granularity") in ("table", "partition"),
        "log compacted": counters["append_compactions_completed"] > 0,
        "logical conflict": counters["append_logical_conflict"] > 0,
        "list found elsewhere": counters["manifest_append_physical_failure"] > 0,
        "list rewritten": counters["manifest_append_sealed_rewrite"] > 0,
        "objects grow": bool(config["storage"].get("size_growth"))
        and kind_of(config) != "instant"
        and retries > 0,
    }
    return {name for name, is_so in found.items() if is_so}


def test_runs_with_options_are_not_vacuous() -> None:
    corpus: list[set[str]] = []

    @settings(
        max_examples=RUNS,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(grid=grid_options(), mixed=mixed_options(), seed=seeds)
    def collect(grid: Config, mixed: Config, seed: int) -> None:
        for config in (grid, mixed):
            corpus.append(facts_of(config, run_naive(config, seed)))

    collect()
    counts = Counter(fact for facts in corpus for fact in facts)
    shares = {name: counts[name] / len(corpus) for name in LEAST}
    rare = {name: share for name, share in shares.items() if share < LEAST[name]}
    assert not rare, f"of {len(corpus)} runs too few have {rare}; the others: {shares}"
