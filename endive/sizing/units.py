"""Durations, rates and shares as people write them on a command line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from decimal import Decimal

_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_DURATIONS_MS = {"ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0}
_RATES_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Unclear(Exception):
    """What was written cannot be understood; the message says how to write it."""


def duration_ms(text: str) -> float:
    """A duration with its unit, in milliseconds."""
    found = re.fullmatch(rf"{_NUMBER}\s*([a-z]*)", text.strip())
    if found is None or found[2] not in _DURATIONS_MS:
        hint = "write min for minutes" if found is not None and found[2] == "m" else ""
        raise Unclear(f"{text!r} is no duration; {hint or 'write it as 800ms, 2s, 10min or 1h'}")
    value = _finite(float(found[1]) * _DURATIONS_MS[found[2]], text)
    if value <= 0.0:
        raise Unclear(f"{text!r} takes no time; give more than 0")
    return value


def rate_per_s(text: str) -> float:
    """A rate, per second unless it says otherwise."""
    found = re.fullmatch(rf"{_NUMBER}\s*(?:/\s*([a-z]+))?", text.strip())
    if found is None or (found[2] or "s") not in _RATES_S:
        raise Unclear(f"{text!r} is no rate; write it as 50, 50/s, 30/min or 4/h")
    value = _finite(float(found[1]) / _RATES_S[found[2] or "s"], text)
    if value <= 0.0:
        raise Unclear(f"{text!r} is no rate; give more than 0")
    return value


def share(text: str) -> float:
    """A share from 0 to 1, as a percentage or a fraction."""
    found = re.fullmatch(rf"{_NUMBER}\s*(%?)", text.strip())
    if found is None:
        raise Unclear(f"{text!r} is no share; write it as 99.9% or 0.999")
    value = fraction(found[1]) if found[2] else float(found[1])
    if not 0.0 <= value <= 1.0:
        hint = f"; did you mean {text.strip()}%?" if not found[2] and value <= 100.0 else ""
        raise Unclear(f"{text!r} is not between 0 and 100 %{hint}")
    return value


def fraction(percentage: str) -> float:
    """A percentage as a share: 99.9 is 0.999, which it would not be if floats were divided."""
    return float(Decimal(percentage) / 100)


def _finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise Unclear(f"{text!r} is beyond all numbers")
    return value


def hint(word: str, known: Iterable[str]) -> str:
    """What somebody may have meant, or what there is."""
    words = list(known)
    close = difflib.get_close_matches(word, words, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(words)}"
