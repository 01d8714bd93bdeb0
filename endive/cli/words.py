"""Numbers as people read them: durations with a unit, shares as percentages, nothing as a dash."""

from __future__ import annotations

_UNITS = ((3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s"))
NOTHING = "–"


def duration(ms: float | None) -> str:
    """A duration in the unit that suits it."""
    if ms is None:
        return NOTHING
    for size_ms, unit in _UNITS:
        # A minute and a half is better read as 90 s.
        if ms >= size_ms * (2.0 if unit != "s" else 1.0):
            return f"{number(ms / size_ms)} {unit}"
    return f"{number(ms)} ms"


def number(value: float | None) -> str:
    """Three digits that count, or all digits before the point."""
    if value is None:
        return NOTHING
    if value == 0.0:
        return "0"
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(share: float | None) -> str:
    """A share as a percentage; never 0 % or 100 % of what is not quite that."""
    if share is None:
        return NOTHING
    if 0.0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 < share < 1.0:
        return ">99.9 %"
    if share in (0.0, 1.0):
        return f"{share * 100.0:.0f} %"
    return f"{share * 100.0:.1f} %"


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"
