"""Objectives: what a deployment must keep, in a small grammar.

    p99<2s   p95<=800ms   total.p99<10min   success>=99.9%   throughput>=49/s   maintenance.success>=95%   fast_append.p95<1s

A subject before the quantity, the name of a class of load or of an operation, narrows it down; without one it is about all open
arrivals: the load whose rate is asked for.

Every objective but throughput is a statement about a share of transactions, and is decided as such. "p99 < 2 s" says that at least
99 % of what commits does so within two seconds. That is the same statement, has no bias in short runs, and knows what to do with a
transaction whose end is not seen: once it is two seconds late, it is a miss.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from endive.sizing.units import Unclear, duration_ms, fraction, hint, rate_per_s, share

_GRAMMAR = re.compile(r"(?:([^<>=]*)\.)?\s*([A-Za-z_]+[\d.]*)\s*(<=|>=|<|>|==?)\s*([^<>=]+)")
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_QUANTITIES = ("p50", "p95", "p99", "p99.9", "success", "throughput")
_EXAMPLE = "write it as p99<2s, success>=99.9%, throughput>=49/s or maintenance.success>=95%"


class Quantity(Enum):
    """What an objective is about."""

    COMMIT_LATENCY = "commit latency"
    """From the end of the work to the commit."""
    TOTAL_LATENCY = "total latency"
    """From submission to commit, work included."""
    SUCCESS = "success"
    THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class Objective:
    """One thing that must be kept."""

    text: str
    """As it was written, without blanks."""
    subject: str | None
    """A class of load or an operation; None: all open arrivals."""
    quantity: Quantity
    limit: float
    """Milliseconds for a latency, a share for success, commits per second for a throughput."""
    quantile: float = 0.0
    """The share that must keep a latency."""
    is_strict: bool = False
    """Whether the limit itself is already too much."""
    is_implied: bool = False
    """Whether nobody wrote it down."""

    @property
    def is_latency(self) -> bool:
        """Whether it is about how long something takes."""
        return self.quantity in (Quantity.COMMIT_LATENCY, Quantity.TOTAL_LATENCY)

    @property
    def required(self) -> float:
        """The share that is needed; for a throughput the rate."""
        return self.quantile if self.is_latency else self.limit


def parse_objective(text: str) -> Objective:
    """Read one objective; raises `Unclear`."""
    found = _GRAMMAR.fullmatch(text.strip())
    if found is None:
        raise Unclear(f"{text!r} is no objective; {_EXAMPLE}")
    prefix, name, relation, bound = found.groups()
    words = [word.strip() for word in prefix.split(".")] if prefix else []
    is_total = False
    if words and words[-1] in ("total", "commit"):
        is_total = words.pop() == "total"
    subject = ".".join(words) or None
    written = re.sub(r"\s+", "", text)
    quantile = _QUANTILE.fullmatch(name)
    if quantile:
        if relation not in ("<", "<="):
            raise Unclear(f"{text!r}: a latency is kept below something; write {name}<…")
        level = fraction(quantile[1])
        if not 0.0 < level < 1.0:
            raise Unclear(f"{text!r}: a quantile lies between p0 and p100, both excluded")
        quantity = Quantity.TOTAL_LATENCY if is_total else Quantity.COMMIT_LATENCY
        return Objective(
            written, subject, quantity, duration_ms(bound), level, is_strict=relation == "<"
        )
    if is_total:
        raise Unclear(f"{text!r}: only a latency can be total; {_EXAMPLE}")
    if name not in ("success", "throughput"):
        raise Unclear(f"{text!r}: {name!r} is no quantity; {hint(name, _QUANTITIES)}")
    if relation not in (">", ">="):
        raise Unclear(f"{text!r}: {name} is kept above something; write {name}>=…")
    if name == "throughput":
        return Objective(
            written, subject, Quantity.THROUGHPUT, rate_per_s(bound), is_strict=relation == ">"
        )
    target = share(bound)
    if target == 1.0:
        raise Unclear(f"{text!r}: no number of runs can show 100 %; ask for 99.9% or 99.99%")
    if target == 0.0:
        raise Unclear(f"{text!r}: that holds whatever happens; ask for more, or leave it out")
    return Objective(written, subject, Quantity.SUCCESS, target, is_strict=relation == ">")


def with_implied(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """The same, and for every subject with a latency but without a success, the success that the latency takes for granted.

    A latency is that of commits. Without a word on success, a design that gives up on whatever is slow would be the best of all.
    """
    judged = {each.subject for each in objectives if each.quantity is Quantity.SUCCESS}
    implied = []
    for subject in dict.fromkeys(each.subject for each in objectives if each.is_latency):
        if subject not in judged:
            level = max(
                each.quantile for each in objectives if each.is_latency and each.subject == subject
            )
            prefix = "" if subject is None else f"{subject}."
            text = f"{prefix}success>={round(level * 100.0, 10):g}%"
            implied.append(Objective(text, subject, Quantity.SUCCESS, level, is_implied=True))
    return (*objectives, *implied)
