"""Tables are names: which is called what, and how many nobody uses, makes no difference.

Exact, to the last bit, for any number of tables per transaction. With tracked partitions it is exact for one table per
transaction only: partitions of several tables are drawn in ascending order of id, so other names get other draws. Where
objects grow (`size_growth`) or costs depend on the manifests of the *first* table, names may matter by the model's own rules.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from endive.simulation import Simulation
from metamorphic.worlds import (
    BlindToTheLast,
    Relabelled,
    World,
    assert_same,
    build,
    rows,
    run,
    with_selector,
    worlds,
)

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(
    world=worlds(),
    seed=seeds,
    data=st.data(),
    granularity=st.sampled_from(["catalog", "table"]),
    partitions=st.sampled_from([None, 3]),
)
def test_relabelling_tables_changes_no_row(
    world: World, seed: int, data: st.DataObject, granularity: str, partitions: int | None
) -> None:
    total = world["catalog"]["num_tables"]
    world["catalog"]["conflict_granularity"] = granularity
    if partitions is None:
        world["transaction"]["tables_per_txn"] = data.draw(st.integers(1, total))
    else:
        world["catalog"]["partitions"] = {"num_partitions": partitions}
    names = tuple(data.draw(st.permutations(range(total))))
    config = build(world, seed)
    relabelled = with_selector(config, Relabelled(names), seed)
    assert_same(rows(relabelled), rows(config))


@settings(max_examples=15)
@given(world=worlds(), seed=seeds, data=st.data())
def test_relabelling_tables_permutes_their_versions(
    world: World, seed: int, data: st.DataObject
) -> None:
    total = world["catalog"]["num_tables"]
    names = tuple(data.draw(st.permutations(range(total))))
    config = build(world, seed)

    def writes(selector: Relabelled) -> list[list[int]]:
        traced = replace(with_selector(config, selector, seed), records_trace=True)
        events = Simulation(traced).run().events
        assert events is not None
        written = [getattr(event, "tables_written", None) for event in events]
        return [sorted(tables) for tables in written if tables is not None]

    plain, other = writes(Relabelled(tuple(range(total)))), writes(Relabelled(names))
    assert plain
    assert other == [sorted(names[table_id] for table_id in tables) for tables in plain]


@settings(max_examples=20)
@given(
    world=worlds(),
    seed=seeds,
    idle=st.integers(1, 5),
    granularity=st.sampled_from(["catalog", "table"]),
)
def test_idle_tables_change_no_row(world: World, seed: int, idle: int, granularity: str) -> None:
    world["catalog"]["conflict_granularity"] = granularity
    alone = run(world, seed)
    world["catalog"]["num_tables"] += idle
    beside = with_selector(build(world, seed), BlindToTheLast(idle), seed)
    assert_same(rows(beside), alone)


@settings(max_examples=15)
@given(world=worlds(), seed=seeds)
def test_a_background_load_that_never_comes_changes_no_row(world: World, seed: int) -> None:
    inter_arrival = world["transaction"].pop("inter_arrival")
    main = {"name": "default", "kind": "open", "inter_arrival": inter_arrival}
    idle = {
        "name": "idle",
        "kind": "background",
        "inter_arrival": {"distribution": "fixed", "value": 1e9},
    }
    alone = run({**world, "workload": {"class": [main]}}, seed)
    assert_same(run({**world, "workload": {"class": [main, idle]}}, seed), alone)
