"""The lot that decides what is made again: a tenth of each kind of evidence, and the same tenth for the same seed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

SHARE = 0.1


def draw(ids: Sequence[str], seed: int, share: float = SHARE) -> list[str]:
    """A share of each kind, at least one of it; in the order given.

    Each id is drawn by a number of its own, so that evidence that is added or removed leaves the lot of the rest as it was.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    for id in ids:
        kinds[id.partition("/")[0]].append(id)
    chosen: set[str] = set()
    for members in kinds.values():
        count = max(1, -int(-len(members) * share // 1))
        chosen.update(sorted(members, key=lambda id: _number(id, seed))[:count])
    return [id for id in ids if id in chosen]


def _number(id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{id}".encode()).digest()
