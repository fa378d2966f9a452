"""What values mean: equality, order, membership, text."""

import json
import operator
from collections.abc import Callable
from typing import Any

from watchbell.expressions import numbers
from watchbell.expressions.errors import Unusable
from watchbell.expressions.evaluation import Evaluation

_DEEPEST = 100
_NUMBERS = frozenset({int, float, bool})
_BUILT = frozenset({list, dict})
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_JSON_COST = 8
"""Steps to write JSON, however little."""


def member(value: Any, key: str | None) -> Any:
    """The value of a key; of an array, that of its first item."""
    if type(value) is list and value:
        value = value[0]
    return value.get(key) if type(value) is dict else None


def element(value: Any, key: Any) -> Any:
    """`value[key]`; null if there is none."""
    kind = type(value)
    if type(key) is bool:  # as a filter that does not mention the item
        return value if key else None
    if kind is dict:
        return value.get(key_of(key))
    if kind is not list and kind is not str:
        return None
    place = numbers.in_text(key) if type(key) is str else key
    if type(place) is float and place.is_integer():
        place = int(place)
    if type(place) is not int or not 0 <= place < len(value):
        return None
    return value[place]


def key_of(key: Any) -> str | None:
    """The key of an object that a value means; None if it can't be one."""
    if type(key) is str:
        return key
    return numbers.shown(key) if numbers.is_usual(key) else None


def equal(left: Any, right: Any, run: Evaluation) -> bool:
    """Numbers equal texts with the same number; arrays and objects are compared by content."""
    if type(left) in _BUILT and type(left) is type(right):
        return _equal_inside(left, right, run)
    if type(left) is str and type(right) is str:
        run.charge_text(min(len(left), len(right)))
        return left == right
    return _equal_plain(left, right)


def _equal_plain(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    one, other = _comparable(left), _comparable(right)
    return one is not None and other is not None and one == other


def _comparable(value: Any) -> numbers.Number | None:
    if type(value) in _NUMBERS:
        return value  # type: ignore[no-any-return]
    return numbers.in_text(value) if type(value) is str else None


def _equal_inside(left: Any, right: Any, run: Evaluation) -> bool:
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if type(one) not in _BUILT or type(one) is not type(other):
            if not equal(one, other, run):
                return False
            continue
        if len(one) != len(other):
            return False
        run.charge(2 * len(one) + 1)
        if type(one) is list:
            pairs.extend(zip(one, other, strict=True))
        elif one.keys() != other.keys():
            return False
        else:
            pairs.extend((value, other[key]) for key, value in one.items())
    return True


Test = Callable[[Any, Any], bool]


def ordered(left: Any, right: Any, test: Test, run: Evaluation) -> bool:
    """Texts are compared with texts, and numbers with numbers; nothing else is in any order."""
    if type(left) is str and type(right) is str:
        run.charge_text(min(len(left), len(right)))
        return test(left, right)
    one, other = _comparable(left), _comparable(right)
    return one is not None and other is not None and test(one, other)


ORDERS: dict[str, Test] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def includes(container: Any, item: Any, run: Evaluation) -> bool:
    """Whether an array has an item, a text a part, or an object a key."""
    if type(container) is str:
        if item is None:
            return False
        run.charge_text(len(container))
        return text(item, run) in container
    if type(container) is list:
        run.charge(2 * len(container))
        return any(equal(each, item, run) for each in container)
    return type(container) is dict and key_of(item) in container


def text(value: Any, run: Evaluation) -> str:
    """A value inside of a text: null is empty, arrays and objects are JSON."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None:
        return ""
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is float:
        return numbers.shown(value)
    return json_text(value, run)


def json_text(value: Any, run: Evaluation) -> str:
    run.charge(_JSON_COST)
    _charge_inside(value, run)
    try:
        return run.made(_JSON.encode(value))
    except (ValueError, TypeError):
        raise Unusable("the value can't be written as JSON") from None


def _charge_inside(value: Any, run: Evaluation) -> None:
    """Count the work on a value with all that is in it."""
    level = [value]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for each in level:
            if type(each) is str:
                run.fits(len(each))
            elif type(each) is int:
                numbers.finite(each)
            elif type(each) is list:
                inner += each
            elif type(each) is dict:
                inner += each.values()
                run.charge_text(sum(map(len, each)))
        run.charge(len(inner))
        if not inner:
            return
        level = inner
    raise Unusable(f"the value is nested deeper than {_DEEPEST} levels")
