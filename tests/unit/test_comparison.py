"""Comparing two configurations: the same luck for both, honest intervals, and no finding where there is nothing to find."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from endive.comparison import Measure, compare, parse_measure
from endive.comparison.comparing import Pair, changes, operations_of
from endive.config import ResolvedConfig, resolve_config
from endive.config.overriding import load_with
from endive.errors import InputError
from endive.main import main
from endive.scenario.metrics import METRICS, Observed, Selection

CONFIG = """
[simulation]
duration_ms = 20000
[storage]
provider = "s3x"
[catalog]
num_tables = 4
[transaction]
runtime = { distribution = "fixed", value = 500 }
inter_arrival = { distribution = "exponential", scale = 100 }
[transaction.operation_types]
fast_append = 0.8
validated_overwrite = 0.2
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "base.toml"
    file.write_text(CONFIG)
    return file


def here(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    return map(function, tasks)


def measures(*texts: str) -> tuple[Measure, ...]:
    return tuple(parse_measure(text, ("fast_append", "validated_overwrite")) for text in texts)


def by_name(base: Path, *settings: str, seeds: int = 8, ask: Sequence[str] = ()) -> Any:
    asked = measures(*ask)
    found = compare(load_with(base, []), load_with(base, settings), range(seeds), asked, here)
    return found, {row.measure.name: row for row in found.rows}


def test_a_configuration_does_not_differ_from_itself(base: Path) -> None:
    found, rows = by_name(base, ask=["commit_latency_ms:p99", "retries", "commits_per_s"])
    assert {row.finding for row in rows.values()} == {"equal"}
    assert found.same_load == 8
    assert found.changes == {}
    assert all(a == b for a, b in found.digests)


def test_one_pointer_per_table_spares_retries_and_leaves_the_load_alone(base: Path) -> None:
    ask = ["retries@fast_append", "commits_per_s"]
    found, rows = by_name(base, "catalog.conflict_granularity=table", ask=ask)
    row = rows["retries@fast_append"]
    assert row.finding == "lower"
    assert row.difference.high < 0.0
    assert row.mean_difference == pytest.approx(row.mean_b - row.mean_a)
    assert found.same_load == 8
    assert found.changes == {"catalog.conflict_granularity": ("catalog", "table")}
    # What pairing is for: independent runs would have said less.
    throughput = rows["commits_per_s"]
    assert throughput.unpaired_half_width > 3.0 * throughput.difference.half_width


def test_another_load_is_seen_to_be_another_load(base: Path) -> None:
    found, _ = by_name(base, "transaction.inter_arrival.scale=110", ask=["retries"])
    assert found.same_load == 0


def test_another_mix_is_another_load_though_arrivals_are_the_same(base: Path) -> None:
    found, _ = by_name(base, "transaction.operation_types.fast_append=0.1", ask=["retries"])
    assert found.same_load == 0


def drawn(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> list[Pair]:
    """Pairs with these values: one sequence per seed, one value per measure."""
    return [
        Pair(seed, True, tuple(map(Observed, left)), tuple(map(Observed, right)), ("", ""))
        for seed, (left, right) in enumerate(zip(a, b, strict=True))
    ]


def compared(pairs: list[Pair], count: int, base: Path) -> Any:
    config = load_with(base, [])
    asked = (Measure(METRICS["retries"], Selection()),) * count
    return compare(config, config, range(len(pairs)), asked, lambda _f, _t: iter(pairs))


def test_the_interval_is_students_of_the_differences(base: Path) -> None:
    # Differences 1, 2 and 3: mean 2, standard error 1/√3, and t(0.975; 2) = 4.30265.
    (row,) = compared(drawn([[10], [20], [30]], [[11], [22], [33]]), 1, base).rows
    assert row.mean_difference == pytest.approx(2.0)
    assert row.difference.half_width == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    assert row.finding == "open"


def test_many_rows_make_no_false_finding_likelier(base: Path) -> None:
    rng = np.random.RandomState(7)
    count, seeds, trials = 10, 6, 400
    wrong = 0
    for _ in range(trials):
        a, b = rng.standard_normal((2, seeds, count))
        found = compared(drawn(a, b), count, base)
        wrong += any(row.finding in ("higher", "lower") for row in found.rows)
    # 5 % of 400 is 20; four standard deviations more is 37. Without the division by rows it would be 160.
    assert wrong <= 37


def test_a_true_difference_is_found(base: Path) -> None:
    rng = np.random.RandomState(7)
    found = 0
    for _ in range(100):
        a, noise = rng.standard_normal((2, 20, 1))
        found += compared(drawn(a, a + 0.1 * noise + 0.2), 1, base).rows[0].finding == "higher"
    assert found == 100


def test_a_seed_without_anything_to_measure_is_left_out_on_both_sides(base: Path) -> None:
    pairs = drawn([[1], [2], [3]], [[2], [3], [4]])
    pairs.append(Pair(3, True, (Observed(None),), (Observed(9.0),), ("", "")))
    (row,) = compared(pairs, 1, base).rows
    assert (row.pairs, row.mean_difference, row.finding) == (3, 1.0, "higher")


def test_operations_of_both_are_compared(base: Path) -> None:
    other = load_with(base, ["transaction.operation_types.merge_append=0.5"])
    assert set(operations_of(load_with(base, []), other)) == {
        "fast_append",
        "merge_append",
        "validated_overwrite",
    }


def test_changes_name_every_key_that_differs_and_no_other() -> None:
    a = {"x": {"y": 1, "z": 2}, "simulation": {"seed": 1}}
    b = {"x": {"y": 1, "z": 3, "w": 4}, "simulation": {"seed": 2}}
    assert changes(a, b) == {"x.z": (2, 3), "x.w": (None, 4)}


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("catalog.num_tables=7", "num_tables", 7),
        ("catalog.conflict_granularity=table", "conflict_granularity", "table"),
        ('catalog.conflict_granularity="table"', "conflict_granularity", "table"),
        ("catalog.table_metadata_inlined=false", "table_metadata_inlined", False),
    ],
)
def test_a_setting_is_toml_or_a_word(base: Path, setting: str, key: str, value: object) -> None:
    assert load_with(base, [setting]).values["catalog"][key] == value


