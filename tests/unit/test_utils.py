"""Random streams, cheap constructors, whole files and the version of the code."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.utils import (
    NormalStream,
    Purpose,
    draw_seed,
    get_git_sha,
    maker,
    random_stream,
    whole_file,
)


def test_streams_are_spawned_in_the_order_of_the_model() -> None:
    children = np.random.SeedSequence(42).spawn(8)
    names = [
        "ARRIVAL",
        "RUNTIME",
        "OPERATION",
        "TABLE",
        "PARTITION",
        "STORAGE",
        "CONFLICT",
        "BACKOFF",
    ]
    assert [purpose.name for purpose in Purpose] == names
    for purpose, child in zip(Purpose, children, strict=True):
        expected = np.random.RandomState(np.random.MT19937(child)).random_sample(5)
        assert random_stream(42, purpose).random_sample(5).tolist() == expected.tolist()


def test_streams_of_different_purposes_differ() -> None:
    first = {random_stream(42, purpose).random_sample() for purpose in Purpose}
    assert len(first) == len(Purpose)


# Sizes around the length of a block, where a mistake at its edge would show.
_TAKES = st.one_of(st.none(), st.integers(0, 40), st.integers(4_000, 9_000))


@given(seed=st.integers(0, 2**32 - 1), takes=st.lists(_TAKES, max_size=12))
def test_block_draws_are_bit_identical_to_scalar_draws(seed: int, takes: list[int | None]) -> None:
    stream, plain = NormalStream(np.random.RandomState(seed)), np.random.RandomState(seed)
    for count in takes:
        if count is None:
            assert stream.next() == plain.standard_normal()
        else:
            assert stream.take(count).tolist() == plain.standard_normal(count).tolist()
    assert stream.next() == plain.standard_normal()


def test_scalar_draws_go_on_across_the_end_of_a_block() -> None:
    stream, plain = NormalStream(np.random.RandomState(5)), np.random.RandomState(5)
    assert [stream.next() for _ in range(10_000)] == [
        plain.standard_normal() for _ in range(10_000)
    ]


def test_a_drawn_seed_can_be_typed() -> None:
    assert 0 <= draw_seed() < 2**32


@dataclass(frozen=True, slots=True)
class _Point:
    x: int
    y: str = "north"


def test_a_made_value_cannot_be_told_from_a_constructed_one() -> None:
    made = maker(_Point)(3, "south")
    assert type(made) is _Point
    assert made == _Point(3, "south")
    assert hash(made) == hash(_Point(3, "south"))
    assert repr(made) == repr(_Point(3, "south"))
    with pytest.raises(FrozenInstanceError):
        made.x = 4  # type: ignore[misc]


def test_a_file_appears_whole_under_its_name(tmp_path: Path) -> None:
    final = tmp_path / "new" / "result.txt"
    with whole_file(final) as beside:
        beside.write_text("all of it")
        assert not final.exists()
    assert final.read_text() == "all of it"
    assert list(final.parent.iterdir()) == [final]


def _write_until_the_disk_is_full(final: Path) -> None:
    with whole_file(final) as beside:
        beside.write_text("half of")
        raise OSError("disk full")


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    final = tmp_path / "result.txt"
    final.write_text("old")
    with pytest.raises(OSError, match="disk full"):
        _write_until_the_disk_is_full(final)
    assert final.read_text() == "old"
    assert list(tmp_path.iterdir()) == [final]


def test_the_version_is_a_commit_or_unknown() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", get_git_sha())
