"""§8.12: a commit lost to another table, or to disjoint partitions, is retried without manifest I/O."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("cross-table-retry-free", "some-free-retry")

MANY_TABLES = {
    "catalog": {"num_tables": 6, "type": "cas"},
    "transaction": {"cost_table": "spec-2.0", "tables_per_txn": 1, "retry": 6},
}


@pytest.mark.parametrize("options", [False, True], ids=["specification", "options"])
def test_a_retry_after_a_loss_without_overlap_is_free(options: bool) -> None:
    hold_over(configs(MANY_TABLES, options=options), "cross-table-retry-free", "some-free-retry")
