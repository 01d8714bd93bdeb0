"""What several verbs take on the command line: whole numbers, seeds, ranges of seeds, processes at a time."""

from __future__ import annotations

import argparse


def whole_number(text: str) -> int:
    """A whole number that is not negative."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 10^18 - 1")
    return int(text)


def seed_range(text: str) -> range:
    """Seeds from A to B, B included: `1..20`."""
    first, dots, last = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of seeds; write it as 1..20")
    start, end = whole_number(first), whole_number(last)
    if start > end:
        raise argparse.ArgumentTypeError(f"{text!r} is empty; did you mean {end}..{start}?")
    return range(start, end + 1)


def jobs(text: str) -> int:
    """How many processes may be at work at the same time."""
    found = whole_number(text)
    if found < 1:
        raise argparse.ArgumentTypeError("at least 1 job is needed")
    return found
