"""Reads a scenario file; everything that is wrong with it is told before anything runs, with line and column."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from endive.documents import Document, KeyPath, read_document
from endive.errors import InputError, Problem
from endive.judge.model import Kind, Scope
from endive.judge.registry import INVARIANTS
from endive.resources import shared_dir
from endive.scenario.composing import Composer
from endive.scenario.expecting import read_expectations
from endive.scenario.model import Scenario, Seeds, Variant
from endive.schema_words import in_words
from endive.utils import read_text

# Other tools have files with a key `scenario`, too; those with one of these beside it are ours.
_MARKS = (
    re.compile(r"^scenario[ \t]*:", re.MULTILINE),
    re.compile(r"^(sections|expect)[ \t]*:", re.MULTILINE),
)
_SUFFIXES = (".yaml", ".yml")
# Terminals obey control characters, and no XML file may hold them, nor half of a surrogate pair.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LARGEST_BYTES = 2**20
DEFAULT_CONFIDENCE = 0.99
_DEFAULT_SEEDS = Seeds(start=1, first=8, limit=64)


def find_scenarios(paths: Sequence[str | Path]) -> list[Path]:
    """The scenario files among these paths; directories are searched, and nothing found is a mistake."""
    found: list[Path] = []
    problems: list[Problem] = []
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)
            inside = [file for file in files if is_scenario(file)]
            if not inside:
                problems.append(Problem("holds no scenario; name a .yaml file", file=str(path)))
            found += inside
        elif not path.exists():
            problems.append(Problem("no such file; check the path", file=str(path)))
        else:
            found.append(path)
    if problems:
        raise InputError(problems)
    # The same file by two names is one scenario.
    first: dict[Path, Path] = {}
    for path in found:
        first.setdefault(path.resolve(), path)
    return list(first.values())


def is_scenario(path: Path) -> bool:
    """Whether a YAML file calls itself a scenario."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            text = file.read(_LARGEST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return False
    return all(mark.search(text) for mark in _MARKS)


def read_scenarios(paths: Sequence[Path]) -> list[Scenario]:
    """Read all of them, or tell what is wrong with all of them."""
    scenarios: list[Scenario] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            scenarios.append(read_scenario(path))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return scenarios


def read_scenario(path: str | Path) -> Scenario:
    """Read one scenario; raises `InputError` with all its problems."""
    file = str(path)
    document = read_document(_text(Path(path), file), file, tells_columns=True)
    problems = [*_violations(document), *_unprintable(document, document.value, ())]
    if problems:
        raise InputError(sorted(problems, key=_place))
    value: Mapping[str, Any] = document.value
    composer = Composer(document, Path(path).parent)
    variants = tuple(composer.variants())
    problems = [*composer.problems, *_contradictions(document)]
    problems += _misnamed(document, [variant.name for variant in variants])
    if problems:
        # Without a sound configuration nothing can be said about what is expected of it.
        raise InputError(sorted(problems, key=_place))
    seeds = _seeds(value.get("seeds"), is_scripted=_is_scripted(variants))
    expectations, problems = read_expectations(document, variants, seeds)
    if problems:
        raise InputError(sorted(problems, key=_place))
    invariants = value.get("invariants", "all")
    return Scenario(
        file=file,
        title=" ".join(value["scenario"].split()),
        about=value.get("about", ""),
        sections=tuple(value["sections"]),
        clauses=tuple(value.get("clauses", ())),
        variants=variants,
        seeds=seeds,
        confidence=value.get("confidence", DEFAULT_CONFIDENCE),
        judged_seeds=value.get("judged_seeds", 2),
        invariants=None if invariants == "all" else tuple(invariants),
        sometimes=tuple(value.get("sometimes", ())),
        expectations=tuple(expectations),
        golden=value.get("golden"),
    )


def _text(path: Path, file: str) -> str:
    try:
        return read_text(path, _LARGEST_BYTES)
    except UnicodeDecodeError as error:
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise InputError([Problem(message, file=file)]) from None
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", file=file)]) from None
    except ValueError as error:
        raise InputError([Problem(f"{error}; no scenario is", file=file)]) from None


def _place(problem: Problem) -> tuple[int, int]:
    return problem.line, problem.column


