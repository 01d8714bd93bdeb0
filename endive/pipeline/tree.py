"""What an experiments tree holds (§7.3): experiments with their configurations, and the files of their finished runs.

Only names, sizes and the small text files are looked at here; the results themselves are read by those who consolidate them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from endive.config import compute_experiment_hash, load_config
from endive.errors import EndiveError, InputError, Problem
from endive.experiment import code_version
from endive.pipeline.columns import ATTEMPTS, TRANSACTIONS
from endive.pipeline.configs import Scalar, flat_config
from endive.utils import read_text

_DIRECTORY = re.compile(r"(?P<label>.+)-(?P<hash>[0-9a-f]{6})", re.DOTALL)
_SEED = re.compile(r"0|[1-9][0-9]*")
_RESULTS, _ATTEMPTS = "results.parquet", "attempts.parquet"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was looked at; a change of either number is a change of the file."""

    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> FileState | None:
        """The state of a file; None if there is none."""
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return cls(str(path), found.st_size, found.st_mtime_ns)

    def is_unchanged(self) -> bool:
        """Whether the file still is what it was."""
        return FileState.of(Path(self.path)) == self


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one finished run."""

    experiment: str
    seed: int
    results: FileState
    attempts: FileState | None


@dataclass(frozen=True, slots=True)
class Found:
    """One experiment's directory."""

    name: str
    label: str
    config_hash: str
    version: str
    config: dict[str, Scalar]
    config_file: str
    runs: tuple[RunFiles, ...]
    unfinished: tuple[str, ...]
    """Directories of seeds whose run is under way or was killed."""


def read_tree(tree: Path) -> list[Found]:
    """Every experiment of a tree, by name; all that is wrong with any of them is told at once."""
    if not tree.is_dir():
        message = "is no directory; name the one that holds <label>-<hash>/ of each experiment"
        raise InputError([Problem(message, file=str(tree))])
    problems: list[Problem] = []
    found = []
    for directory in sorted(path for path in tree.iterdir() if path.is_dir()):
        if directory.name.startswith(".") or directory.name in (TRANSACTIONS, ATTEMPTS):
            continue
        named = _DIRECTORY.fullmatch(directory.name)
        if named is None:
            problems += _foreign_directory(directory)
            continue
        try:
            found.append(_read_experiment(directory, named["label"], named["hash"]))
        except InputError as error:
            problems += error.problems
    if not problems and not any(one.runs for one in found):
        message = "holds no finished run; name the directory that holds <label>-<hash>/<seed>/results.parquet"
        problems.append(Problem(message, file=str(tree)))
    if problems:
        raise InputError(problems)
    return found


def _foreign_directory(directory: Path) -> Iterator[Problem]:
    """A directory of another name may be anything, unless it looks like an experiment."""
    if (directory / "cfg.toml").exists() or any(directory.glob(f"*/{_RESULTS}")):
        yield Problem(
            "holds results but is not called <label>-<hash>; give it back its name or move it out of the tree",
            file=str(directory),
        )


def _read_experiment(directory: Path, label: str, config_hash: str) -> Found:
    problems: list[Problem] = []
    config_file = directory / "cfg.toml"
    config: dict[str, Scalar] = {}
    try:
        config = flat_config(tomllib.loads(read_text(config_file)))
    except FileNotFoundError:
        message = "is missing; restore it, or move the directory out of the tree"
        problems.append(Problem(message, file=str(config_file)))
    except (OSError, ValueError) as error:
        message = f"cannot be read: {error}; restore it, or move the directory out of the tree"
        problems.append(Problem(message, file=str(config_file)))
    version = _read_version(directory / "version.txt", problems)
    if not problems and version == code_version():
        problems += _edited(config_file, config_hash)
    runs, unfinished = [], []
    for place in sorted(path for path in directory.iterdir() if path.is_dir()):
        if _SEED.fullmatch(place.name) is None:
            if (place / _RESULTS).exists():
                message = f"holds {_RESULTS} but is named after no seed; move it out of the tree"
                problems.append(Problem(message, file=str(place)))
            continue
        results = FileState.of(place / _RESULTS)
        if results is None:
            unfinished.append(str(place))
        else:
            attempts = FileState.of(place / _ATTEMPTS)
            runs.append(RunFiles(directory.name, int(place.name), results, attempts))
    if problems:
        raise InputError(problems)
    runs.sort(key=lambda run: run.seed)
    return Found(
        directory.name,
        label,
        config_hash,
        version,
        config,
        str(config_file),
        tuple(runs),
        tuple(unfinished),
    )


def _read_version(file: Path, problems: list[Problem]) -> str:
    try:
        return read_text(file).strip()
    except (OSError, ValueError) as error:
        reason = (
            "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        )
        message = f"{reason}; restore it, or run the experiment again with --force"
        problems.append(Problem(message, file=str(file)))
        return ""


def _edited(config_file: Path, config_hash: str) -> list[Problem]:
    """Whether a configuration is still the one its directory is named after; other versions may hash otherwise."""
    try:
        now = compute_experiment_hash(load_config(config_file))
    except InputError as error:
        return list(error.problems)
    except (EndiveError, OSError) as error:
        return [Problem(str(error), file=str(config_file))]
    if now == config_hash:
        return []
    message = (
        f"has the hash {now}, its directory says {config_hash}: it is not the configuration of these results; "
        "restore it, or move the directory out of the tree"
    )
    return [Problem(message, file=str(config_file))]
