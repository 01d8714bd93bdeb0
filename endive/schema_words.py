"""What a violation of a JSON schema means, in words, with the offending value and the fix."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_KINDS = {
    "number": "a number",
    "integer": "a whole number",
    "string": "a string",
    "boolean": "true or false",
    "object": "a table",
    "array": "an array",
}


def in_words(error: ValidationError) -> str:
    """What is wrong with a value, and how to mend it."""
    return _WORDS[error.validator](error)


def shown(value: object) -> str:
    """A value as the file spells it, short enough for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "an array"
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of astronomical size"
    # Dates and times are written without quotes; their repr would be Python's.
    text = repr(value) if isinstance(value, (str, int, float)) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong_type(error: ValidationError) -> str:
    wanted = _KINDS[error.validator_value]
    value = error.instance
    fix = f"give {wanted}"
    if isinstance(value, str) and error.validator_value in ("number", "integer"):
        fix = "remove the quotes" if _is_number(value) else fix
    return f"{shown(value)} is not {wanted}; {fix}"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _not_a_choice(error: ValidationError) -> str:
    choices = [str(choice) for choice in error.validator_value]
    message = f"{shown(error.instance)} is not one of {', '.join(choices)}"
    close = difflib.get_close_matches(str(error.instance).lower(), choices, n=1)
    return f"{message}; did you mean '{close[0]}'?" if close else message


def _bound(words: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        return f"must be {words} {error.validator_value}, not {shown(error.instance)}"

    return say


def _pattern(error: ValidationError) -> str:
    return f"{error.schema['x-pattern']}, not {shown(error.instance)}"


def _exactly_one(error: ValidationError) -> str:
    names = [choice["required"][0] for choice in error.validator_value]
    given = [name for name in names if name in error.instance]
    found = f"{' and '.join(given)} are both given" if given else "none is given"
    return f"give exactly one of {', '.join(names)}; {found}"


def _missing(error: ValidationError) -> str:
    missing = [name for name in error.validator_value if name not in error.instance]
    return f"{', '.join(map(repr, missing))} must be given"


def _unknown(error: ValidationError) -> str:
    known = list(error.schema.get("properties", ()))
    unknown = [name for name in error.instance if name not in known]
    close = difflib.get_close_matches(str(unknown[0]), known, n=1) if unknown else []
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return f"unknown key {', '.join(map(repr, unknown))}; {hint}"


def _too_many(error: ValidationError) -> str:
    most = error.validator_value
    allowed = f"at most {most} entries" if most else "no entries"
    return f"must have {allowed}, not {len(error.instance)}"


def _too_few(error: ValidationError) -> str:
    least = error.validator_value
    return f"must have at least {least} entries" if least > 1 else "must not be empty"


_WORDS: Mapping[str, Callable[[ValidationError], str]] = {
    "type": _wrong_type,
    "enum": _not_a_choice,
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("above"),
    "minLength": lambda _error: "must not be empty",
    "maxLength": lambda error: (
        f"must have at most {error.validator_value} characters, not {len(error.instance)}"
    ),
    "minItems": _too_few,
    "maxItems": _too_many,
    "required": _missing,
    "additionalProperties": _unknown,
    "pattern": _pattern,
    "oneOf": _exactly_one,
}
