"""Whatever stands in a scenario file, it is read or refused in words; nothing else ever comes out."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scenario_files import EXACT, HEAD, HOLDS, QUICK, RANDOM, SCRIPTED

from endive.errors import InputError
from endive.scenario.reading import is_scenario, read_scenario

VARIANTS = "variants:\n  a: {transaction.retry: 2}\n  b: {}\ngolden: {a: {1: abc}}\n"
GRID = "grid:\n  transaction.retry: [1, 2]\n"
TEXTS = (
    HEAD + RANDOM + QUICK + HOLDS,
    HEAD + RANDOM + VARIANTS + QUICK + HOLDS,
    HEAD + RANDOM + GRID + QUICK + HOLDS,
    HEAD + SCRIPTED + EXACT,
)
# Words that YAML, TOML keys, globs and numbers trip over.
SPLINTERS = (
    ":", ": ", "- ", "[", "]", "{", "}", "&a ", "*a", "!!binary ", "!!set ", "<<: ", "? ", "|", ">", "%", "#", "\n", "\t", "  ",
    "\x00", "\x85", "\u2028", "\ufeff", "'", '"', "null", "~", "true", "-1", "0", "1e999", ".nan", ".inf", "-.inf", "1" * 30,
    "0x1F", "2026-01-01", "12:30:45", "a[0]", "[0]", "a[b]", "..", ".", "", "transaction", "workload.script", "workload.class",
    "workload.class.0", "storage.latency", "catalog.read", "script", "set", "grid", "variants", "expect", "metric", "near",
    "within", "50%", "1e9%", "seeds", "golden", "\\ud800", "\\0", "é", "𝄞",
)  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """A sound text with a few cuts, copies and splinters in it."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        piece = draw(st.sampled_from(SPLINTERS) | st.just(text[start:end] * 2))
        text = text[:start] + piece + text[end:]
    return text


def _is_refused_or_read(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    is_scenario(path)
    with contextlib.suppress(InputError):
        read_scenario(path)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file that is written again and again."""
    return tmp_path / "spoiled.yaml"


@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(text=spoiled())
@example(text=TEXTS[0].replace("retry: 3", '"a[b]": 3'))
@example(text=TEXTS[0].replace("simulation:", "1:"))
@example(text=TEXTS[0].replace("simulation:", "a[0]simulation:"))
@example(text=TEXTS[1].replace("transaction.retry: 2", "'': 2"))
@example(text=TEXTS[2].replace("[1, 2]", "[{}, []]"))
@example(text=TEXTS[3].replace("tables: [0]", "tables: 0"))
@example(text=TEXTS[0].replace("at_least: 0.5", "at_least: 1e999"))
def test_spoiled_scenario_is_read_or_refused(place: Path, text: str) -> None:
    _is_refused_or_read(place, text.encode("utf-8", errors="surrogatepass"))


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=200))
def test_bytes_are_read_or_refused(place: Path, content: bytes) -> None:
    _is_refused_or_read(place, b"scenario: x\nexpect: []\n" + content)


@pytest.mark.parametrize("depth", [10, 60, 100, 150, 200, 300, 400, 600, 2000])
@pytest.mark.parametrize("key", ["config", "set", "variants", "grid", "script", "expect", "about"])
def test_nesting_is_read_or_refused(place: Path, depth: int, key: str) -> None:
    nested = f"{key}: {'{a: [' * depth}1{']}' * depth}\n"
    _is_refused_or_read(place, (HEAD + nested + HOLDS).encode())
