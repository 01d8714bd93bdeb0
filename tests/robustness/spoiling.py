"""Real files, spoiled: bytes flipped, pieces cut, doubled and swapped, numbers and words replaced by what parsers trip over.

Everything is drawn from one seed, so a file that does harm can be had again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

# Words that YAML, TOML, JSON, numbers and paths trip over; some are bombs.
SPLINTERS: tuple[bytes, ...] = (
    b"\x00", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\t", b"\n\n", b"'", b'"', b'"""', b"{", b"}",
    b"[", b"]", b"[[", b"]]", b"<<: *a", b"&a ", b"*a", b"!!python/object:os.system ", b"!!binary ", b"? ", b"|", b">", b"%YAML 9",
    b"---\n", b"null", b"true", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"0", b"1" * 400, b"9" * 5000, b"1e308",
    b"0x" + b"f" * 300, b"2026-13-45", b"12:60:61", b"inf", b"nan", b"../../../../etc/passwd", b"/dev/zero", b"/dev/null",
    b"a" * 70_000, b"\\u0000", b"\\ud800", b"{" * 3000, b"[" * 3000, b"[[a]]\n" * 500, b"a.b.c.d" * 200, b"=", b":", b",", b"#",
)  # fmt: skip
YAML_BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 9))
    for name in range(ord("b"), ord("k"))
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


def spoil(content: bytes, rng: np.random.RandomState) -> bytes:
    """One to four harms, one after the other."""
    for _ in range(rng.randint(1, 5)):
        content = _HARMS[rng.randint(len(_HARMS))](content, rng)
    return content


def _flip(content: bytes, rng: np.random.RandomState) -> bytes:
    if not content:
        return b"\x00"
    spoiled = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        spoiled[rng.randint(len(spoiled))] = rng.randint(256)
    return bytes(spoiled)


def _cut_off(content: bytes, rng: np.random.RandomState) -> bytes:
    return content[: rng.randint(len(content) + 1)]


def _cut_out(content: bytes, rng: np.random.RandomState) -> bytes:
    start, end = _stretch(content, rng)
    return content[:start] + content[end:]


def _double(content: bytes, rng: np.random.RandomState) -> bytes:
    start, end = _stretch(content, rng)
    return content[:end] + content[start:end] * rng.randint(1, 20) + content[end:]


def _insert(content: bytes, rng: np.random.RandomState) -> bytes:
    place = rng.randint(len(content) + 1)
    return content[:place] + SPLINTERS[rng.randint(len(SPLINTERS))] + content[place:]


def _swap_lines(content: bytes, rng: np.random.RandomState) -> bytes:
    lines = content.split(b"\n")
    a, b = rng.randint(len(lines), size=2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _replace_number(content: bytes, rng: np.random.RandomState) -> bytes:
    return _replaced(_NUMBER, content, rng)


def _replace_word(content: bytes, rng: np.random.RandomState) -> bytes:
    return _replaced(_WORD, content, rng)


def _replaced(pattern: re.Pattern[bytes], content: bytes, rng: np.random.RandomState) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return _insert(content, rng)
    chosen = found[rng.randint(len(found))]
    splinter = SPLINTERS[rng.randint(len(SPLINTERS))]
    return content[: chosen.start()] + splinter + content[chosen.end() :]


def _bomb(content: bytes, rng: np.random.RandomState) -> bytes:
    return YAML_BOMB + content if rng.randint(20) == 0 else _insert(content, rng)


def _stretch(content: bytes, rng: np.random.RandomState) -> tuple[int, int]:
    start = rng.randint(len(content) + 1)
    return start, min(len(content), start + rng.randint(1, 200))


_HARMS: tuple[Callable[[bytes, np.random.RandomState], bytes], ...] = (
    _flip,
    _cut_off,
    _cut_out,
    _double,
    _insert,
    _swap_lines,
    _replace_number,
    _replace_word,
    _bomb,
)
