"""What the simulator expects of a race: the same closed loop, with the cost table of PyIceberg, many times over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from endive.config import ResolvedConfig, build_simulation_config, resolve_config
from endive.oracle.race import EFFECT_POINT, Plan, Transaction, quantities
from endive.pool import applying
from endive.simulation import Simulation
from endive.transaction import TransactionStatus


def configuration(plan: Plan) -> dict[str, Any]:
    """The race as a configuration of Endive."""
    latency: dict[str, dict[str, Any]] = {}
    for name, distribution in plan.latencies.items():
        artifact, operation = name.split(".")
        latency.setdefault(artifact, {})[operation] = dict(distribution)
    return {
        "simulation": {"duration_ms": plan.seconds * 1000.0},
        "storage": {
            "provider": "instant",
            "effect_point": EFFECT_POINT,
            # One thing after another, as PyIceberg with one thread.
            "max_parallel": 1,
            "latency": latency,
        },
        "catalog": {"type": "cas", "num_tables": 1},
        "transaction": {"cost_table": "pyiceberg", "retry_preset": "iceberg"},
        "workload": {
            "class": [
                {
                    "name": "writers",
                    "kind": "closed",
                    "clients": plan.writers,
                    "think_time": dict(plan.think_time),
                    "runtime": dict(plan.runtime),
                    "operation_types": {"fast_append": 1.0},
                }
            ]
        },
    }


def predict(
    plan: Plan, runs: int, jobs: int = 1, on_done: Callable[[], object] = lambda: None
) -> list[dict[str, float]]:
    """What each of so many simulated races amounts to."""
    resolved = resolve_config(configuration(plan))
    tasks = [(resolved, plan.seed + index) for index in range(runs)]
    with applying(jobs, on_done, at_a_time=25) as apply:
        return list(apply(_one, tasks))


def _one(task: tuple[ResolvedConfig, int]) -> dict[str, float]:
    return quantities(_transactions(*task))


def simulate(plan: Plan, seed: int) -> Sequence[Transaction]:
    """The transactions of one simulated race that ended within it."""
    return _transactions(resolve_config(configuration(plan)), seed)


def _transactions(resolved: ResolvedConfig, seed: int) -> Sequence[Transaction]:
    ended = (TransactionStatus.COMMITTED, TransactionStatus.ABORTED)
    return [
        Transaction(
            committed=each.status is TransactionStatus.COMMITTED,
            attempts=each.total_retries + 1,
            commit_latency_ms=each.commit_latency_ms,
        )
        for each in Simulation(build_simulation_config(resolved, seed)).run().transactions
        if each.status in ended
    ]
