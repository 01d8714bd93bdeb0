"""The scanner that finds the line of each key in a TOML text."""

from __future__ import annotations

import tomllib

import pytest

from endive.config.toml_lines import KeyPath, key_lines, line_of

TEXT = '''\
# a comment with [brackets] and a = sign
title = "x # not a comment"

[one]
plain = 1
dotted.inner = 2   # comment
"quoted key" = 3
'single.dot' = 4
text = """
[not.a.table]
key = "no key"
"""
literal = \'\'\'
also = 'no key'
\'\'\'
array = [
  1, # comment ]
  "]",
  [2, 3],
]
inline = { a = 1, b = { c = "}" } }
date = 2026-01-01 10:00:00
after = true

  [ one . two ]
deep = 1.5
[[rows]]
x = 1
[[rows]]
x = 2
[rows.sub]
y = 3
'''

EXPECTED: dict[KeyPath, int] = {
    ("title",): 2,
    ("one",): 4,
    ("one", "plain"): 5,
    ("one", "dotted"): 6,
    ("one", "dotted", "inner"): 6,
    ("one", "quoted key"): 7,
    ("one", "single.dot"): 8,
    ("one", "text"): 9,
    ("one", "literal"): 13,
    ("one", "array"): 16,
    ("one", "inline"): 21,
    ("one", "date"): 22,
    ("one", "after"): 23,
    ("one", "two"): 25,
    ("one", "two", "deep"): 26,
    ("rows",): 27,
    ("rows", 0): 27,
    ("rows", 0, "x"): 28,
    ("rows", 1): 29,
    ("rows", 1, "x"): 30,
    ("rows", 1, "sub"): 31,
    ("rows", 1, "sub", "y"): 32,
}


def test_every_table_and_key_has_the_line_it_stands_on() -> None:
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == EXPECTED


def test_windows_line_ends_count_once() -> None:
    assert key_lines(TEXT.replace("\n", "\r\n")) == EXPECTED


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("one", "inline", "b", "c"), 21),
        (("one", "array", 2, 0), 16),
        (("one", "absent"), 4),
        (("nowhere", "at_all"), 0),
    ],
)
def test_what_has_no_line_of_its_own_stands_where_its_parent_stands(
    path: KeyPath, line: int
) -> None:
    assert line_of(key_lines(TEXT), path) == line


def test_the_header_of_a_table_wins_over_an_earlier_one_that_implies_it() -> None:
    assert key_lines("[a.b]\nx = 1\n[a]\ny = 2\n")[("a",)] == 3


@pytest.mark.parametrize("ending", ["", "\n", "\n\n# the end", "   "])
def test_a_text_may_end_anyhow(ending: str) -> None:
    assert key_lines(f"[a]\nb = ''{ending}") == {("a",): 1, ("a", "b"): 2}
