"""Numbers as they stand on plots and in tables, and lists as they stand in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

NOTHING = "–"


def number(value: object, digits: int = 4) -> str:
    """A number with so many digits that count; a dash for nothing."""
    if value is None or not isinstance(value, int | float):
        return NOTHING if value is None else str(value)
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 10.0 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def short(value: float | None) -> str:
    """A number for a label: three digits."""
    return number(value, 3)


def percent(share: float | None) -> str:
    """A share as a percentage; never 0 % or 100 % of what is not quite that."""
    if share is None or math.isnan(share):
        return NOTHING
    if 0.0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 < share < 1.0:
        return ">99.9 %"
    return f"{share * 100.0:.1f} %".replace(".0 %", " %")


def duration(ms: float | None) -> str:
    """A duration in the unit that suits it."""
    if ms is None or math.isnan(ms):
        return NOTHING
    for size_ms, unit in ((3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s")):
        if abs(ms) >= size_ms * (2.0 if unit != "s" else 1.0):
            return f"{short(ms / size_ms)} {unit}"
    return f"{short(ms)} ms"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence: `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def whole_numbers(values: Sequence[int]) -> str:
    """Whole numbers, those that follow each other as a range: `1–5, 9`."""
    ordered, ranges = sorted(set(values)), list[list[int]]()
    for value in ordered:
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in ranges)
