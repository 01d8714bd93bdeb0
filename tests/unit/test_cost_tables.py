"""Cost tables: every figure of the documents and measurements, spelled out here by hand."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from endive.cost_model import (
    CLASSES,
    COUNTS,
    NO_COST,
    OPERATIONS,
    ConflictCost,
    CostTable,
    OperationPrices,
    Price,
    cost_table_names,
    load_cost_table,
    parse_cost_table,
)
from endive.errors import InputError

_NAMES = ("spec-2.0", "legacy", "iceberg-review", "iceberg-java", "pyiceberg")
_EACH = pytest.mark.parametrize("name", _NAMES)
_VALIDATING_IN_JAVA = {
    "validated_overwrite",
    "row_delta",
    "rewrite_files",
    "replace_partitions_validated",
    "overwrite_unvalidated",
}
_UNDER_SNAPSHOT_ISOLATION = {"replace_partitions", "overwrite_unvalidated"}
_VALIDATING_IN_PYICEBERG = {
    "validated_overwrite",
    "row_delta",
    "replace_partitions_validated",
    "delete_partition",
    *_UNDER_SNAPSHOT_ISOLATION,
}
SAME_TABLE = ("disjoint_partitions", "overlap")


def prices(table: str, operation: str) -> OperationPrices:
    return load_cost_table(table).operations[operation]


def counts(cost: ConflictCost) -> tuple[int, int, int, int]:
    """Manifest lists read (historical ones included) and written, manifest files read and written."""
    return (
        cost.manifest_list_reads + cost.historical_ml_reads,
        cost.manifest_list_writes,
        cost.manifest_file_reads,
        cost.manifest_file_writes,
    )


def merged(operation: OperationPrices, t: int) -> tuple[int, int]:
    """Manifest files read and written by threshold merging with T manifests (docs/MODEL.md, section 7)."""
    least = operation.min_count_to_merge
    return (t + 1, 1) if least is not None and t + 1 >= least else (0, 0)


def retry(
    operation: OperationPrices, conflict_class: str, *, n: int, r: int = 0, k: int = 0, t: int = 3
) -> tuple[int, int, int, int]:
    """What a retry reads and writes: validation and rebuilding, threshold merging included."""
    validation = counts(operation.validate[conflict_class].cost(n, r, k, t))
    rebuilding = counts(operation.rebuild[conflict_class].cost(n, r, k, t))
    reads, writes = merged(operation, t)
    lists_read, lists_written, files_read, files_written = map(
        sum, zip(validation, rebuilding, strict=True)
    )
    return lists_read, lists_written, files_read + reads, files_written + writes


def test_the_shipped_tables_are_these_and_the_default_is_first() -> None:
    assert cost_table_names() == _NAMES
    assert CLASSES == ("cross_table", "read_set", "disjoint_partitions", "overlap")
    assert [name for name in _NAMES if load_cost_table(name).name != name] == []


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("spec-2.0", OPERATIONS[:3]),
        ("legacy", OPERATIONS[:3]),
        ("iceberg-review", (*OPERATIONS[:3], "overwrite_unvalidated")),
        ("iceberg-java", OPERATIONS),
        ("pyiceberg", (*OPERATIONS[:4], *OPERATIONS[5:])),
    ],
)
def test_each_table_prices_its_operations(name: str, operations: tuple[str, ...]) -> None:
    assert tuple(load_cost_table(name).operations) == operations


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("spec-2.0", ("last_seen", False, False, False, 0, 1, True, {"validated_overwrite"})),
        ("legacy", ("last_seen", False, False, True, 10, 1, True, set(OPERATIONS[:3]))),
        ("iceberg-review", ("start", False, False, False, 0, 1, True, {"validated_overwrite"})),
        (
            "iceberg-java",
            # 3, 6, 9 reads; the first apply refreshes; a plain loop; 1 R meta; every attempt 1 W meta
            ("start", True, True, False, 0, 1, True, _VALIDATING_IN_JAVA),
        ),
        (
            "pyiceberg",
            ("start", False, True, False, 0, 2, False, _VALIDATING_IN_PYICEBERG),
        ),
    ],
)
def test_settings_are_those_of_the_sources(name: str, settings: tuple[object, ...]) -> None:
    table = load_cost_table(name)
    assert (
        table.validate_from,
        table.refresh_before_first_attempt,
        table.sequential_validation,
        table.merges_real_conflicts,
        table.conflicting_manifests,
        table.metadata_reads_per_retry,
        table.writes_metadata_every_attempt,
        table.real_conflicts,
    ) == settings


@pytest.mark.parametrize("operation", OPERATIONS[:3])
def test_spec_attempt_and_overlap_cost_one_list_read_one_file_and_one_list_write(
    operation: str,
) -> None:
    spec = prices("spec-2.0", operation)
    once = ConflictCost(manifest_list_reads=1, manifest_file_writes=1, manifest_list_writes=1)
    assert spec.attempt.cost(9, 9, 9, 9) == once
    assert spec.rebuild["overlap"].cost(9, 9, 9, 9) == once
    for conflict_class in CLASSES[:3]:
        assert spec.validate[conflict_class].is_free
        assert spec.rebuild[conflict_class].is_free


def test_spec_conflict_cost_is_k_files_for_merge_append_and_n_lists_for_overwrite() -> None:
    def conflict(operation: str) -> ConflictCost:
        return prices("spec-2.0", operation).validate["overlap"].cost(8, 2, 12, 30)

    assert conflict("fast_append") is NO_COST
    assert conflict("merge_append") == ConflictCost(manifest_file_reads=12, manifest_file_writes=12)
    assert conflict("validated_overwrite") == ConflictCost(historical_ml_reads=8)


@pytest.mark.parametrize("operation", OPERATIONS[:3])
def test_legacy_reads_n_lists_on_any_loss_and_merges_real_conflicts(operation: str) -> None:
    legacy = prices("legacy", operation)
    assert legacy.attempt.cost(0, 0, 0, 3) == ConflictCost(manifest_list_writes=1)
    for conflict_class in ("cross_table", *SAME_TABLE):
        # Append Simulation Design, two commits to different tables: 1 ML read + 1 ML write.
        assert retry(legacy, conflict_class, n=1) == (1, 1, 0, 0)
        assert legacy.validate[conflict_class].cost(3_750, 0, 0, 3) == ConflictCost(
            historical_ml_reads=3_750
        )
    assert legacy.merge_on_real_conflict is not None
    assert legacy.merge_on_real_conflict.cost(4, 0, 6, 3, 7) == ConflictCost(
        manifest_list_reads=1, manifest_file_reads=7, manifest_file_writes=7
    )


@pytest.mark.parametrize("conflict_class", SAME_TABLE)
@pytest.mark.parametrize(
    ("operation", "lists_files"),
    [
        ("fast_append", (1, 1, 0, 0)),
        ("merge_append", (1, 1, 15, 15)),
        ("validated_overwrite", (10 + 1, 1, 10 + 15, 15)),
        ("overwrite_unvalidated", (1, 1, 15, 15)),
    ],
)
def test_review_prices_any_loss_on_the_same_table(
    operation: str, lists_files: tuple[int, ...], conflict_class: str
) -> None:
    review = prices("iceberg-review", operation)
    assert retry(review, conflict_class, n=10, k=15) == lists_files
    assert counts(review.attempt.cost(0, 0, 0, 3)) == (1, 1, 0, 1)
    assert review.rebuild["cross_table"].is_free


# Measured on Apache Iceberg Java 1.11.0. Lists read and written, files read and written: attempt 0; a retry past N = 1 and past N = 5
# appends elsewhere; past 5 overwrites elsewhere; past 5 appends to the same partition.
_JAVA = {
    "fast_append": ((1, 1, 0, 1), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0)),
    "merge_append": ((1, 1, 0, 1), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0)),
    "validated_overwrite": ((1, 1, 1, 2), (1, 1, 0, 0), (5, 1, 0, 0), (5, 1, 0, 0), (5, 1, 5, 0)),
    "overwrite_unvalidated": (
        (1, 1, 1, 2),
        (1, 1, 0, 0),
        (1, 1, 0, 0),
        (5, 1, 0, 0),
        (1, 1, 0, 0),
    ),
    "replace_partitions_validated": (
        (1, 1, 1, 2),
        (1, 1, 1, 0),
        (5, 1, 5, 0),
        (5, 1, 15, 0),
        # Always in conflict; until that is found.
        (5, 1, 5, 0),
    ),
    "replace_partitions": ((1, 1, 1, 2), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 5, 5)),
    "rewrite_files": ((1, 1, 1, 2), (1, 1, 0, 0), (1, 1, 0, 0), (5, 1, 0, 0), (1, 1, 0, 0)),
    "row_delta": ((1, 1, 0, 1), (1, 1, 0, 0), (5, 1, 0, 0), (5, 1, 0, 0), (5, 1, 5, 0)),
    "delete_partition": ((1, 1, 1, 1), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 5, 5)),
}


@pytest.mark.parametrize("operation", _JAVA)
def test_java_costs_what_was_measured(operation: str) -> None:
    java = prices("iceberg-java", operation)
    attempt, one_behind, five_behind, replaced, same = _JAVA[operation]
    assert counts(java.attempt.cost(0, 0, 0, 3)) == attempt
    assert retry(java, "disjoint_partitions", n=1, k=99, t=4) == one_behind
    assert retry(java, "disjoint_partitions", n=5, k=99, t=8) == five_behind
    assert retry(java, "disjoint_partitions", n=5, r=5, k=99, t=8) == replaced
    assert retry(java, "overlap", n=5, k=99, t=8) == same
    # Nothing in between, as after a refresh that finds nothing: the current list is read.
    assert retry(java, "disjoint_partitions", n=0)[0] == 1
    assert java.rebuild["cross_table"].is_free
    assert java.validate["cross_table"].is_free


@pytest.mark.parametrize(("n", "files_read"), [(4, 100), (10, 106)])
def test_java_merges_the_whole_bin_from_100_manifests_on(n: int, files_read: int) -> None:
    java = prices("iceberg-java", "merge_append")
    assert merged(java, 95) == (0, 0)
    assert retry(java, "disjoint_partitions", n=n, t=95 + n) == (1, 1, files_read, 1)


@pytest.mark.parametrize("conflict_class", SAME_TABLE)
def test_java_compaction_reads_the_lists_of_replacing_commits_only(conflict_class: str) -> None:
    java = prices("iceberg-java", "rewrite_files")
    assert java.validate[conflict_class].cost(9, 0, 0, 3).historical_ml_reads == 0
    assert java.validate[conflict_class].cost(9, 9, 0, 3).historical_ml_reads == 9
    assert retry(java, conflict_class, n=9, r=9) == (9, 1, 0, 0)
    assert retry(java, conflict_class, n=9, r=4) == (5, 1, 0, 0)


def test_java_real_conflict_is_found_after_five_lists_and_five_manifests() -> None:
    overwrite = prices("iceberg-java", "validated_overwrite")
    assert counts(overwrite.validate["overlap"].cost(5, 0, 0, 8)) == (5, 0, 5, 0)


# Measured on PyIceberg 0.12.0: attempt 0; validation with N = 5, and with R = 2 of them; rebuilding with rivals elsewhere, and with
# N = 5 in the same partition. Lists read and written, files read and written.
_PYICEBERG = {
    "fast_append": ((1, 1, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (1, 1, 0, 1), (1, 1, 0, 1)),
    "merge_append": ((1, 1, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (1, 1, 0, 1), (1, 1, 0, 1)),
    "delete_partition": (
        (1, 1, 1, 1),
        (5, 0, 5, 0),
        (13, 0, 15, 0),
        (1, 1, 1, 1),
        (1, 1, 6, 1),
    ),
    "validated_overwrite": (
        (2, 1, 2, 2),
        (5, 0, 5, 0),
        (13, 0, 15, 0),
        (2, 1, 2, 2),
        (2, 1, 12, 2),
    ),
    "overwrite_unvalidated": (
        (2, 1, 2, 2),
        (0, 0, 0, 0),
        (8, 0, 8, 0),
        (2, 1, 2, 2),
        (2, 1, 12, 2),
    ),
    "row_delta": ((4, 1, 4, 2), (10, 0, 10, 0), (22, 0, 26, 0), (3, 1, 3, 2), (3, 1, 18, 2)),
    "replace_partitions": ((2, 2, 1, 2), (0, 0, 0, 0), (8, 0, 8, 0), (2, 2, 1, 2), (2, 2, 6, 2)),
    "replace_partitions_validated": (
        (2, 2, 1, 2),
        (5, 0, 5, 0),
        (13, 0, 15, 0),
        (2, 2, 1, 2),
        # Whoever writes the partition is in conflict: assumed as elsewhere.
        (2, 2, 1, 2),
    ),
}


@pytest.mark.parametrize("operation", _PYICEBERG)
def test_pyiceberg_costs_what_was_measured(operation: str) -> None:
    python = prices("pyiceberg", operation)
    attempt, validation, with_replacing, elsewhere, same = _PYICEBERG[operation]
    assert counts(python.attempt.cost(0, 0, 0, 3)) == attempt
    for conflict_class in SAME_TABLE:
        assert counts(python.validate[conflict_class].cost(5, 0, 7, 8)) == validation
        assert counts(python.validate[conflict_class].cost(5, 2, 7, 8)) == with_replacing
    assert counts(python.rebuild["disjoint_partitions"].cost(5, 2, 7, 8)) == elsewhere
    assert counts(python.rebuild["overlap"].cost(5, 2, 7, 8)) == same
    assert python.rebuild["cross_table"].is_free


@pytest.mark.parametrize(
    ("name", "files_written_by_retry"), [("iceberg-java", 1), ("pyiceberg", 2)]
)
def test_merging_from_two_manifests_on_gives_the_measured_counts(
    name: str, files_written_by_retry: int
) -> None:
    text = load_cost_table(name).text.replace("{min_count: 100,", "{min_count: 2,")
    merge = parse_cost_table(text, "min_count_2.yaml").operations["merge_append"]
    reads, writes = merged(merge, 3)
    assert (reads, writes + merge.attempt.cost(0, 0, 0, 3).manifest_file_writes) == (4, 2)
    for n in (1, 6):
        lists_files = (1, 1, n + 4, files_written_by_retry)
        assert retry(merge, "disjoint_partitions", n=n, t=3 + n) == lists_files
    assert prices(name, "merge_append").min_count_to_merge == 100


def every_price(table: CostTable) -> Iterator[tuple[str, Price]]:
    for name, operation in table.operations.items():
        yield f"{name} attempt", operation.attempt
        for conflict_class in CLASSES:
            yield f"{name} validate {conflict_class}", operation.validate[conflict_class]
            yield f"{name} rebuild {conflict_class}", operation.rebuild[conflict_class]


@_EACH
def test_every_price_that_is_not_free_names_its_source(name: str) -> None:
    table = load_cost_table(name)
    for _, price in every_price(table):
        assert price.is_free or price.source
        assert set(price.counts) <= set(COUNTS)
    assert all(table.setting_sources[setting] for setting in table.settings())


@_EACH
def test_constant_prices_are_one_shared_object_and_free_ones_no_cost(name: str) -> None:
    for where, price in every_price(load_cost_table(name)):
        constant = all(count.is_constant for count in price.counts.values())
        assert (price.cost(1, 0, 1, 3) is price.cost(9, 4, 13, 40)) == constant, where
        assert (price.cost(9, 4, 13, 40) is NO_COST) == price.is_free, where


@_EACH
def test_a_table_is_read_once_and_travels_between_processes(name: str) -> None:
    table = load_cost_table(name)
    assert load_cost_table(name) is table
    for same in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert same == table
        assert hash(same) == hash(table)
        assert same.operations == table.operations
        assert same.settings() == table.settings()


def test_an_unknown_name_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(
        InputError, match=r"no cost table is called 'iceberg_java'; did you mean 'iceberg-java'\?"
    ):
        load_cost_table("iceberg_java")
    with pytest.raises(InputError, match=r"there are spec-2\.0, legacy, iceberg-review"):
        load_cost_table("delta")


def test_appends_can_never_fail_a_compaction() -> None:
    only_replaced = {name: load_cost_table(name).real_against_replaced_only for name in _NAMES}
    assert only_replaced.pop("iceberg-java") == {"rewrite_files", "overwrite_unvalidated"}
    assert only_replaced.pop("pyiceberg") == _UNDER_SNAPSHOT_ISOLATION
    assert not any(only_replaced.values())
