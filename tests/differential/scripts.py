"""Generated scripts: transactions written down one by one, over any configuration."""

from __future__ import annotations

import copy

from hypothesis import strategies as st

from differential.options import PRICED, kind_of
from differential.strategies import Config, Draw

# What [transaction] says about submissions, which a script says itself.
_TOLD_BY_LINES = (
    "inter_arrival",
    "runtime",
    "operation_types",
    "tables_per_txn",
    "table_selector",
    "partitions_per_txn",
    "partition_selector",
)
SCRIPT_MS = 300


@st.composite
def script_lines(draw: Draw, config: Config) -> Config:
    """One line, with any of its keys."""
    catalog = config.get("catalog", {"num_tables": 1})
    table = config["transaction"].get("cost_table", "spec-2.0")
    num_tables = catalog.get("num_tables", 1)
    # Crowded on purpose: a few tables, a few instants.
    all_tables = st.permutations(range(min(num_tables, 4)))
    chosen = draw(all_tables)[: draw(st.sampled_from((1, 1, 2)))]
    operation = draw(st.sampled_from((*PRICED[table], "background")))
    line: Config = {
        "at_ms": draw(st.sampled_from((0, 1, 8, 8, 20, 50.5))),
        "operation": operation,
        "tables": list(chosen),
    }
    rest = [table_id for table_id in range(min(num_tables, 4)) if table_id not in chosen]
    if rest and draw(st.integers(0, 2)) == 0:
        line["tables_read"] = rest[:1]
    partitions = catalog.get("partitions")
    if partitions is not None:
        counts = [
            partitions["per_table"][t]
            if "per_table" in partitions
            else partitions["num_partitions"]
            for t in chosen
        ]
        line["partitions"] = [
            sorted(draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=2)))
            for count in counts
        ]
    if operation == "background":
        if draw(st.booleans()):
            line["replaces_data"] = draw(st.booleans())
    elif draw(st.integers(0, 3)):
        line["runtime_ms"] = draw(st.sampled_from((0, 1, 8, 40)))
    if draw(st.booleans()):
        line["name"] = draw(st.sampled_from(("one", "two")))
    if draw(st.integers(0, 2)) == 0:
        line["times"] = draw(st.integers(2, 6))
        if draw(st.integers(0, 3)):
            line["every_ms"] = draw(st.sampled_from((0, 1, 8, 12.5)))
    return line


@st.composite
def scripted(draw: Draw, base: st.SearchStrategy[Config]) -> Config:
    """A configuration of `base` that submits nothing but what a script says."""
    config: Config = copy.deepcopy(draw(base))
    for key in _TOLD_BY_LINES:
        config["transaction"].pop(key, None)
    catalog = config.setdefault("catalog", {"num_tables": 1})
    # The seed decides which tables share a group, so a line could not name two of them.
    catalog.pop("num_groups", None)
    if catalog.get("history_scope") == "group" or catalog.get("conflict_granularity") == "group":
        catalog.pop("history_scope", None)
        catalog.pop("conflict_granularity", None)
    lines = draw(st.lists(script_lines(config), min_size=1, max_size=8))
    config["workload"] = {"script": lines}
    config["simulation"]["duration_ms"] = SCRIPT_MS if kind_of(config) == "instant" else 3_000
    return config
