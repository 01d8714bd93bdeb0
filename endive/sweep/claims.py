"""Who is at which run: so that processes that sweep into one directory at once share the work instead of doing it twice.

One lock file, one byte of it per run. Such locks end with the process that holds them, however it ends, so none is ever
left behind. They save work and no more: files appear whole under their names, so where a file system has no locks two
processes may make the same run, and whichever renames last leaves the same result.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

LOCK_FILE = ".sweep.lock"

_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN)


class Claims:
    """The runs that this process is at."""

    def __init__(self, file: int) -> None:
        self._file = file

    def take(self, directory: str, seed: int) -> bool:
        """Claim a run; False if another process is at it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(directory, seed))
        except OSError as error:
            # Without locks here nobody can say who is at it, so it is done.
            return error.errno not in _HELD_BY_ANOTHER
        return True

    def release(self, directory: str, seed: int) -> None:
        """The run is done, or will not be done here."""
        with contextlib.suppress(OSError):
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(directory, seed))

    def wait_for(self, directory: str, seed: int) -> None:
        """Wait until no other process is at a run. Whoever waits holds no claim, so nobody waits for one another."""
        with contextlib.suppress(OSError):
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _place(directory, seed))
        self.release(directory, seed)


@contextlib.contextmanager
def claims_in(out: Path) -> Iterator[Claims]:
    """Claims on runs below a directory; they end with the block."""
    file = os.open(out / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield Claims(file)
    finally:
        os.close(file)


def _place(directory: str, seed: int) -> int:
    """The byte that stands for a run; two that share one are merely not done at the same time."""
    digest = hashlib.sha256(f"{directory}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2
