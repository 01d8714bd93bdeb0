"""Tracing changes nothing, and the express lane tells the same story as the protocol, event by event."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from differential.options import grid_options, mixed_options
from differential.strategies import Config, grid_configs, mixed_configs, seeds
from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation

any_configs = st.one_of(grid_configs(), mixed_configs(), grid_options(), mixed_options())


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(config=any_configs, seed=seeds)
def test_a_trace_changes_nothing_and_is_the_same_in_both_lanes(config: Config, seed: int) -> None:
    untraced = build_simulation_config(resolve_config(config), seed)
    traced = replace(untraced, records_trace=True)
    express = Simulation(traced).run()
    step_by_step = Simulation(replace(traced, express_lane=False)).run()
    assert express.digest() == step_by_step.digest() == Simulation(untraced).run().digest()
    assert express.events == step_by_step.events
    assert Simulation(untraced).run().events is None
