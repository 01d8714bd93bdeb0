"""Calibration: the closed-loop experiments behind the profiles, simulated and compared with what was measured."""

from endive.calibration.compare import Comparison, Fit, compare
from endive.calibration.data import Case, Operation, Row, packaged_file, read_cases
from endive.calibration.experiment import Client, Outcome, StoreModel, simulate
from endive.calibration.fit import StoreFit, fit_store

__all__ = [
    "Case",
    "Client",
    "Comparison",
    "Fit",
    "Operation",
    "Outcome",
    "Row",
    "StoreFit",
    "StoreModel",
    "compare",
    "fit_store",
    "packaged_file",
    "read_cases",
    "simulate",
]
