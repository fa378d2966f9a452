"""Functions on numbers and texts. Null gives null."""

import functools
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from watchbell.expressions import numbers, values
from watchbell.expressions.errors import Unusable
from watchbell.expressions.evaluation import Evaluation
from watchbell.expressions.numbers import Number, finite
from watchbell.expressions.patterns import Pattern

_COMPILATION = 300
"""Steps to compile a pattern, whatever its size."""


def _of_number(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a number, and perhaps of more."""

    @functools.wraps(function)
    def called(run: Evaluation, value: Any, *more: Any) -> Any:  # noqa: ARG001
        found = numbers.number(value)
        if found is None:
            return None
        try:
            return function(finite(found), *map(numbers.number, more))
        except OverflowError:
            raise Unusable("the number is too large") from None

    return called


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a text, and perhaps of more."""

    @functools.wraps(function)
    def called(run: Evaluation, value: Any, *more: Any) -> Any:
        if value is None:
            return None
        found = values.text(value, run)
        run.fits(len(found))
        return function(run, found, *more)

    return called


floor = _of_number(math.floor)
ceil = _of_number(math.ceil)
absolute = _of_number(abs)


@_of_number
def rounded(value: Number, digits: Number | None = 0) -> Number:
    return numbers.rounded(value, int(min(max(digits or 0, 0), 15)))


@_of_number
def clamp(value: Number, least: Number | None, most: Number | None) -> Number:
    if least is not None and value < least:
        return least
    return most if most is not None and value > most else value


def integer(_run: Evaluation, value: Any) -> int | None:
    """Of a text, the number at its beginning."""
    found = numbers.leading(value) if type(value) is str else numbers.number(value)
    return None if found is None else int(finite(found))


def short_float(_run: Evaluation, value: Any) -> Number | None:
    """With two digits after the point, at most."""
    found = numbers.leading(value) if type(value) is str else numbers.number(value)
    return None if found is None else numbers.rounded(finite(found), 2)


@_of_number
def in_bytes(value: Number) -> str:
    unit = "bytes"
    size = float(value)
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        if abs(size) < 1024 or unit == "PB":
            break
        size /= 1024
    return f"{numbers.shown(numbers.rounded(size, 0 if unit == 'bytes' else 1))} {unit}"


@_of_number
def with_commas(value: Number) -> str:
    found = numbers.rounded(value, 3)
    return f"{found:,}"


@_of_number
def percent(value: Number, most: Number | None = 100, whole: Number | None = 0) -> str | None:
    if not most:
        return None
    share = value / most * 100
    return f"{numbers.shown(math.floor(share) if whole else numbers.rounded(share, 2))}%"


@_of_text
def lower(run: Evaluation, value: str) -> str:
    return run.made(value.lower())


@_of_text
def upper(run: Evaluation, value: str) -> str:
    return run.made(value.upper())


@_of_text
def trimmed(_run: Evaluation, value: str) -> str:
    return value.strip()


@_of_text
def split(run: Evaluation, value: str, separator: Any) -> list[str]:
    between = values.text(separator, run)
    run.charge(value.count(between) if between else len(value))
    return value.split(between) if between else list(value)


@_of_text
def match(run: Evaluation, value: str, pattern: Any) -> list[Any] | None:
    """With a pattern that is calculated; a constant one is compiled only once."""
    run.charge(_COMPILATION)
    found = Pattern(values.text(pattern, run))
    run.charge(found.size)
    return found.match(value, run)


def matching(pattern: Pattern) -> Callable[..., list[Any] | None]:
    """`match` with a constant pattern."""

    @_of_text
    def matched(run: Evaluation, value: str, _pattern: Any) -> list[Any] | None:
        return pattern.match(value, run)

    return matched


@_of_text
def encoded(run: Evaluation, value: str) -> str:
    run.charge(len(value) >> 2)
    return run.made(quote(value, safe="!'()*~", errors="replace"))


def stringify(run: Evaluation, value: Any) -> str:
    return values.json_text(value, run)


def _titled(name: str) -> Callable[[Evaluation, Any], Any]:
    """The title that the input has for an id; the id itself if it has none."""

    def titled(run: Evaluation, key: Any) -> Any:
        titles = values.member(run.values, name)
        found = values.element(titles, key)
        return key if found is None else found

    return titled


server = _titled("servers")
event = _titled("events")
