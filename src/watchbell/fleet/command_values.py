"""What a command may give: a value that no expression, page or store can be hurt by."""

from math import isfinite
from typing import Any

from watchbell.errors import Refused

MOST_BYTES = 64 << 10
"""Of what one command prints."""
MOST_IN_ALL = 256 << 10
"""Bytes of what all commands of a server print."""
_DEEPEST = 20
_MOST_VALUES = 20_000
_LARGEST = 1 << 63


def check(value: Any) -> None:
    """Raises Refused where a value is too deep, too large, or no JSON."""
    count = 0
    level = [value]
    for _ in range(_DEEPEST):
        inside: list[Any] = []
        for one in level:
            inside += _inside(one)
        count += len(level)
        if count + len(inside) > _MOST_VALUES:
            raise Refused(f"it has more than {_MOST_VALUES:,} values")
        if not inside:
            return
        level = inside
    raise Refused(f"it is nested more than {_DEEPEST} levels deep")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise Refused("a name in it is no text")
        return list(value.values())
    if isinstance(value, list):
        return value
    if isinstance(value, float) and not isfinite(value):
        raise Refused("a number in it is not finite")
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise Refused("a number in it is too large")
    if value is not None and not isinstance(value, str | int | float):
        raise Refused("it contains what is no JSON")
    return []
