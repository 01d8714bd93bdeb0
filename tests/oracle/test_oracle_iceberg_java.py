"""Iceberg Java as it was measured: what is kept is whole, the cost table says the same, and the tools of measuring are right. No Java here."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import pytest

from endive.cost_model import load_cost_table, parse_cost_table
from endive.errors import InputError
from endive.oracle.java.experiments import experiments
from endive.oracle.java.jar import (
    ARTIFACT,
    FETCH,
    VARIABLE,
    VERSION,
    JarMissingError,
    find_jar,
    local_repository,
)
from endive.oracle.java.reasons import REASONS, reason
from endive.oracle.java.recording import READ, WRITE, Recorder, UnknownFileError, kind_of
from endive.oracle.measurement import AttemptCounts, Cell, load_measured
from endive.oracle.prices import Deviation, deviations, is_priced

KEPT = load_measured("iceberg-java")
TABLE = load_cost_table("iceberg-java")


def lists_and_files(attempt: AttemptCounts) -> tuple[int, int, int, int]:
    return (
        attempt.manifest_list_reads,
        attempt.manifest_list_writes,
        attempt.manifest_file_reads,
        attempt.manifest_file_writes,
    )


def kept(operation: str, situation: str, n: int, **wanted: object) -> Cell:
    """The cell of an operation in its usual form."""
    (cell,) = (
        cell
        for cell in KEPT.select(operation=operation, situation=situation, n=n)
        if cell.settings.get("rivals", "appends") == wanted.get("rivals", "appends")
        and cell.partitions == wanted.get("partitions", "disjoint")
        and cell.base_manifests == wanted.get("base_manifests", 3)
        and cell.settings.get("min_count_to_merge") == wanted.get("min_count_to_merge")
        and not {"api", "isolation"} & set(cell.settings)
    )
    return cell


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_what_is_kept_is_every_experiment_once_in_their_order() -> None:
    planned = [
        (
            each.operation.name,
            each.situation,
            each.n,
            each.partitions,
            each.shape.manifests,
            tuple(sorted(each.settings.items())),
        )
        for each in experiments()
    ]
    assert [cell.key for cell in KEPT.cells] == planned
    assert len(set(planned)) == len(planned)


def test_what_is_kept_names_library_artifact_and_command() -> None:
    assert (KEPT.library, KEPT.version) == ("Apache Iceberg Java", VERSION)
    assert KEPT.artifact_sha256 is not None
    assert len(KEPT.artifact_sha256) == 64
    assert KEPT.environment["artifact"] == ARTIFACT
    assert KEPT.command == "endive oracle iceberg-java"
    assert {cell.operation for cell in KEPT.cells} == set(TABLE.operations)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20])
def test_validated_operations_open_every_list_since_the_start_and_appends_one(n: int) -> None:
    for operation in ("validated_overwrite", "row_delta", "replace_partitions_validated"):
        for situation in ("stale", "retry"):
            assert kept(operation, situation, n).attempts[-1].manifest_list_reads == n
    for operation in ("fast_append", "merge_append", "rewrite_files"):
        assert kept(operation, "retry", n).attempts[-1].manifest_list_reads == 1


def test_validation_starts_over_on_every_retry() -> None:
    lists = [
        attempt.manifest_list_reads
        for attempt in kept("validated_overwrite", "repeated", 3).attempts
    ]
    assert lists == [1, 3, 6, 9]


def test_a_bin_is_merged_when_it_holds_a_hundred_manifests() -> None:
    def retry(n: int) -> tuple[int, int, int, int]:
        return lists_and_files(kept("merge_append", "retry", n, base_manifests=95).attempts[1])

    assert [retry(n) for n in (3, 4, 10)] == [(1, 1, 0, 0), (1, 1, 100, 1), (1, 1, 106, 1)]
    early = [
        lists_and_files(kept("merge_append", "retry", n, min_count_to_merge=2).attempts[1])
        for n in (1, 5)
    ]
    assert early == [(1, 1, 5, 1), (1, 1, 9, 1)]


def test_exhaustion_is_five_attempts_each_with_its_metadata() -> None:
    exhausted = KEPT.select(situation="exhausted")
    assert {cell.operation for cell in exhausted} == set(TABLE.operations)
    for cell in exhausted:
        assert (cell.outcome, len(cell.attempts)) == ("commit_failed", 5)
        assert [attempt.metadata_writes for attempt in cell.attempts] == [1] * 5


def test_a_real_conflict_ends_without_another_swap() -> None:
    conflicts = KEPT.select(situation="conflict")
    assert {cell.operation for cell in conflicts} == set(TABLE.real_conflicts)
    for cell in conflicts:
        assert (cell.outcome, len(cell.attempts)) == ("validation_exception", 2)
        last = cell.attempts[-1]
        assert (last.metadata_writes, last.manifest_list_writes) == (0, 0)


# -- the cost table --------------------------------------------------------------------------------------------------


def told(found: list[Deviation]) -> list[str]:
    return [str(each) for each in found if not each.reason]


def test_the_table_prices_every_attempt_as_measured_or_it_is_known_why_not() -> None:
    found = list(deviations(TABLE, KEPT, reason))
    assert told(found) == []
    assert {each.reason for each in found} == set(REASONS)
    # What is known to differ is reading and filtering; what every commit must do never does.
    assert {each.counter for each in found} == {
        "manifest_list_reads",
        "manifest_file_reads",
        "manifest_file_writes",
    }
    assert sum(is_priced(TABLE, cell) for cell in KEPT.cells) > 200


@pytest.mark.parametrize(
    ("spelled", "wrong", "operation"),
    [
        (
            'manifest_file_reads: "N + 2 * R"',
            'manifest_file_reads: "N + R"',
            "replace_partitions_validated",
        ),
        ("historical_ml_reads: R,", "historical_ml_reads: N,", "rewrite_files"),
        ('manifest_list_reads: "max(1, N) - N"', "manifest_list_reads: 1", "validated_overwrite"),
        ("min_count: 100", "min_count: 101", "merge_append"),
        (
            "metadata_reads_per_retry:\n    is: 1",
            "metadata_reads_per_retry:\n    is: 2",
            "fast_append",
        ),
        ("is: every_attempt", "is: successful_attempt", "fast_append"),
    ],
)
def test_a_price_that_is_off_is_told_with_the_cell_and_both_numbers(
    spelled: str, wrong: str, operation: str
) -> None:
    assert spelled in TABLE.text
    table = parse_cost_table(TABLE.text.replace(spelled, wrong), "off.yaml")
    found = [each for each in deviations(table, KEPT, reason) if not each.reason]
    assert operation in {each.cell.operation for each in found}
    assert all("the table says" in str(each) and "measured were" in str(each) for each in found)


# -- where the jar is found ------------------------------------------------------------------------------------------


def jar_file(path: Path, *members: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, "")
    return path


_ICEBERG = "org/apache/iceberg/BaseTable.class"


def test_the_jar_named_comes_before_that_of_the_environment_and_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fetched = jar_file(local_repository() / f"{ARTIFACT}-{VERSION}.jar", _ICEBERG)
    told_of = jar_file(tmp_path / "told.jar", _ICEBERG)
    named = jar_file(tmp_path / "named.jar", _ICEBERG)
    environment = {VARIABLE: str(told_of)}
    assert find_jar(str(named), environment).path == named
    assert find_jar(None, environment).path == told_of
    assert find_jar(None, {}).path == fetched
    assert len(find_jar(None, {}).sha256()) == 64


def test_without_a_jar_the_command_that_fetches_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(JarMissingError, match="fetch it with: mvn ") as caught:
        find_jar(None, {})
    assert FETCH in str(caught.value)


def test_what_is_no_jar_of_iceberg_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.jar"
    text.write_text("no archive", encoding="utf-8")
    other = jar_file(tmp_path / "other.jar", "org/example/Other.class")
    for path, message in (
        (tmp_path / "nowhere.jar", "no such file"),
        (text, "no jar"),
        (other, "a jar without Iceberg"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            find_jar(str(path), {})
        assert f"{path}: --jar: " in str(caught.value)


# -- how it is counted -----------------------------------------------------------------------------------------------


def test_files_are_known_by_the_names_that_iceberg_gives() -> None:
    folder = "mem://tables/0/metadata"
    assert kind_of(f"{folder}/000001.metadata.json") == "metadata"
    assert kind_of(f"{folder}/snap-12-1-0a1b.avro") == "manifest_list"
    assert kind_of(f"{folder}/0a1b-m0.avro") == "manifest_file"
    assert kind_of("mem://data/1.parquet") is None


def test_each_answer_to_a_swap_ends_an_attempt_and_a_validation_ends_the_last() -> None:
    recorder = Recorder()
    recorder.note(READ, "t/1.metadata.json")
    recorder.begin()
    recorder.note(READ, "t/snap-1.avro")
    recorder.attempt_over()
    recorder.note(WRITE, "t/x-m0.avro")
    recorder.end()
    recorder.note(WRITE, "t/x-m1.avro")
    first, second = AttemptCounts(manifest_list_reads=1), AttemptCounts(manifest_file_writes=1)
    assert recorder.attempts(gave_up_before_swap=True) == ((first, second), AttemptCounts())
    assert recorder.attempts(gave_up_before_swap=False) == ((first,), second)


def test_a_file_of_no_known_kind_is_an_error_and_not_forgotten() -> None:
    recorder = Recorder()
    recorder.begin()
    recorder.note(READ, "t/statistics.puffin")
    with pytest.raises(UnknownFileError, match=r"reads t/statistics\.puffin"):
        recorder.attempts(gave_up_before_swap=False)


def test_lists_that_several_threads_open_in_one_attempt_are_noticed() -> None:
    recorder = Recorder()

    def on_a_thread(location: str) -> None:
        worker = threading.Thread(target=recorder.note, args=(READ, location))
        worker.start()
        worker.join()

    recorder.begin()
    recorder.note(READ, "t/snap-1.avro")
    on_a_thread("t/x-m0.avro")
    recorder.attempt_over()
    on_a_thread("t/snap-2.avro")
    assert recorder.reads_lists_in_turn
    recorder.note(READ, "t/snap-3.avro")
    assert not recorder.reads_lists_in_turn


def test_threads_that_count_at_the_same_time_lose_nothing() -> None:
    recorder = Recorder()
    recorder.begin()
    workers = [
        threading.Thread(target=lambda: [recorder.note(READ, "t/x-m0.avro") for _ in range(2000)])
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    attempts, _ = recorder.attempts(gave_up_before_swap=True)
    assert attempts == (AttemptCounts(manifest_file_reads=8000),)
