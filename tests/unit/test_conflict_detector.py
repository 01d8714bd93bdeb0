"""Conflict detectors (§4): whose conflicts can be real, and by which evidence."""

from __future__ import annotations

import numpy as np
import pytest

from endive.catalog import CatalogSnapshot, TableMetadata
from endive.conflict_detector import (
    ConflictDetector,
    PartitionOverlapConflictDetector,
    ProbabilisticConflictDetector,
)
from endive.transaction import (
    FastAppendTransaction,
    MergeAppendTransaction,
    Transaction,
    ValidatedOverwriteTransaction,
)

_OLD = CatalogSnapshot(0, (TableMetadata(0, 0, 3, (0, 0, 0)), TableMetadata(1, 0, 1, (0,))), 0.0)
_NEW = CatalogSnapshot(1, (TableMetadata(0, 1, 3, (0, 1, 0)), TableMetadata(1, 0, 1, (0,))), 9.0)


def _overwrite(
    tables: set[int], partitions: dict[int, frozenset[int]] | None = None
) -> Transaction:
    return ValidatedOverwriteTransaction(0, 0.0, 1.0, frozenset(tables), partitions)


@pytest.mark.parametrize("kind", [FastAppendTransaction, MergeAppendTransaction])
@pytest.mark.parametrize(
    "detector", [ProbabilisticConflictDetector(1.0), PartitionOverlapConflictDetector()]
)
def test_appends_have_no_real_conflicts(
    kind: type[Transaction], detector: ConflictDetector
) -> None:
    assert not detector.is_real_conflict(kind(0, 0.0, 1.0, frozenset({0})), _NEW, _OLD)


@pytest.mark.parametrize(("probability", "real"), [(0.0, False), (1.0, True)])
@pytest.mark.parametrize("rng", [None, np.random.RandomState(0)], ids=["no rng", "rng"])
def test_certain_probabilities_are_certain(
    probability: float, real: bool, rng: np.random.RandomState | None
) -> None:
    detector = ProbabilisticConflictDetector(probability, rng)
    assert detector.is_real_conflict(_overwrite({0}), _NEW, _OLD) is real


def test_every_question_takes_one_uniform_and_appends_take_none() -> None:
    detector = ProbabilisticConflictDetector(0.4, np.random.RandomState(8))
    append = FastAppendTransaction(0, 0.0, 1.0, frozenset({0}))
    answers = []
    for _ in range(200):
        detector.is_real_conflict(append, _NEW, _OLD)
        answers.append(detector.is_real_conflict(_overwrite({0}), _NEW, _OLD))
    assert answers == (np.random.RandomState(8).random_sample(200) < 0.4).tolist()


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_an_impossible_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        ProbabilisticConflictDetector(probability, np.random.RandomState(0))


def test_an_uncertain_probability_needs_a_seeded_rng() -> None:
    with pytest.raises(ValueError, match="seeded rng"):
        ProbabilisticConflictDetector(0.5)


@pytest.mark.parametrize(
    ("tables", "partitions", "real"),
    [
        ({0}, None, True),
        ({1}, None, False),
        ({0, 1}, None, True),
        ({0}, {0: frozenset({1})}, True),
        ({0}, {0: frozenset({0, 2})}, False),
        ({0, 1}, {0: frozenset({0}), 1: frozenset({0})}, False),
    ],
)
def test_partition_overlap_looks_at_written_partitions(
    tables: set[int], partitions: dict[int, frozenset[int]] | None, real: bool
) -> None:
    detector = PartitionOverlapConflictDetector()
    assert detector.is_real_conflict(_overwrite(tables, partitions), _NEW, _OLD) is real
