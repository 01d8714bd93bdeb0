"""Each packed record is told twice, as events and as columns: the file that is made of columns holds the very same events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from differential.options import grid_options, mixed_options
from differential.strategies import Config, grid_configs, mixed_configs, seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endive import express
from endive.config import build_simulation_config, resolve_config
from endive.errors import InputError
from endive.express.story import MANY, Story
from endive.simulation import Simulation
from endive.trace import CatalogRead, Event, Header, Judged, Recorder, Witness, read_trace
from endive.trace.columns import Block, Coded, Listed, Sometimes
from endive.trace.files import write_recorded
from endive.trace.recorder import CATALOG_USED, SEEN, PackedShape, Pen
from endive.transaction.events import Ends

HEADER = Header(1, 10.0, {}, 1, (1,), (), {}, {"endive": "0"})
SHAPES = (
    "applied to one",
    "submitted",
    "finished",
    "read",
    "retry",
    "again",
    "worked",
    "prepared",
    "called",
    "refused",
    "returned",
)
VERSIONS, PARTITIONS, OTHERS = (3, 5), ((7,), (), (8, 9)), (11, 12, 13)
CLASSES = ("overlap", "cross_table", "disjoint_partitions")
# What only a few numbers stand for; all other numbers of a record differ from each other.
FEW = {"found": (0, 1, 2), "status": (0, 1, 2), "reason": (-1, 0), "partition": (-1, 4, 6)}
NAMES = {"class_code": (0, 1), "operation_code": (1, 2), "success": (0, 1), "attempt": (0, 1, 2)}
CHOICES = {**FEW, **NAMES, "replaces_data": (0, 1)}


def written(recorder: Recorder, path: Path, records_per_group: int = 1 << 17) -> list[Event]:
    """What stands in the file that is made of columns."""
    write_recorded(HEADER, recorder, path, records_per_group=records_per_group)
    return list(read_trace(path).events)


def all_shapes() -> tuple[Recorder, dict[str, tuple[PackedShape, Pen]]]:
    """A recorder that knows every packed shape there is."""
    values = {"simulation": {"duration_ms": 1000}, "storage": {"provider": "s3x"}}
    built = build_simulation_config(resolve_config(values), 1)
    lane = express.lane_of(built.catalog, built.storage_provider, built.options)
    assert lane is not None
    recorder = Recorder(packs=True)
    Witness(recorder, lambda: 0.0)
    ends = Ends(recorder)
    for word in ("writers", "fast_append", "merge_append"):
        ends._names.number(word)
    ends._reasons.number("max retries")
    Story(recorder, *lane, ml_append_mode=False)
    return recorder, dict(zip(SHAPES, recorder.pens(), strict=True))


def write(recorder: Recorder, shape: PackedShape, pen: Pen, count: int = 12) -> None:
    """Write records in which no two numbers are equal, but for those that few values can have."""
    names = shape.type.names or ()
    for record in range(count):
        fields: list[Any] = []
        for place, name in enumerate(names):
            values = CHOICES.get(name)
            number = 1000 * (place + 1) + record
            fields.append(number if values is None else values[(record + place) % len(values)])
            if shape.type[name].kind == "f":
                fields[-1] = number + 1 / 3
        tells_several = "version" in names and "table" not in names and record % 3 == 2
        if tells_several:
            fields[names.index("version")] = MANY
            several = (VERSIONS, PARTITIONS if record % 2 else None, OTHERS)
            pen.lay_beside(several if "partition" in names else VERSIONS)
        if "found" in names and record % 4 == 2:
            fields[names.index("found")] = MANY
            pen.lay_beside(CLASSES[: 1 + record % 3])
        recorder.mark(pen.code)
        pen.put(pen.pack(*fields))


def swapped(shape: PackedShape, number: int, one: int, other: int) -> PackedShape:
    """The same shape with two columns of one of its blocks in each other's place."""

    def spread(records: Any, beside: Iterator[Any], rows: Any) -> list[Block]:
        blocks = shape.spread(records, beside, rows)
        columns = list(blocks[number].columns)
        columns[one], columns[other] = columns[other], columns[one]
        blocks[number] = blocks[number]._replace(columns=columns)
        return blocks

    fields = " ".join(
        f"{name}:{'d' if shape.type[name].kind == 'f' else 'q'}" for name in shape.type.names or ()
    )
    return PackedShape(fields, events=shape.events, tell=shape.tell, spread=spread)


