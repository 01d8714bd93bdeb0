"""Where consolidated data stands, so that it is whole at every moment, whoever is killed and whoever else is at work.

    <out>/consolidated.parquet           -> .consolidated/current/consolidated.parquet
          consolidated_attempts.parquet  -> .consolidated/current/consolidated_attempts.parquet
          .consolidated/current          -> 7
          .consolidated/7/manifest.json, consolidated.parquet/experiment=…/part-….parquet, …
          .consolidated/lock

A version is written beside the others and never changed. One rename of one symbolic link makes it the current one, for both
datasets at once. Writers take turns by a lock that the system lets go of when its holder dies; a version that somebody still
reads is held by a lock too, and is removed by a later writer.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from endive.pipeline.columns import ATTEMPTS, TRANSACTIONS

MANIFEST = "manifest.json"
_HOME = ".consolidated"
_CURRENT = "current"


@contextlib.contextmanager
def writing(out: Path) -> Iterator[None]:
    """Be the only writer; waits for the one before."""
    home = out / _HOME
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def current(out: Path) -> Path | None:
    """The directory of the current version; None if there is none."""
    link = out / _HOME / _CURRENT
    try:
        version = (out / _HOME / os.readlink(link)).resolve()
    except OSError:
        return None
    return version if version.is_dir() else None


@contextlib.contextmanager
def reading(out: Path) -> Iterator[Path | None]:
    """The current version, which stays for as long as it is read; None if there is none."""
    while True:
        version = current(out)
        if version is None:
            yield None
            return
        with contextlib.ExitStack() as held:
            try:
                lock = held.enter_context((version / MANIFEST).open("rb"))
            except FileNotFoundError:
                # Replaced and removed between the two looks; there is a newer one.
                continue
            fcntl.flock(lock, fcntl.LOCK_SH)
            if not (version / MANIFEST).exists():
                continue
            yield version
            return


def occupied(out: Path) -> Iterator[Path]:
    """Whatever stands where a dataset would, and is none of ours."""
    for dataset in (TRANSACTIONS, ATTEMPTS):
        if os.path.lexists(out / dataset) and not (out / dataset).is_symlink():
            yield out / dataset


def new_version(out: Path) -> Path:
    """An empty directory for the next version; what a killed writer left behind is removed. For writers only."""
    home = out / _HOME
    for leftover in home.glob("*.part"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
    number = max((int(path.name) for path in home.iterdir() if path.name.isdecimal()), default=0)
    staging = home / f"{number + 1}.part"
    staging.mkdir()
    return staging


def publish(out: Path, staging: Path) -> Path:
    """Make a written version the current one, and remove those that are neither the one before nor read."""
    home = out / _HOME
    before = current(out)
    kept = {staging.stem} | ({before.name} if before else set())
    version = staging.with_suffix("")
    for directory, _, _ in os.walk(staging):
        _sync(Path(directory))
    staging.rename(version)
    _point(home / _CURRENT, version.name)
    for dataset in (TRANSACTIONS, ATTEMPTS):
        link = out / dataset
        if (version / dataset).is_dir():
            _point(link, f"{_HOME}/{_CURRENT}/{dataset}")
        elif link.is_symlink():
            link.unlink()
    _sync(home)
    _sync(out)
    for path in home.iterdir():
        if path.name.isdecimal() and path.name not in kept:
            _remove_unless_read(path)
    return version


def _point(link: Path, target: str) -> None:
    """Let a symbolic link point somewhere, from one moment to the next."""
    if link.is_symlink() and os.readlink(link) == target:
        return
    beside = link.with_name(f".{link.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)


def _remove_unless_read(version: Path) -> None:
    with contextlib.ExitStack() as held:
        with contextlib.suppress(FileNotFoundError):
            lock = held.enter_context((version / MANIFEST).open("rb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            (version / MANIFEST).unlink()
        shutil.rmtree(version)


def _sync(directory: Path) -> None:
    """Make names in a directory last beyond a loss of power."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