def test_settings_leave_the_rest_of_the_file_as_it_is(base: Path) -> None:
    plain: ResolvedConfig = load_with(base, [])
    assert plain.values == resolve_config(dict(plain.values)).values


# -- the verb --------------------------------------------------------------------------------------------------------


def test_the_document_has_every_row_with_its_interval(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", "base.toml", "--set", "storage.provider=s3", "--seeds", "1..3"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pairs_with_the_same_load"] == 3
    assert document["changes"] == {"storage.provider": ["s3x", "s3"]}
    names = [row["measure"] for row in document["rows"]]
    assert "commit_latency_ms:p99@fast_append" in names
    assert len(names) == len(set(names)) == 3 + 2 * 6
    assert main([*arguments, "--jobs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_a_person_reads_what_changed_and_how_it_was_found(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "base.toml", "--set", "storage.provider=s3", "--seeds", "1..3"]) == 0
    printed = capsys.readouterr().out
    assert "storage.provider: s3x → s3" in printed
    assert "validated_overwrite" in printed
    assert "3 seeds, 1 to 3" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["base.toml"], "nothing to compare with"),
        (["base.toml", "missing.toml"], "missing.toml: no such file"),
        (["base.toml", "--set", "catalog"], "write it as KEY=VALUE"),
        (["base.toml", "--set", "catalog.num_tables.x=1"], "'num_tables' is no table"),
        (["base.toml", "--set", "catalog.num_tabels=3"], "did you mean"),
        (["base.toml", "base.toml", "--seeds", "1..1"], "at least two seeds"),
        (["base.toml", "base.toml", "--metric", "comitted"], "did you mean 'committed'?"),
        (["base.toml", "base.toml", "--metric", "retries:q5"], "'q5' makes no number of many"),
        (["base.toml", "base.toml", "--metric", "seq@fast_append"], "of the whole run"),
        (["base.toml", "base.toml", "--metric", "retries@row_delta"], "no 'row_delta' in these"),
        (["base.toml", "base.toml", "--confidence", "1"], "below 1"),
    ],
)
def test_bad_use_is_told(
    arguments: list[str], words: str, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_a_bad_metric_is_an_error_with_all_that_is_wrong() -> None:
    with pytest.raises(InputError) as error:
        parse_measure("retreis:q5@x", ("fast_append",))
    assert len(error.value.problems) == 3