def kind_of(column: Any) -> tuple[Any, ...]:
    """What a column can be taken for: one of another kind in its place cannot even be written."""
    if isinstance(column, Sometimes):
        return kind_of(column.column)
    if isinstance(column, Listed):
        return ("list", *kind_of(column.elements))
    if isinstance(column, Coded):
        return ("coded", type(column.values[0]))
    return (np.asarray(column).dtype.kind,)


@pytest.mark.parametrize("name", SHAPES)
def test_a_record_is_the_same_as_events_and_as_columns(name: str, tmp_path: Path) -> None:
    recorder, shapes = all_shapes()
    write(recorder, *shapes[name])
    events = recorder.events()
    assert len(events) == 12 * shapes[name][0].events
    for records_per_group in (1 << 17, 5):
        found = written(recorder, tmp_path / "t.parquet", records_per_group)
        assert repr(found) == repr(events)


@pytest.mark.parametrize("name", SHAPES)
def test_columns_in_each_others_place_are_noticed(name: str, tmp_path: Path) -> None:
    recorder, shapes = all_shapes()
    shape, pen = shapes[name]
    write(recorder, shape, pen)
    events, (piece,) = recorder.events(), recorder.pieces(1 << 17)
    noticed = 0
    for number, block in enumerate(piece.blocks):
        for one, other in combinations(range(len(block.columns)), 2):
            if kind_of(block.columns[one]) != kind_of(block.columns[other]):
                continue
            if repr(block.columns[one]) == repr(block.columns[other]):
                continue
            wrong, faulty = Recorder(packs=True), swapped(shape, number, one, other)
            write(wrong, faulty, wrong.pen(faulty))
            try:
                found = written(wrong, tmp_path / "t.parquet")
            except InputError:
                # Some words may not even stand in each other's place.
                found = []
            assert repr(found) != repr(events)
            noticed += 1
    assert noticed


def test_records_of_all_kinds_keep_their_order(tmp_path: Path) -> None:
    recorder, shapes = all_shapes()
    for turn in range(3):
        for shape, pen in shapes.values():
            write(recorder, shape, pen, count=1 + turn)
            recorder.emit(Judged(1.0 + turn, pen.code, 0, False))
    events = recorder.events()
    for records_per_group in (1 << 17, 1, 7):
        found = written(recorder, tmp_path / "t.parquet", records_per_group)
        assert repr(found) == repr(events)


@pytest.mark.parametrize("records_per_group", [1, 2, 3, 100])
@pytest.mark.parametrize("packs", [True, False])
def test_a_read_is_claimed_by_whoever_says_so_next_and_else_by_nobody(
    packs: bool, records_per_group: int, tmp_path: Path
) -> None:
    recorder = Recorder(packs=packs)
    use = ("catalog", "read", 1, 100, 1, 2.0)
    read = CatalogRead(3.0, 5, 2.0, 2.0, 0, (0,), None, ())
    recorder.emit((CATALOG_USED, use))
    recorder.emit(Judged(1.0, 0, 0, False))
    for _ in range(3):
        recorder.emit((CATALOG_USED, use))
        recorder.emit((SEEN, read))
    if packs:
        recorder.emit((CATALOG_USED, use))
        ends = Ends(recorder)
        shape, pen = recorder.pens()[1]
        ends._reasons.number("max retries")
        write(recorder, shape, pen, count=2)
        recorder.emit((SEEN, read))
    recorder.emit((CATALOG_USED, use))
    events = recorder.events()
    assert len(events) == 1 + 3 * 2 + (3 if packs else 0)
    assert written(recorder, tmp_path / "t.parquet", records_per_group) == events


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    config=st.one_of(grid_configs(), mixed_configs(), grid_options(), mixed_options()),
    seed=seeds,
    records_per_group=st.sampled_from((1 << 17, 1000, 64)),
)
def test_the_file_of_any_run_holds_its_events(
    tmp_path_factory: pytest.TempPathFactory, config: Config, seed: int, records_per_group: int
) -> None:
    built = build_simulation_config(resolve_config(config), seed)
    recorded = Simulation(replace(built, records_trace=True)).run().recorded
    assert recorded is not None
    path = tmp_path_factory.mktemp("twins") / "t.parquet"
    assert repr(written(recorded, path, records_per_group)) == repr(recorded.events())
