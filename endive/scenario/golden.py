"""Writes golden digests into a scenario file, and nothing else: comments and layout stay as they were."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.documents import read_document
from endive.errors import InputError, Problem
from endive.scenario.deciding import Finding
from endive.scenario.verifying import Report
from endive.utils import whole_file

_GOLDEN = "golden digest"


@dataclass(frozen=True, slots=True)
class Change:
    """One digest that is written anew."""

    file: str
    variant: str
    seed: str
    old: str | None
    new: str


def refusal(reports: Sequence[Report], environment: Mapping[str, str] = os.environ) -> str | None:
    """Why digests must not be written now, if so."""
    if environment.get("CI", "").lower() not in ("", "0", "false"):
        return "golden digests are not written in CI: a change there must be seen by somebody first"
    for report in reports:
        for decision in report.decisions:
            if decision.finding is Finding.FAIL and decision.what != _GOLDEN:
                return (
                    f"{report.scenario.file}: {decision.what} failed; "
                    "digests of a run that is wrong are not kept"
                )
    return None


def changes(reports: Sequence[Report]) -> list[Change]:
    """The digests that differ from those in the files, of the scenarios that keep any."""
    found = []
    for report in reports:
        if report.scenario.golden is None:
            continue
        for variant, digests in report.digests.items():
            for seed, new in digests.items():
                old = report.scenario.golden.get(variant, {}).get(seed)
                if old != new:
                    found.append(Change(report.scenario.file, variant, seed, old, new))
    return found


def write(found: Sequence[Change]) -> None:
    """Write them, file by file; each file appears whole, and is as it was outside of `golden`."""
    for file in dict.fromkeys(change.file for change in found):
        text = Path(file).read_bytes().decode("utf-8")
        golden: dict[str, dict[str, str]] = dict(read_document(text, file).value["golden"])
        for change in found:
            if change.file == file:
                # Only the first seed is ever compared, so a digest of another one is out of date.
                golden[change.variant] = {change.seed: change.new}
        written = _with_golden(text, golden)
        # Where the layout is stranger than this code knows, nothing is written.
        if read_document(written, file).value["golden"] != golden:
            raise InputError([Problem("cannot be written here; set it apart", "golden", file)])
        # Through a link the file is written that it leads to.
        with whole_file(Path(file).resolve()) as beside:
            beside.write_bytes(written.encode("utf-8"))


def _with_golden(text: str, golden: Mapping[str, Mapping[str, str]]) -> str:
    """The text with other digests; every character before and after them stays."""
    from ruamel.yaml import YAML

    root: Any = YAML(typ="safe", pure=True).compose(text)
    key, value = next(pair for pair in root.value if pair[0].value == "golden")
    # A byte-order mark is no character of the document.
    shift = 1 if text.startswith("\ufeff") and root.start_mark.index == 0 else 0
    begin, end = key.end_mark.index + shift, _end(value) + shift
    if root.flow_style:
        return f"{text[:begin]}: {json.dumps(golden)}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = " " * key.start_mark.column
    lines = [":"]
    for variant, digests in golden.items():
        lines.append(f"{indent}  {json.dumps(variant, ensure_ascii=False)}:")
        lines += [f'{indent}    {seed}: "{digest}"' for seed, digest in digests.items()]
    return text[:begin] + newline.join(lines) + text[end:]


def _end(node: Any) -> int:
    """Where a value ends; a block is said to end only where the next key begins, comments and all."""
    while node.id == "mapping" and not node.flow_style and node.value:
        node = node.value[-1][1]
    index: int = node.end_mark.index
    return index
