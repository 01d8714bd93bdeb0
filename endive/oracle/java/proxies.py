"""Iceberg's openings to the world as Python objects: its file access, its pointer and its reports.

py4j does not use Java's default methods, so every method of an interface is here, by its Java name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from endive.oracle.java.bridge import Bridge
from endive.oracle.java.recording import READ, WRITE, Recorder

_HASH_MASK = 0x7FFFFFFF


class JavaObject:
    """What every Java object can be asked."""

    def hashCode(self) -> int:
        return id(self) & _HASH_MASK

    def equals(self, other: object) -> bool:
        return self is other

    def toString(self) -> str:
        return type(self).__name__


class CountingFiles(JavaObject):
    """A `FileIO` that notes each `newInputFile` and `newOutputFile`, over files in the JVM's memory.

    A file counts when it is opened by name: reading it may take several streams, and is one read all the same.
    """

    def __init__(self, bridge: Bridge, files: Any, recorder: Recorder) -> None:
        self._bridge = bridge
        self._files = files
        self._recorder = recorder
        self._properties = bridge.a_map({})

    def newInputFile(self, what: Any, length: int | None = None) -> Any:
        location = self._location(what)
        self._recorder.note(READ, location)
        return self._files.newInputFile(location)

    def newOutputFile(self, location: str) -> Any:
        self._recorder.note(WRITE, location)
        return self._files.newOutputFile(location)

    def deleteFile(self, what: Any) -> None:
        self._files.deleteFile(self._location(what))

    def properties(self) -> Any:
        return self._properties

    def initialize(self, properties: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def _location(self, what: Any) -> str:
        if isinstance(what, str):
            return what
        # Manifest lists come as `ManifestListFile`, data files as `DataFile`: all but manifests have a location.
        if self._bridge.is_a(what, "org.apache.iceberg.ManifestFile"):
            return str(what.path())
        return str(what.location())

    class Java:
        implements: ClassVar[list[str]] = ["org.apache.iceberg.io.FileIO"]


@dataclass(slots=True)
class Pointer:
    """Where the current metadata of a table is: the one thing that commits compete for."""

    location: str


class Names:
    """Names of metadata files and numbers of snapshots, each given once."""

    def __init__(self) -> None:
        self._metadata = itertools.count(1)
        # Above 32 bits, or py4j would make an Integer of it.
        self._snapshots = itertools.count(1 << 40)

    def metadata_location(self, table_location: str) -> str:
        return f"{table_location}/metadata/{next(self._metadata):06d}.metadata.json"

    def snapshot_id(self) -> int:
        return next(self._snapshots)


@dataclass(slots=True)
class Swaps:
    """Who is told of a swap: `before` is called when the metadata is written, `answered` when the pointer has spoken."""

    before: Callable[[], None] = field(default=lambda: None)
    answered: Callable[[], None] = field(default=lambda: None)


class PointerOperations(JavaObject):
    """`TableOperations` over a pointer that is compared and swapped.

    As in Iceberg's own catalogs, metadata is read again only if the pointer has moved, every commit writes its metadata
    before it tries to swap, and after a commit of one's own the table is looked at again.
    """

    def __init__(
        self, bridge: Bridge, pointer: Pointer, files: Any, names: Names, swaps: Swaps | None = None
    ) -> None:
        self._bridge = bridge
        self._pointer = pointer
        self._files = files
        self._names = names
        self._swaps = swaps or Swaps()
        self._loaded = ""
        self._metadata: Any = None
        self._encryption = bridge.iceberg.encryption.PlaintextEncryptionManager.instance()

    def current(self) -> Any:
        return self.refresh() if self._metadata is None else self._metadata

    def refresh(self) -> Any:
        location = self._pointer.location
        if location != self._loaded:
            self._metadata = self._bridge.iceberg.TableMetadataParser.read(self._files, location)
            self._loaded = location
        return self._metadata

    def commit(self, base: Any, metadata: Any) -> None:
        location = self._names.metadata_location(metadata.location())
        output = self._files.newOutputFile(location)
        self._bridge.iceberg.TableMetadataParser.write(metadata, output)
        self._swaps.before()
        is_won = str(base.metadataFileLocation()) == self._pointer.location
        if is_won:
            self._pointer.location = location
        self._swaps.answered()
        if not is_won:
            raise self._bridge.lost_swap("the pointer has moved")

    def io(self) -> Any:
        return self._files

    def encryption(self) -> Any:
        return self._encryption

    def metadataFileLocation(self, name: str) -> str:
        return f"{self.current().location()}/metadata/{name}"

    def locationProvider(self) -> Any:
        metadata = self.current()
        return self._bridge.iceberg.LocationProviders.locationsFor(
            metadata.location(), metadata.properties()
        )

    def temp(self, metadata: Any) -> PointerOperations:
        return self

    def newSnapshotId(self) -> int:
        return self._names.snapshot_id()

    def requireStrictCleanup(self) -> bool:
        return True

    class Java:
        implements: ClassVar[list[str]] = ["org.apache.iceberg.TableOperations"]


class AttemptReporter(JavaObject):
    """Iceberg's own word on how many attempts a commit took; None if it made no report, as when it failed."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.attempts: int | None = None

    def report(self, told: Any) -> None:
        if self._bridge.is_a(told, "org.apache.iceberg.metrics.CommitReport"):
            self.attempts = int(told.commitMetrics().attempts().value())

    def initialize(self, properties: Any) -> None:
        pass

    def close(self) -> None:
        pass

    class Java:
        implements: ClassVar[list[str]] = ["org.apache.iceberg.metrics.MetricsReporter"]
