"""`transaction.cost_table`: a table by its name, or a file of one's own, seen from the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endive.config import (
    build_simulation_config,
    compute_experiment_hash,
    load_config,
    resolve_config,
)
from endive.cost_model import load_cost_table
from endive.errors import InputError
from endive.main import main
from endive.simulation import Simulation, Statistics

CONFIG = """\
[simulation]
duration_ms = 2000
seed = 1
[storage]
provider = "instant"
[transaction]
cost_table = "COST_TABLE"
runtime = { distribution = "fixed", value = 100.0 }
inter_arrival = { distribution = "fixed", value = 30.0 }
operation_types = { fast_append = 1.0 }
"""
# An append that reads seven lists and writes nothing.
OWN_TABLE = """\
name: mine
version: 1
title: A table of my own
summary: Says little.
source: {document: Notes, section: "1"}
settings:
  validate_from: {is: last_seen, source: Notes}
  refresh_before_first_attempt: {is: false, source: Notes}
  validation_io: {is: parallel, source: Notes}
  on_real_conflict: {is: abort, source: Notes}
  metadata_reads_per_retry: {is: 1, source: Notes}
  metadata_writes: {is: every_attempt, source: Notes}
  real_conflicts: {is: [], source: Notes}
operations:
  fast_append:
    attempt: {manifest_list_reads: 7, source: Notes}
    rebuild:
      overlap: {manifest_list_reads: 2, source: Notes}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configurations and tables in `study`; the command runs beside it, so that paths seen from there would fail."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study" / "tables").mkdir(parents=True)
    (tmp_path / "study" / "tables" / "mine.yaml").write_text(OWN_TABLE)
    return tmp_path / "study"


def config_file(place: Path, cost_table: str, name: str = "small.toml") -> Path:
    file = place / name
    file.write_text(CONFIG.replace("COST_TABLE", cost_table))
    return file


def files(directory: Path) -> list[str]:
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*"))


# -- used ----------------------------------------------------------------------------------------------------------


def test_a_path_is_seen_from_the_configuration_and_its_prices_are_paid(place: Path) -> None:
    resolved = load_config(config_file(place, "tables/mine.yaml"))
    assert resolved.cost_table.name == "mine"
    statistics = Simulation(build_simulation_config(resolved, 1)).run()
    at_once = [result for result in statistics.transactions if result.total_retries == 0]
    assert {result.manifest_list_reads for result in at_once} == {7}
    once = [result for result in statistics.transactions if result.total_retries == 1]
    assert {result.manifest_list_reads for result in once} == {7 + 2}
    assert (statistics.manifest_list_writes, statistics.manifest_file_writes) == (0, 0)


def test_an_absolute_path_and_the_other_suffix_will_do(place: Path) -> None:
    (place / "tables" / "mine.yml").write_text(OWN_TABLE)
    for path in (place / "tables" / "mine.yaml", Path("tables/mine.yml")):
        assert load_config(config_file(place, str(path))).cost_table.name == "mine"


def test_a_copy_of_a_shipped_table_gives_the_results_of_that_table(place: Path) -> None:
    (place / "copy.yaml").write_text(load_cost_table("iceberg-java").text)
    digests = {
        Simulation(build_simulation_config(load_config(config_file(place, name)), 1)).run().digest()
        for name in ("copy.yaml", "iceberg-java")
    }
    assert len(digests) == 1


def test_own_tables_decide_which_operations_may_have_weight(place: Path) -> None:
    file = config_file(place, "tables/mine.yaml")
    file.write_text(file.read_text().replace("{ fast_append", "{ merge_append"))
    with pytest.raises(InputError, match="cost table 'mine' has no price for it"):
        load_config(file)


# -- identity ------------------------------------------------------------------------------------------------------


def test_the_content_of_a_table_is_hashed_and_not_its_path(place: Path) -> None:
    here = compute_experiment_hash(load_config(config_file(place, "tables/mine.yaml")))
    (place / "elsewhere.yml").write_text(OWN_TABLE)
    there = compute_experiment_hash(load_config(config_file(place, "elsewhere.yml")))
    assert here == there
    (place / "elsewhere.yml").write_text(OWN_TABLE.replace("reads: 7", "reads: 8"))
    changed = compute_experiment_hash(load_config(place / "small.toml"))
    assert changed != here


def test_every_shipped_table_has_a_hash_of_its_own(place: Path) -> None:
    names = ("spec-2.0", "legacy", "iceberg-review", "iceberg-java", "pyiceberg")
    hashes = {compute_experiment_hash(load_config(config_file(place, name))) for name in names}
    assert len(hashes) == len(names)


