"""Calendar dates as people write them: `24 nov`, `Nov 24 2026`, `24/11/2026`, `24.11.`."""

import re
from datetime import date

from watchbell.errors import Refused
from watchbell.schedule import names

_NUMERIC = re.compile(r"(\d{1,4})([/.-])(\d{1,2})(?:\2(\d{4}|\d{2})|(?<=\d)\.)?", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_FILLERS = frozenset({"of", "the", "on"})
_MOST_WORDS = 4
_MONTHS = 12
_CENTURY = 2000
_LEAP_YEARS = 8
"""Years within which 29 February comes again."""


def leading(text: str, today: int, *, nearest: bool) -> tuple[int, str] | None:
    """The date that a text begins with, as an ordinal, and the words after it.

    A date without a year is the next one, or the `nearest` to today in either direction.
    """
    words = [word for word in text.split() if word not in _FILLERS]
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        found = _day(words[:count], today, nearest)
        if found is not None:
            return found, " ".join(words[count:])
    return None


def remark(text: str) -> str | None:
    """How a date was read if its day and month could be swapped; None if it is clear."""
    for word in text.split():
        found = _NUMERIC.fullmatch(word)
        if found is None or found[2] == "." or len(found[1]) > 2 or not _is_date(found):
            continue
        first, second = int(found[1]), int(found[3])
        if first != second and max(first, second) <= _MONTHS:
            month = names.MONTHS[second - 1]
            return f"{word!r} was read day first: {first} {month}"
    return None


def _day(words: list[str], today: int, nearest: bool) -> int | None:
    weekday = names.weekday(words[0]) if len(words) > 1 else None
    rest = words if weekday is None else words[1:]
    found = _numeric(rest[0]) if len(rest) == 1 else _in_words(rest)
    if found is None:
        return None
    year, month, day = found
    chosen = _placed(month, day, today, nearest) if year is None else _known(year, month, day)
    if chosen is not None and weekday not in (None, chosen % 7):
        really = f"{day} {names.MONTHS[month - 1]} {date.fromordinal(chosen).year}"
        is_, not_ = names.WEEKDAYS[chosen % 7], names.WEEKDAYS[weekday or 0]
        raise Refused(f"{really} is a {is_}, not a {not_}; leave out the weekday or the date")
    return chosen


def _is_date(found: re.Match[str]) -> bool:
    """Two numbers alone are a date with a slash, or with dots after both (`24.11.`)."""
    return found[2] == "/" or found[4] is not None or found[0].endswith(".")


def _numeric(word: str) -> tuple[int | None, int, int] | None:
    found = _NUMERIC.fullmatch(word)
    if found is None or not _is_date(found):
        return None
    first, second, third = int(found[1]), int(found[3]), found[4]
    if len(found[1]) > 2:
        return (first, second, int(third)) if third and len(third) == 2 else None
    year = None if third is None else int(third) + (_CENTURY if len(third) == 2 else 0)
    # With dots the day comes first; with a slash either order is possible.
    if found[2] != "." and second > _MONTHS >= first:
        return year, first, second
    return year, second, first


def _in_words(words: list[str]) -> tuple[int | None, int, int] | None:
    """`24 nov`, `nov 24`, each perhaps with a year."""
    year = None
    if len(words) == 3 and _YEAR.fullmatch(words[2]):
        year = int(words[2])
        words = words[:2]
    if len(words) != 2:
        return None
    for first, second in (words, words[::-1]):
        day, month = _DAY.fullmatch(first), names.month(second)
        if day and month:
            return year, month, int(day[1])
    return None


def _known(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


def _placed(month: int, day: int, today: int, nearest: bool) -> int | None:
    this = date.fromordinal(today).year
    years = range(max(date.min.year, this - _LEAP_YEARS), this + _LEAP_YEARS + 1)
    found = [one for year in years if (one := _known(year, month, day)) is not None]
    if nearest:
        return min(found, key=lambda one: abs(one - today), default=None)
    return next((one for one in found if one >= today), None)
