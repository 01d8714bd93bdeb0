"""Reads a sweep file: every cell's configuration is made and checked before anything runs, and all problems are told at once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endive.config.findings import dotted
from endive.config.overrides import Base, read_base
from endive.config.resolve import read_toml
from endive.config.toml_lines import KeyPath, key_lines, line_of
from endive.errors import InputError, Problem
from endive.resources import shared_dir
from endive.schema_words import in_words, shown
from endive.sweep.composing import Composer, Variation
from endive.sweep.model import Sweep
from endive.sweep.written import Setting, settings_in

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_MOST_SEEDS = 10_000
_LARGEST_SEED = 2**63 - 1
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")
# What the sweep itself says of every run.
_OURS: Mapping[str, str] = {
    "simulation.seed": "the sweep has its own `seeds`",
    "simulation.output_path": "results go to <out>/<label>-<hash>/<seed>/",
    "experiment.label": "the sweep has its own `label`",
    "experiment": "the sweep has its own `label`",
}
_EXAMPLE = 'write it out, like "{name}.KEY" = …'


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep and make the configuration of each of its cells; raises InputError with all problems."""
    raw, text = read_toml(path)
    return _Reader(str(path), raw, key_lines(text)).sweep()


@lru_cache(maxsize=1)
def load_schema() -> dict[str, Any]:
    """The schema as it stands in the file."""
    text = (shared_dir("schemas") / "sweep.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


class _Reader:
    """One sweep file, and what is wrong with it so far."""

    def __init__(self, file: str, raw: dict[str, Any], lines: Mapping[KeyPath, int]) -> None:
        self._file = file
        self._raw = raw
        self._lines = lines
        self._problems: list[Problem] = []

    def sweep(self) -> Sweep:
        """The sweep; it is sound or there is none."""
        raw = self._raw
        self._check_schema()
        seeds = self._seeds()
        self._raise_if_any()
        base = self._base()
        removed = tuple(
            Setting(key, None, ("remove", index)) for index, key in enumerate(raw.get("remove", ()))
        )
        fixed = tuple(settings_in(raw.get("set", {}), ("set",), self._lines))
        variations = (*self._grid(), *self._cases())
        self._check_keys(removed, fixed, variations)
        self._raise_if_any()
        assert base is not None
        composer = Composer(self._file, self._lines, base, (*removed, *fixed), variations)
        cells = composer.cells(raw["label"], seeds)
        return Sweep(
            label=raw["label"],
            file=self._file,
            axes=tuple(variation.axis for variation in variations),
            cells=cells,
            seeds=seeds,
            records_attempts=raw.get("attempts", True),
            records_trace=raw.get("trace", False),
        )

    def _add(self, path: KeyPath, message: str) -> None:
        line = line_of(self._lines, path)
        self._problems.append(Problem(message, dotted(path), self._file, line))

    def _raise_if_any(self) -> None:
        if self._problems:
            raise InputError(sorted(self._problems, key=lambda problem: problem.line))

    def _check_schema(self) -> None:
        from jsonschema import Draft7Validator

        meant = set()
        errors = list(Draft7Validator(load_schema()).iter_errors(self._raw))
        # What is missing comes last: it may be only the consequence of a key that is misspelt.
        for error in sorted(errors, key=lambda error: error.validator == "required"):
            path: KeyPath = tuple(error.absolute_path)
            if error.validator == "additionalProperties":
                meant |= set(self._unknown_keys(error))
            elif error.validator == "required":
                for name in error.validator_value:
                    if name not in error.instance and name not in meant:
                        example = '"load"' if name == "label" else '"1..20"'
                        self._add((name,), f"missing; add it, for example {name} = {example}")
            else:
                self._add(path, in_words(error))
        given = [name for name in ("base", "config") if name in self._raw]
        if len(given) == 2:
            self._add(("config",), "there is a `base`, too; remove one of them")
        elif not given and not meant & {"base", "config"}:
            message = 'missing; name the configuration that is varied, like base = "cfg.toml"'
            self._add(("base",), f"{message}, or write it out in [config]")

    def _unknown_keys(self, error: ValidationError) -> Iterator[str]:
        known = list(error.schema["properties"])
        for name in error.instance:
            if name in known:
                continue
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"a sweep has {', '.join(known)}"
            if "." in name:
                hint = "a key of the configuration stands in [set], [grid] or [cases]"
            self._add((name,), f"unknown key; {hint}")
            yield from close

    def _seeds(self) -> tuple[int, ...]:
        given = self._raw.get("seeds", 1)
        if isinstance(given, str) and (found := _RANGE.fullmatch(given)):
            first, last = int(found[1]), int(found[2])
            if first > last:
                self._add(("seeds",), f"{given!r} is empty; did you mean '{last}..{first}'?")
            elif last - first >= _MOST_SEEDS:
                message = f"{given!r} are {last - first + 1} seeds; {_MOST_SEEDS} are the most"
                self._add(("seeds",), message)
            else:
                return tuple(range(first, last + 1))
            return ()
        seeds = given if isinstance(given, list) else [given]
        wrong = [each for each in seeds if not _is_seed(each)]
        twice = [each for at, each in enumerate(seeds) if each in seeds[:at]]
        if wrong or not seeds:
            what = shown(wrong[0]) if wrong else "an empty list"
            message = f'{what} is no seed; give "1..20", a list of whole numbers, or one'
            self._add(("seeds",), message)
        elif twice:
            self._add(("seeds",), f"{twice[0]} stands twice; a seed makes one run of each cell")
        elif len(seeds) > _MOST_SEEDS:
            self._add(("seeds",), f"{len(seeds)} seeds are given; {_MOST_SEEDS} are the most")
        return tuple(seeds)

    def _base(self) -> Base | None:
        name = self._raw.get("base")
        if name is None:
            below = {path[1:]: line for path, line in self._lines.items() if path[0] == "config"}
            return Base(self._raw["config"], self._file, below)
        try:
            return read_base(Path(self._file).parent / name)
        except InputError as error:
            # What is wrong within the file is told of that file; what names it, of this one.
            for problem in error.problems:
                if problem.line:
                    self._problems.append(problem)
                else:
                    what = f"{name!r}: {problem.message}; the path is relative to this file"
                    self._add(("base",), what)
            return None

    def _grid(self) -> Iterator[Variation]:
        for setting in settings_in(self._raw.get("grid", {}), ("grid",), self._lines):
            if not isinstance(setting.value, list):
                message = f"{shown(setting.value)} is not an array; give the values to try"
                self._add(setting.path, f"{message}, or move the key to [set]")
            elif not setting.value:
                self._add(setting.path, "is empty; give the values to try")
            else:
                yield Variation.of_key(setting)

    def _cases(self) -> Iterator[Variation]:
        for axis, cases in self._raw.get("cases", {}).items():
            path: KeyPath = ("cases", axis)
            if not cases:
                self._add(path, f"has no case; add [cases.{axis}.NAME]")
                continue
            layers = {}
            for name, table in cases.items():
                here = (*path, name)
                removed = table.get("remove", [])
                if not (isinstance(removed, list) and all(isinstance(key, str) for key in removed)):
                    self._add((*here, "remove"), "must be an array of dotted keys")
                    continue
                kept = {key: value for key, value in table.items() if key != "remove"}
                layers[name] = (
                    *(Setting(key, None, (*here, "remove")) for key in removed),
                    *settings_in(kept, here, self._lines),
                )
            yield Variation.of_cases(axis, layers)

    def _check_keys(
        self,
        removed: tuple[Setting, ...],
        fixed: tuple[Setting, ...],
        variations: tuple[Variation, ...],
    ) -> None:
        """Keys that no sweep may set, and keys that two parts of it would set."""
        varied = [setting for each in variations for setting in each.written()]
        for setting in (*removed, *fixed, *varied):
            reason = _OURS.get(setting.key)
            if reason is not None:
                self._add(setting.path, f"is not for a sweep to set: {reason}; remove it")
            elif "." not in setting.key and setting.value is not None:
                advice = _EXAMPLE.format(name=setting.key)
                message = f"would replace the whole of [{setting.key}]; {advice}"
                self._add(setting.path, message)
        for setting in fixed:
            for each in variations:
                if any(_meet(setting.key, key) for key in each.axis.keys):
                    self._add(setting.path, f"{each.axis.name!r} varies it; remove it here")
        names: dict[str, Variation] = {}
        for each in variations:
            if each.axis.name in names:
                self._add(each.path, "another axis has the same name; rename this one")
            for other in names.values():
                for key in each.axis.keys:
                    rivals = [theirs for theirs in other.axis.keys if _meet(key, theirs)]
                    if rivals:
                        whose = f"{other.axis.name!r} sets {rivals[0]!r}"
                        message = f"{key!r} and another axis meet: {whose}; vary them together"
                        self._add(each.path, f"{message} in [cases]")
            names.setdefault(each.axis.name, each)


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_SEED


def _meet(one: str, other: str) -> bool:
    """Whether two keys are the same, or one holds the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
