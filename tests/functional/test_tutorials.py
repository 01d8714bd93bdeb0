"""The tutorials, followed to the letter: every command block is run, and what they promise to print is printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / "docs" / "tutorials"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#]+)\)")
_NAMES = ("paper_author", "sizing_engineer", "reviewer")


@dataclass(frozen=True)
class Step:
    """Commands, and what they promise to print, in order; `…` stands for anything."""

    commands: str
    promised: tuple[str, ...]


def steps_of(name: str) -> list[Step]:
    """The steps of one tutorial."""
    steps: list[Step] = []
    for language, text in _FENCE.findall((_FOLDER / f"{name}.md").read_text(encoding="utf-8")):
        if language == "sh":
            steps.append(Step(text, ()))
        else:
            steps[-1] = Step(steps[-1].commands, tuple(text.splitlines()))
    return steps


def follow(name: str, place: Path) -> Iterator[tuple[Step, str]]:
    """Run the steps one after the other in one shell; what each printed."""
    steps = steps_of(name)
    script = "set -euo pipefail\n" + "".join(
        f"{step.commands}\necho '== end of step =='\n" for step in steps
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    yield from zip(steps, done.stdout.split("== end of step ==\n"), strict=False)


def is_printed(promised: tuple[str, ...], printed: str) -> bool:
    """Whether the promised lines are there, in this order."""
    pattern = ".*".join(
        ".*".join(map(re.escape, line.strip().split("…"))) for line in promised if line.strip()
    )
    return re.search(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize("name", _NAMES)
def test_every_command_is_one_of_the_command_line(name: str) -> None:
    from endive.main import build_parser

    verbs = build_parser()._subparsers
    assert verbs is not None
    known = set(verbs._group_actions[0].choices or ())
    text = "".join(step.commands for step in steps_of(name))
    used = set(re.findall(r"(?:^|\s)(?:\S*/)?endive ([a-z-]+)", text))
    assert used
    assert used <= known


@pytest.mark.parametrize("name", _NAMES)
def test_links_lead_somewhere(name: str) -> None:
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    links = _LINK.findall(text)
    assert links
    assert [link for link in links if not (_FOLDER / link).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper_author", "sizing_engineer"])
def test_the_tutorial_works_as_written(name: str, tmp_path: Path) -> None:
    for step, printed in follow(name, tmp_path):
        assert is_printed(step.promised, printed), f"{step.commands}\n{printed}"


@pytest.mark.slow
def test_a_reviewer_gets_from_a_clone_to_a_record(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (_ROOT / ".git").exists():
        pytest.skip("no git checkout to clone")
    clone = tmp_path / "endive"
    subprocess.run(["git", "clone", "-q", str(_ROOT), str(clone)], check=True)
    for step, printed in follow("reviewer", clone):
        assert is_printed(step.promised, printed), f"{step.commands}\n{printed}"


def test_a_promise_that_is_not_kept_is_noticed() -> None:
    assert is_printed(("a…c", "d"), "x a b c\nd e\n")
    assert not is_printed(("a…c", "d"), "d\na b c\n")