def test_an_experiment_directory_holds_the_table_and_reads_back(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config_file(place, "tables/mine.yaml")
    asked = compute_experiment_hash(load_config(file))
    assert main(["run", str(file), "--out", "out", "--json"]) == 0
    directory = Path("out") / f"small-{asked}"
    assert files(directory) == ["1", "1/results.parquet", "cfg.toml", "cost_table.yaml", "version.txt"]  # fmt: skip
    assert (directory / "cost_table.yaml").read_text() == OWN_TABLE
    # Nothing of the study is needed any more.
    (place / "tables" / "mine.yaml").unlink()
    again = load_config(directory / "cfg.toml")
    assert again.values["transaction"]["cost_table"] == "cost_table.yaml"
    assert compute_experiment_hash(again) == asked
    assert main(["run", str(directory / "cfg.toml"), "--seed", "1", "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["digest"], first["config_hash"]) == (second["digest"], second["config_hash"])


def test_a_shipped_table_is_not_copied(place: Path) -> None:
    file = config_file(place, "iceberg-java")
    assert main(["run", str(file), "--out", "out", "--json"]) == 0
    assert not list(Path("out").rglob("cost_table.yaml"))


# -- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost_table", "said"),
    [
        # A name is judged where it stands in the configuration, in line 7.
        ("iceberg-jave", "study/small.toml:7: transaction.cost_table: no cost table is called 'iceberg-jave'; did you mean 'iceberg-java'"),
        ("mine", "study/small.toml:7: transaction.cost_table: no cost table is called 'mine'"),
        ("", "study/small.toml:7: transaction.cost_table: "),
        ("absent.yaml", "study/small.toml:7: transaction.cost_table: there is no file"),
        ("tables", "study/small.toml:7: transaction.cost_table: no cost table is called 'tables'"),
        # What is in a file is judged in the file.
        ("tables/bad.yaml", "study/tables/bad.yaml:16: operations.fast_append.attempt.manifest_list_read: unknown key; did you mean 'manifest_list_reads'?"),
        ("tables/bad.yaml", "study/tables/bad.yaml:3: titel: unknown key; did you mean 'title'?"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told_with_its_place_and_nothing_is_written(
    cost_table: str, said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = OWN_TABLE.replace("title:", "titel:").replace("list_reads: 7", "list_read: 7")
    (place / "tables" / "bad.yaml").write_text(bad)
    file = config_file(place, cost_table).relative_to(Path.cwd())
    before = files(Path.cwd())
    assert main(["run", str(file), "--out", "out"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.out, "Traceback" in printed.err) == ("", False)
    assert files(Path.cwd()) == before


def test_problems_of_the_configuration_and_of_the_table_are_told_together(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "bad.yaml").write_text(OWN_TABLE.replace("version: 1", "version: 0"))
    file = config_file(place, "bad.yaml")
    file.write_text(file.read_text().replace("duration_ms", "durations_ms"))
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert "bad.yaml:2: version: must be at least 1, not 0" in said
    assert "simulation.durations_ms: unknown key; did you mean 'duration_ms'?" in said


# -- paid ----------------------------------------------------------------------------------------------------------


def two_at_once(cost_table: str) -> Statistics:
    """Two fast appends, submitted at the same instant: the first wins, and the second retries behind it."""

    def fixed(ms: float) -> dict[str, Any]:
        return {"distribution": "fixed", "value": ms}

    writer = {"kind": "periodic", "interval_ms": 1_000.0, "end_ms": 1_500.0}
    resolved = resolve_config(
        {
            "simulation": {"duration_ms": 2_000.0},
            "storage": {
                "provider": "s3x",
                "min_latency_ms": 1.0,
                "latency": {
                    "catalog": {"read": fixed(4.0), "cas": fixed(10.0)},
                    "manifest_list": {"read": fixed(3.0), "write": fixed(7.0)},
                    "manifest_file": {"read": fixed(5.0), "write": fixed(11.0)},
                },
            },
            "transaction": {
                "cost_table": cost_table,
                "runtime": fixed(100.0),
                "operation_types": {"fast_append": 1.0},
            },
            "workload": {"class": [{"name": "a", **writer}, {"name": "b", **writer}]},
        }
    )
    return Simulation(build_simulation_config(resolved, 1)).run()


@pytest.mark.parametrize(
    ("cost_table", "winner_ms", "retry_ms"),
    [
        # The winner: read 4, work 100, attempt, swap 10. The retry: read 4, whatever it rebuilds, swap 10.
        ("spec-2.0", 135.0, 4.0 + 21.0 + 10.0),
        ("legacy", 121.0, 4.0 + 3.0 + 7.0 + 10.0),
        ("iceberg-review", 135.0, 4.0 + 10.0 + 10.0),
        ("pyiceberg", 135.0, 4.0 + 21.0 + 10.0),
        # One read more, the refresh before attempt 0.
        ("iceberg-java", 139.0, 4.0 + 10.0 + 10.0),
    ],
)
def test_a_configuration_chooses_what_a_retry_costs(
    cost_table: str, winner_ms: float, retry_ms: float
) -> None:
    rows = two_at_once(cost_table).to_dataframe()
    assert rows["class_name"].tolist() == ["a", "b"]
    assert rows["n_retries"].tolist() == [0, 1]
    assert rows["total_latency"].tolist() == [winner_ms, winner_ms + retry_ms]


def test_a_table_that_changes_after_it_was_read_changes_nothing(place: Path) -> None:
    resolved = load_config(config_file(place, "tables/mine.yaml"))
    before = compute_experiment_hash(resolved)
    (place / "tables" / "mine.yaml").write_text(OWN_TABLE.replace("reads: 7", "reads: 70"))
    statistics = Simulation(build_simulation_config(resolved, 1)).run()
    assert compute_experiment_hash(resolved) == before
    assert {r.manifest_list_reads for r in statistics.transactions if not r.total_retries} == {7}
