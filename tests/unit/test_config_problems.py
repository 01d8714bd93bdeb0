"""All problems of a configuration are told, once and in order; and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from endive.config import load_config, load_simulation_config, resolve_config
from endive.errors import InputError, Problem


def problems_of(tmp_path: Path, text: str) -> tuple[Problem, ...]:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert all(problem.file == str(file) for problem in caught.value.problems)
    return caught.value.problems


@pytest.mark.parametrize("provider", ["s3", "gcp"])
@pytest.mark.parametrize("key", ["catalog.type", "catalog.mode", "transaction.manifest_list_mode"])
def test_append_is_refused_on_a_provider_without_it(
    tmp_path: Path, provider: str, key: str
) -> None:
    text = f"simulation.duration_ms = 1\nstorage.provider = '{provider}'\n{key} = 'append'\n"
    (problem,) = problems_of(tmp_path, text)
    assert (problem.line, problem.key) == (3, key)
    assert f"'{provider}' does not; choose one of s3x, azure, azurex, instant" in problem.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", [(0, "simulation.duration_ms"), (0, "storage.provider")]),
        ("[simulation]\n[storage]", [(1, "simulation.duration_ms"), (2, "storage.provider")]),
        ("simulation = 1\nstorage.provider = 's3'", [(1, "simulation")]),
        (
            "[simulation]\nduration_ms = 0\n[storage]\nprovider = 's4'",
            [(2, "simulation.duration_ms"), (4, "storage.provider")],
        ),
        # A misspelt required key is told once: that it is missing goes without saying.
        (
            "[simulation]\ndurations_ms = 1\n[storage]\nprovider = 's3'",
            [(2, "simulation.durations_ms")],
        ),
        (
            "storage.provider = 's3'\n[simulation]\nduration_ms = -1\nseed = -1\noutput_path = ''",
            [(3, "simulation.duration_ms"), (4, "simulation.seed"), (5, "simulation.output_path")],
        ),
        # Nothing is concluded from a value that is wrong itself.
        (
            "simulation.duration_ms = 1\nstorage.provider = 's4'\ncatalog.log_entry_size = 1",
            [(2, "storage.provider")],
        ),
        (
            "simulation.duration_ms = 1\nstorage.provider = 's3'\n"
            "catalog.num_tables = 'x'\ncatalog.partitions.per_table = [1, 2]",
            [(3, "catalog.num_tables")],
        ),
    ],
)
def test_required_keys_and_consequences(
    tmp_path: Path, text: str, told: list[tuple[int, str]]
) -> None:
    assert [(problem.line, problem.key) for problem in problems_of(tmp_path, text)] == told


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        "[simulation]\nduration_ms = -5\n[storage]\nprovider = 's3'\nmax_paralel = 2\n"
        "[catalog]\ntype = 'append'\n[transaction]\nretry = nan\nruntime.value = 1\n"
        "operation_types.fast_append = 0\n",
    )
    assert [(problem.line, problem.key) for problem in problems] == [
        (2, "simulation.duration_ms"),
        (5, "storage.max_paralel"),
        (7, "catalog.type"),
        (9, "transaction.retry"),
        (10, "transaction.runtime.value"),
        (11, "transaction.operation_types"),
    ]


def test_a_message_reads_file_line_key_problem_and_fix() -> None:
    text = "[simulation]\nduration_ms = 1\n[storage]\nprovider = 's3'\n[transaction]\nretri = 1\n"
    raw = {
        "simulation": {"duration_ms": 1},
        "storage": {"provider": "s3"},
        "transaction": {"retri": 1},
    }
    with pytest.raises(InputError) as caught:
        resolve_config(raw, file="configs/a.toml", text=text)
    assert str(caught.value) == (
        "configs/a.toml:6: transaction.retri: unknown key; did you mean 'retry'?"
    )


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml: no such file; check the path"):
        load_config(tmp_path / "absent.toml")


def test_a_directory_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        load_config(tmp_path)


def test_a_path_through_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        load_config(tmp_path / "file" / "a.toml")


def test_an_impossible_path_is_bad_input() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_config("a\0b")


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "latin1.toml"
    file.write_bytes(b"[simulation]\n# caf\xe9\n")
    with pytest.raises(InputError, match=r"latin1\.toml:2: byte 0xe9 is not UTF-8"):
        load_config(file)


@pytest.mark.parametrize(
    ("text", "line"),
    [("[simulation]\nduration_ms 5\n", 2), ("a = 1\na = 2\n", 2), ("a = 1\nb = [1,\n", 2)],
)
def test_a_syntax_error_names_the_line(tmp_path: Path, text: str, line: int) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert problem.line == line
    assert problem.message.startswith("not valid TOML: ")


@pytest.mark.parametrize("text", ["a = " + "[" * 20_000, "a = " + "1" * 5_000])
def test_what_the_parser_gives_up_on_is_bad_input(tmp_path: Path, text: str) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert "TOML" in problem.message


@pytest.mark.parametrize("seed", [-1, True])
def test_a_seed_from_outside_the_file_is_checked_too(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "good.toml"
    file.write_text("simulation.duration_ms = 1\nstorage.provider = 's3'\n", encoding="utf-8")
    with pytest.raises(InputError, match="seed: must be a whole number of at least 0"):
        load_simulation_config(str(file), seed_override=seed)
