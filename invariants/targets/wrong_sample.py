"""A catalog that is wrong on purpose, to see that the direct properties notice.

Between comparing and swapping it lets others in, and then swaps without comparing again. With one client at a time it is perfect; under
one order of two it answers success to both, and the first commit is lost.
"""

from __future__ import annotations

from collections.abc import Generator

from invariants.direct.adapter import Seen


class LostUpdates:
    """Compares first, swaps later."""

    def __init__(self, num_tables: int) -> None:
        self._state = Seen(0, (0,) * num_tables)

    def read(self) -> Seen:
        """The state."""
        return self._state

    def commit(
        self, seen: Seen, tables: tuple[int, ...], txn_id: int
    ) -> Generator[None, None, bool]:
        """Install what was seen plus the commit, whatever happened in between."""
        if seen.seq != self._state.seq:
            return False
        yield
        versions = tuple(v + (table in tables) for table, v in enumerate(seen.versions))
        self._state = Seen(seen.seq + 1, versions)
        return True


def make_catalog(num_tables: int) -> LostUpdates:
    """A fresh one."""
    return LostUpdates(num_tables)
