"""Closed forms as evidence: each trial with the values that were simulated and their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from endive.laws.model import Row
from endive.laws.model import Verdict as Held
from endive.laws.registry import trials
from endive.laws.runner import judge
from endive.pool import Apply
from endive.signoff.evidence import Evidence, Verdict

SEED = 1
_DIGITS = 9


class Laws:
    """Holds laws against runs."""

    kind = "law"

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Every trial."""
        return self.again(list(trials()), apply)

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some trials, by name."""
        known = trials()
        for name in names:
            if name in known:
                yield _evidence(name, judge({name: known[name]}, SEED, apply))


def _evidence(name: str, rows: Sequence[Row]) -> Evidence:
    verdicts = {row.verdict for row in rows}
    worst = (
        Verdict.FAIL
        if Held.FAILS in verdicts
        else Verdict.UNKNOWN
        if Held.UNDECIDED in verdicts
        else Verdict.PASS
    )
    bad = [row for row in rows if row.verdict in (Held.FAILS, Held.UNDECIDED)]
    return Evidence(
        f"law/{name}",
        worst,
        {"rows": [rounded(row.as_dict()) for row in rows]},
        because="; ".join(f"{row.law} at {row.point}: {row.verdict}" for row in bad),
    )


def rounded(value: Any) -> Any:
    """The same with nine digits that count: the last bits of a logarithm are the machine's own."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return value
