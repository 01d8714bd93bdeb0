"""The naive engine: a slow, plain second reading of docs/MODEL.md to hold the shipped one against.

It shares no code with `endive`; only the provider profiles, which are data, are common to both.
"""

from .engine import NaiveResult, run_naive

__all__ = ["NaiveResult", "run_naive"]
