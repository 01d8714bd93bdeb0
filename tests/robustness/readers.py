"""Everything of Endive's that reads a file from somebody else, and real files for it to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endive.config import load_config, resolve_config
from endive.fidelity.waivers import SHIPPED, load_waivers
from endive.judge.engine import judge
from endive.resources import shared_dir
from endive.scenario.reading import is_scenario, read_scenario
from endive.signoff.record import read as read_record
from endive.sweep import read_sweep
from endive.trace.files import read_trace, write_trace


@dataclass(frozen=True)
class Reader:
    """Something that reads files."""

    name: str
    suffix: str
    read: Callable[[Path], Any]
    """Raises what it raises; a file that is none is an EndiveError."""
    verb: Callable[[Path], list[str]]
    """A command line that reads the same file and then does little."""
    samples: Callable[[Path], list[bytes]]
    """Real files, made in a folder or taken from the repository."""


def _read_config(path: Path) -> None:
    load_config(path)


def _read_scenario(path: Path) -> None:
    is_scenario(path)
    read_scenario(path)


def _read_and_judge(path: Path) -> None:
    judge(read_trace(path))


def _read_cost_table(path: Path) -> None:
    resolve_config(
        {
            "simulation": {"duration_ms": 1000},
            "storage": {"provider": "instant"},
            "transaction": {"cost_table": str(path)},
        }
    )


def _texts(folder: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob(pattern))]


def _configs(_place: Path) -> list[bytes]:
    return _texts(shared_dir("scenarios").parent / "examples", "*.toml")


def _scenarios(_place: Path) -> list[bytes]:
    return _texts(shared_dir("scenarios"), "*.yaml")


def _cost_tables(_place: Path) -> list[bytes]:
    from endive.resources import package_dir

    return _texts(package_dir("cost_tables"), "*.yaml")


def _traces(suffix: str) -> Callable[[Path], list[bytes]]:
    def made(place: Path) -> list[bytes]:
        from traces import named_trace

        found = []
        for name in ("plain", "log"):
            trace = named_trace(name)
            # A short one: the last events of a long run are like the first.
            few = frozenset(range(6))
            events = tuple(event for event in trace.events if event.txn_id in few)
            file = place / f"sample{suffix}"
            write_trace(trace._replace(events=events), file)
            found.append(file.read_bytes())
        return found

    return made


def _records(place: Path) -> list[bytes]:
    from endive.signoff.evidence import Evidence, Verdict
    from endive.signoff.record import statement
    from endive.signoff.repository import Checkout

    evidence = [Evidence(f"figure/{i}", Verdict.PASS, {"value": i / 3}) for i in range(4)]
    document = statement(
        reviewer="A. Reader",
        day="2026-11-18",
        checkout=Checkout("0" * 40, "2026-11-18", ()),
        files={"endive/main.py": "0" * 64},
        evidence=evidence,
        waivers=[{"row": "r", "reason": "x", "reference": "y", "expires": "2026-12-31"}],
        environment={"python": "3.11"},
        command="endive signoff create",
    )
    return [json.dumps(document, indent=2).encode()]


def _sweeps(_place: Path) -> list[bytes]:
    # Bases are named relative to the file, which lies elsewhere here.
    top = shared_dir("scenarios").parent
    texts = _texts(top / "studies" / "small", "*.toml")
    return [text.replace(b"../../examples", str(top / "examples").encode()) for text in texts]


def _waivers(_place: Path) -> list[bytes]:
    return [SHIPPED.read_bytes()]


READERS: tuple[Reader, ...] = (
    Reader("sweep", ".toml", read_sweep, lambda path: ["sweep", str(path), "--jobs", "0"], _sweeps),
    Reader(
        "waivers",
        ".yaml",
        load_waivers,
        lambda path: ["fidelity", "--waivers", str(path), "--today", "soon"],
        _waivers,
    ),
    Reader("config", ".toml", _read_config, lambda path: ["compare", str(path)], _configs),
    Reader(
        "scenario",
        ".yaml",
        _read_scenario,
        lambda path: ["verify", str(path), "--seed", "0", "--html", str(path.parent)],
        _scenarios,
    ),
    Reader(
        "cost table",
        ".yaml",
        _read_cost_table,
        lambda path: ["cost-tables", str(path)],
        _cost_tables,
    ),
    Reader(
        "trace in Parquet",
        ".parquet",
        _read_and_judge,
        lambda path: ["check", str(path), "--json"],
        _traces(".parquet"),
    ),
    Reader(
        "trace in NDJSON",
        ".ndjson",
        _read_and_judge,
        lambda path: ["check", str(path), "--json"],
        _traces(".ndjson"),
    ),
    Reader(
        "record",
        ".json",
        read_record,
        lambda path: ["signoff", "verify", str(path), "--today", "soon"],
        _records,
    ),
)

__all__ = ["READERS", "Reader"]
