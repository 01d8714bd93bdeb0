"""From the parts of a scenario to one configuration per variant, and from a problem in it back to the line that brought it in."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from endive.config import ResolvedConfig, resolve_config
from endive.config.overrides import OverrideError, lay, locate, origin_of, path_of, read_base
from endive.config.toml_lines import line_of
from endive.documents import Document, KeyPath
from endive.errors import InputError, Problem
from endive.scenario.model import DEFAULT_VARIANT, Variant

_MOST_VARIANTS = 500


class Composer:
    """Lays the parts of a scenario over each other, remembering where every setting came from."""

    def __init__(self, document: Document, directory: Path) -> None:
        self._document = document
        self._directory = directory
        self._values: dict[str, Any] = {}
        self._origins: dict[KeyPath, KeyPath] = {}
        self._base_file = ""
        self._base_lines: Mapping[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._read_base()

    def variants(self) -> Iterator[Variant]:
        """The configuration of every variant; what is wrong with one is among `problems`."""
        told: set[str] = set()
        if self.problems:
            # Without the base everything would seem to be missing.
            return
        for name, path, settings in self._named_settings():
            values, origins = copy.deepcopy(self._values), dict(self._origins)
            for key, value in settings.items():
                here = path if path and path[0] == "grid" else (*path, key)
                self._lay(values, origins, key, value, (*here, key) if here == path else here)
            try:
                config = resolve_config(values, file=self._document.file)
            except InputError as error:
                for problem in error.problems:
                    moved = self._moved(problem, origins)
                    if str(moved) not in told:
                        told.add(str(moved))
                        self.problems.append(moved)
                continue
            yield Variant(name, config)

    def _named_settings(self) -> Iterator[tuple[str, KeyPath, Mapping[str, Any]]]:
        value = self._document.value
        if "grid" in value:
            keys = list(value["grid"])
            count = math.prod(map(len, value["grid"].values()))
            if count > _MOST_VARIANTS:
                message = f"makes {count} variants; {_MOST_VARIANTS} are enough for one scenario"
                self.problems.append(self._document.problem(("grid",), message))
                return
            for combination in itertools.product(*value["grid"].values()):
                name = ",".join(str(each) for each in combination)
                yield name, ("grid",), dict(zip(keys, combination, strict=True))
        elif "variants" in value:
            for name, settings in value["variants"].items():
                yield name, ("variants", name), settings
        else:
            yield DEFAULT_VARIANT, (), {}

    def _read_base(self) -> None:
        value = self._document.value
        config = value.get("config", {})
        if isinstance(config, str):
            self._read_file(config)
        else:
            self._values = copy.deepcopy(config)
        for key, setting in value.get("set", {}).items():
            self._lay(self._values, self._origins, key, setting, ("set", key))
        for name, latency_ms in value.get("latencies_ms", {}).items():
            fixed = {"distribution": "fixed", "value": latency_ms}
            path = ("latencies_ms", name)
            self._lay(self._values, self._origins, f"storage.latency.{name}", fixed, path)
        if "script" in value:
            script = copy.deepcopy(value["script"])
            self._lay(self._values, self._origins, "workload.script", script, ("script",))

    def _read_file(self, name: str) -> None:
        try:
            base = read_base(self._directory / name)
        except InputError as error:
            # What is wrong within the file is told of that file; what names it, of this one.
            for problem in error.problems:
                message = f"{name!r}: {problem.message}; the path is relative to this file"
                here = self._document.problem(("config",), message)
                self.problems.append(problem if problem.line else here)
            return
        self._values, self._base_file, self._base_lines = base.values, base.file, base.lines

    def _lay(
        self,
        values: dict[str, Any],
        origins: dict[KeyPath, KeyPath],
        key: str,
        value: Any,
        path: KeyPath,
    ) -> None:
        """Set one dotted key; null removes it."""
        try:
            lay(values, key, value)
            origins[locate(values, key)] = path
        except OverrideError as error:
            self.problems.append(self._document.problem(path, str(error)))

    def _moved(self, problem: Problem, origins: Mapping[KeyPath, KeyPath]) -> Problem:
        """The same problem, at the place in the scenario where the setting stands."""
        if problem.file != self._document.file:
            return problem
        path = path_of(problem.key)
        found = origin_of(path, origins)
        if found is not None:
            moved = self._document.problem((*found[0], *found[1]), problem.message)
            return Problem(problem.message, problem.key, moved.file, moved.line, moved.column)
        line = line_of(self._base_lines, path)
        if line:
            return Problem(problem.message, problem.key, self._base_file, line)
        moved = self._document.problem(("config", *path), problem.message)
        return Problem(problem.message, problem.key, moved.file, moved.line, moved.column)


def is_random(config: ResolvedConfig) -> bool:
    """Whether another seed may give another run: something is drawn that every transaction or retry meets."""
    values = config.values
    workload, transaction = values.get("workload", {}), values["transaction"]
    if "class" in workload or "script" not in workload:
        return True
    backoff = transaction["retry_backoff"]
    if backoff["enabled"] and backoff["jitter"] > 0.0:
        return True
    draws_conflicts = transaction["conflict_detector"] == "probabilistic"
    if draws_conflicts and 0.0 < transaction["real_conflict_probability"] < 1.0:
        return True
    latency = values["storage"].get("latency", {})
    put = "append" if transaction["manifest_list_mode"] == "append" else "write"
    met = [("manifest_list", "read"), ("manifest_list", put), ("manifest_file", "write")]
    kind = values["catalog"]["type"]
    if kind != "instant":
        met += [("catalog", "read"), ("catalog", "append" if kind == "append" else "cas")]
    return any(
        latency.get(artifact, {}).get(operation, {}).get("distribution") != "fixed"
        for artifact, operation in met
    )


def submitters(config: ResolvedConfig) -> Iterator[tuple[str, frozenset[str]]]:
    """Whoever submits transactions, by name, and what they submit."""
    workload = config.values.get("workload", {})
    for load in workload.get("class", ()):
        if load["kind"] != "background":
            yield load["name"], _weighed(load["operation_types"])
    for line in workload.get("script", ()):
        if line["operation"] != "background":
            yield line["name"], frozenset({line["operation"]})
    if not workload:
        yield "default", _weighed(config.values["transaction"]["operation_types"])


def _weighed(weights: Mapping[str, float]) -> frozenset[str]:
    return frozenset(name for name, weight in weights.items() if weight)
