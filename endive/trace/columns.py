"""The fields of many events as arrays, which never were Python objects or are none any more.

A field stands in some of the rows only. Where several kinds of events, or several kinds of records, share a field, their values
are woven together in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Coded:
    """A few different words or whole numbers, and which of them stands where."""

    codes: NDArray[Any]
    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists: how long each of them is, and the elements of all of them, one behind the other."""

    lengths: NDArray[np.int64]
    elements: Column

    def __len__(self) -> int:
        return len(self.lengths)


Column = NDArray[Any] | Coded | Listed
"""Numbers and truth values as they are; words as codes; lists of any of these."""


class Sometimes(NamedTuple):
    """A field that is nothing in some of the events: where there is something, and what."""

    is_given: NDArray[np.bool_]
    column: Column


class Part(NamedTuple):
    """A field in some rows, in ascending order."""

    rows: NDArray[np.int64]
    column: Column


class Block(NamedTuple):
    """Events of one kind: their rows, in ascending order, and their fields in the order of the vocabulary."""

    kind: type[Any]
    rows: NDArray[np.int64]
    columns: Sequence[Column | Sometimes]


def constant(value: str | int, count: int) -> Coded:
    """The same value, `count` times."""
    return Coded(np.zeros(count, np.uint8), (value,))


def one_each(column: Column) -> Listed:
    """Each value as the only element of a list."""
    return Listed(np.ones(len(column), np.int64), column)


def side_by_side(columns: Sequence[NDArray[Any]]) -> Listed:
    """Lists of as many numbers each as there are columns."""
    count = len(columns[0])
    return Listed(np.full(count, len(columns), np.int64), np.stack(columns, axis=1).reshape(-1))


def nothing_each(count: int) -> Listed:
    """Lists with nothing in them."""
    return Listed(np.zeros(count, np.int64), np.empty(0, np.int64))


def lists_of(lists: Sequence[Sequence[int]]) -> Listed:
    """Lists of whole numbers."""
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    return Listed(lengths, np.fromiter(chain.from_iterable(lists), np.int64))


def where_given(values: NDArray[np.int64], none: int) -> Column | Sometimes:
    """Lists of one list of one number, or nothing where the number is the one that stands for that."""
    is_given = values != none
    if is_given.all():
        return one_each(one_each(values))
    return Sometimes(is_given, one_each(one_each(values[is_given])))


def lists_of_lists(lists: Sequence[Sequence[Sequence[int]] | None]) -> Column | Sometimes:
    """Lists of lists of whole numbers, or nothing."""
    given = [each for each in lists if each is not None]
    lengths = np.fromiter(map(len, given), np.int64, len(given))
    column = Listed(lengths, lists_of(list(chain.from_iterable(given))))
    if len(given) == len(lists):
        return column
    is_given = np.fromiter((each is not None for each in lists), np.bool_, len(lists))
    return Sometimes(is_given, column)


class Words:
    """Words as they come, each with a number by which records can tell it; `NO_WORD` tells that there is none."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word."""
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = len(self._numbers)
        return found

    def __getitem__(self, number: int) -> str:
        return tuple(self._numbers)[number]

    def column(self, numbers: NDArray[np.int64]) -> Column | Sometimes:
        """The words with these numbers."""
        is_given, words = numbers != NO_WORD, tuple(self._numbers)
        if is_given.all():
            return Coded(numbers, words)
        return Sometimes(is_given, Coded(numbers[is_given], words))


NO_WORD = -1


def woven(blocks: Sequence[Block], count: int) -> dict[str, Part]:
    """The fields of `count` rows, each in the rows that have it."""
    parts: dict[str, list[Part]] = {}
    for kind, rows, columns in blocks:
        for name, column in zip(kind._fields, columns, strict=True):
            own = rows
            if isinstance(column, Sometimes):
                own, column = rows[column.is_given], column.column
            if len(own):
                parts.setdefault(name, []).append(Part(own, column))
    places: dict[tuple[int, ...], _Places] = {}
    found = {}
    for name, several in parts.items():
        if len(several) == 1:
            found[name] = several[0]
            continue
        # Most fields share their rows with others.
        key = tuple([id(part.rows) for part in several])
        if key not in places:
            places[key] = _places([part.rows for part in several], count)
        rows, at = places[key]
        each = [(own, part.column) for own, part in zip(at, several, strict=True)]
        found[name] = Part(rows, _woven(each, len(rows)))
    return found


_Places = tuple[NDArray[np.int64], list[NDArray[np.int64]]]


def _places(several: Sequence[NDArray[np.int64]], count: int) -> _Places:
    """All rows of several columns that share none, and the place of each column's values among them."""
    if sum(map(len, several)) == count:
        return np.arange(count), list(several)
    has_it = np.zeros(count, np.bool_)
    for rows in several:
        has_it[rows] = True
    ranks = np.cumsum(has_it, dtype=np.int32) - 1
    return np.flatnonzero(has_it), [ranks.take(rows).astype(np.int64) for rows in several]


def _woven(parts: Sequence[tuple[NDArray[np.int64], Column]], count: int) -> Column:
    """One column of `count` values; with each part comes where its values belong."""
    first = parts[0][1]
    if isinstance(first, Listed):
        return _woven_lists([(at, part) for at, part in parts if isinstance(part, Listed)], count)
    coded = [(at, part) for at, part in parts if isinstance(part, Coded)]
    if len(coded) == len(parts):
        numbers: dict[Any, int] = {}
        owns = [
            [numbers.setdefault(value, len(numbers)) for value in part.values] for _, part in coded
        ]
        if len(numbers) == 1:
            return constant(next(iter(numbers)), count)
        codes = np.empty(count, np.uint8 if len(numbers) <= 256 else np.int64)
        for (at, part), own in zip(coded, owns, strict=True):
            codes[at] = own[0] if len(own) == 1 else np.array(own, codes.dtype)[part.codes]
        return Coded(codes, tuple(numbers))
    plain = [(at, _plain(part)) for at, part in parts if not isinstance(part, Listed)]
    values = np.empty(count, plain[0][1].dtype)
    for at, array in plain:
        values[at] = array
    return values


def _woven_lists(parts: Sequence[tuple[NDArray[np.int64], Listed]], count: int) -> Listed:
    if all((part.lengths == 1).all() for _, part in parts):
        # Then elements stand where their lists stand.
        return one_each(_woven([(at, part.elements) for at, part in parts], count))
    lengths = np.empty(count, np.int64)
    for at, part in parts:
        lengths[at] = part.lengths
    begins = np.cumsum(lengths) - lengths
    elements = []
    for at, part in parts:
        own_begins = np.cumsum(part.lengths) - part.lengths
        moved = np.repeat(begins[at] - own_begins, part.lengths)
        elements.append((moved + np.arange(len(moved)), part.elements))
    return Listed(lengths, _woven(elements, int(lengths.sum())))


def _plain(column: NDArray[Any] | Coded) -> NDArray[Any]:
    return np.array(column.values)[column.codes] if isinstance(column, Coded) else column
