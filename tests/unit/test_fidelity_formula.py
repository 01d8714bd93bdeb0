"""Formulas are exact or none, and tell apart what is paid once, for each commit, and for each manifest merged again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.fidelity.formula import Formula, fit_formula, fit_line, manifests_of

_BEHIND = (1, 2, 5, 10, 20)


@given(st.integers(-2, 6), st.integers(0, 3), st.integers(0, 2))
def test_a_formula_is_found_again_from_its_values(a: int, b: int, c: int) -> None:
    formula = Formula(a, b, c)
    assert fit_formula({n: formula.at(n) for n in _BEHIND}) == formula


@given(st.integers(0, 3), st.integers(0, 2), st.sampled_from(_BEHIND), st.sampled_from((-1, 1)))
def test_one_value_that_is_off_by_one_leaves_no_formula_or_another(
    b: int, c: int, where: int, by: int
) -> None:
    formula = Formula(1, b, c)
    values = {n: formula.at(n) for n in _BEHIND}
    values[where] += by
    assert fit_formula(values) != formula


def test_one_n_says_nothing_of_growth() -> None:
    assert fit_formula({5: 5}) is None
    assert fit_formula({}) is None


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (Formula(0), "0"),
        (Formula(2), "2"),
        (Formula(0, 1), "N"),
        (Formula(1, 2), "2 N + 1"),
        (Formula(-1, 1), "N - 1"),
        (Formula(0, 1, 1), "N + K"),
    ],
)
def test_a_formula_is_spelled_as_one_writes_it(formula: Formula, words: str) -> None:
    assert str(formula) == words


def test_k_is_rounded_down() -> None:
    assert [manifests_of(n, 1.5) for n in (1, 2, 3)] == [1, 3, 4]


def test_a_line_is_exact_only_through_all_points() -> None:
    straight = fit_line({1.0: 3.0, 2.0: 5.0, 9.0: 19.0})
    assert straight is not None
    assert (straight.slope, straight.intercept) == pytest.approx((2.0, 1.0))
    assert straight.is_exact
    bent = fit_line({1.0: 3.0, 2.0: 5.0, 9.0: 19.5})
    assert bent is not None
    assert not bent.is_exact
    assert fit_line({1.0: 3.0}) is None
