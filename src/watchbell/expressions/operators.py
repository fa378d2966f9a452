"""What the operators do with two values."""

import math
import operator
from collections.abc import Callable
from typing import Any

from watchbell.expressions import values
from watchbell.expressions.errors import Unusable
from watchbell.expressions.evaluation import Evaluation
from watchbell.expressions.numbers import Number, finite, number, short

Operator = Callable[[Any, Any, Evaluation], Any]


def _arithmetic(calculated: Callable[[Number, Number], Number]) -> Operator:
    def applied(left: Any, right: Any, run: Evaluation) -> Any:  # noqa: ARG001
        one, other = number(left), number(right)
        if one is None or other is None:
            return None
        try:
            return short(finite(calculated(one, other)))
        except (ZeroDivisionError, ValueError):  # such as 0 / 0, or the root of a negative number
            return None
        except OverflowError:
            raise Unusable("the number is too large") from None

    return applied


def _add(left: Any, right: Any, run: Evaluation) -> Any:
    if type(left) is str or type(right) is str:
        one, other = values.text(left, run), values.text(right, run)
        run.fits(len(one) + len(other))
        return one + other
    return _sum(left, right, run)


def _remainder(left: Number, right: Number) -> Number:
    """With the sign of the left side, as in JavaScript."""
    if type(left) is int and type(right) is int:
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.fmod(left, right)


def _power(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int and right >= 0:
        # The power has at least these bits.
        if (left.bit_length() - 1) * right > 1024:
            raise OverflowError
        if abs(left) > 1:
            return int(left**right)
    return math.pow(left, right)


_sum = _arithmetic(operator.add)


def _compared(symbol: str) -> Operator:
    test = values.ORDERS[symbol]

    def applied(left: Any, right: Any, run: Evaluation) -> bool:
        return values.ordered(left, right, test, run)

    return applied


def _differ(left: Any, right: Any, run: Evaluation) -> bool:
    return not values.equal(left, right, run)


def _within(left: Any, right: Any, run: Evaluation) -> bool:
    return values.includes(right, left, run)


OPERATORS: dict[str, Operator] = {
    "+": _add,
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(operator.truediv),
    "//": _arithmetic(operator.floordiv),
    "%": _arithmetic(_remainder),
    "^": _arithmetic(_power),
    "==": values.equal,
    "!=": _differ,
    **{symbol: _compared(symbol) for symbol in values.ORDERS},
    "in": _within,
}


def negative(value: Any) -> Any:
    found = number(value)
    return None if found is None else -found
