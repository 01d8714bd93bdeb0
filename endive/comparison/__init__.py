"""Two configurations under the same luck: what a change buys, seed by seed, with intervals."""

from endive.comparison.comparing import Comparison, Row, compare
from endive.comparison.measures import Measure, default_measures, parse_measure

__all__ = ["Comparison", "Measure", "Row", "compare", "default_measures", "parse_measure"]
