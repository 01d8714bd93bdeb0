"""One trace, a corpus, a pair, the interfaces: each is judged, and nothing that is right is accused."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest
from differential.options import grid_options, mixed_options
from differential.strategies import Config, grid_configs, mixed_configs, seeds
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from unit.judge_traces import CONFIGS, spoiled, trace_of, traced

import endive
from endive.judge.engine import judge, judge_api, judge_corpus, judge_pair
from endive.judge.model import Kind, Outcome, Verdict
from endive.judge.prices import evaluate
from endive.judge.registry import INVARIANTS, by_id, clauses
from endive.trace import CatalogRead, CommitApplied, Submitted

# What is found here, the property tests of `invariants/` find as well, and make small.
unshrunk = settings(phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
quick = settings(unshrunk, max_examples=60)
thorough = settings(unshrunk, max_examples=1_500)

ANY = {
    "grid": grid_configs(),
    "mixed": mixed_configs(),
    "grid options": grid_options(),
    "mixed options": mixed_options(),
}


def outcome_of(verdicts: list[Verdict], id: str) -> Outcome:
    """What one invariant says."""
    return next(verdict.outcome for verdict in verdicts if verdict.invariant.id == id)


def assert_nothing_fires(config: Config, seed: int) -> None:
    bad = [v for v in judge(traced(config, seed)) if v.outcome in (Outcome.FAIL, Outcome.ERROR)]
    assert [(v.invariant.id, v.detail, v.violations[:1]) for v in bad] == []


@pytest.mark.parametrize("kind", ANY)
def test_simulator_violates_nothing(kind: str) -> None:
    @quick
    @given(config=ANY[kind], seed=seeds)
    def run(config: Config, seed: int) -> None:
        assert_nothing_fires(config, seed)

    run()


@pytest.mark.slow
@thorough
@given(config=st.one_of(*ANY.values()), seed=seeds)
def test_simulator_violates_nothing_in_thousands_of_runs(config: Config, seed: int) -> None:
    assert_nothing_fires(config, seed)


def test_corpus_of_varied_runs_shows_everything_that_must_happen_sometimes() -> None:
    verdicts = judge_corpus(trace_of(name) for name in CONFIGS)

    assert [v.invariant.id for v in verdicts if v.outcome is not Outcome.PASS] == []


def test_corpus_that_never_shows_something_is_told_so() -> None:
    quiet = {"simulation": {"duration_ms": 10}, "storage": {"provider": "s3"}}

    verdict = next(v for v in judge_corpus([traced(quiet)]) if v.invariant.id == "some-commit")

    assert verdict.outcome is Outcome.FAIL
    assert "In none of 1 runs: Commits happen." in verdict.violations[0].story


def test_rule_that_had_nothing_to_look_at_does_not_pass() -> None:
    quiet = {"simulation": {"duration_ms": 10}, "storage": {"provider": "s3"}}

    verdicts = judge(traced(quiet))

    assert outcome_of(verdicts, "seq-adds-one") is Outcome.UNKNOWN
    assert outcome_of(verdicts, "log-grows-by-records") is Outcome.NOT_APPLICABLE


def test_check_that_breaks_says_so_and_leaves_the_others_their_say() -> None:
    nonsense = spoiled(trace_of("swap"), CatalogRead, lambda e: e._replace(versions=None))

    verdicts = judge(nonsense)

    assert outcome_of(verdicts, "versions-never-decrease") is Outcome.ERROR
    assert outcome_of(verdicts, "seq-adds-one") is Outcome.PASS


def test_trace_that_cannot_be_replayed_is_an_error_of_every_rule() -> None:
    nonsense = spoiled(trace_of("swap"), CommitApplied, lambda e: e._replace(tables=None))

    assert {verdict.outcome for verdict in judge(nonsense)} == {Outcome.ERROR}


def test_the_same_run_twice_is_the_same_run() -> None:
    a = trace_of("swap")
    b = traced(CONFIGS["swap"])

    assert outcome_of(judge_pair(a, b), "same-seed-same-run") is Outcome.PASS


def test_first_event_in_which_two_runs_differ_is_told() -> None:
    a = trace_of("swap")
    b = spoiled(a, CatalogRead, lambda e: e._replace(read_ms=e.read_ms + 1))
    place = next(i for i, (x, y) in enumerate(zip(a.events, b.events, strict=True)) if x != y)

    verdict = next(v for v in judge_pair(a, b) if v.invariant.id == "same-seed-same-run")

    assert verdict.outcome is Outcome.FAIL
    assert f"part at event {place}" in verdict.violations[0].story


def test_another_store_leaves_submissions_as_they_were() -> None:
    a = trace_of("swap")
    b = traced({**CONFIGS["swap"], "storage": {"provider": "s3"}})

    assert outcome_of(judge_pair(a, b), "streams-independent") is Outcome.PASS
    moved = spoiled(b, Submitted, lambda e: e._replace(t_ms=e.t_ms + 0.1))
    assert outcome_of(judge_pair(a, moved), "streams-independent") is Outcome.FAIL


def _modules() -> Iterator[tuple[str, ModuleType]]:
    rooms = ("catalog", "transaction", "workload", "simulation", "storage", "latency", "utils")
    for found in pkgutil.walk_packages(endive.__path__, "endive."):
        if found.name.split(".")[1] in rooms:
            yield found.name, importlib.import_module(found.name)


def test_interfaces_keep_their_clauses() -> None:
    verdicts = judge_api(dict(_modules()))

    assert {v.invariant.id: v.outcome for v in verdicts} == {
        "no-unseeded-randomness": Outcome.PASS,
        "uniform-interface": Outcome.PASS,
        "commit-returns-no-state": Outcome.PASS,
        "topology-owned-by-workload": Outcome.PASS,
    }


def test_catalog_with_another_signature_is_noticed() -> None:
    catalog = importlib.import_module("endive.catalog")

    class TalkativeCatalog(catalog.CASCatalog):  # type: ignore[name-defined, misc]
        num_tables = 3

        def read(self, timestamp_ms: float = 0.0, fresh: bool = True) -> None: ...

    fake = ModuleType("fake")
    fake.TalkativeCatalog = TalkativeCatalog  # type: ignore[attr-defined]
    fake.__file__ = __file__
    verdicts = [v for v in judge_api({"endive.catalog": catalog, "fake": fake}) if v.violations]

    told = " ".join(violation.story for v in verdicts for violation in v.violations)
    assert {"uniform-interface", "topology-owned-by-workload"} <= {v.invariant.id for v in verdicts}
    assert "TalkativeCatalog.read" in told


def test_every_clause_has_an_invariant_that_always_holds() -> None:
    by_clause = clauses()

    for number in range(1, 13):
        assert any(i.kind is Kind.ALWAYS for i in by_clause[f"8.{number}"]), number


def test_invariants_have_unique_names_and_sentences() -> None:
    assert len({i.id for i in INVARIANTS}) == len({i.statement for i in INVARIANTS})
    assert all(i.statement.endswith(".") for i in INVARIANTS)
    with pytest.raises(KeyError, match="no invariant is called 'lists-exakt'"):
        by_id("lists-exakt")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (3, 3),
        ("N", 5),
        ("2 * N - R", 8),
        ("max(1, N) - N", 0),
        ("min(1, max(N - R, 1 - N))", 1),
        ("1 - N", 0),
        ("(N + 1) * (R - 1)", 6),
        ("K + T + C", 19),
    ],
)
def test_own_evaluator_knows_the_expressions_of_cost_tables(
    expression: str | int, value: int
) -> None:
    assert evaluate(expression, {"N": 5, "R": 2, "K": 7, "T": 3, "C": 9}) == value


@pytest.mark.parametrize("expression", ["N +", "N / 2", "(N", "max(N)", "M", "N N"])
def test_own_evaluator_refuses_what_is_no_expression(expression: str) -> None:
    with pytest.raises(ValueError, match=r"expression|end|meaning"):
        evaluate(expression, {"N": 5})
