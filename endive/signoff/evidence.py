"""Evidence: what was looked at, what it came to, and a digest by which it is recognised when it is made once more.

A source brings one kind of evidence. It can make all of it, and it can make any part of it again; a record is believed because a
part chosen by lot comes out the same, not because of what it says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from endive.pool import Apply


class Verdict(Enum):
    """What a piece of evidence says."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    WAIVED = "waived"
    """A difference that somebody has accepted, with a reason and until a day."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence."""

    id: str
    """`scenario/io_convoy`: its kind, and its name within the kind."""
    verdict: Verdict
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What it came to, in figures; the same whenever it is made of the same code and data."""
    because: str = ""
    """Why it is no pass."""

    @property
    def kind(self) -> str:
        """What sort of evidence it is."""
        return self.id.partition("/")[0]

    @property
    def digest(self) -> str:
        """Of the verdict and of the figures behind it."""
        return digest_of({"id": self.id, "verdict": self.verdict.value, "detail": self.detail})

    def as_dict(self) -> dict[str, Any]:
        """As a record has it."""
        document: dict[str, Any] = {
            "id": self.id,
            "verdict": self.verdict.value,
            "digest": {"sha256": self.digest},
            "detail": dict(self.detail),
        }
        if self.because:
            document["because"] = self.because
        return document


class Source(Protocol):
    """Brings one kind of evidence."""

    kind: str

    def all(self, apply: Apply) -> Iterator[Evidence]:
        """Everything of this kind, made now."""

    def again(self, names: Sequence[str], apply: Apply) -> Iterator[Evidence]:
        """Some of it once more, by the names within the kind; what no longer exists is left out."""


def digest_of(value: Any) -> str:
    """The SHA-256 of a JSON value in its one canonical spelling."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def first_difference(recorded: Any, found: Any, where: str = "") -> str | None:
    """Where two JSON values first differ, with both; None if they do not."""
    if isinstance(recorded, Mapping) and isinstance(found, Mapping):
        for name in sorted({*recorded, *found}):
            place = f"{where}.{name}" if where else str(name)
            if name not in found:
                return f"{place}: recorded {_shown(recorded[name])}, now missing"
            if name not in recorded:
                return f"{place}: not in the record, now {_shown(found[name])}"
            told = first_difference(recorded[name], found[name], place)
            if told is not None:
                return told
        return None
    if isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            return f"{where}: recorded {len(recorded)} entries, now {len(found)}"
        for index, (left, right) in enumerate(zip(recorded, found, strict=True)):
            told = first_difference(left, right, f"{where}[{index}]")
            if told is not None:
                return told
        return None
    # 1 and True are equal in Python and different in JSON.
    if type(recorded) is type(found) and recorded == found:
        return None
    return f"{where}: recorded {_shown(recorded)}, now {_shown(found)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


Announce = Callable[[str], None]
"""Told what is being done, for whoever watches."""