@lru_cache(maxsize=1)
def load_schema() -> dict[str, Any]:
    """The schema as it stands in the file."""
    text = (shared_dir("schemas") / "scenario.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _violations(document: Document) -> Iterator[Problem]:
    from jsonschema import Draft7Validator

    if not isinstance(document.value, dict):
        yield document.problem((), "not a scenario; begin with `scenario:` and what it shows")
        return
    for error in Draft7Validator(load_schema()).iter_errors(document.value):
        path: KeyPath = tuple(error.absolute_path)
        if error.validator == "additionalProperties" and isinstance(error.validator_value, bool):
            known = list(error.schema["properties"])
            for name in error.instance:
                if name not in known:
                    close = difflib.get_close_matches(name, known, n=1)
                    hint = (
                        f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
                    )
                    yield document.problem((*path, name), f"unknown key; {hint}")
        elif error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield document.problem((*path, name), "missing; add it")
        elif error.validator == "oneOf":
            kinds = " or ".join(_kind(choice) for choice in error.validator_value)
            deeper = [each for each in error.context if list(each.path)]
            detail = f" ({in_words(deeper[0])})" if deeper else ""
            yield document.problem(path, f"must be {kinds}{detail}")
        else:
            yield document.problem(path, in_words(error))


def _kind(choice: Mapping[str, Any]) -> str:
    if "enum" in choice:
        return " or ".join(repr(each) for each in choice["enum"])
    if "pattern" in choice:
        return "a share like 5%"
    words = {"string": "a text", "object": "a mapping", "array": "a list"}
    return words.get(choice["type"], "a number")


def _contradictions(document: Document) -> Iterator[Problem]:
    value = document.value
    if "config" not in value and "set" not in value:
        yield document.problem(("config",), "missing; name a TOML file, or write the tables out")
    if "variants" in value and "grid" in value:
        yield document.problem(("grid",), "there are variants, too; keep one of the two")
    known = {invariant.id: invariant for invariant in INVARIANTS}
    listed = value.get("invariants", "all")
    for key, ids in (("invariants", listed), ("sometimes", value.get("sometimes", ()))):
        for index, id in enumerate(() if ids == "all" else ids):
            path = (key, index)
            if id not in known:
                close = difflib.get_close_matches(str(id), known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else "see `endive invariants`"
                yield document.problem(path, f"no invariant is called {id!r}; {hint}")
            elif (known[id].kind is Kind.SOMETIMES) != (key == "sometimes"):
                other = "sometimes" if key == "invariants" else "invariants"
                yield document.problem(
                    path, f"{id} holds {known[id].kind.value}; list it under {other}"
                )
            elif known[id].scope is Scope.API:
                yield document.problem(
                    path, f"{id} is about the code and not about runs; remove it"
                )
    seeds = value.get("seeds")
    if isinstance(seeds, dict) and seeds["limit"] < seeds["first"]:
        yield document.problem(("seeds", "limit"), f"must be at least first, {seeds['first']}")
    if value.get("judged_seeds") == 0 and not value["expect"] and "golden" not in value:
        yield document.problem(
            ("expect",), "nothing is expected, judged or kept: this cannot fail; expect something"
        )
    if value.get("judged_seeds") == 0:
        for key in ("clauses", "invariants", "sometimes"):
            if value.get(key, "all") not in ("all", []):
                yield document.problem(
                    ("judged_seeds",), f"without a judged run nothing shows {key}; make it 1"
                )


def _misnamed(document: Document, names: Sequence[str]) -> Iterator[Problem]:
    """What is wrong with the names of variants; there are none where one of them is unsound."""
    for name in dict.fromkeys(each for each in names if names.count(each) > 1):
        yield document.problem(("grid",), f"two variants are called {name!r}; name them yourself")
    for name in document.value.get("golden", {}) if names else ():
        if name not in names:
            yield document.problem(("golden", name), f"no variant is called {name!r}; remove it")
    asked = document.value.get("invariants", "all")
    if len(names) == 1 and asked != "all" and "streams-independent" in asked:
        path = ("invariants", asked.index("streams-independent"))
        yield document.problem(path, "needs a second variant to compare with; add one")


def _unprintable(document: Document, value: Any, path: KeyPath) -> Iterator[Problem]:
    """Characters that no report could show."""
    if isinstance(value, str):
        found = _UNPRINTABLE.search(value)
        if found:
            message = f"holds the control character U+{ord(found[0]):04X}; remove it"
            yield document.problem(path, message)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if _UNPRINTABLE.search(name):
                yield document.problem(path, f"the key {name!r} holds a control character")
            else:
                yield from _unprintable(document, inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unprintable(document, inner, (*path, index))


def _is_scripted(variants: Sequence[Variant]) -> bool:
    """Whether nothing but a script submits."""
    workloads = [variant.config.values.get("workload", {}) for variant in variants]
    return all("script" in workload and "class" not in workload for workload in workloads)


def _seeds(given: Any, *, is_scripted: bool) -> Seeds:
    if given is None:
        return Seeds(1, 1, 1) if is_scripted else _DEFAULT_SEEDS
    if isinstance(given, int):
        return Seeds(given, 1, 1)
    if isinstance(given, list):
        return Seeds(given[0], len(given), len(given), tuple(given))
    return Seeds(given.get("start", 1), given["first"], given["limit"])
