"""§8.7: transactions know a catalog by `read()` and `commit()` alone, and these are the same in all catalogs."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from endive.catalog import (
    AppendCatalog,
    CASCatalog,
    Catalog,
    CatalogSnapshot,
    CommitResult,
    InstantCatalog,
    IntentionRecord,
)
from endive.config import build_simulation_config, resolve_config
from endive.simulation import Simulation
from invariants.holding import expect, hold_api
from invariants.profiles import examples
from invariants.strategies import Config, configs, seeds

pytestmark = pytest.mark.invariant("uniform-interface")


class OnlyTwoCalls(Catalog):
    """Shows nothing of a catalog but what the interface promises."""

    def __init__(self, hidden: Catalog) -> None:
        self.__hidden = hidden

    def read(self, timestamp_ms: float = 0.0) -> Generator[float, None, CatalogSnapshot]:
        return self.__hidden.read(timestamp_ms)

    def commit(
        self,
        expected_seq: int,
        writes: Mapping[int, int],
        timestamp_ms: float = 0.0,
        intention: IntentionRecord | None = None,
    ) -> Generator[float, None, CommitResult]:
        return self.__hidden.commit(expected_seq, writes, timestamp_ms, intention)

    @property
    def seq(self) -> int:
        return self.__hidden.seq


@pytest.mark.parametrize("kind", [CASCatalog, InstantCatalog, AppendCatalog])
@pytest.mark.parametrize("call", ["read", "commit"])
def test_each_call_has_the_signature_of_the_interface(kind: type[Any], call: str) -> None:
    assert inspect.signature(getattr(kind, call)) == inspect.signature(getattr(Catalog, call))


def test_transactions_call_nothing_else() -> None:
    hold_api("uniform-interface")


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(config=configs(options=False), seed=seeds)
def test_a_catalog_that_shows_two_calls_only_gives_the_same_run(config: Config, seed: int) -> None:
    plain = build_simulation_config(resolve_config(config), seed)
    hidden = replace(plain, catalog=OnlyTwoCalls(plain.catalog))
    same = Simulation(hidden).run().digest() == Simulation(plain).run().digest()
    expect(same, config, seed, "behind the two calls of the interface the run went another way")
