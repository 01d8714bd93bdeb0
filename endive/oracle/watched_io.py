"""A FileIO for PyIceberg that tells somebody of every file that is opened or created, and otherwise is PyArrow's.

PyIceberg makes a FileIO whenever it loads a table, by the name of its class and from properties that are texts. So whoever
wants to be told is registered here under a name, and the catalog's properties carry the name. This module imports PyIceberg
and is itself imported only where a catalog is opened.

One definition for all counts: a read is an opening for reading, a write is a creation. Asking whether a file exists, how
long it is, or deleting it, is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

WATCHER_PROPERTY = "endive.watcher"

METADATA = "metadata"
MANIFEST_LIST = "manifest_list"
MANIFEST_FILE = "manifest_file"
DATA = "data"

READ = "read"
WRITE = "write"


class Watcher(Protocol):
    """Is told of each file, before it is opened or created; what it does then takes its time."""

    def touched(self, kind: str, action: str) -> None:
        """Somebody is about to `read` or `write` a file of this kind."""


_WATCHERS: dict[str, Watcher] = {}


@contextmanager
def watching(name: str, watcher: Watcher) -> Iterator[dict[str, str]]:
    """The properties of a catalog whose files this watcher is told of, for as long as that lasts."""
    if name in _WATCHERS:
        raise ValueError(f"there is a watcher called {name!r} already")
    _WATCHERS[name] = watcher
    try:
        yield {"py-io-impl": f"{__name__}.WatchedIO", WATCHER_PROPERTY: name}
    finally:
        del _WATCHERS[name]


def kind_of(location: str) -> str:
    """What a file is, by its name: all writers of Iceberg name them alike."""
    name = location.rpartition("/")[2]
    if name.endswith(".metadata.json"):
        return METADATA
    if name.endswith(".avro"):
        return MANIFEST_LIST if name.startswith("snap-") else MANIFEST_FILE
    return DATA


class WatchedFile(PyArrowFile):
    """A file that tells when it is opened or created."""

    _watcher: Watcher

    def open(self, seekable: bool = True) -> Any:
        """Open for reading."""
        self._watcher.touched(kind_of(self.location), READ)
        return super().open(seekable)

    def create(self, overwrite: bool = False) -> Any:
        """Create for writing."""
        self._watcher.touched(kind_of(self.location), WRITE)
        return super().create(overwrite)


class WatchedIO(PyArrowFileIO):
    """PyArrow's FileIO with files that are watched."""

    def new_input(self, location: str) -> PyArrowFile:
        """A file to read."""
        return self._watched(super().new_input(location))

    def new_output(self, location: str) -> PyArrowFile:
        """A file to write."""
        return self._watched(super().new_output(location))

    def _watched(self, file: PyArrowFile) -> WatchedFile:
        watched = WatchedFile(
            location=file.location,
            path=file._path,
            fs=file._filesystem,
            buffer_size=file._buffer_size,
        )
        watched._watcher = _WATCHERS[self.properties[WATCHER_PROPERTY]]
        return watched
