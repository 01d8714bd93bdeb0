"""§8.3: N snapshots behind, with overlap, is exactly N historical manifest lists; without overlap it is none."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("lists-exact", "some-convoy")

OVERWRITES = {
    "transaction": {"cost_table": "spec-2.0", "operation_types": {"validated_overwrite": 1}, "retry": 6}
}  # fmt: skip


@pytest.mark.parametrize("options", [False, True], ids=["specification", "options"])
def test_an_overwrite_reads_exactly_as_many_lists_as_it_missed_commits(options: bool) -> None:
    hold_over(configs(OVERWRITES, options=options), "lists-exact", "some-convoy")


def test_other_operations_read_no_historical_list() -> None:
    appends = {"transaction": {"operation_types": {"fast_append": 1, "merge_append": 1}}}
    hold_over(configs(appends, options=False), "lists-exact")
