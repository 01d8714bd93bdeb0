"""Small worlds to vary: a configuration with known parts, run on the real engine, and its rows to compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation, SimulationConfig
from endive.workload import TableSelector, UniformTableSelector, Workload

# Everything in a row that is a time; all else are counts and words.
TIMES = (
    "t_submit",
    "t_runtime",
    "t_commit",
    "t_abort",
    "commit_latency",
    "total_latency",
    "catalog_read_ms",
    "per_attempt_io_ms",
    "conflict_io_ms",
    "catalog_commit_ms",
    "backoff_ms",
    "unfinished_ms",
    "start_io_ms",
    "rework_ms",
)
# Of those, instants. What did not happen is at −1 and stays there.
INSTANTS = ("t_submit", "t_commit", "t_abort")
ARTIFACTS = {
    "catalog": ("read", "cas"),
    "manifest_list": ("read", "write"),
    "manifest_file": ("read", "write"),
}

World = dict[str, Any]


def fixed(value: float) -> dict[str, Any]:
    return {"distribution": "fixed", "value": value}


def distributions(largest: float = 64.0) -> st.SearchStrategy[dict[str, Any]]:
    """Distributions whose parameters can be doubled without rounding."""
    size = st.integers(1, int(largest)).map(float)
    return st.one_of(
        size.map(fixed),
        size.map(lambda scale: {"distribution": "exponential", "scale": scale}),
        st.tuples(size, size).map(
            lambda pair: {"distribution": "uniform", "low": min(pair), "high": max(pair) + 1.0}
        ),
        st.tuples(size, size).map(
            lambda pair: {"distribution": "normal", "mean": pair[0], "std_dev": pair[1] / 4.0}
        ),
    )


@st.composite
def worlds(draw: st.DrawFn, latency: st.SearchStrategy[dict[str, Any]] | None = None) -> World:
    """A store with latencies of its own, one open load, and all three operations of the specification."""
    latency = distributions() if latency is None else latency
    return {
        "simulation": {"duration_ms": 4096.0},
        "storage": {
            "provider": "instant",
            "min_latency_ms": 0.5,
            "effect_point": draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
            "max_parallel": draw(st.integers(1, 5)),
            "latency": {
                artifact: {operation: draw(latency) for operation in operations}
                for artifact, operations in ARTIFACTS.items()
            },
        },
        "catalog": {"type": "cas", "num_tables": draw(st.integers(1, 4))},
        "transaction": {
            "retry": draw(st.integers(0, 4)),
            "runtime": draw(distributions()),
            "inter_arrival": {
                "distribution": "exponential",
                "scale": float(draw(st.integers(20, 200))),
            },
            "operation_types": {
                "fast_append": 0.4,
                "merge_append": 0.3,
                "validated_overwrite": 0.3,
            },
            "real_conflict_probability": draw(st.sampled_from([0.0, 0.3])),
            "retry_backoff": {"enabled": draw(st.booleans()), "base_ms": 8.0, "max_ms": 64.0},
        },
    }


def build(world: Mapping[str, Any], seed: int) -> SimulationConfig:
    return build_simulation_config(resolve_config(world), seed)


def rows(config: SimulationConfig) -> pd.DataFrame:
    """All rows in order of id."""
    return Simulation(config).run().to_dataframe()


def run(world: Mapping[str, Any], seed: int) -> pd.DataFrame:
    return rows(build(world, seed))


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """To the last bit."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)


def doubled(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows with every time twice as long."""
    changed = frame.copy()
    for name in TIMES:
        values = frame[name].to_numpy()
        never = (values == -1.0) if name in INSTANTS else np.zeros(len(values), bool)
        changed[name] = np.where(never, values, 2.0 * values)
    return changed


def with_selector(config: SimulationConfig, selector: TableSelector, seed: int) -> SimulationConfig:
    """The same run with another way to choose tables."""
    workload = Workload(replace(config.workload.config, table_selector=selector), seed)
    return replace(config, workload=workload)


class Relabelled(UniformTableSelector):
    """Chooses like the uniform selector, and calls the tables by other numbers."""

    def __init__(self, names: tuple[int, ...]) -> None:
        super().__init__()
        self.names = names

    def select(
        self, n_tables: int, total_tables: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        read, written = super().select(n_tables, total_tables, rng)
        return self._named(read), self._named(written)

    def _named(self, tables: frozenset[int]) -> frozenset[int]:
        return frozenset(self.names[table_id] for table_id in tables)


class BlindToTheLast(UniformTableSelector):
    """Never chooses the last tables."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden

    def select(
        self, n_tables: int, total_tables: int, rng: np.random.RandomState
    ) -> tuple[frozenset[int], frozenset[int]]:
        return super().select(n_tables, total_tables - self.hidden, rng)
