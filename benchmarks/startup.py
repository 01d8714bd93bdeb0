"""What the command line costs before and around the work: CPU from start to exit of a fresh process."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.cases import TINY_TOML
from benchmarks.measure import Options, child_cpu_s
from benchmarks.verdict import Row, Target


def help_text(options: Options) -> list[Row]:
    """`endive --help`."""
    return [_row("help", "CPU of endive --help", ["--help"], Target("<", 0.5), options)]


def tiny_run(options: Options) -> list[Row]:
    """`endive run` of ten simulated seconds, from reading the file to the results on disk."""
    arguments = ["run", "tiny.toml"]
    return [_row("tiny", "CPU of endive run, tiny", arguments, Target("<", 1.5), options)]


def _row(name: str, measure: str, arguments: list[str], target: Target, options: Options) -> Row:
    command = ["-m", "endive.main", *arguments]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "tiny.toml").write_text(TINY_TOML, "utf-8")
        all_s = [child_cpu_s(command, cwd=place) for _ in range(options.repeat)]
    return Row(
        name,
        measure,
        min(all_s),
        "s",
        target,
        figures={"best_s": min(all_s), "worst_s": max(all_s)},
    )
