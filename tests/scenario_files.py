"""Small scenario files for tests: parts that can be swapped one by one, and quick runs."""

from __future__ import annotations

from pathlib import Path

HEAD = "scenario: Appends meet on two tables.\nsections: [000 §8.1]\n"
# A few dozen transactions that meet each other, all of them drawn.
RANDOM = """\
config:
  simulation: {duration_ms: 150}
  storage: {provider: instant}
  catalog: {num_tables: 2}
  transaction:
    retry: 3
    runtime: {distribution: fixed, value: 4}
    inter_arrival: {distribution: exponential, scale: 3}
"""
# Nothing is drawn. An overwrite of table 0 works from 4 to 104 ms; two rivals land meanwhile.
SCRIPTED = """\
config:
  simulation: {duration_ms: 1000}
  storage: {provider: instant, max_parallel: 4}
  catalog: {num_tables: 2, type: cas}
latencies_ms:
  {catalog.read: 4, catalog.cas: 10, manifest_list.read: 3, manifest_list.write: 7, manifest_file.read: 5, manifest_file.write: 11}
script:
  - {at_ms: 0, operation: validated_overwrite, tables: [0], runtime_ms: 100, name: overwrite}
  - {at_ms: 50, operation: background, tables: [0], times: 2, every_ms: 10, name: rival}
"""
QUICK = "seeds: {first: 4, limit: 16}\njudged_seeds: 0\n"
HOLDS = "expect: [{metric: success_rate, at_least: 0.5}]\n"
# The overwrite commits at 4 + 100 + (3 + 7 + 11) + 10 = 135 first, fails, looks again at 139, reads two lists (3), and so on.
EXACT = "judged_seeds: 0\nexpect: [{metric: retries, named: overwrite, equals: 1}]\n"


def written(directory: Path, *parts: str, name: str = "meeting.yaml") -> Path:
    """A scenario file made of these parts."""
    path = directory / name
    path.write_text("".join(parts), encoding="utf-8")
    return path


def expecting(*lines: str) -> str:
    """The section of expectations, one per line."""
    return "expect:\n" + "".join(f"  - {line}\n" for line in lines)
