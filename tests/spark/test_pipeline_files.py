"""What is wrong with a file of a tree is told with its name and what to do; what is right gives the digest of its run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pipeline_trees import make_experiment, rewrite

from endive.errors import InputError, Problem
from endive.pipeline import config_column, config_key, places
from endive.pipeline.configs import config_types, flat_config
from endive.pipeline.files import Expected, RunFacts, digest_of, unified_types, verify_run
from endive.pipeline.tree import Found, read_tree


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    make_experiment(tree, [1, 2])
    make_experiment(
        tree, [1], label="append", storage={"provider": "azure"}, catalog={"type": "append"}
    )
    make_experiment(
        tree,
        [1],
        label="restarts",
        transaction={
            "on_validation_exception": "restart",
            "real_conflict_probability": 0.5,
            "cost_table": "iceberg-java",
        },
    )
    return tree


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    shutil.copytree(made, tmp_path / "tree")
    return tmp_path / "tree"


def verified(tree: Path, label: str = "small") -> list[RunFacts | list[Problem]]:
    one = found(tree, label)
    return [verify_run(run, Expected(one.config_hash, one.version)) for run in one.runs]


def found(tree: Path, label: str = "small") -> Found:
    (one,) = [one for one in read_tree(tree) if one.label == label]
    return one


def results(tree: Path, seed: int = 1) -> Path:
    return Path(next(run.results.path for run in found(tree).runs if run.seed == seed))


@pytest.mark.parametrize("label", ["small", "append", "restarts"])
def test_whole_runs_are_verified(made: Path, label: str) -> None:
    for facts in verified(made, label):
        assert isinstance(facts, RunFacts), facts
        assert facts.rows == pq.read_metadata(facts.files.results.path).num_rows
        assert facts.attempt_rows > facts.rows / 2


def test_the_digest_of_a_file_is_that_of_its_rows_in_any_order(tree: Path) -> None:
    path = results(tree)
    with pq.ParquetFile(path) as file:
        told = digest_of(file)
    rewrite(path, lambda table: table.sort_by([("total_latency", "descending")]))
    with pq.ParquetFile(path) as file:
        assert digest_of(file) == told
    assert isinstance(verified(tree)[0], RunFacts)


def _less_one(table: pa.Table) -> pa.Table:
    return table.slice(1)


def _a_microsecond_more(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("t_commit")
    longer = pc.add(table.column(index), 0.001)
    return table.set_column(index, table.schema.field(index), longer)


def _another_word(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("operation_type")
    words = pc.replace_substring(table.column(index), "fast_append", "merge_append")
    return table.set_column(index, "operation_type", words)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-200]), "no whole Parquet file"),
    "empty": (lambda path: path.write_bytes(b""), "no whole Parquet file"),
    "text": (lambda path: path.write_text("hello" * 10), "no whole Parquet file"),
    "without summary": (lambda path: rewrite(path, summary=False), "not Endive's; move it out"),
    "of another seed": (lambda path: rewrite(path, told={"seed": 9}), "is the run of seed 9"),
    "of another configuration": (
        lambda path: rewrite(path, told={"config_hash": "ffffff"}),
        "run of the configuration ffffff",
    ),
    "of another version": (
        lambda path: rewrite(path, told={"version": "0" * 40}),
        "was made by version 0000",
    ),
    "with a row less": (lambda path: rewrite(path, _less_one), "its summary speaks of"),
    "with another time": (lambda path: rewrite(path, _a_microsecond_more), "have the digest"),
    "with another word": (lambda path: rewrite(path, _another_word), "have the digest"),
    "without ids": (
        lambda path: rewrite(path, lambda table: table.drop_columns(["txn_id"])),
        "has no column txn_id",
    ),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_spoiled_file_is_named_with_what_to_do(tree: Path, kind: str) -> None:
    spoil, words = SPOILED[kind]
    path = results(tree)
    spoil(path)
    spoiled, whole = verified(tree)
    assert isinstance(spoiled, list)
    (problem,) = spoiled
    assert problem.file == str(path)
    assert words in problem.message
    assert any(word in problem.message for word in ("remove it", "move it", "run the experiment"))
    assert isinstance(whole, RunFacts)


def test_a_byte_that_rotted_is_seen(tree: Path) -> None:
    path = results(tree)
    with pq.ParquetFile(path) as file:
        chunk = file.metadata.row_group(0).column(file.schema_arrow.get_field_index("t_commit"))
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 0x10
    path.write_bytes(data)
    assert isinstance(verified(tree)[0], list)


def test_attempts_must_belong_to_their_results(tree: Path) -> None:
    one, two = results(tree, 1), results(tree, 2)
    shutil.copy(two.with_name("attempts.parquet"), one.with_name("attempts.parquet"))
    (problem,) = next(told for told in verified(tree) if isinstance(told, list))
    assert "belongs to another run" in problem.message
    assert problem.file.endswith("1/attempts.parquet")


def _one_read_more(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("manifest_list_reads")
    more = pc.add(table.column(index), pa.array([1] + [0] * (len(table) - 1)))
    return table.set_column(index, table.schema.field(index), more)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_less_one, "lacks attempts that the results count"),
        (_one_read_more, "its manifest_list_reads do not add up to those of the results"),
    ],
)
def test_attempts_must_add_up_to_their_transactions(
    tree: Path, change: Callable[[pa.Table], pa.Table], words: str
) -> None:
    rewrite(results(tree).with_name("attempts.parquet"), change)
    (problem,) = next(told for told in verified(tree) if isinstance(told, list))
    assert words in problem.message


def test_every_problem_of_a_tree_is_told_at_once(tree: Path) -> None:
    (small,) = tree.glob("small-*")
    (append,) = tree.glob("append-*")
    (restarts,) = tree.glob("restarts-*")
    (small / "cfg.toml").unlink()
    config = append / "cfg.toml"
    config.write_text(config.read_text().replace("num_tables = 2", "num_tables = 3"))
    (restarts / "version.txt").unlink()
    shutil.copytree(small, tree / "renamed")
    with pytest.raises(InputError) as told:
        read_tree(tree)
    by_file = {problem.file: problem.message for problem in told.value.problems}
    assert set(by_file) == {
        str(small / "cfg.toml"),
        str(config),
        str(restarts / "version.txt"),
        str(tree / "renamed"),
    }
    assert "has the hash" in by_file[str(config)]
    assert "is not called <label>-<hash>" in by_file[str(tree / "renamed")]


def test_a_run_under_way_is_told_and_not_counted(tree: Path) -> None:
    results(tree, 2).unlink()
    one = found(tree)
    assert [run.seed for run in one.runs] == [1]
    assert [Path(place).name for place in one.unfinished] == ["2"]


@pytest.mark.parametrize("kind", ["nothing", "a file", "an empty directory"])
def test_what_is_no_tree_is_told_so(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "a file":
        place.write_text("")
    elif kind == "an empty directory":
        place.mkdir()
    with pytest.raises(InputError, match="<label>-<hash>"):
        read_tree(place)


# -- columns -------------------------------------------------------------------------------------------------------------


def test_keys_become_columns_and_columns_keys() -> None:
    assert config_column("storage.provider") == "cfg_storage__provider"
    assert config_key("cfg_storage__sizes__manifest_list") == "storage.sizes.manifest_list"
    assert config_key("seed") is None


def test_a_configuration_is_told_flat() -> None:
    values: dict[str, Any] = {
        "a": {"b": 1, "c": {"d": 2.5}, "e": [1, 2]},
        "f": True,
        "g": [{"name": "x", "kind": "open"}],
    }
    assert flat_config(values) == {
        "a.b": 1,
        "a.c.d": 2.5,
        "a.e": "[1, 2]",
        "f": True,
        "g": '[{"kind": "open", "name": "x"}]',
    }


def test_types_of_keys_widen_or_are_refused_in_words() -> None:
    files = {"x": "x/cfg.toml", "y": "y/cfg.toml"}
    types, problems = config_types({"x": {"k": 1, "only": "here"}, "y": {"k": 0.5}}, files)
    assert (types, problems) == ({"k": "double", "only": "string"}, [])
    _, problems = config_types({"x": {"k": 1}, "y": {"k": "1"}}, files)
    assert [str(problem) for problem in problems] == [
        "y/cfg.toml: k: is '1' here and 1 in x/cfg.toml: one column cannot hold both; "
        "consolidate the two experiments apart"
    ]
    _, problems = config_types({"x": {"k": 1}, "y": {"k": True}}, files)
    assert len(problems) == 1


def test_types_of_columns_widen_or_are_refused_in_words() -> None:
    types, problems = unified_types(
        [("", {"n": "int64"}), ("a", {"n": "int32"}), ("b", {"n": "double"})]
    )
    assert (types, problems) == ({"n": "double"}, [])
    _, problems = unified_types([("a", {"n": "int64"}), ("b", {"n": "string"})])
    assert [(p.file, p.key) for p in problems] == [("b", "n")]
    _, problems = unified_types([("a", {"n": "list<item: int64>"})])
    assert [(p.file, p.key) for p in problems] == [("a", "n")]


# -- places --------------------------------------------------------------------------------------------------------------


def publish(out: Path, content: str) -> Path:
    with places.writing(out):
        staging = places.new_version(out)
        (staging / "consolidated.parquet").mkdir()
        (staging / "consolidated.parquet" / "content").write_text(content)
        (staging / places.MANIFEST).write_text("{}")
        return places.publish(out, staging)


def test_a_version_appears_whole_and_the_one_before_stays_for_its_readers(tmp_path: Path) -> None:
    link = tmp_path / "consolidated.parquet" / "content"
    first = publish(tmp_path, "first")
    assert link.read_text() == "first"
    with places.reading(tmp_path) as held:
        assert held == first.resolve()
        for content in ("second", "third", "fourth"):
            publish(tmp_path, content)
            assert link.read_text() == content
        assert (held / "consolidated.parquet" / "content").read_text() == "first"
    last = publish(tmp_path, "fifth")
    kept = sorted(path.name for path in last.parent.iterdir() if path.name.isdecimal())
    assert kept == ["4", "5"]
    assert not (tmp_path / "consolidated_attempts.parquet").exists()


def test_what_a_killed_writer_left_behind_is_cleared_away(tmp_path: Path) -> None:
    publish(tmp_path, "first")
    home = tmp_path / ".consolidated"
    # Killed while writing, and killed between the two renames.
    (home / "7.part").mkdir()
    shutil.copytree(home / "1", home / "8")
    assert (tmp_path / "consolidated.parquet" / "content").read_text() == "first"
    last = publish(tmp_path, "second")
    assert last.name == "9"
    assert {path.name for path in home.iterdir()} == {"1", "9", "current", "lock"}


def test_what_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "consolidated.parquet").mkdir()
    assert list(places.occupied(tmp_path)) == [tmp_path / "consolidated.parquet"]
