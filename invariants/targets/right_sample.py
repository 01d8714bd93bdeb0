"""The smallest catalog that is right: synchronous, with a lock's worth of atomicity. A model for adapters."""

from __future__ import annotations

from invariants.direct.adapter import Seen


class OnePointer:
    """A commit wins iff nothing was committed since its writer looked."""

    granularity = "catalog"

    def __init__(self, num_tables: int) -> None:
        self._state = Seen(0, (0,) * num_tables)

    def read(self) -> Seen:
        """The state."""
        return self._state

    def begin_commit(
        self, seen: Seen, tables: tuple[int, ...], txn_id: int
    ) -> tuple[Seen, tuple[int, ...]]:
        """Nothing is decided yet."""
        return seen, tables

    def finish_commit(self, handle: tuple[Seen, tuple[int, ...]]) -> bool:
        """Compare and swap at one instant."""
        seen, tables = handle
        if seen.seq != self._state.seq:
            return False
        versions = tuple(v + (t in tables) for t, v in enumerate(seen.versions))
        self._state = Seen(seen.seq + 1, versions)
        return True


def make_catalog(num_tables: int) -> OnePointer:
    """A fresh one."""
    return OnePointer(num_tables)
