"""Small things every room may use: random streams, whole-file writes, the version of the code."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096
_HANDFUL = 256
SHIPPED_SHA = "shipped_sha.txt"
"""The file in a package sent to another machine that says which commit it is."""
_T = TypeVar("_T")


class Purpose(IntEnum):
    """What a random stream is for. The order is part of the model: it fixes each stream's seed."""

    ARRIVAL = 0
    RUNTIME = 1
    OPERATION = 2
    TABLE = 3
    PARTITION = 4
    STORAGE = 5
    CONFLICT = 6
    BACKOFF = 7


def random_stream(seed: int, purpose: Purpose) -> np.random.RandomState:
    """The stream of one purpose: independent of every other, and the same for the same seed."""
    child = np.random.SeedSequence(seed).spawn(len(Purpose))[purpose]
    return np.random.RandomState(np.random.MT19937(child))


def draw_seed() -> int:
    """A seed for a run that was given none; small enough to be read aloud and typed."""
    return int.from_bytes(os.urandom(4), "big")


class NormalStream:
    """Standard normals of one stream, drawn in blocks.

    Block and scalar draws of a RandomState are bit-identical as long as nothing else is drawn from it, so this is
    the plain stream at a tenth of the price.
    """

    __slots__ = ("_block", "_place", "_rng", "values")

    def __init__(self, rng: np.random.RandomState) -> None:
        self._rng = rng
        self._block: NDArray[np.float64] = np.empty(0)
        # Where the block goes on, behind the values handed out for single draws.
        self._place = 0
        # A few values as floats, last first, so that the next one is popped off the end. Always the same list:
        # samplers hold on to it.
        self.values: list[float] = []

    def next(self) -> float:
        """The next standard normal."""
        return self.values.pop() if self.values else self.refill()

    def refill(self) -> float:
        """Hand out more values for single draws when the last ones are used up, and take the first."""
        if self._place == len(self._block):
            self._block, self._place = self._rng.standard_normal(_BLOCK), 0
        handed_out = self._block[self._place : self._place + _HANDFUL]
        self._place += len(handed_out)
        self.values[:] = handed_out[::-1].tolist()
        return self.values.pop()

    def take(self, count: int) -> NDArray[np.float64]:
        """The next `count` standard normals."""
        # Single values that are still waiting come first; they are the block's last before its place.
        start = self._place - len(self.values)
        rest = self._block[start : start + count]
        if len(self.values) <= count:
            self.values.clear()
            self._place = start + len(rest)
        else:
            del self.values[len(self.values) - count :]
        if len(rest) == count:
            return rest
        fresh: NDArray[np.float64] = self._rng.standard_normal(count - len(rest))
        return np.concatenate((rest, fresh)) if len(rest) else fresh


class UniformStream:
    """Uniforms of one stream, drawn in blocks; stands in for the RandomState where only those are drawn."""

    __slots__ = ("_rng", "_values")

    def __init__(self, rng: np.random.RandomState) -> None:
        self._rng = rng
        self._values: list[float] = []

    def random_sample(self) -> float:
        """The next uniform on [0, 1)."""
        if not self._values:
            self._values = self._rng.random_sample(_BLOCK)[::-1].tolist()
        return self._values.pop()


def maker(cls: type[_T]) -> Callable[..., _T]:
    """A constructor for a frozen, slotted dataclass at a third of the price; all fields, by position.

    A frozen dataclass writes every field through `object.__setattr__`. A twin with the same slots is filled plainly
    and then becomes an instance of the frozen class, which nobody can tell from one made the usual way.
    """
    names = tuple(f.name for f in fields(cls))  # type: ignore[arg-type]
    body = "".join(f"\n    self.{name} = {name}" for name in names)
    namespace: dict[str, Any] = {"frozen": cls}
    exec(f"def __init__(self, {', '.join(names)}):{body}\n    self.__class__ = frozen", namespace)
    return type(f"_{cls.__name__}Draft", (), {"__slots__": names, **namespace})


def read_text(path: str | os.PathLike[str], largest_bytes: int = 2**20) -> str:
    """The text of a file that is a file, and no larger than what is read by hand; else ValueError or OSError."""
    place = Path(path)
    if place.exists() and not place.is_file():
        raise ValueError("is no regular file")
    with place.open("rb") as file:
        data = file.read(largest_bytes + 1)
    if len(data) > largest_bytes:
        raise ValueError(f"is larger than {largest_bytes / 2**20:g} MiB")
    return data.decode("utf-8")


def why_unwritable(path: str | os.PathLike[str]) -> str | None:
    """Why no file can be written here, found out before the work is done; None if nothing speaks against it."""
    place = Path(path)
    if place.is_dir():
        return "is a directory; name a file in it"
    holder = place.parent
    while not os.path.lexists(holder) and holder != holder.parent:
        holder = holder.parent
    if not holder.is_dir():
        return f"{holder} is not a directory; choose another place"
    if not os.access(holder, os.W_OK | os.X_OK):
        return f"no permission to write in {holder}; choose another place"
    return None


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the final name only when all went well.

    A full disk, an exception or a killed process leaves whatever stood under the final name untouched.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    beside = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(final)
    finally:
        beside.unlink(missing_ok=True)


@cache
def get_git_sha() -> str:
    """The commit this code was checked out at, `-dirty` if changed since; "unknown" outside a checkout.

    What a process runs is what it found when it began, so it asks git only once.
    """
    package = Path(__file__).resolve().parent
    with contextlib.suppress(OSError):
        # Code that was sent elsewhere brings along what it was called at home.
        return (package / SHIPPED_SHA).read_text(encoding="utf-8").strip()

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(package), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # A virtual environment may live inside somebody else's repository: only a tracked package counts.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return "unknown"
    sha = git("rev-parse", "HEAD")
    if not sha:
        return "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{sha}-dirty" if changed else sha
