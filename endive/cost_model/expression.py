"""Counts of a cost table as expressions of whole numbers (docs/MODEL.md, section 7).

An expression has whole numbers, `+ - *`, parentheses, `max(a, b)`, `min(a, b)` and the variables
below. It is parsed here, by a grammar that knows nothing else, and only what was parsed is compiled:
no text of a file ever reaches Python's own evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from endive.errors import EndiveError

VARIABLES = ("N", "R", "K", "T", "C")
"""Snapshots behind; of those, replacing ones; re-merged manifests; manifests; manifests in conflict."""

FUNCTIONS = ("max", "min")

Evaluate = Callable[[int, int, int, int, int], int]

# Bounds that no sensible count comes near; they keep nesting and numbers within what is computed fast.
_MAX_LENGTH = 200
_MAX_DIGITS = 9

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>[-+*(),]))"
)
_END = "the end"


class ExpressionError(EndiveError):
    """A text that is no expression, and the position in it, from 1, where that shows."""

    def __init__(self, text: str, position: int, message: str) -> None:
        self.text = text
        self.position = position
        self.message = message
        super().__init__(f"{text!r}, position {position}: {message}")


@dataclass(frozen=True, slots=True)
class Expression:
    """A whole-number expression: as written out evenly, what it depends on, and its value."""

    text: str
    variables: frozenset[str] = field(compare=False)
    evaluate: Evaluate = field(compare=False, repr=False)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same whatever happens."""
        return not self.variables

    @property
    def is_zero(self) -> bool:
        """Whether the value is always 0."""
        return self.is_constant and self.evaluate(0, 0, 0, 0, 0) == 0

    def __reduce__(self) -> tuple[object, ...]:
        # A compiled function does not travel between processes; its text does.
        return parse_expression, (self.text,)


def parse_expression(source: str | int, allowed: tuple[str, ...] = VARIABLES) -> Expression:
    """Read an expression; the value of what is returned is never below 0."""
    text = str(source)
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(
            f"{text[:20]}...", _MAX_LENGTH + 1, f"longer than {_MAX_LENGTH} characters; shorten it"
        )
    parser = _Parser(text, allowed)
    python, spelled = parser.whole()
    # The source of this function consists of what `_Parser` wrote: numbers, five names and signs.
    code = f"lambda N, R, K, T, C: max(0, {python})"
    evaluate: Evaluate = eval(code, {"__builtins__": {}, "max": max, "min": min})
    return Expression(spelled, frozenset(parser.variables), evaluate)


class _Parser:
    """Recursive descent. Each rule returns Python code, fully bracketed, and an evenly spaced text."""

    def __init__(self, text: str, allowed: tuple[str, ...]) -> None:
        self._text = text
        self._allowed = allowed
        self.variables: set[str] = set()
        self._tokens = list(self._split())
        self._at = 0

    def _split(self) -> list[tuple[str, int]]:
        tokens, at = [], 0
        while at < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, at)
            if match is None:
                at += len(self._text[at:]) - len(self._text[at:].lstrip())
                character = self._text[at]
                fix = "whole numbers only" if character in "./%" else "use + - * ( ) max min"
                raise ExpressionError(self._text, at + 1, f"{character!r} has no meaning; {fix}")
            kind = str(match.lastgroup)
            tokens.append((match.group(kind), match.start(kind)))
            at = match.end()
        tokens.append((_END, len(self._text)))
        return tokens

    def whole(self) -> tuple[str, str]:
        result = self._sum()
        if self._peek() != _END:
            raise self._surprise("an operator or the end")
        return result

    def _sum(self) -> tuple[str, str]:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> tuple[str, str]:
        return self._chain(("*",), self._atom)

    def _chain(
        self, signs: tuple[str, ...], operand: Callable[[], tuple[str, str]]
    ) -> tuple[str, str]:
        python, spelled = operand()
        while (sign := self._peek()) in signs:
            self._at += 1
            right, right_spelled = operand()
            python, spelled = f"{python} {sign} {right}", f"{spelled} {sign} {right_spelled}"
        return python, spelled

    def _atom(self) -> tuple[str, str]:
        token, position = self._tokens[self._at]
        if token[0].isdigit():
            return self._number(token, position)
        if token == "(":
            self._at += 1
            python, spelled = self._sum()
            self._expect(")")
            return f"({python})", f"({spelled})"
        if token in FUNCTIONS:
            return self._call(token)
        if token in self._allowed:
            self._at += 1
            self.variables.add(token)
            return token, token
        if token in VARIABLES:
            known = ", ".join(self._allowed)
            raise ExpressionError(
                self._text, position + 1, f"{token} is not known here; there are {known}"
            )
        if token != _END and (token[0].isalpha() or token[0] == "_"):
            known = ", ".join((*self._allowed, *FUNCTIONS))
            raise ExpressionError(
                self._text, position + 1, f"{token!r} is unknown; there are {known}"
            )
        raise self._surprise("a number, a variable or '('")

    def _number(self, token: str, position: int) -> tuple[str, str]:
        if len(token) > _MAX_DIGITS:
            raise ExpressionError(
                self._text, position + 1, "too large a number; give a smaller one"
            )
        self._at += 1
        plain = str(int(token))
        return plain, plain

    def _call(self, function: str) -> tuple[str, str]:
        self._at += 1
        self._expect("(")
        left, left_spelled = self._sum()
        self._expect(",")
        right, right_spelled = self._sum()
        self._expect(")")
        return f"{function}({left}, {right})", f"{function}({left_spelled}, {right_spelled})"

    def _peek(self) -> str:
        return self._tokens[self._at][0]

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._surprise(repr(sign))
        self._at += 1

    def _surprise(self, wanted: str) -> ExpressionError:
        token, position = self._tokens[self._at]
        found = token if token == _END else repr(token)
        return ExpressionError(self._text, position + 1, f"expected {wanted}, found {found}")
