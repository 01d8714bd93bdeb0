"""What a library opened and created, attempt by attempt; knows file names and nothing of Java."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence

from endive.errors import EndiveError
from endive.oracle.measurement import AttemptCounts

READ = "reads"
WRITE = "writes"

_MANIFEST = re.compile(r"-m\d+\.avro$")


class UnknownFileError(EndiveError):
    """A file was touched of a kind that nobody counts: what was measured would be incomplete."""


def kind_of(location: str) -> str | None:
    """`metadata`, `manifest_list` or `manifest_file`, by the name that Iceberg gives it."""
    name = location.rpartition("/")[2]
    if name.endswith(".metadata.json"):
        return "metadata"
    if name.startswith("snap-") and name.endswith(".avro"):
        return "manifest_list"
    return "manifest_file" if _MANIFEST.search(name) else None


class Recorder:
    """Counts while it is on. Iceberg's workers touch files on threads of their own, so that nothing here relies on order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_on = False
        self._parts: list[Counter[str]] = [Counter()]
        self._unknown: list[str] = []
        self._list_readers: list[set[int]] = [set()]

    def begin(self) -> None:
        """From here on everything counts, for attempt 0 first."""
        with self._lock:
            self._is_on = True
            self._parts = [Counter()]
            self._list_readers = [set()]

    def end(self) -> None:
        """Nothing counts any more."""
        with self._lock:
            self._is_on = False

    def note(self, action: str, location: str) -> None:
        """A file is opened or created."""
        with self._lock:
            if not self._is_on:
                return
            kind = kind_of(location)
            if kind is None:
                self._unknown.append(f"{action} {location}")
            else:
                self._parts[-1][f"{kind}_{action}"] += 1
                if (kind, action) == ("manifest_list", READ):
                    self._list_readers[-1].add(threading.get_ident())

    def attempt_over(self) -> None:
        """The swap of an attempt has been answered."""
        with self._lock:
            self._parts.append(Counter())
            self._list_readers.append(set())

    @property
    def reads_lists_in_turn(self) -> bool:
        """Whether one thread opened all lists of an attempt: each thread of the library is one of Python's here."""
        return all(len(readers) <= 1 for readers in self._list_readers)

    def attempts(
        self, *, gave_up_before_swap: bool
    ) -> tuple[tuple[AttemptCounts, ...], AttemptCounts]:
        """Every attempt, and what came after the last of them.

        An attempt that was given up before its swap, by a validation, has no end of its own: it is the last part.
        """
        if self._unknown:
            told = ", ".join(self._unknown[:3])
            raise UnknownFileError(
                f"files of no known kind were touched ({told}); add the kind to endive/oracle/java/recording.py"
            )
        parts: Sequence[AttemptCounts] = [AttemptCounts(**part) for part in self._parts]
        if gave_up_before_swap:
            return tuple(parts), AttemptCounts()
        return tuple(parts[:-1]), parts[-1]
