"""Both engines agree on scripts, alone and under the options; and the scripts are worth comparing."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from naive import run_naive

from differential.compare import assert_engines_agree
from differential.options import grid_options
from differential.scripts import scripted
from differential.strategies import Config, grid_configs, mixed_configs, seeds

quick = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(config=scripted(grid_configs()), seed=seeds)
def test_engines_agree_on_scripts_of_constants(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


@quick
@given(config=scripted(mixed_configs()), seed=seeds)
def test_engines_agree_on_scripts_with_random_latencies(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


@quick
@given(config=scripted(grid_options()), seed=seeds)
def test_engines_agree_on_scripts_under_the_options(config: Config, seed: int) -> None:
    assert_engines_agree(config, seed)


def test_the_scripts_show_retries_and_background_commits() -> None:
    shown = {"retries": 0, "background": 0, "committed": 0}
    runs = 200

    @settings(max_examples=runs, phases=[Phase.generate], database=None)
    @given(config=scripted(grid_options()), seed=seeds)
    def look(config: Config, seed: int) -> None:
        result = run_naive(config, seed)
        shown["retries"] += any(row["n_retries"] for row in result.rows)
        shown["background"] += result.counters["background_commits"] > 0
        shown["committed"] += any(row["status"] == "committed" for row in result.rows)

    look()
    assert shown["committed"] > 0.5 * runs
    assert shown["retries"] > 0.3 * runs
    assert shown["background"] > 0.15 * runs
