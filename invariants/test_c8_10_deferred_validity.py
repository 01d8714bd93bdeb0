"""§8.10: an entry in a manifest list (ML+) is valid iff the commit that follows it succeeds."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant(
    "entry-valid-iff-committed", "lists-grow-by-entries", "some-orphaned-entry"
)


def test_each_commit_has_one_live_entry_per_table_and_no_list_is_written() -> None:
    hold_over(
        configs({"transaction": {"manifest_list_mode": "append"}}),
        "entry-valid-iff-committed",
        "some-orphaned-entry",
    )


def test_lists_grow_entry_by_entry_at_their_offsets() -> None:
    at_offsets = {"manifest_list_mode": "append", "manifest_list_append": "offset"}
    hold_over(configs({"transaction": at_offsets}), "lists-grow-by-entries")
