"""Tables to measure on: a base, the files in it, and what rivals made of it.

Rivals always win, so what they commit does not depend on who is measured. Their history is made once for each base, by real
commits, and a rival's commit during a measurement moves the pointer on along it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from endive.oracle.java.bridge import Bridge
from endive.oracle.java.proxies import Names, Pointer, PointerOperations

OWN = "a"
"""The partition of whoever is measured."""
OTHER = "b"
OWN_RANGE = (100, 200)
"""The values of `x` in the files of whoever is measured."""
FAR_RANGE = (0, 10)
"""Values out of the way of a filter on `OWN_RANGE`."""
_FORMAT = 2
"""The version of the table format that new tables have."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a base is like."""

    manifests: int = 3
    min_count_to_merge: int | None = None
    """From how many manifests on they are merged; if None, as the library has it by default."""
    has_neighbour: bool = False
    """Whether one more manifest holds a second file of the own partition, out of the way."""


@dataclass(frozen=True, slots=True)
class Base:
    """A table as it is before anything is measured: where its metadata is, and its files as a scan finds them."""

    shape: Shape
    location: str
    own_file: Any
    other_file: Any
    neighbour: Any


class Rival:
    """Somebody who commits to a base again and again, in one way."""

    def __init__(self, bench: Bench, base: Base, way: str, partition: str) -> None:
        self._bench = bench
        self._pointer = Pointer(base.location)
        self._table = bench.open_uncounted(self._pointer)
        self._partition = partition
        self._base = base
        self._ways = _ways(way)
        self._replaces = base.neighbour if partition == OWN else base.other_file
        self._locations = [base.location]

    def location_after(self, commits: int) -> str:
        """Where the pointer is after so many commits."""
        while len(self._locations) <= commits:
            getattr(self, f"_{next(self._ways)}")()
            self._locations.append(self._pointer.location)
        return self._locations[commits]

    def _append(self) -> None:
        self._add(FAR_RANGE)

    def _append_in_the_way(self) -> None:
        self._add(OWN_RANGE)

    def _add(self, values: tuple[int, int]) -> None:
        added = self._bench.data_file(self._partition, values)
        self._table.newFastAppend().appendFile(added).commit()

    def _overwrite(self) -> None:
        added = self._bench.data_file(self._partition, FAR_RANGE)
        self._table.newOverwrite().deleteFile(self._replaces).addFile(added).commit()
        self._replaces = added

    def _overwrite_in_the_way(self) -> None:
        self._replaces = self._base.own_file
        self._overwrite()


def _ways(way: str) -> Iterator[str]:
    """What the rivals do, commit after commit."""
    begins = {
        "appends": (),
        "overwrites": (),
        "conflicting_appends": ("append_in_the_way",),
        "conflicting_overwrites": ("overwrite_in_the_way",),
        "two_overwrites_then_appends": ("overwrite", "overwrite"),
        "three_appends_then_overwrites": ("append", "append", "append"),
    }[way]
    goes_on = "overwrite" if way.endswith("overwrites") else "append"
    return itertools.chain(begins, itertools.repeat(goes_on))


