"""Both engines give the same rows for whatever configuration Hypothesis comes up with."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from differential.compare import Pair, assert_engines_agree
from differential.strategies import Config, grid_configs, mixed_configs, seeds

quick = settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
thorough = settings(max_examples=2_500, suppress_health_check=[HealthCheck.too_slow])


def _aim_at_contention(pair: Pair) -> None:
    """Leads the search towards runs in which much happens: they are the ones that can differ."""
    retries = sum(row["n_retries"] for row in pair.rows)
    target(float(min(retries, 500)), label="retries")


@quick
@given(config=grid_configs(), seed=seeds)
def test_engines_agree_where_effects_fall_on_the_same_instant(config: Config, seed: int) -> None:
    _aim_at_contention(assert_engines_agree(config, seed))


@quick
@given(config=mixed_configs(), seed=seeds)
def test_engines_agree_on_every_distribution_and_default(config: Config, seed: int) -> None:
    _aim_at_contention(assert_engines_agree(config, seed))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(config=grid_configs(), seed=seeds, data=st.data())
def test_engines_agree_when_the_end_falls_on_an_event(
    config: Config, seed: int, data: st.DataObject
) -> None:
    pair = assert_engines_agree(config, seed)
    instants = {row[name] for row in pair.rows for name in ("t_submit", "t_commit", "t_abort")}
    # A commit's effect lies before its answer, so the middle of an operation is an end too.
    instants |= {row["t_submit"] + row["catalog_read_ms"] / 2 for row in pair.rows}
    ends_ms = sorted(ms for ms in instants if ms > 0.0)
    if ends_ms:
        end_ms = data.draw(st.sampled_from(ends_ms), label="duration_ms")
        assert_engines_agree(config | {"simulation": {"duration_ms": end_ms}}, seed)


@pytest.mark.slow
@thorough
@given(config=grid_configs(), seed=seeds)
def test_engines_agree_on_thousands_of_runs_with_ties(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


@pytest.mark.slow
@thorough
@given(config=mixed_configs(), seed=seeds)
def test_engines_agree_on_thousands_of_mixed_runs(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)
