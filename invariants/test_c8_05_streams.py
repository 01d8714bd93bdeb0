"""§8.5: each purpose has a stream of its own, so what is changed in one part leaves the draws of all others as they were."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from endive.judge.engine import judge_pair
from endive.judge.model import Outcome
from endive.trace import BackedOff, Event, Judged, Submitted, Trace, Worked
from invariants.holding import expect, hold_pair, traced
from invariants.profiles import examples
from invariants.strategies import PROVIDERS, Config, configs, fixed, seeds

pytestmark = pytest.mark.invariant("streams-independent")

APPENDING = ("s3x", "azure", "azurex")
LONGEST_MS = 12.0
"""The longest backoff there is."""
# What all of these tables price, so that the same operations can be drawn.
COMMON = {"fast_append": 2, "merge_append": 1, "validated_overwrite": 1}


def changed(config: Config, section: str, **values: Any) -> Config:
    """The configuration with other values in one section; None takes a key away."""
    other = copy.deepcopy(config)
    for key, value in values.items():
        if value is None:
            other[section].pop(key, None)
        else:
            other[section][key] = value
    return other


def _another_provider(draw: Any, config: Config) -> Config:
    own = config["storage"]["provider"]
    needs_append = "append" in (config["catalog"]["type"], config["transaction"].get("manifest_list_mode"))  # fmt: skip
    others = [each for each in (APPENDING if needs_append else PROVIDERS) if each != own]
    return changed(config, "storage", provider=draw(st.sampled_from(others)))


def _another_catalog(draw: Any, config: Config) -> Config:
    log_only = dict.fromkeys(
        (
            "append_max_physical_retries",
            "append_offset",
            "compaction_max_entries",
            "compaction_threshold",
        )
    )
    kinds = [each for each in ("cas", "instant") if each != config["catalog"]["type"]]
    return changed(config, "catalog", type=draw(st.sampled_from(kinds)), **log_only)


def _another_detector(draw: Any, config: Config) -> Config:
    own = config["transaction"].get("real_conflict_probability", 0.0)
    probability = draw(st.sampled_from([each for each in (0.0, 0.5, 1.0) if each != own]))
    return changed(
        config,
        "transaction",
        conflict_detector="probabilistic",
        real_conflict_probability=probability,
    )


def _another_cost_table(draw: Any, config: Config) -> Config:
    tables = ("iceberg-java", "iceberg-review", "legacy", "pyiceberg")
    return changed(config, "transaction", cost_table=draw(st.sampled_from(tables)))


def _more_retries(draw: Any, config: Config) -> Config:
    backoff = {"enabled": True, "base_ms": 3, "jitter": 0.5}
    return changed(config, "transaction", retry=draw(st.sampled_from((2, 9))), retry_backoff=backoff)  # fmt: skip


CHANGES = {
    "provider": _another_provider,
    "catalog": _another_catalog,
    "detector": _another_detector,
    "cost table": _another_cost_table,
    "retries": _more_retries,
}
PLAIN = {"transaction": {"cost_table": "spec-2.0", "operation_types": COMMON}}


def submissions(trace: Trace, class_name: str | None = None) -> list[Event]:
    """What was submitted, by one class or all, without the ids."""
    return [
        event._replace(txn_id=0)
        for event in trace.events
        if isinstance(event, Submitted) and class_name in (None, event.class_name)
    ]


@pytest.mark.parametrize("what", CHANGES)
def test_another_part_leaves_who_comes_when_and_for_what_as_it_was(what: str) -> None:
    looked = 0

    @settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
    @given(config=configs(PLAIN), seed=seeds, data=st.data())
    def holds(config: Config, seed: int, data: st.DataObject) -> None:
        nonlocal looked
        classes = config.get("workload", {}).get("class", ())
        first = traced(config, seed)
        second = traced(CHANGES[what](data.draw, config), seed)
        hold_pair(config, seed, first, second, "streams-independent")
        # And without asking the judge.
        for name in [each["name"] for each in classes if each["kind"] != "closed"] or ["default"]:
            same = submissions(first, name) == submissions(second, name)
            expect(same, config, seed, f"another {what} moved the submissions of {name}")
            looked += len(submissions(first, name))

    holds()
    assert looked > 20


@pytest.mark.parametrize("kind", ["open", "closed", "periodic", "background"])
def test_another_class_leaves_what_the_others_submit_as_it_was(kind: str) -> None:
    added: Config = {"name": "another", "kind": kind}
    added |= {
        "open": {"inter_arrival": fixed(20)},
        "background": {"inter_arrival": fixed(20)},
        "closed": {"clients": 2, "think_time": fixed(10)},
        "periodic": {"interval_ms": 25},
    }[kind]

    @settings(max_examples=examples(8), suppress_health_check=list(HealthCheck))
    @given(config=configs(PLAIN), seed=seeds)
    def holds(config: Config, seed: int) -> None:
        assume("workload" not in config)
        arrivals = config["transaction"]["inter_arrival"]
        other = changed(config, "transaction", inter_arrival=None)
        own = {"name": "default", "kind": "open", "inter_arrival": arrivals}
        other["workload"] = {"class": [own, added]}
        first, second = traced(config, seed), traced(other, seed)
        verdicts = {v.invariant.id: v for v in judge_pair(first, second)}
        # The judge has seen that it is the same class, though it is written down in another way.
        outcome = verdicts["streams-independent"].outcome
        expect(outcome is Outcome.PASS, config, seed, f"streams-independent: {outcome.value}")
        same = submissions(first) == submissions(second, "default")
        expect(same, config, seed, f"another class, {kind}, moved the submissions")

    holds()


@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(config=configs(PLAIN, options=False), seed=seeds, data=st.data())
def test_detector_and_backoff_draw_the_same_whatever_the_store(
    config: Config, seed: int, data: st.DataObject
) -> None:
    config = changed(
        config,
        "transaction",
        conflict_detector="probabilistic",
        real_conflict_probability=0.5,
        # All waits of one length, so that what differs between them is what was drawn.
        retry_backoff={
            "enabled": True,
            "base_ms": LONGEST_MS / 1.5,
            "multiplier": 1,
            "jitter": 0.5,
        },
    )
    first = traced(config, seed)
    second = traced(_another_provider(data.draw, config), seed)
    for drawn in (answers, waits):
        one, other = drawn(first), drawn(second)
        shared = min(len(one), len(other))
        same = one[:shared] == other[:shared]
        expect(same, config, seed, f"another provider moved the draws of the {drawn.__name__}")


def answers(trace: Trace) -> list[bool]:
    """What the detector said, question after question."""
    return [event.is_real for event in trace.events if isinstance(event, Judged)]


def waits(trace: Trace) -> list[float]:
    """How long each backoff took, in the order in which they began: that is when they are drawn."""
    # Those that began shortly before the end may not have ended by then, and are not told.
    until_ms = trace.header.duration_ms - LONGEST_MS
    begun = sorted(
        (round(event.t_ms - event.backoff_ms, 6), event.txn_id, event.backoff_ms)
        for event in trace.events
        if isinstance(event, BackedOff)
    )
    return [backoff_ms for begin_ms, _, backoff_ms in begun if begin_ms < until_ms]


@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(config=configs(PLAIN, options=False), seed=seeds)
def test_until_the_first_question_another_detector_changes_nothing(
    config: Config, seed: int
) -> None:
    never, always = (
        traced(changed(config, "transaction", conflict_detector="probabilistic", real_conflict_probability=p), seed).events
        for p in (0, 1)
    )  # fmt: skip
    asked = [next((i for i, e in enumerate(es) if isinstance(e, Judged)), len(es)) for es in (never, always)]  # fmt: skip
    same = asked[0] == asked[1] and never[: asked[0]] == always[: asked[1]]
    expect(same, config, seed, "another detector changed what came before it was asked")


@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(config=configs(PLAIN, options=False), seed=seeds)
def test_until_the_first_work_is_done_another_cost_table_changes_nothing(
    config: Config, seed: int
) -> None:
    runs = [
        traced(changed(config, "transaction", cost_table=table), seed).events
        for table in ("spec-2.0", "iceberg-java")
    ]
    # Nothing is paid before the work of somebody is done.
    done = [event.t_ms for events in runs for event in events if isinstance(event, Worked)]
    until_ms = min(done, default=math.inf)
    first, second = ([event for event in events if event.t_ms < until_ms] for events in runs)
    expect(first == second, config, seed, "another cost table changed what came before it was used")
