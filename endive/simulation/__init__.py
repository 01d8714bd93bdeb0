"""The runner (§6): what a run is made of, how it goes on, and what comes out of it.

This is the only room that knows SimPy. All other components yield bare milliseconds.
"""

from endive.simulation.config import SimulationConfig
from endive.simulation.runner import Progress, Simulation
from endive.simulation.statistics import Statistics

__all__ = ["Progress", "Simulation", "SimulationConfig", "Statistics"]
