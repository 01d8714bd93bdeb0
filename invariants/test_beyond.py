"""What no clause says and every run keeps: transactions, time, costs and commits are conserved."""

from __future__ import annotations

import pytest

from invariants.holding import hold_over
from invariants.strategies import configs

pytestmark = pytest.mark.invariant(
    "flow-balance",
    "time-conserved",
    "counts-conserved",
    "commits-at-most-once",
    "no-phantom-commit",
    "retry-limit",
    "retry-budget",
    "nothing-after-last-attempt",
    "costs-as-priced",
    "backoff-shape",
    "versions-never-decrease",
    "cas-expectation",
    "groups-never-spanned",
    "validation-paid-before-abort",
    "per-attempt-first",
    "events-in-order",
    "storage-explains-payments",
)


def test_every_transaction_and_every_millisecond_is_accounted_for() -> None:
    hold_over(configs(), "flow-balance", "time-conserved", "counts-conserved", "events-in-order")


def test_what_is_waited_for_is_what_the_store_did() -> None:
    hold_over(configs(), "storage-explains-payments")


def test_a_commit_happens_at_most_once_and_only_for_who_is_told_so() -> None:
    hold_over(
        configs(),
        "commits-at-most-once",
        "no-phantom-commit",
        "versions-never-decrease",
        "cas-expectation",
        "groups-never-spanned",
    )


def test_retries_keep_to_their_limit_budget_and_backoff() -> None:
    hold_over(
        configs({"transaction": {"retry": 2}}),
        "retry-limit",
        "retry-budget",
        "nothing-after-last-attempt",
        "backoff-shape",
    )


@pytest.mark.parametrize(
    "table", ["spec-2.0", "legacy", "iceberg-review", "iceberg-java", "pyiceberg"]
)
def test_every_payment_is_what_the_cost_table_says(table: str) -> None:
    hold_over(
        configs({"transaction": {"cost_table": table}}),
        "costs-as-priced",
        "per-attempt-first",
        count=25,
    )


def test_a_validation_is_paid_before_it_ends_a_transaction() -> None:
    overwrites = {"operation_types": {"validated_overwrite": 1}, "real_conflict_probability": 0.5}
    hold_over(configs({"transaction": overwrites}), "validation-paid-before-abort")