class Bench:
    """Makes bases and rivals, each once, in the JVM's memory."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.names = Names()
        self.files = bridge.iceberg.inmemory.InMemoryFileIO()
        self._types = bridge.iceberg.types.Types
        fields = (
            self._types.NestedField.required(1, "p", self._types.StringType.get()),
            self._types.NestedField.required(2, "x", self._types.IntegerType.get()),
        )
        self._schema = bridge.iceberg.Schema(bridge.a_list(fields))
        self.spec = bridge.iceberg.PartitionSpec.builderFor(self._schema).identity("p").build()
        self._numbers = itertools.count(1)
        self._bases: dict[Shape, Base] = {}
        self._rivals: dict[tuple[Shape, str, str], Rival] = {}

    def base(self, shape: Shape) -> Base:
        """A table of this shape; the same one every time."""
        if shape not in self._bases:
            self._bases[shape] = self._make_base(shape)
        return self._bases[shape]

    def location_after(self, base: Base, way: str, partition: str, commits: int) -> str:
        """Where the pointer is after so many commits of a rival."""
        key = (base.shape, way, partition)
        if key not in self._rivals:
            self._rivals[key] = Rival(self, base, way, partition)
        return self._rivals[key].location_after(commits)

    def open_uncounted(self, pointer: Pointer) -> Any:
        """A table whose files nobody counts."""
        operations = PointerOperations(self.bridge, pointer, self.files, self.names)
        return self.bridge.iceberg.BaseTable(operations, "t")

    def data_file(self, partition: str, values: tuple[int, int]) -> Any:
        """A data file with these bounds of `x`; it exists by name only, and commits look no further."""
        # Other metrics of a column are counts as Java's Long, which py4j does not put into a map.
        lower, upper = (self.bridge.a_map({2: self._bound(value)}) for value in values)
        metrics = self.bridge.iceberg.Metrics(None, None, None, None, None, lower, upper)
        return (
            self.bridge.iceberg.DataFiles.builder(self.spec)
            .withPath(self._path("data"))
            .withPartitionPath(f"p={partition}")
            .withMetrics(metrics)
            .withRecordCount(10)
            .withFileSizeInBytes(1000)
            .build()
        )

    def delete_file(self, partition: str) -> Any:
        """A file of position deletes."""
        return (
            self.bridge.iceberg.FileMetadata.deleteFileBuilder(self.spec)
            .ofPositionDeletes()
            .withPath(self._path("deletes"))
            .withPartitionPath(f"p={partition}")
            .withRecordCount(1)
            .withFileSizeInBytes(100)
            .build()
        )

    def _bound(self, value: int) -> Any:
        return self.bridge.iceberg.types.Conversions.toByteBuffer(
            self._types.IntegerType.get(), value
        )

    def _path(self, folder: str) -> str:
        return f"mem://{folder}/{next(self._numbers)}.parquet"

    def _make_base(self, shape: Shape) -> Base:
        location = f"mem://tables/{len(self._bases)}"
        properties = {
            # Waiting is not what is measured.
            "commit.retry.min-wait-ms": "1",
            "commit.retry.max-wait-ms": "5",
            "format-version": str(_FORMAT),
        }
        if shape.min_count_to_merge is not None:
            properties["commit.manifest.min-count-to-merge"] = str(shape.min_count_to_merge)
        empty = self.bridge.iceberg.TableMetadata.newTableMetadata(
            self._schema, self.spec, location, self.bridge.a_map(properties)
        )
        first = self.names.metadata_location(location)
        self.bridge.iceberg.TableMetadataParser.write(empty, self.files.newOutputFile(first))
        pointer = Pointer(first)
        table = self.open_uncounted(pointer)
        # One manifest each: the own file, one to be replaced by others, and then any number more.
        contents = [(OWN, OWN_RANGE), (OTHER, FAR_RANGE)] + [("c", FAR_RANGE)] * (
            shape.manifests - 2
        )
        if shape.has_neighbour:
            contents[-1] = (OWN, FAR_RANGE)
        made = [self.data_file(partition, values) for partition, values in contents]
        append = table.newFastAppend()
        for number, each in enumerate(made):
            append.appendManifest(self._manifest(f"{location}/metadata/base-m{number}.avro", each))
        append.commit()
        # As engines get them: found by a scan, files know their manifest, and commits look for them nowhere else.
        found = self._scanned(table)
        own, other, last = (found[str(made[index].location())] for index in (0, 1, -1))
        return Base(shape, pointer.location, own, other, last if shape.has_neighbour else None)

    def _manifest(self, location: str, file: Any) -> Any:
        writer = self.bridge.iceberg.ManifestFiles.write(
            _FORMAT, self.spec, self.files.newOutputFile(location), None
        )
        writer.add(file)
        writer.close()
        return writer.toManifestFile()

    def _scanned(self, table: Any) -> dict[str, Any]:
        found = {}
        tasks = table.newScan().planFiles()
        iterator = tasks.iterator()
        while iterator.hasNext():
            file = iterator.next().file()
            found[str(file.location())] = file
        tasks.close()
        return found
