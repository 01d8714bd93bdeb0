"""§8.1: seq advances by exactly 1 with each commit, from 0 on."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("seq-adds-one", "seq-starts-at-zero", "some-commit")


def test_seq_counts_commits_one_by_one_from_zero() -> None:
    hold_over(configs(), "seq-adds-one", "seq-starts-at-zero", "some-commit")
