"""Counts of cost tables: whole-number expressions, read by a grammar that knows nothing else."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endive.cost_model.expression import VARIABLES, ExpressionError, parse_expression
from endive.errors import EndiveError

# N, R, K, T, C: all different, so that no variable passes for another.
_VALUES = (7, 3, 10, 20, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12", 12),
        (4, 4),
        ("007", 7),
        ("N", 7),
        ("R", 3),
        ("K", 10),
        ("T", 20),
        ("C", 5),
        ("2 * N", 14),
        ("N + 2 * R", 13),
        ("(N + 2) * R", 27),
        ("T - K - R", 7),
        ("T - (K - R)", 13),
        ("max(1, N) - N", 0),
        ("min(1, max(N - R, 1 - N))", 1),
        ("max( N,R )*2", 14),
        (" N\t+ 1 ", 8),
    ],
)
def test_an_expression_has_the_value_that_arithmetic_gives_it(text: str | int, value: int) -> None:
    assert parse_expression(text).evaluate(*_VALUES) == value


def test_a_value_below_zero_counts_as_zero_and_only_at_the_end() -> None:
    assert parse_expression("R - N").evaluate(*_VALUES) == 0
    assert parse_expression("R - N + 5").evaluate(*_VALUES) == 1


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 1, "expected a number, a variable or '(', found the end"),
        ("   ", 4, "found the end"),
        ("N +", 4, "found the end"),
        ("N N", 3, "expected an operator or the end, found 'N'"),
        ("-1", 1, "found '-'"),
        ("N ** 2", 4, "found '*'"),
        ("(N", 3, "expected ')', found the end"),
        ("N)", 2, "found ')'"),
        ("max(N)", 6, "expected ',', found ')'"),
        ("max(1, 2, 3)", 9, "expected ')', found ','"),
        ("max", 4, "expected '(', found the end"),
        ("1.5", 2, "'.' has no meaning; whole numbers only"),
        ("N / 2", 3, "'/' has no meaning"),
        ("n", 1, "'n' is unknown; there are N, R, K, T, C, max, min"),
        ("__import__(1)", 1, "'__import__' is unknown"),
        ("N.real", 2, "'.' has no meaning"),
        ("N if R else K", 3, "found 'if'"),
        ("the end", 1, "'the' is unknown"),
        ("1234567890", 1, "too large a number"),
        ("²", 1, "has no meaning"),
        ("N + é", 5, "has no meaning"),
    ],
)
def test_what_is_no_expression_is_refused_at_its_position(
    text: str, position: int, words: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert caught.value.position == position
    assert words in str(caught.value)
    assert isinstance(caught.value, EndiveError)


def test_length_is_bounded_so_that_nesting_is() -> None:
    assert parse_expression("(" * 99 + "N" + ")" * 99).evaluate(*_VALUES) == 7
    with pytest.raises(ExpressionError, match="longer than 200 characters"):
        parse_expression("(" * 5_000)


def test_a_variable_that_is_not_known_here_is_refused() -> None:
    with pytest.raises(ExpressionError, match="C is not known here; there are N, R"):
        parse_expression("N + C", ("N", "R"))


def test_spelling_is_evened_out_so_that_equal_expressions_compare_equal() -> None:
    assert parse_expression("max(1,N)-N") == parse_expression(" max( 1, N ) - N")
    assert parse_expression("2*N").text == "2 * N"
    assert parse_expression("N + 1") != parse_expression("1 + N")


def test_constants_are_known_as_such() -> None:
    assert parse_expression("2 * 3").is_constant
    assert not parse_expression("N - N").is_constant
    assert parse_expression("1 - 1").is_zero
    assert not parse_expression("N").is_zero


_EXPRESSIONS = st.recursive(
    st.sampled_from(VARIABLES) | st.integers(0, 99).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(" ".join),
        inner.map("({})".format),
        st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(
            lambda p: f"{p[0]}({p[1]}, {p[2]})"
        ),
    ),
    max_leaves=8,
).filter(lambda text: len(text) <= 200)


@given(_EXPRESSIONS, st.tuples(*[st.integers(0, 1_000)] * 5))
def test_every_expression_agrees_with_pythons_arithmetic(
    text: str, values: tuple[int, int, int, int, int]
) -> None:
    expression = parse_expression(text)
    expected = max(0, eval(text, dict(zip(VARIABLES, values, strict=True))))
    assert expression.evaluate(*values) == expected
    assert pickle.loads(pickle.dumps(expression)).evaluate(*values) == expected


@given(st.text(max_size=30))
def test_no_text_gets_past_the_grammar(text: str) -> None:
    position = 0
    try:
        spelled = parse_expression(text).text
    except ExpressionError as error:
        spelled, position = "", error.position
    assert set(spelled) <= set("0123456789NRKTC+-*(), maxin")
    assert position <= len(text) + 1
