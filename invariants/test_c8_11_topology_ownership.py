"""§8.11: tables and partitions are fixed at the start and owned by the workload; catalogs have no questions about them."""

from __future__ import annotations

import pytest

from endive.catalog import AppendCatalog, CASCatalog, Catalog, InstantCatalog
from invariants.holding import hold_api, hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant("topology-fixed", "topology-owned-by-workload")

TOPOLOGY = ("num_tables", "num_partitions", "partitions_per_table", "tables", "topology")


@pytest.mark.parametrize("kind", [Catalog, CASCatalog, InstantCatalog, AppendCatalog])
def test_a_catalog_answers_no_question_about_its_topology(kind: type[Catalog]) -> None:
    assert not [name for name in TOPOLOGY if hasattr(kind, name)]


def test_the_workload_owns_the_topology() -> None:
    hold_api("topology-owned-by-workload")


def test_no_event_leaves_the_topology_of_the_header() -> None:
    hold_over(configs(), "topology-fixed")
