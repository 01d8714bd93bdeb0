"""Grids × seeds: read a sweep, run it on local processes or on Spark, go on where it was killed (docs/SWEEPS.md)."""

from endive.sweep.model import Axis, Cell, Sweep
from endive.sweep.reading import read_sweep
from endive.sweep.running import ENGINES, EngineName, RunOutcome, SweepResult, run_sweep

__all__ = [
    "ENGINES",
    "Axis",
    "Cell",
    "EngineName",
    "RunOutcome",
    "Sweep",
    "SweepResult",
    "read_sweep",
    "run_sweep",
]
