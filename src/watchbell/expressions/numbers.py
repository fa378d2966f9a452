"""Numbers: in expressions, in texts, and as text."""

import math
import re
from typing import Any

from watchbell.expressions.errors import Unusable

Number = int | float

_LARGEST = 1 << 1023
_EXACT = 1 << 53
_LONGEST = 320
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,9})?\s*", re.ASCII)
_LEADING = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))", re.ASCII)
_KINDS = {bool: "true or false", str: "a text", list: "an array", dict: "an object"}


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    return "a number" if type(value) in {int, float} else _KINDS.get(type(value), "an unknown kind")


def literal(text: str) -> Number:
    return finite(_plain(text))


def _plain(text: str) -> Number:
    if len(text) > _LONGEST:
        raise Unusable("the number has too many digits")
    return int(text) if text.strip().lstrip("+-").isdigit() else float(text)


def in_text(text: str) -> Number | None:
    """The number that a text is."""
    return _plain(text) if len(text) <= _LONGEST and _NUMBER.fullmatch(text) else None


def leading(text: str) -> Number | None:
    """The number with which a text begins."""
    found = _LEADING.match(text[:_LONGEST])
    return _plain(found[1]) if found else None


def number(value: Any) -> Number | None:
    """The number that a value counts as in arithmetic; None for null."""
    kind = type(value)
    if kind is int or kind is float or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return int(value)
    if kind is str:
        found = in_text(value)
        if found is not None:
            return found
        shown = value if len(value) <= 30 else value[:30] + "…"
        raise Unusable(f"expected a number, found the text {shown!r}")
    raise Unusable(f"expected a number, found {kind_of(value)}")


def is_usual(value: Any) -> bool:
    """Whether the value is a number that is not too large for a calculation."""
    if type(value) is int:
        return -_LARGEST < value < _LARGEST
    return type(value) is float and math.isfinite(value)


def finite(value: Number) -> Number:
    """Refuse a number that is too large for a calculation."""
    if not is_usual(value):
        raise Unusable("the number is too large")
    return value


def short(value: Number) -> Number:
    """5 in place of 5.0."""
    if type(value) is float and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value


def rounded(value: Number, digits: int) -> Number:
    """With halves rounded up, as JavaScript does."""
    if type(value) is int or abs(value) >= _EXACT:
        return value
    scale: int = 10**digits
    return short(math.floor(finite(value * scale) + 0.5) / scale)


def shown(value: Number) -> str:
    """A number as people write it: 5, not 5.0."""
    value = short(value)
    return str(finite(value)) if type(value) is int else repr(value)
